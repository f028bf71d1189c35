#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""words.py CHECK PROGRAM ROOT [BUILD] - what the program says about itself in other places is whole:

    pages        every option of every command is in its man page and in no page too many
    roff         man and mandoc have nothing to say against the pages
    completions  bash and zsh are offered every option of every command, and no other
    po           the translations are whole: no text missing, fuzzy, or with another format
    installed    from an installed prefix, the program speaks German

PROGRAM is asked by --help. Prints one line per problem; exit status 1 if there is any, 77 where the
tools are not installed. Run by the tests of this directory; by people,

    words.py update

which puts new texts of the sources into the translations, and takes out what is not used any more."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

OPTION = re.compile(r"^  +(?:(-[a-zA-Z?]), )?(--[a-z][a-z-]*)", re.MULTILINE)
SKIP = 77
# The options of keywords as po/meson.build has them (preset glib).
FORMATS = ["g_strdup_printf:1", "g_set_error:4", "g_string_append_printf:2", "g_error_new:3"]
KEYWORDS = ["_", "N_", "C_:1c,2", "NC_:1c,2", "Q_", "g_dngettext:2,3", "g_dpgettext2:2c,3"]


class Skip(Exception):
    pass


def run(*command, **options):
    env = dict(os.environ, LC_ALL="C.UTF-8", LANGUAGE="", **options.pop("env", {}))
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env,
                          stdin=subprocess.DEVNULL, **options)


def read(*names):
    with open(os.path.join(*names), encoding="utf-8") as stream:
        return stream.read()


def need(tool):
    if not shutil.which(tool):
        raise Skip(f"{tool} is not installed")


def commands_of(program):
    """The commands that --help names; '' is the recording."""
    text = run(program, "--help").stdout
    return [""] + re.findall(r"^  live-unwinder ([a-z]+)\b", text, re.MULTILINE)


def options_of(program, command, everything=False):
    """[(short or '', long)], from --help."""
    words = [command] if command else []
    text = run(program, *words, "--help-all" if everything else "--help").stdout
    found = OPTION.findall(text)
    assert ("-h", "--help") in found, (command, text)
    return found


def page_name(command):
    return "live-unwinder" + (f"-{command}" if command else "") + ".1"


def names(option, text):
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text) is not None


def plain(roff):
    return re.sub(r"\\f[BIRP]", "", roff.replace("\\-", "-")).replace('"', "")


def tagged_options(text):
    """The options that have a paragraph of their own: the line behind each .TP."""
    tags = re.findall(r"^\.TP\n(.*)$", text, re.MULTILINE)
    return {option for tag in tags for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", tag)}


def check_pages(program, root):
    problems = []
    commands = commands_of(program)
    for command in commands:
        text = plain(read(root, "data", page_name(command)))
        # A page that is not installed is found by nobody.
        if page_name(command) not in read(root, "data/meson.build"):
            problems.append(f"{page_name(command)} is not installed")
        known = options_of(program, command, True)
        tagged = tagged_options(text)
        for short, option in known:
            if option not in tagged and not (option.startswith("--help-") and names(option, text)):
                problems.append(f"{page_name(command)} has no {option}")
            if short and not re.search(rf"(?<![\w-]){short}\s*,\s*{option}(?![\w-])", text):
                problems.append(f"{page_name(command)} has no {short}")
        problems += [f"{page_name(command)}: there is no {option}"
                     for option in sorted(tagged - {option for _, option in known})]
    pages = {os.path.basename(name) for name in glob.glob(os.path.join(root, "data", "*.1"))}
    problems += [f"{name} is about no command"
                 for name in sorted(pages - {page_name(command) for command in commands})]
    return problems


# Text behind a reference to a page: the macro changes fonts at each blank and leaves the blanks out.
GLUED = re.compile(r"^\.(?:BR|IR|RB|RI|BI|IB) .*\(\d\)[.,;]? .", re.MULTILINE)


def check_roff(_program, root):
    tools = [tool for tool in (["man", "--warnings", "-E", "UTF-8", "-l"],
                               ["mandoc", "-T", "lint", "-W", "style"]) if shutil.which(tool[0])]
    if not tools:
        raise Skip("neither man nor mandoc is installed")
    problems = []
    for page in sorted(glob.glob(os.path.join(root, "data", "*.1"))):
        problems += [f"{os.path.basename(page)}: blanks are lost: {line[0]}"
                     for line in GLUED.finditer(read(page))]
        for tool in tools:
            done = run(*tool, page, env={"MANROFFSEQ": "", "MANWIDTH": "80"})
            said = done.stderr if tool[0] == "man" else done.stdout + done.stderr
            problems += [f"{os.path.basename(page)}: {tool[0]}: {line}"
                         for line in said.splitlines()]
    print("checked by " + ", ".join(tool[0] for tool in tools))
    return problems


BASH = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); '
        'compopt () { :; }; _live_unwinder "$1"; printf "%s\\n" "${COMPREPLY[@]}"')


