% SPDX-License-Identifier: LGPL-2.1-or-later
% SPDX-FileCopyrightText: 2026 The live-unwinder authors

% Recursion, sorting, matrices and text, for Octave.
function r = fibonacci (n)
  if (n < 2) r = n; else r = fibonacci (n - 1) + fibonacci (n - 2); end
end
total = 0;
for i = 1:4
  m = rand (200);
  total += sum (sum (inv (m) * m)) + fibonacci (12);
  words = arrayfun (@(k) sprintf ("word%d", mod (k * 7919, 1009)), 1:300, "UniformOutput", false);
  total += numel (unique (sort (words)));
end
disp (total > 0);
