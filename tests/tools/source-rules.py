#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""source-rules.py RULE [ROOT] - rules that every file of the tree keeps. RULE is one of

    spdx   the two SPDX lines stand at the top, with the licence of the file's folder
    paths  no text names a path of the machine it was written on
    docs   documents name only files that exist
    po     po/POTFILES lists the sources with texts to translate, and no others
    length functions of src/table, src/elf and include are at most 60 lines long

Prints one line per broken rule; exit status 1 if there is any. --self-test checks the checker."""

import glob
import os
import re
import sys
import tempfile

import tree

LGPL = "LGPL-2.1-or-later"
BPF = "GPL-2.0-only OR BSD-2-Clause"
AUTHORS = "SPDX-FileCopyrightText: 2026 The live-unwinder authors"
# Files that cannot or need not say their licence: the texts of the licences, formats without
# comments, and lists that tools read whole.
NO_SPDX = re.compile(r"^LICENSES/|(^|/)\.git(ignore|attributes)$|\.(png|svg|json|bin|gz|data)$"
                     r"|^tests/fuzz/corpus/|(^|/)(LINGUAS|POTFILES)$|\.clang-format$")
HEAD_LINES = 6


def licences_for(path):
    """The licences a file may have: BPF code and the contract it shares are dual-licensed."""
    return {BPF} if path.startswith("bpf/") else {LGPL, BPF} if path.startswith("include/lu/") \
        else {LGPL}


def check_spdx(_root, path, content, _all):
    if NO_SPDX.search(path) or content is None:
        return []
    head = "\n".join(content.splitlines()[:HEAD_LINES])
    found = re.search(r"SPDX-License-" r"Identifier: ([^\n*<]*?)\s*(\*/|-->|$)", head, re.MULTILINE)
    if not found:
        return [f"{path}: no SPDX licence line in the first {HEAD_LINES} lines"]
    problems = []
    if found.group(1) not in licences_for(path):
        problems.append(f"{path}: licence {found.group(1)} does not belong here")
    if AUTHORS not in head:
        problems.append(f"{path}: no SPDX copyright line in the first {HEAD_LINES} lines")
    return problems


# An absolute path starts where no other path goes on.
HOME_PATH = re.compile(r"(?<![\w./$})\]*-])/(home|Users|root|work|builds)/[\w.-]+")


def check_paths(root, path, content, _all):
    if content is None or path.startswith("LICENSES/"):
        return []
    problems = [f"{path}: names {match.group(0)}" for match in HOME_PATH.finditer(content)]
    here = os.path.abspath(root)
    if here.count("/") > 1 and re.search(rf"{re.escape(here)}(?![\w.-])", content):
        problems.append(f"{path}: names the folder of this checkout, {here}")
    return problems


FOLDERS = r"(?:src|include|tests|tools|docs|data|po|bpf|LICENSES|\.ci)"
# `src/elf/image.c`, src/elf/image.{c,h}, docs/HOWTO-add-*.md; in prose, code spans and links alike.
NAMED_FILE = re.compile(rf"(?<![\w./$-])({FOLDERS}/[\w./*{{}},+-]*[\w}}*/])")
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
CODE_SPAN_FILE = re.compile(r"`([A-Z][A-Z0-9]+\.md|meson\.build|meson_options\.txt)`")


def expand(pattern):
    """src/a.{c,h} → src/a.c, src/a.h (one level)."""
    braces = re.search(r"\{([^{}]*)\}", pattern)
    if not braces:
        return [pattern]
    return [pattern[:braces.start()] + word + pattern[braces.end():]
            for word in braces.group(1).split(",")]


def exists(root, folder, name):
    """Is there such a file, seen from the document's folder or from the root?"""
    return any(glob.glob(os.path.join(root, start, name)) for start in {folder, ""})


def check_docs(root, path, content, _all):
    is_document = path.endswith((".md", ".rst")) or path.startswith("data/")
    if not is_document or content is None:
        return []
    folder = os.path.dirname(path)
    names = {name for match in NAMED_FILE.findall(content) for name in expand(match)}
    names |= set(CODE_SPAN_FILE.findall(content))
    names |= {link for link in LINK.findall(content) if "://" not in link}
    return [f"{path}: {name} does not exist" for name in sorted(names)
            if not exists(root, folder, name)]


TRANSLATED = re.compile(r'(?<![\w])(?:N?_|[CQ]_|ngettext) ?\("')


def check_po(root, path, content, everything):
    if path != "po/POTFILES":
        return []
    listed = set((content or "").split())
    used = {name for name in everything if name.startswith("src/") and name.endswith((".c", ".h"))
            and TRANSLATED.search(tree.text(root, name) or "")}
    return [f"{path}: {name} has texts to translate and is not listed" for name in used - listed] \
        + [f"{path}: {name} has no text to translate" for name in listed - used]


LONGEST_FUNCTION = 60
NAME = re.compile(r"^([A-Za-z_]\w*) \(")