def bash_offers(program, root, *words):
    file = os.path.join(root, "data/completions/live-unwinder")
    return set(run("bash", "-c", BASH, "bash", file, program, *words).stdout.split())


def zsh_part(text, command):
    """The lines about a command; the last part is about recordings."""
    if not command:
        return text[text.rindex("_arguments"):]
    return re.search(rf"^    {command}\)\n.*?;;$", text, re.MULTILINE | re.DOTALL).group(0)


def check_completions(program, root):
    problems = []
    text = read(root, "data/completions/_live-unwinder")
    shared = {"$help": {"-h", "--help"}, "$debuginfod": {"--debuginfod"}}
    for command in commands_of(program):
        known = options_of(program, command)
        longs = {option for _, option in known}
        part = zsh_part(text, command)
        offered = set(re.findall(r"(?<=['{,\"*])--?[a-zA-Z][a-z-]*(?=[=\[},])|"
                                 r"(?<=\))--[a-z-]+(?=[=\[])", part))
        offered |= {option for name, options in shared.items() if name in part
                    for option in options}
        wanted = longs | {short for short, _ in known if short}
        problems += [f"zsh: {command} {option} is not offered" for option in wanted - offered]
        problems += [f"zsh: there is no {command} {option}"
                     for option in offered - wanted - {"--help-all"}]
        words = [command] if command else []
        problems += [f"bash: {command} {option} is wrong" for option in
                     longs ^ bash_offers(program, root, *words, "--")]
    commands = set(commands_of(program)) - {""}
    if bash_offers(program, root, "") != commands:
        problems.append(f"bash: the commands are {sorted(commands)}")
    if set(re.findall(r"^  '(\w+):", text, re.MULTILINE)) != commands:
        problems.append(f"zsh: the commands are {sorted(commands)}")
    if shutil.which("zsh"):
        done = run("zsh", "-n", os.path.join(root, "data/completions/_live-unwinder"))
        problems += done.stderr.splitlines()
    return problems


def languages(root):
    return read(root, "po/LINGUAS").split()


def make_pot(root, pot):
    """The texts of the sources; what xgettext says against them."""
    done = run("xgettext", "--from-code=UTF-8", "--language=C", "--files-from=po/POTFILES",
               "--add-comments", "--package-name=live-unwinder",
               *[f"--keyword={word}" for word in KEYWORDS],
               *[f"--flag={word}:c-format" for word in FORMATS], f"--output={pot}", cwd=root)
    # A message that ends at a macro is translated to half of it.
    return [line for line in done.stderr.splitlines() if "not a valid" in line] \
        if done.returncode == 0 else done.stderr.splitlines()


def update(root):
    with tempfile.TemporaryDirectory() as directory:
        pot, merged = os.path.join(directory, "x.pot"), os.path.join(directory, "x.po")
        problems = make_pot(root, pot)
        for language in languages(root):
            file = os.path.join(root, "po", language + ".po")
            shape = ["--no-location", "--width=100"]
            for command in (["msgmerge", "--quiet", "--no-fuzzy-matching", *shape, file, pot],
                            ["msgattrib", "--no-obsolete", *shape, merged]):
                done = run(*command, "--output-file=" + (merged if command[0] == "msgmerge" else file))
                problems += done.stderr.splitlines()
            print(run("msgfmt", "--statistics", "--output-file=/dev/null", file).stderr.strip())
    print("\n".join(problems))
    return 1 if problems else 0


def check_po(_program, root):
    for tool in ("xgettext", "msgfmt", "msgcmp"):
        need(tool)
    root = os.path.abspath(root)
    files = {os.path.basename(name)[:-3] for name in glob.glob(os.path.join(root, "po", "*.po"))}
    problems = [] if files == set(languages(root)) else [f"LINGUAS is not {sorted(files)}"]
    if not languages(root):
        problems.append("LINGUAS has no language")
    with tempfile.TemporaryDirectory() as directory:
        pot = os.path.join(directory, "x.pot")
        problems += make_pot(root, pot)
        for language in languages(root):
            file = os.path.join(root, "po", language + ".po")
            done = run("msgfmt", "--check", "--check-format", "--output-file=/dev/null", file)
            problems += done.stderr.splitlines()
            # Texts that are missing, without a translation or fuzzy.
            problems += run("msgcmp", file, pot).stderr.splitlines()
            problems += [f"{language}: a text is fuzzy or of the past: {line}"
                         for line in read(file).splitlines() if line.startswith(("#, fuzzy", "#~"))]
    return problems


def install(build, directory):
    """Installs into DIRECTORY; the prefix."""
    done = run("meson", "install", "-C", build, "--no-rebuild", "--destdir", directory)
    if done.returncode != 0:
        raise Skip("cannot be installed: " + (done.stdout + done.stderr).strip()[-200:])
    found = glob.glob(os.path.join(directory, "**/bin/live-unwinder"), recursive=True)
    assert len(found) == 1, found
    return "/" + os.path.relpath(os.path.dirname(os.path.dirname(found[0])), directory)


