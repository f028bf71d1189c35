# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors

# Recursion, sorting, matrices and text.
fibonacci <- function (n) if (n < 2) n else fibonacci (n - 1) + fibonacci (n - 2)
sum <- 0
for (round in 1:4) {
  words <- sort (paste0 ("word", (1:5000 * 7919) %% 1009), decreasing = TRUE)
  m <- matrix (runif (40000), 200)
  sum <- sum + fibonacci (16) + length (unique (words)) + sum (solve (m) %*% m)
  tryCatch (stop ("deep"), error = function (e) NULL)
}
print (sum > 0)