def check_length(_root, path, content, _all):
    """From the brace in the first column to its end; the lines above it have the name."""
    if content is None or not re.match(r"(src/table|src/elf|include)/.*\.[ch]$", path):
        return []
    problems, name, start = [], "?", None
    for number, line in enumerate(content.splitlines(), 1):
        match = NAME.match(line)
        if match and start is None:
            name = match.group(1)
        if line == "{":
            start = number
        elif line.startswith("}") and start is not None:
            # The braces are no lines of the function.
            if number - start - 1 > LONGEST_FUNCTION:
                problems.append(f"{path}: {name} has {number - start - 1} lines")
            start = None
    return problems


RULES = {"spdx": check_spdx, "paths": check_paths, "docs": check_docs, "po": check_po,
         "length": check_length}


def check_tree(rule, root):
    names = tree.files(root)
    problems = []
    for name in names:
        problems += RULES[rule](root, name, tree.text(root, name), names)
    return problems, len(names)


SPDX = f"/* SPDX-License-" f"Identifier: {LGPL}\n * {AUTHORS} */\n"
MD = f"<!-- SPDX-License-" f"Identifier: {LGPL} -->\n<!-- {AUTHORS} -->\n"
LEAK = "/ho" "me/somebody/src"
# (rule, files, what the complaints must say; empty = none)
CASES = [
    ("spdx", {"src/a.c": SPDX, "LICENSES/X.txt": "text"}, ""),
    ("spdx", {"src/a.c": "int a;\n"}, "no SPDX licence line"),
    ("spdx", {"src/a.c": "\n" * 9 + SPDX}, "no SPDX licence line"),
    ("spdx", {"src/a.c": SPDX.replace(AUTHORS, "")}, "no SPDX copyright"),
    ("spdx", {"src/a.c": SPDX.replace(LGPL, "MIT")}, "does not belong here"),
    ("spdx", {"bpf/a.c": SPDX}, "does not belong here"),
    ("spdx", {"bpf/a.c": SPDX.replace(LGPL, BPF), "include/lu/a.h": SPDX}, ""),
    ("paths", {"src/a.c": "see /proc/PID/root/x, build/src/x, $HOME/wo" "rk/x, /usr/lib/x\n"}, ""),
    ("paths", {"src/a.c": f"see {LEAK}\n"}, "names"),
    ("paths", {"src/a.c": 'open ("/wo' 'rk/tree/x")\n'}, "names"),
    ("paths", {"src/a.c": "see @ROOT@/src/a.c\n"}, "folder of this checkout"),
    ("docs", {"README.md": "See src/a.{c,h}, `docs/B.md` and tests/.\n", "src/a.c": "", "src/a.h": "",
              "docs/B.md": "[up](../README.md), [web](https://example.org/src/none.c)",
              "tests/t": ""}, ""),
    ("docs", {"README.md": "See src/a.{c,h}.\n", "src/a.c": ""}, "src/a.h does not exist"),
    ("docs", {"README.md": "[there](docs/C.md)\n"}, "docs/C.md does not exist"),
    ("docs", {"docs/A.md": "see `NEWS.md`\n"}, "NEWS.md does not exist"),
    ("po", {"po/POTFILES": "src/a.c\n", "src/a.c": 'puts (_("x"));', "src/b.c": 'lu_("x");'}, ""),
    ("po", {"po/POTFILES": "", "src/a.c": 'puts (_("x"));'}, "src/a.c has texts"),
    ("po", {"po/POTFILES": "src/a.c src/b.c", "src/a.c": '{ N_("x") }'}, "src/b.c has no"),
    ("docs", {"docs/A.md": "run build/src/program\n"}, ""),
    ("length", {"src/table/a.c": "static int\nshort_one (void)\n{\n" + "  x ();\n" * 60 + "}\n"}, ""),
    ("length", {"src/table/a.c": "static int\nlong_one (void)\n{\n" + "  x ();\n" * 61 + "}\n"},
     "long_one has 61 lines"),
    ("length", {"tests/a.c": "int\na (void)\n{\n" + "  x ();\n" * 61 + "}\n"}, ""),
]


def self_test():
    for rule, files, complaint in CASES:
        with tempfile.TemporaryDirectory() as root:
            for name, content in files.items():
                full = os.path.join(root, name)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8") as out:
                    out.write(content.replace("@ROOT@", root))
            problems, checked = check_tree(rule, root)
            assert checked == len(files), (rule, files)
            good = any(complaint in p for p in problems) if complaint else problems == []
            assert good, (rule, files, problems)
    print(f"self-test: {len(CASES)} cases")
    return 0


def main(argv):
    if argv[1:] == ["--self-test"]:
        return self_test()
    if len(argv) < 2 or argv[1] not in RULES:
        print(__doc__, file=sys.stderr)
        return 2
    root = argv[2] if len(argv) > 2 else os.path.join(os.path.dirname(argv[0]), "../..")
    problems, checked = check_tree(argv[1], root)
    for problem in problems:
        print(problem)
    print(f"{checked} files checked, {len(problems)} problems")
    return 1 if problems or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