def check_installed(_program, root, build):
    """The program looks below its prefix, so the installed files are put there, in a mount namespace
    that ends with it."""
    need("localedef")
    need("unshare")
    need("meson")
    problems = []
    with tempfile.TemporaryDirectory() as directory:
        done = run("localedef", "-i", "de_DE", "-f", "UTF-8", os.path.join(directory, "de_DE.UTF-8"))
        if not os.path.isdir(os.path.join(directory, "de_DE.UTF-8")):
            raise Skip("no German locale can be made: " + done.stderr.strip()[-200:])
        destination = os.path.join(directory, "root")
        prefix = install(os.path.abspath(build), destination)
        for name in ["share/man/man1/" + os.path.basename(page)
                     for page in glob.glob(os.path.join(root, "data", "*.1"))]:
            if not os.path.exists(destination + prefix + "/" + name):
                problems.append(f"{name} is not installed")
        if not os.path.isdir(prefix):
            raise Skip(f"there is no {prefix} to put the files at")
        inside = ['unshare', '--map-root-user', '--mount', 'sh', '-c',
                  'mount --bind "$1" "$2" && shift 2 && exec "$@"', 'sh', destination + prefix, prefix]
        if run(*inside, "true").returncode != 0:
            raise Skip("no permission to mount in a namespace")

        def say(language, *words):
            environment = {"LC_ALL": "de_DE.UTF-8", "LOCPATH": directory, "LANGUAGE": language}
            done = run(*inside, "env", *[f"{name}={value}" for name, value in environment.items()],
                       prefix + "/bin/live-unwinder", *words)
            return done.stdout + done.stderr

        german, english = say("de", "--help"), say("en", "--help")
        for text, word in ((german, "Das ganze System aufzeichnen"),
                           (english, "Record the whole system"),
                           (say("de", "report", "--help"), "Der Aufrufbaum statt der Tabellen"),
                           (say("de", "--stats", "x", "-a"), "live-unwinder: --stats: „x“")):
            if word not in text:
                problems.append(f'"{word}" is not in: {text}')
        if OPTION.findall(german) != OPTION.findall(english):
            problems.append("--help has other options in German")
    return problems


# (check, file, what is replaced by what, what the complaint must say)
FAULTS = [
    ("pages", "data/live-unwinder-report.1", ("\\-\\-threads", "x"), "has no --threads"),
    ("pages", "data/live-unwinder.1", ('.BR \\-d ", "', ".BR "), "has no -d"),
    ("pages", "data/live-unwinder-diff.1", (".BR \\-h", ".B \\-\\-new\nx\n.TP\n.BR \\-h"),
     "there is no --new"),
    ("roff", "data/live-unwinder.1", (".BR live\\-unwinder\\-report (1).\nA", ".BR x (1). A"), "blanks are lost"),
    ("pages", "data/meson.build", ("live-unwinder-doctor.1", "x"), "is not installed"),
    ("completions", "data/completions/_live-unwinder", ("--json", "--jsn"), "--json is not offered"),
    ("completions", "data/completions/_live-unwinder", ("'tables:", "'tab:"), "the commands are"),
    ("completions", "data/completions/live-unwinder", ("$command --help", "--help"), "is wrong"),
    ("po", "po/de.po", ('msgid "Record the whole', 'msgid "Record a whole'), "not defined"),
    ("po", "po/de.po", ("%s kann nicht angelegt werden: %s", "%s kann nicht angelegt werden: %d"),
     "format specifications"),
    ("po", "po/de.po", ('msgstr "Threads"', 'msgstr ""'), "untranslated"),
    ("po", "po/de.po", ('msgid "Threads"', '#, fuzzy\nmsgid "Threads"'), "fuzzy"),
    ("po", "po/LINGUAS", ("de", ""), "LINGUAS"),
]


def check_self(program, root):
    """Each fault is found."""
    problems = []
    for check, name, (old, new), complaint in FAULTS:
        with tempfile.TemporaryDirectory() as directory:
            for part in ("data", "po"):
                shutil.copytree(os.path.join(root, part), os.path.join(directory, part))
            os.symlink(os.path.abspath(os.path.join(root, "src")), os.path.join(directory, "src"))
            text = read(directory, name)
            assert old in text, (name, old)
            with open(os.path.join(directory, name), "w", encoding="utf-8") as stream:
                stream.write(text.replace(old, new))
            said = CHECKS[check](program, directory)
            if not any(complaint in line for line in said):
                problems.append(f"{name}: {old} -> {new}: {said}")
    return problems


CHECKS = {"self-test": check_self, "pages": check_pages, "roff": check_roff, "completions": check_completions,
          "po": check_po, "installed": check_installed}


def main(argv):
    if argv[1:] == ["update"]:
        return update(os.path.abspath(os.path.join(os.path.dirname(argv[0]), "../..")))
    if len(argv) < 4 or argv[1] not in CHECKS:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        problems = CHECKS[argv[1]](os.path.abspath(argv[2]), *argv[3:])
    except Skip as reason:
        print(f"skipped: {reason}")
        return SKIP
    for problem in problems:
        print(problem)
    print(f"{argv[1]}: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
