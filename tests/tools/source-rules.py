#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""source-rules.py RULE [ROOT] - rules that every file of the tree keeps. RULE is one of

    spdx   the two SPDX lines stand at the top, with the licence of the file's directory
    paths  no text names a path of the machine it was written on
    docs   documents name only files that exist
    po     po/POTFILES lists the sources with texts to translate, and no others
    length functions of src, bpf and include are at most 60 lines long
    parameters  they have at most 5 parameters, but for those that are listed here
    words  replaced words do not come back, and comments begin with a subject
    head   a C file's first comment begins with the file's name, as in "name.c - what it is for"

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
                     r"|^tests/fuzz/corpus/|(^|/)(LINGUAS|POTFILES)$|\.clang-format$"
                     r"|^data/packaging/debian/(changelog|copyright|source/format)$")
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
        problems.append(f"{path}: names the directory of this checkout, {here}")
    return problems


DIRECTORIES = r"(?:src|include|tests|tools|docs|data|po|bpf|LICENSES|\.ci)"
# `src/elf/image.c`, src/elf/image.{c,h}, docs/HOWTO-add-*.md; in prose, code spans and links alike.
NAMED_FILE = re.compile(rf"(?<![\w./$-])({DIRECTORIES}/[\w./*{{}},+-]*[\w}}*/])")
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
CODE_SPAN_FILE = re.compile(r"`([A-Z][A-Z0-9]+\.md|meson\.build|meson_options\.txt)`")


def expand(pattern):
    """src/a.{c,h} → src/a.c, src/a.h (one level)."""
    braces = re.search(r"\{([^{}]*)\}", pattern)
    if not braces:
        return [pattern]
    return [pattern[:braces.start()] + word + pattern[braces.end():]
            for word in braces.group(1).split(",")]


def exists(root, directory, name):
    """Is there such a file, seen from the document's directory or from the root?"""
    return any(glob.glob(os.path.join(root, start, name)) for start in {directory, ""})


def check_docs(root, path, content, _all):
    is_document = path.endswith((".md", ".rst")) or path.startswith("data/")
    if not is_document or content is None:
        return []
    directory = os.path.dirname(path)
    names = {name for match in NAMED_FILE.findall(content) for name in expand(match)}
    names |= set(CODE_SPAN_FILE.findall(content))
    names |= {link for link in LINK.findall(content) if "://" not in link}
    # NAME stands for a name that the reader chooses.
    return [f"{path}: {name} does not exist" for name in sorted(names)
            if "NAME" not in name and not exists(root, directory, name)]


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
C_SOURCE = re.compile(r"(src|bpf|include)/.*\.[ch]$")
NAME = re.compile(r"^([A-Za-z_]\w*) \(")


def check_length(_root, path, content, _all):
    """From the brace in the first column to its end; the lines above it have the name."""
    if content is None or not C_SOURCE.match(path):
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


MOST_PARAMETERS = 5
# Functions with more: callbacks and operations whose callers decide, and the steps of a walk, which
# are inlined. Elsewhere a struct is missing.
KNOWN_PARAMETERS = {
    "bpf/walk-rare.h": {"read_saved"},
    "include/lu/step.h": {"lu_step_any_register", "lu_step_rare_cfa", "lu_step_cfa",
                          "lu_step_saved", "lu_step_rare_return_address",
                          "lu_step_return_address", "lu_step_saved_one", "lu_step_with"},
    "src/unwind/dwfl-address-space.c": {"find_elf", "find_debuginfo"},
}
DEFINITION = re.compile(r"^([A-Za-z_]\w*) \(([^;{}]*?)\)\n\{", re.MULTILINE)


def count_parameters(text):
    """Commas that are not inside the parentheses of a parameter, and one."""
    depth, n = 0, 1
    for char in text:
        depth += {"(": 1, ")": -1}.get(char, 0)
        n += char == "," and depth == 0
    return n


def check_parameters(_root, path, content, _all):
    if content is None or not C_SOURCE.match(path):
        return []
    counts = {name: count_parameters(text) for name, text in DEFINITION.findall(content)}
    return [f"{path}: {name} has {n} parameters" for name, n in counts.items()
            if n > MOST_PARAMETERS and name not in KNOWN_PARAMETERS.get(path, ())]


# Words of our own that have been replaced: part of an identifier or a word of the text.
OLD_WORDS = {"toucher": "prefault", "newcomer": "candidate", "ladder": "kernel support level",
             "rung": "kernel support level", "teller": "announced exec", "lane": "per-CPU events",
             "inbox": "pending store writes", "tally": "statistics", "tallie": "statistics",
             "aging": "deferred reclamation", "folder": "directory"}
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Translations, texts that are not ours, this list, and a tool of tests/ with a Tally of its own.
ANY_WORD = re.compile(r"^(LICENSES|po|tests/fuzz/corpus|tests/truth)/|^tests/tools/source-rules\.py$")
# In C, in scripts and build files, and in Python's docstrings.
COMMENT_START = re.compile(r"(?:/\*+\s*|^\s*(?:#|//) |^\s*\"\"\")"
                           r"(Of|What|Who|The same|And|Those|Such|Else)\b", re.MULTILINE)


def check_words(_root, path, content, _all):
    if content is None or ANY_WORD.search(path):
        return []
    found = {word.lower() for word in WORD.findall(content)}
    problems = [f'{path}: "{word}" is now "{OLD_WORDS[word.rstrip("s")]}"'
                for word in sorted(found) if word.rstrip("s") in OLD_WORDS]
    if not path.endswith(".md"):
        problems += [f'{path}: a comment begins with "{start}"'
                     for start in COMMENT_START.findall(content)]
    return problems


