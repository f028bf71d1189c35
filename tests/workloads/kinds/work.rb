# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors

# Recursion, sorting with a block, text and exceptions.
def fibonacci(n) = n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2)

sum = 0
10.times do
  words = (1..2000).map { |i| "word#{i * 7919 % 1009}".upcase }
  sum += words.sort { |a, b| b <=> a }.join(" ").scan(/\D+(\d+)/).sum { |number,| number.to_i }
  sum += fibonacci(18)
  begin
    raise "deep"
  rescue RuntimeError => error
    sum += error.message.size
  end
end
puts sum
