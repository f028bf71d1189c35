# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors

# fibers.rb - eight fibers that take turns, each at another depth of calls.

def work(n)
  found = {}
  n.times do |i|
    found[i % 97] = "x#{i}" * 3
    Fiber.yield i if i % 50 == 0
  end
  found.values.sort.size
end

def deeper(depth, n)
  depth > 0 ? deeper(depth - 1, n) : work(n)
end

fibers = (0...8).map { |k| Fiber.new { deeper(k, 20000) } }
fibers.each { |fiber| fiber.resume if fiber.alive? } while fibers.any?(&:alive?)
