-- SPDX-License-Identifier: LGPL-2.1-or-later
-- SPDX-FileCopyrightText: 2026 The live-unwinder authors

-- Recursion, sorting with a function, text and errors.
local function fibonacci (n) return n < 2 and n or fibonacci (n - 1) + fibonacci (n - 2) end

local sum = 0
for _ = 1, 10 do
  local words = {}
  for i = 1, 2000 do words[i] = ("word" .. i * 7919 % 1009):upper () end
  table.sort (words, function (a, b) return a > b end)
  for word in table.concat (words, " "):gmatch ("%a+(%d+)") do sum = sum + tonumber (word) end
  sum = sum + fibonacci (20)
  pcall (function () error ({ sum }) end)
end
print (sum)
