#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_litmus.py - the places where threads, or the kernel and we, share memory without a lock, on
every machine that reorders accesses (model.py).

Each sequence is written down with the lines of the sources that it stands for; a test reads them, so a
line whose order changes has to be looked at here.  What must not happen is never an outcome, and is
one as soon as one of the orders named in `needs` is taken away: each of them is there for a reason."""

import dataclasses
import unittest
from pathlib import Path

from model import Access, outcomes

ROOT = Path(__file__).resolve().parent.parent.parent


def load(place, name, order="relaxed", **more):
    return Access("load", place, order=order, name=name, **more)


def store(place, value, order="relaxed", **more):
    return Access("store", place, value, order, **more)


def change(place, name, value):
    return Access("change", place, value, "seq_cst", name)


def assume(condition, *names):
    """The thread goes on only if the condition holds."""
    return Access("assume", value=condition, after=names)


def exchange(place, name):
    return change(place, name, 0)


@dataclasses.dataclass
class Sequence:
    about: str
    threads: list
    wrong: object           # function of an outcome: this must not happen
    needs: list             # (thread, access): its order, or dependency, is necessary
    sources: dict           # file -> lines, without the space at their beginning


QUEUE = {"src/base/queue.c": [
    "guint64 tail = atomic_load_explicit (&self->tail, memory_order_acquire);",
    "*slot (self, self->reserved_at) = size;",
    "atomic_store_explicit (&self->head, self->reserved_at + message_bytes (size),\nmemory_order_release);",
    "guint64 head = atomic_load (&self->head);",
    "atomic_store_explicit (&self->tail, tail + message_bytes (*slot (self, tail)),\nmemory_order_release);",
]}

SEQUENCES = [
    Sequence(
        "a message is whole when the consumer sees it",
        [[store("slot", 7), store("head", 1, "release")],
         [load("head", "head", "seq_cst"), load("slot", "size")]],
        lambda end: end["head"] == 1 and end["size"] != 7,
        [(0, 1), (1, 0)], QUEUE),
    Sequence(
        "a message is not written over while it is read",
        [[load("tail", "tail", "acquire"), store("slot", 9, after=("tail",))],
         [load("slot", "read"), store("tail", 1, "release")]],
        lambda end: end["tail"] == 1 and end["read"] == 9,
        [(1, 1)], QUEUE),
    Sequence(
        "a consumer that falls asleep is woken for a message",
        [[store("head", 1, "release"), Access("fence", order="seq_cst"), load("sleeping", "sleeps", "seq_cst")],
         [store("sleeping", 1, "seq_cst"), load("head", "seen", "seq_cst")]],
        lambda end: end["sleeps"] == 0 and end["seen"] == 0,
        [(0, 1), (1, 0)],
        {"src/base/queue.c": [
            "atomic_thread_fence (memory_order_seq_cst);",
            "if (atomic_load (&self->sleeping) != 0 && atomic_exchange (&self->sleeping, 0) != 0)",
            "atomic_store (&self->sleeping, 1);\nif (!has_news (self))"]}),
    Sequence(
        "a record of a ring is whole when we see it (the kernel: perf_output_put_handle())",
        [[store("data", 7), Access("fence", order="stores"), store("data_head", 1)],
         [load("data_head", "head", "acquire"), load("data", "read")]],
        lambda end: end["head"] == 1 and end["read"] != 7,
        [(0, 1), (1, 0)],
        {"src/input/ring.c": ["return __atomic_load_n (&control (self)->data_head, __ATOMIC_ACQUIRE);"]}),
    Sequence(
        "the kernel does not write over a record that we read (__perf_output_begin())",
        [[load("data_tail", "tail"), store("data", 9, after=("tail",))],
         [load("data", "read"), store("data_tail", 1, "release")]],
        lambda end: end["tail"] == 1 and end["read"] == 9,
        [(0, 1), (1, 1)],
        {"src/input/ring.c": ["__atomic_store_n (&control (self)->data_tail, self->tail, __ATOMIC_RELEASE);"]}),
    Sequence(
        "a table is whole when a walk finds it",
        [[store("rows", 7), store("table", 1, "seq_cst")],
         [change("n_readers", "n", lambda names: names["n"] + 1), load("table", "table", "seq_cst"),
          load("rows", "read", of=("table",))]],
        lambda end: end["table"] == 1 and end["read"] != 7,
        [(0, 1)],
        {"src/module/tables.c": ["atomic_store (&slot->table, table);", "table = atomic_load (&self->table);"]}),
    Sequence(
        "a table is not freed while a walk reads it",
        [[change("n_readers", "n", lambda names: names["n"] + 1), load("table", "table", "seq_cst"),
          load("rows", "read", of=("table",)), change("n_readers", "m", lambda names: names["m"] - 1)],
         [store("table", 1), exchange("table", "old"), load("n_readers", "readers", "seq_cst"),
          assume(lambda names: names["readers"] == 0, "readers"), store("rows", 666, after=("readers",))]],
        lambda end: end["table"] == 1 and end["read"] == 666,
        [(0, 0), (0, 3), (1, 1)],
        {"src/module/tables.c": [
            "atomic_fetch_add (&self->n_readers, 1);\ntable = atomic_load (&self->table);",
            "atomic_fetch_sub (&self->n_readers, 1);",
            "LuTable *table = atomic_exchange (&slot->table, NULL);",
            "while (atomic_load (&slot->n_readers) > 0)"]}),
    Sequence(
        "the program in the kernel sees a module's fields, and its rows, with its table",
        [[store("rows", 7), store("key", 5), store("table", 1, "release")],
         [load("table", "table"), load("key", "seen", of=("table",)), load("rows", "read", of=("table",))]],
        lambda end: end["table"] == 1 and (end["seen"] != 5 or end["read"] != 7),
        [(0, 2), (1, 1), (1, 2)],
        {"src/bpf/files.c": ["__atomic_store_n (&module->table, table, __ATOMIC_RELEASE);",
                             "store_table (module, (guint64) copy->n_pages << 32 | copy->index);"],
         "bpf/walk-look.h": ["*table = *(const volatile uint64_t *) &module->table;\nHOST_AFTER (module, *table);"]}),
]


def weaken(threads, thread, access):
    weak = [list(accesses) for accesses in threads]
    old = weak[thread][access]
    if old.kind == "fence":
        del weak[thread][access]
    elif old.order == "relaxed":
        weak[thread][access] = dataclasses.replace(old, of=(), after=())
    else:
        weak[thread][access] = dataclasses.replace(old, order="relaxed")
    return weak


def without_indentation(text):
    return "\n".join(line.strip() for line in text.splitlines())


class Litmus(unittest.TestCase):
    def test_nothing_wrong(self):
        for sequence in SEQUENCES:
            with self.subTest(sequence.about):
                ends = outcomes(*sequence.threads)
                self.assertGreater(len(ends), 1)
                self.assertEqual([end for end in ends if sequence.wrong(end)], [])

    def test_every_order_is_needed(self):
        for sequence in SEQUENCES:
            for thread, access in sequence.needs:
                with self.subTest(f"{sequence.about}, without {thread}, {access}"):
                    ends = outcomes(*weaken(sequence.threads, thread, access))
                    self.assertTrue(any(sequence.wrong(end) for end in ends))

    def test_sources(self):
        for sequence in SEQUENCES:
            for name, lines in sequence.sources.items():
                text = without_indentation((ROOT / name).read_text(encoding="utf-8"))
                for line in lines:
                    self.assertIn(line, text, f"{name}: look at \"{sequence.about}\" again")

    def test_model(self):
        """The usual examples, as published for Armv8: allowed without an order, forbidden with one."""
        def store_buffering(order):
            return outcomes([store("x", 1, order), load("y", "a", order)], [store("y", 1, order), load("x", "b", order)])

        def load_buffering(**of):
            return outcomes([load("x", "a"), store("y", 1, after=of.get("first", ()))],
                            [load("y", "b"), store("x", 1, after=of.get("second", ()))])

        self.assertTrue(any(end["a"] == end["b"] == 0 for end in store_buffering("relaxed")))
        self.assertFalse(any(end["a"] == end["b"] == 0 for end in store_buffering("seq_cst")))
        self.assertTrue(any(end["a"] == end["b"] == 1 for end in load_buffering(first=("a",))))
        self.assertFalse(any(end["a"] == end["b"] == 1 for end in load_buffering(first=("a",), second=("b",))))
        coherent = outcomes([store("x", 1), store("x", 2)], [load("x", "a"), load("x", "b")])
        self.assertFalse(any(end["a"] == 2 and end["b"] == 1 for end in coherent))


if __name__ == "__main__":
    unittest.main()
