# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors

# chains.rb LOG SECONDS - a program that knows its own chains of functions; for any Ruby from 2.7 on.
#
# Every kind of call ends in burn, which runs for a few milliseconds and then writes down for which time and thread
# which chain was true, as Ruby itself says: a line "begin end tid - label|label…" of nanoseconds (CLOCK_MONOTONIC), leaf
# first. Functions in C are among them; the test leaves them out.

require 'fiber'

LOG = []
SECONDS = ARGV[1].to_f

CLOCK = [Process::CLOCK_MONOTONIC, :nanosecond].freeze

def burn(ms = 6)
  first = Process.clock_gettime(*CLOCK)
  last = first + ms * 1_000_000
  x = 0
  while Process.clock_gettime(*CLOCK) < last
    i = 0
    while i < 300
      x += i * i
      i += 1
    end
  end
  LOG << [first, Process.clock_gettime(*CLOCK), syscall(186), caller_locations(0).map(&:label)]
  0
end

def recursion(n)
  n > 0 ? recursion(n - 1) : burn
end

def blocks
  [1, 2].each { |x| burn }
  { a: 1 }.each { |k, v| recursion(2) }
  2.times { [3].map { |x| burn } }
  [2, 1, 3].sort { |a, b| burn(1); a <=> b }
  'ab'.gsub(/./) { |c| burn; c }
  3.downto(2) { |x| burn }
end

def yielding
  yield 1
end

def procs
  one = proc { burn }
  two = ->(x) { burn + x }
  one.call
  two.(3)
  yielding { |x| burn }
  yielding(&two)
  [1].each(&method(:recursion))
  %w[a].map(&:size).each { |n| recursion(n) }
end

class Thing
  include Comparable

  define_method(:defined) { |x| burn }

  def method_missing(name, *rest)
    burn
  end

  def respond_to_missing?(name, all = false)
    true
  end

  def <=>(other)
    burn(2)
    0
  end

  def to_s
    burn
    'thing'
  end

  def initialize
    burn
  end
end

def objects
  thing = Thing.new
  thing.defined(1)
  thing.something
  thing == Thing.new
  "#{thing}"
  thing.send(:defined, 2)
  thing.instance_eval { burn }
  Class.new.class_eval { burn }
end

def raises
  burn
  raise ArgumentError
ensure
  burn
end

def exceptions
  raises
rescue ArgumentError
  burn
end

def throwing
  catch(:done) do
    burn
    throw :done
  end
end

def enumerators
  list = Enumerator.new do |y|
    burn
    y << 1
    burn
    y << 2
  end
  list.next
  list.next
  list.each { |x| burn }
  list.lazy.map { |x| burn }.first(1)
end

def fibers
  fiber = Fiber.new do
    recursion(3)
    Fiber.yield 1
    burn
  end
  fiber.resume
  fiber.resume
end

def evals
  eval('burn')
  eval("def made_here\n  burn\nend\nmade_here")
end

def threads
  [1, 4].map { |n| Thread.new { recursion(n) } }.each(&:join)
end

def deep
  recursion(150)
end

last = Process.clock_gettime(*CLOCK) + SECONDS * 1_000_000_000
while Process.clock_gettime(*CLOCK) < last
  burn
  recursion(10)
  blocks
  procs
  objects
  exceptions
  throwing
  enumerators
  fibers
  evals
  threads
  deep
end
File.open(ARGV[0], 'w') do |file|
  LOG.each { |first, after, tid, labels| file.puts "#{first} #{after} #{tid} - #{labels.join('|')}" }
end
