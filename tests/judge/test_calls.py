# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""Tests of calls.py: encodings of calls that must be seen, and of others that must not."""

import unittest

import calls

CODE = range(0x1000, 0x9000)
HERE = 0x5000

YES = {
    "near call": "e8 fb 00 00 00",
    "near call backwards": "e8 00 f0 ff ff",
    "tls call with prefixes": "66 66 48 e8 fb 00 00 00",
    "through rax": "ff d0",
    "through r11": "41 ff d3",
    "notrack through rdx": "3e ff d2",
    "through (rax)": "ff 10",
    "through (rsp)": "ff 14 24",
    "through disp8(rbx)": "ff 53 18",
    "through disp8(r12)": "41 ff 54 24 08",
    "through disp32(rip)": "ff 15 00 10 00 00",
    "through disp32(rax)": "ff 90 00 01 00 00",
    "through disp32(,rax,8)": "ff 14 c5 00 00 00 00",
    "through disp32(rsp)": "ff 94 24 00 01 00 00",
    "through disp32(rax,rbx,4)": "ff 94 98 00 01 00 00",
}

NO = {
    "nothing": "",
    "nops": "90 90 90 90 90 90 90",
    "near jump": "e9 fb 00 00 00",
    "indirect jump": "ff e0",
    "jump through (rip)": "ff 25 00 10 00 00",
    "push": "ff 30",
    "near call out of the image": "e8 00 00 00 40",
    "near call whose last byte is missing": "e8 fb 00 00",
    "byte behind a call": "e8 fb 00 00 00 90",
    "byte behind an indirect call": "90 ff d0 90",
    "disp8 form without its byte": "90 90 90 ff 53",
    "disp32 form one short": "ff 15 00 10 00",
    "return": "90 c3",
    "system call": "0f 05",
}


class Calls(unittest.TestCase):
    def check(self, cases, want):
        for name, text in cases.items():
            with self.subTest(name):
                code = bytes.fromhex(text)
                found = calls.is_behind_call(code[-calls.LONGEST:], HERE, lambda ea: ea in CODE)
                self.assertIs(found, want)

    def test_calls_are_seen(self):
        self.check(YES, True)

    def test_what_a_call_is_fixed_to(self):
        self.assertEqual(calls.fixed_target(bytes.fromhex(YES["near call"]), HERE), HERE + 0xfb)
        self.assertEqual(calls.fixed_target(bytes.fromhex("e8 00 f0 ff ff"), HERE), HERE - 0x1000)
        self.assertEqual(calls.fixed_target(bytes.fromhex("e8 00 f0 ff ff"), 0x100, 0xffffffff),
                         0xfffff100)
        self.assertIsNone(calls.fixed_target(bytes.fromhex(YES["through (rsp)"]), HERE))
        self.assertTrue(calls.is_behind_indirect_call(bytes.fromhex(YES["through r11"])))
        self.assertFalse(calls.is_behind_indirect_call(bytes.fromhex(YES["near call"])))

    def test_others_are_not(self):
        self.check(NO, False)


if __name__ == "__main__":
    unittest.main()