# An architecture is a directory of src/arch/; the rest asks what it has, never which one it is.
ANY_MACHINE = re.compile(r"(src|bpf|include)/(?!arch/)")
MACHINE = re.compile(r"\b(?:EM_|R_|_+)?(?:x86(?:[-_]64)?|amd64|i[36]86|aarch64|arm64|EM_386)(?![0-9])", re.IGNORECASE)


def check_machines(_root, path, content, _all):
    if content is None or not ANY_MACHINE.match(path):
        return []
    return [f"{path}: {name} belongs to src/arch/" for name in sorted(set(MACHINE.findall(content)))]


C_FILE = re.compile(r"(src|bpf|include|tests)/.*\.[ch]$")
COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
# The arguments of a program may stand between its name and the dash.
ARGUMENTS = r"(?: (?:\[|[A-Z]|--)\S*)*"


def check_head(_root, path, content, _all):
    """The licence may share the first comment, or stand in one of its own before it."""
    if content is None or not C_FILE.match(path):
        return []
    name = os.path.basename(path)
    for comment in COMMENT.findall(content):
        lines = [line.strip(" *") for line in comment.splitlines() if "SPDX-" not in line]
        head = " ".join(lines).strip()
        if head:
            break
    else:
        return [f"{path}: no comment says what the file is for"]
    if not re.match(rf"{re.escape(name)}{ARGUMENTS} - \S", head):
        return [f'{path}: the first comment does not begin with "{name} - "']
    return []


RULES = {"spdx": check_spdx, "paths": check_paths, "docs": check_docs, "po": check_po,
         "length": check_length, "parameters": check_parameters, "words": check_words,
         "head": check_head, "machines": check_machines}


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
    ("paths", {"src/a.c": "see @ROOT@/src/a.c\n"}, "directory of this checkout"),
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
    ("length", {"src/a.h": "int\na (void)\n{\n" + "  x ();\n" * 61 + "}\n"}, "a has 61 lines"),
    ("parameters", {"src/a.c": "int\na (int b, void (*c) (int, int), int d,\n   int e, int f)\n{\n}\n"},
     ""),
    ("parameters", {"src/a.c": "int\na (int b, int c, int d,\n   int e, int f, int g)\n{\n}\n"},
     "a has 6 parameters"),
    ("parameters", {"src/a.c": "int a (int b, int c, int d, int e, int f, int g);\n"}, ""),
    ("parameters", {"tests/a.c": "int\na (int b, int c, int d, int e, int f, int g)\n{\n}\n"}, ""),
    ("words", {"src/a.c": "LuPrefault *lu_prefault; /* a plane, a bladder */\n"}, ""),
    ("words", {"src/a.c": "LuToucher *self;\n"}, '"toucher" is now "prefault"'),
    ("words", {"src/a.c": "n_newcomers++;\n"}, '"newcomers" is now "candidate"'),
    ("words", {"docs/A.md": "the highest rung of it\n"}, '"rung" is now'),
    ("words", {"src/a.c": "#define MAX_LANES 3\n"}, '"lanes" is now'),
    ("words", {"src/a.c": "self->tally;\n", "tests/truth/a.c": "Tally tally;\n"},
     '"tally" is now "statistics"'),
    ("words", {"src/base/a.c": "/* Returns what is left. */\n", "docs/A.md": "# What\n"}, ""),
    ("words", {"tests/a.py": "x = 1\n# What it is.\n"}, 'begins with "What"'),
    ("words", {"tests/a.py": 'def a ():\n    """Of it."""\n'}, 'begins with "Of"'),
    ("words", {"src/base/a.c": "int a; /* Of the caller. */\n"}, 'begins with "Of"'),
    ("words", {"src/base/a.c": "/* The same, later. */\n"}, 'begins with "The same"'),
    ("machines", {"src/arch/a.c": "EM_AARCH64\n", "tests/a.c": "#ifdef __x86_64__\n", "src/a.c": "0x386\n"}, ""),
    ("machines", {"src/a.c": "if (machine == EM_X86_64)\n"}, "EM_X86_64 belongs to src/arch/"),
    ("machines", {"bpf/a.h": "/* aarch64: x30 */\n"}, "aarch64 belongs to"),
    ("machines", {"include/lu/a.h": "#ifdef __x86_64__\n"}, "__x86_64 belongs to"),
    ("head", {"src/a.c": SPDX + "\n/* a.c - one letter. */\n", "tools/b.py": "x = 1\n"}, ""),
    ("head", {"tests/a.h": SPDX.replace(" */", "\n *\n * a.h - one letter. */")}, ""),
    ("head", {"tests/a.c": SPDX + "/* a.c [--seed N]\n * DIR/FILE [A [B]] -- WORD... - one letter. */\n"}, ""),
    ("head", {"src/a.c": SPDX + "/* b.c - one letter. */\n"}, 'does not begin with "a.c - "'),
    ("head", {"src/a.c": SPDX + "/* One letter. */\n/* a.c - too late. */\n"}, "does not begin"),
    ("head", {"bpf/a.h": SPDX + "/* a.h, used by a.c - one letter. */\n"}, "does not begin"),
    ("head", {"include/lu/a.h": SPDX}, "no comment says"),
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
