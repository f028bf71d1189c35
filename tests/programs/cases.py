# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""cases.py - the table of programs and the stacks they must have; check.py runs it.

Read a case as: run `command` under the recorder; every sample whose leaf is one of `hot` must match
`exact`, at least `minimum` samples must do so, and at least `share` of all samples with a user part
must match `exact` (also without its inner frames: their functions are not always running),
`allowed`, or the few stacks that every program has outside of main (OUTSIDE).
The rest must end in a named state: a stack that claims to be complete always has to match.

In a command `@x` is the program x, and `%x` a copy of it in a directory of the run's own.
"""

from dataclasses import dataclass, field

START = ["LIBC+", "_start"]

NO_CFI = "[no unwind information]"
TRUNCATED = "[truncated stack copy]"
OTHER_STACK = "[other stack]"
BAD = "[bad return address]"
JIT = "[JIT or anonymous code]"

# Programs that not every machine can link, or run (meson.build finds out).
OPTIONAL = ("chain-static", "chain-static-pie", "chain-32", "chain-32-nopie", "signal-32",
            "plt-library-ibt.so", "plt-library-bare.so", "chain-signed", "recursion-signed", "signal-signed")

# Before and after main: the dynamic linker, libc's start-up and exit code, and what main itself
# calls of libc. The functions that the compiler's own start files bring have no CFI; some keep a
# frame pointer and are passed, as is one that is the leaf.
START_FILES = ("_init|_fini|frame_dummy|register_tm_clones|deregister_tm_clones"
               "|__do_global_dtors_aux")
OUTSIDE = [
    ["LIBC|LDSO|VDSO|PLT*", "ldso:_start"],
    ["LIBC|LDSO|VDSO|PLT*", *START],
    ["LIBC|LDSO|VDSO|PLT*", "main", *START],
    ["_start"],
    ["PLT", "_start"],
    # On aarch64 the dynamic linker jumps there with its own address in the link register.
    ["_start", "ldso:_start"],
    ["LIBC*", START_FILES, NO_CFI],
    ["LIBC|PLT*", f"{START_FILES}+", "LIBC|LDSO*", *START],
]


@dataclass(frozen=True)
class Case:
    about: str
    command: list
    exact: list                                     # patterns, leaf first
    hot: tuple = ("hot",)
    allowed: list = field(default_factory=list)
    options: list = field(default_factory=list)     # of the recorder
    minimum: int = 200
    share: float = 0.99
    files: tuple = ()                               # programs of interest; () = the command's
    seen: list = field(default_factory=list)        # (pattern, how often at least)
    needs: tuple = ()                               # "root", or a tool
    without_root: list = field(default_factory=list)    # more patterns that are exact then
    check: object = None                            # function (stacks, programs) -> fault or None


def threads_differ(stacks, _programs):
    n = len({s.tid for s in stacks if s.labels[:1] == ["hot"]})
    return None if n == 4 else f"{n} threads were sampled, not 4"


def processes_differ(n):
    def check(stacks, _programs):
        pids = {s.pid for s in stacks if s.labels[:1] and s.labels[0].startswith("hot")}
        return None if len(pids) >= n else f"{len(pids)} processes were sampled, not {n}"
    return check


def call_is_last(stacks, programs):
    """The stored address plus one is where fails() ends: else the case shows nothing."""
    fails = next(s for s in programs.by_name("noreturn").symbols if s.name == "fails")
    eas = {s.eas[s.labels.index("fails")] for s in stacks if "fails" in s.labels[1:]}
    return None if eas == {fails.ea + fails.size - 1} else f"fails() is at {[hex(e) for e in eas]}"


def kernel_parts(least):
    def check(stacks, _programs):
        n = sum(1 for s in stacks if s.kernel and "system_calls" in s.labels)
        return None if n >= least else (f"{n} samples have a kernel part and system_calls(), not "
                                        f"{least}")
    return check


def at_most_1024(stacks, _programs):
    longest = max(len(s.addresses) for s in stacks)
    return None if longest <= 1024 else f"a stack has {longest} addresses"


# The kernel unwinds stacks that no copy can hold; the first samples are still copied, until there
# are tables.
TABLE = ["--engine", "table"]
KERNEL = ["--engine", "bpf"]
KERNEL_WALKS = ("kernel walks",)
PROBED = ["hot", "inner", "middle", "outer", "main", *START]
PROBED_COPY = ["hot", "inner", BAD]
ELIDED = ["hot", "recurse{10,}", "[… frames left out]", "recurse{10,}"]
CUT_RECURSION = ["hot", "recurse+", TRUNCATED]


def lazy_binding(about, library):
    """Every stack is complete and goes through main, but for one fault of libdw up to 0.188.

    It takes rbx for lost in a function whose CFI does not mention it, and so cannot go from the
    first instructions of the resolver's callee to the resolver, whose CFA is rbx + n.
    """
    called = ["call_one_often", "use_library", "main", *START]
    # Where between call, entry and return an interrupt hits depends on the processor: 5 to 30 % in the entry.
    return Case(about, ["@plt", "@" + library], [["PLT|target_0000?", *called]],
                hot=("call_one_often",), share=1.0,
                allowed=[["ANY*", "main", *START], ["LDSO", "LDSO", "[rule not supported]"]],
                seen=[(["PLT", *called], 5),
                      (["LDSO+", "call_each_once", "use_library", "main", *START], 30)])


def deep_enough(n):
    """A truncated copy must still give all the frames it holds."""
    def check(stacks, _programs):
        least = min(s.labels.count("recurse") for s in stacks if s.labels[:1] == ["hot"])
        return None if least >= n else f"a stack has {least} frames of recurse(), not {n}"
    return check


def landing_pad(about, options, needs=()):
    """Until it has written over what its caller needs it has the one caller, then the other."""
    before = ["hot", "throws", "catches", "main", *START]
    after = ["hot", "lands", "main", *START]
    return Case(about, ["@landing-pad"], [before, after], options=options, needs=needs,
                seen=[(before, 50), (after, 250)])


def go_signals(about, options):
    handled = ["hot", "handler", "runtime.sigreturn", "sends", "a", "main", *START]
    preempted = ["hot", "runtime.asyncPreempt", "interrupted", "a", "main", *START]
    return Case(about, ["@go-signals"], [handled, preempted], options=options,
                allowed=[["LIBC|PLT*", "sends", "a", "main", *START]],
                seen=[(handled, 100), (preempted, 100)])


def coroutine_zero(about, options):
    return Case(about, ["@coroutine", "zero"],
                [["hot", "coroutine_inner", "coroutine_for_ever", BAD]], options=options,
                allowed=[["LIBC", "coroutine_for_ever"]])


def coroutine_last(about, options):
    return Case(about, ["@coroutine", "last"],
                [["hot", "coroutine_inner", "coroutine_end", "coroutine_last"]], options=options,
                allowed=[["LIBC", "coroutine_end", "coroutine_last"]])


def go_switch(about, how, function, kernel, program="@go-switch"):
    inner = ["hot", "on_other_stack", function]
    whole = [*inner, "call_kept", "goroutine", "main", *START]
    cut = [*inner, OTHER_STACK]     # also in the kernel, until it has the table
    return Case(about, [program, how], [whole, cut] if kernel else [cut],
                seen=[(whole, 250)] if kernel else [],
                options=KERNEL if kernel else TABLE, needs=KERNEL_WALKS if kernel else ())


def moved_text(about, options):
    """Until the mappings have been read again, after a round, the code is that of nobody."""
    whole = ["hot", "moved_inner", "moved", "stays", "main", *START]
    return Case(about, ["@moved-text"], [whole, ["hot", JIT]], allowed=[["ANON", JIT]],
                options=options, seen=[(whole, 500)])


def copied_text(about, options):
    """Until it is compared, the copy is nobody's code; the walk in the kernel may go on from its leaf."""
    whole = ["hot", "moved_inner", "moved", "calls_copy", "main", *START]
    return Case(about, ["@moved-text", "copy"], [whole], allowed=[["ANON+", JIT], ["ANON+", NO_CFI]],
                options=options, seen=[(whole, 500)])


CHAIN = [["hot", "c", "b", "a", "main", *START]]
INTERRUPTED = ["step?", "interrupted", "b", "a", "main", *START]
HANDLER = ["hot", "handler_inner", "handler", "LIBC|VDSO"]
# Entering and leaving the handler: one of its functions, which sets the timer (32-bit code by the
# vDSO), libc's restorer, or the interrupted code.
AROUND_HANDLER = [["VDSO|LIBC|PLT*", "handler_inner?", "handler", "LIBC|VDSO", *INTERRUPTED],
                  ["LIBC|VDSO?", *INTERRUPTED]]
# Only root may open what another name or no name leads to; the wrong file is never taken.
FILE_GONE = [["hot", "[file gone]"]]
DESCENT = [["recurse+", "main", *START], ["recurse+", TRUNCATED]]
THREAD = [["hot", "work", "thread_main", "LIBC+"]]
THREAD_SETUP = [["ANY*", "main", *START], ["ANY*", "thread_main", "LIBC+"], ["LIBC+"]]

# A generated function that is believed to have a frame it has not; its own stack is right.
JIT = "[JIT or anonymous code]"
NO_CALLER = [["hot", "ANON", JIT]]


def frames_case(about, name, exact, kind="anonymous", **more):
    """The case @name of jit-frames; before that the program writes its code."""
    writing = ("map|publish|assemble|keeps_frame_pointer|keeps_none|lies|points_elsewhere|tiny"
               "|repeats*|loops_far")
    return Case(about, ["@jit-frames", name, kind], exact,
                allowed=[["LIBC|LDSO|PLT*", writing, "run_steps?", "main", *START]], **more)


def both_frames(leaf):
    """If the inner one of two functions that call each other was seen, the outer one is there too."""
    return lambda stacks, _programs: None if sum(
        s.labels[:1] == [leaf] for s in stacks) > 20 else f"{leaf} was hardly seen"


AOT_JIT_AOT = [["hot", "GENERATED{2}", "callback", "GENERATED{3}", "run_generated", "main", *START]]
JIT_LEAF = [["GENERATED{2}", "run_generated", "main", *START]]

CASES = {
    "chain": Case("no frame pointers", ["@chain"], CHAIN),
    "chain-static": Case("a static program", ["@chain-static"], CHAIN,
                         allowed=[["ANY*", *START]]),
    "chain-static-pie": Case("a static program at a random address", ["@chain-static-pie"], CHAIN,
                             allowed=[["ANY*", *START]]),
    "chain-nopie": Case("a program at a fixed address", ["@chain-nopie"], CHAIN),
    "chain-signed": Case("signed return addresses", ["@chain-signed"], CHAIN),
    "chain-32": Case("a 32-bit program", ["@chain-32"], CHAIN),
    "chain-32-nopie": Case("a 32-bit program at a fixed address", ["@chain-32-nopie"], CHAIN),
    "no-aslr": Case("addresses not randomised, the stack at the very top",
                    ["setarch", "-R", "@chain"], CHAIN, needs=("setarch",)),
    "signal": Case("a signal handler, and the function it interrupted at any instruction",
                   ["@signal"], [HANDLER + INTERRUPTED],
                   allowed=AROUND_HANDLER,
                   seen=[(HANDLER + ["step"] + INTERRUPTED[1:], 20)]),
    "signal-signed": Case("a signal handler, and signed return addresses",
                          ["@signal-signed"], [HANDLER + INTERRUPTED],
                          allowed=AROUND_HANDLER,
                          seen=[(HANDLER + ["step"] + INTERRUPTED[1:], 20)]),
    "signal-32": Case("a signal handler of a 32-bit program",
                      ["@signal-32"], [HANDLER + INTERRUPTED],
                      allowed=AROUND_HANDLER),
    "signal-stack": Case("a signal handler on a stack of its own",
                         ["@signal", "own-stack"],
                         [HANDLER + ["step|interrupted", "[other stack]"]],
                         allowed=AROUND_HANDLER
                         + [["LIBC|PLT*", "handler_inner?", "handler", "LIBC",
                             "step|interrupted", "[other stack]"],
                            ["LIBC", "step|interrupted", "[other stack]"]],
                         options=TABLE),
    "signal-stack-kernel": Case("the same, walked in the kernel: one stack leads to the other",
                                ["@signal", "own-stack"],
                                [HANDLER + INTERRUPTED, ["hot", "ANY*", "[other stack]"]],
                                allowed=AROUND_HANDLER + [["ANY*", "[other stack]"]],
                                needs=KERNEL_WALKS, options=KERNEL,
                                seen=[(HANDLER + INTERRUPTED, 400)]),
    "go-signals": go_signals("a signal handler and a preempted function as Go has them", []),
    "go-signals-table": go_signals("the same, in user space", TABLE),
    "go-signals-dwfl": go_signals("the same, by libdwfl", ["--engine", "dwfl"]),
    "go-sched": go_switch("a goroutine whose g.sched is known", "sched", "runtime.systemstack",
                          True),
    "go-slots": go_switch("one that has called C", "slots", "runtime.asmcgocall", True),
    "go-frame": go_switch("one that keeps its frame pointer", "frame", "runtime.nanotime1", True),
    "go-bare": go_switch("C code without CFI that was called by Go", "slots", "runtime.asmcgocall", True,
                         "@go-switch-bare"),
    "go-bare-table": go_switch("the same, in user space", "slots", "runtime.asmcgocall", False,
                               "@go-switch-bare"),
    "go-sched-table": go_switch("a stack that no copy has", "sched", "runtime.systemstack", False),
    "go-frame-table": go_switch("the same by frame pointer", "frame", "runtime.nanotime1", False),
    "dynamic-frame": Case("alloca, a variable-length array, an aligned frame", ["@dynamic-frame"],
                          [["hot", "with_alignment", "with_array", "with_alloca", "main", *START]],
                          allowed=[["with_alignment?", "with_array?", "with_alloca?", "main",
                                    *START]]),
    "epilogue": Case("registers being saved and restored, below a frame found by its pointer",
                     ["@epilogue"], [["leaf?", "with_frame_pointer", "main", *START]],
                     hot=("leaf", "with_frame_pointer"),
                     seen=[(["leaf", "with_frame_pointer", "main", *START], 200)]),
    "noreturn": Case("a call that does not return, last in its function", ["@noreturn"],
                     [["hot", "fails", "a", "main", *START]],
                     allowed=[["LIBC|PLT*", "hot", "fails", "a", "main", *START]],
                     check=call_is_last),
    "recursion-100": Case("100 calls deep", ["@recursion", "100"],
                          [["hot", "recurse{100}", "main", *START]], allowed=DESCENT),
    "recursion-signed": Case("400 calls deep, with signed return addresses", ["@recursion-signed", "400"],
                             [["hot", "recurse{400}", "main", *START]], allowed=DESCENT,
                             options=["-s", "65528"]),
    "recursion-400": Case("400 calls deep, 45 KB of stack", ["@recursion", "400"],
                          [["hot", "recurse{400}", "main", *START]], allowed=DESCENT,
                          options=["-s", "65528"]),
    "recursion-2000": Case("2,000 calls deep in 32 KB: complete, but too long for the viewer",
                           ["@recursion-thin", "2000"],
                           [["hot", "recurse{10,}", "[… frames left out]", "recurse{10,}", "main",
                             *START]], allowed=DESCENT, options=["-s", "65528", *TABLE],
                           check=at_most_1024),
    "recursion-400-kernel": Case("400 calls deep, walked in the kernel: no copy can be too small",
                                 ["@recursion", "400"],
                                 [["hot", "recurse{400}", "main", *START], CUT_RECURSION],
                                 allowed=DESCENT, needs=KERNEL_WALKS,
                                 options=["-s", "1024", *KERNEL],
                                 seen=[(["hot", "recurse{400}", "main", *START], 400)]),
    "recursion-2000-kernel": Case("2,000 calls deep, walked in the kernel to the end",
                                  ["@recursion", "2000"],
                                  [ELIDED + ["main", *START], CUT_RECURSION],
                                  allowed=DESCENT, needs=KERNEL_WALKS,
                                  options=["-s", "1024", *KERNEL],
                                  seen=[(ELIDED + ["main", *START], 400)], check=at_most_1024),
    "recursion-2000-limit": Case("2,000 calls deep, walked in the kernel as deep as --max-depth",
                                 ["@recursion", "2000"],
                                 [ELIDED + ["[depth limit]"], CUT_RECURSION],
                                 allowed=DESCENT, needs=KERNEL_WALKS,
                                 options=["-s", "1024", "--max-depth", "1024", *KERNEL],
                                 seen=[(ELIDED + ["[depth limit]"], 400)], check=at_most_1024),
    "recursion-5000": Case("5,000 calls deep: cut off, and right as far as it goes",
                           ["@recursion", "5000"], [["hot", "recurse+", TRUNCATED]],
                           allowed=DESCENT, options=["-s", "16384", *TABLE],
                           check=deep_enough(16384 // 112 - 1)),
    "threads": Case("four threads", ["@threads"], THREAD, allowed=THREAD_SETUP, minimum=600,
                    check=threads_differ),
    "hole": Case("a stack with pages that were never touched: whole after the first samples",
                 ["@hole"], [["hot", "sparse", "thread", "LIBC+"], ["hot", "[unreadable memory]"],
                             ["hot", "sparse", "[unreadable memory]"]],
                 allowed=THREAD_SETUP,
                 seen=[(["hot", "sparse", "thread", "LIBC+"], 300)]),
    "hole-leaf": Case("untouched pages below a leaf without CFI: whole after the first samples",
                      ["@hole-leaf"],
                      [["hot", "work", "sparse", "thread", "LIBC+"], ["hot", "[unreadable memory]"],
                       ["hot", "work", "sparse", "[unreadable memory]"]],
                      allowed=THREAD_SETUP,
                      seen=[(["hot", "work", "sparse", "thread", "LIBC+"], 300)]),
    "hole-leaf-filled": Case("a large frame below a leaf without CFI: whole when the copy has grown",
                             ["@hole-leaf-filled"],
                             [["hot", "work", "sparse", "thread", "LIBC+"], ["hot", TRUNCATED],
                              ["hot", "work", "sparse", TRUNCATED]],
                             allowed=THREAD_SETUP,
                             seen=[(["hot", "work", "sparse", "thread", "LIBC+"], 300)]),
    "leader-gone": Case("the first thread of the process is gone", ["@threads", "leader-leaves"],
                        THREAD, allowed=THREAD_SETUP, minimum=150),
    "fork": Case("children that never call exec", ["@fork"],
                 [["hot", "child", "main", *START], ["hot", "grandchild", "child", "main", *START]],
                 allowed=[["ANY*", "child?", "main", *START]], check=processes_differ(2),
                 seen=[(["hot", "child", "main", *START], 150),
                       (["hot", "grandchild", "child", "main", *START], 150)]),
    "vfork": Case("a vfork child on the stack of its parent", ["@fork", "vfork"],
                  [["hot", "vfork_child", "main", *START]], minimum=150,
                  allowed=[["ANY*", "main", *START]]),
    "exec": Case("six programs in turn in one process", ["@exec-a", "5", "@exec-b"],
                 [[f"hot_{x}", f"middle_{x}", f"outer_{x}", "main", *START] for x in "ab"],
                 hot=("hot_a", "hot_b"), share=0.97,
                 seen=[([f"hot_{x}", "ANY*"], 120) for x in "ab"]),
    "dlopen": Case("libraries loaded one after the other at the same address",
                   ["@dlopen", "@dlopen-one.so", "@dlopen-two.so"],
                   [[f"{x}_hot", f"{x}_middle", f"{x}_work", "use_library", "main", *START]
                    for x in ("one", "two")], hot=("one_hot", "two_hot"),
                   allowed=[["LIBC|LDSO|PLT*", "use_library?", "main", *START]],
                   seen=[([f"{x}_hot", "ANY*"], 150) for x in ("one", "two")]),
    "vdso": Case("reading the clock in the vDSO", ["@vdso"],
                 [["VDSO|LIBC|PLT*", "read_clock", "main", *START]], hot=("read_clock",),
                 allowed=[["LDSO+", "read_clock", "main", *START]],
                 seen=[(["VDSO+", "LIBC*", "read_clock", "main", *START], 100)]),
    "coroutine": Case("a coroutine of libc's makecontext", ["@coroutine", "context"],
                      [["hot", "coroutine_inner", "coroutine", "LIBC"]]),
    "coroutine-table": Case("the same, in user space", ["@coroutine", "context"],
                            [["hot", "coroutine_inner", "coroutine", "LIBC"]], options=TABLE),
    "coroutine-fcontext": Case("a coroutine of Boost's make_fcontext", ["@coroutine", "fcontext"],
                               [["hot", "coroutine_inner", "coroutine", "make_fcontext"]]),
    "coroutine-fcontext-table": Case("the same, in user space", ["@coroutine", "fcontext"],
                                     [["hot", "coroutine_inner", "coroutine", "make_fcontext"]],
                                     options=TABLE),
    "coroutine-zero": coroutine_zero("a stack that begins with zeros, which prove nothing", []),
    "coroutine-zero-table": coroutine_zero("the same, in user space", TABLE),
    "coroutine-last": coroutine_last("a stack of zeros below a function that ends with a call, as Ruby's fibers have",
                                     []),
    "coroutine-last-table": coroutine_last("the same, in user space", TABLE),
    "coroutine-last-dwfl": coroutine_last("the same, by libdwfl", ["--engine", "dwfl"]),
    # A copy ends with the stack that it is of.
    "coroutine-switch": Case("a coroutine started by code without CFI, which keeps its own stack pointer in rbx",
                             ["@coroutine", "switch"],
                             [["hot", "coroutine_inner", "coroutine", "run_on_stack", *end]
                              for end in (["main", *START], [OTHER_STACK], [NO_CFI])]),
    "big-frame": Case("a frame of 540 KiB", ["@big-frame", "filled"],
                      [["hot", "inner", "big", TRUNCATED]], allowed=[["LIBC", "big", TRUNCATED]],
                      options=TABLE),
    "big-frame-kernel": Case("a frame of 540 KiB, walked in the kernel", ["@big-frame", "filled"],
                             [["hot", "inner", "big", "outer", "main", *START],
                              ["hot", "inner", "big", TRUNCATED]],
                             allowed=[["LIBC", "big", "outer", "main", *START],
                                      ["LIBC", "big", TRUNCATED]],
                             needs=KERNEL_WALKS, options=KERNEL,
                             seen=[(["hot", "inner", "big", "outer", "main", *START], 400)]),
    "big-frame-sparse": Case("a frame of 540 KiB with pages that were never touched",
                             ["@big-frame"], [["hot", "inner", "big", TRUNCATED]],
                             options=TABLE),
    "short-lived": Case("200 processes of 2 ms", ["@many-short", "@brief"],
                        [["hot", "brief", "main", *START]], files=("brief",), minimum=250,
                        allowed=[["brief?", "main", *START]], check=processes_differ(150)),
    "deleted": Case("the executable is removed while it runs", ["%vanish"],
                    [["hot", "gone_inner", "gone", "main", *START]], without_root=FILE_GONE),
    "replaced": Case("another program takes the path of the executable", ["%vanish", "%chain"],
                     [["hot", "gone_inner", "gone", "main", *START]], files=("vanish",),
                     without_root=FILE_GONE),
    "copied-text": copied_text("a program copies code that it has moved", []),
    "copied-text-table": copied_text("the same, in user space", TABLE),
    "moved-text": moved_text("a program moves its code to memory without a file", []),
    "moved-text-table": moved_text("the same, in user space", TABLE),
    "uprobes": Case("uretprobes are on functions that run all the time", ["@uprobes", "inside"],
                    [PROBED, PROBED_COPY], options=KERNEL, allowed=[["ANY*", "main", *START]],
                    needs=(*KERNEL_WALKS, "uprobes"), seen=[(PROBED, 900)]),
    "uprobes-table": Case("the same, in user space: copies do not have the return addresses",
                          ["@uprobes", "inside"], [PROBED_COPY], options=TABLE,
                          allowed=[["ANY*", "main", *START]], needs=("root", "uprobes")),
    "uprobes-often": Case("a function with a uprobe and a uretprobe is called all the time",
                          ["@uprobes", "often"], [["often?", "calls", "main", *START]], hot=("calls",),
                          options=KERNEL, allowed=[["ANY*", "main", *START]],
                          needs=(*KERNEL_WALKS, "uprobes"), share=0.9),
    "memory-file": Case("a program that is a file in memory only", ["@memory-file", "@chain"], CHAIN,
                        files=("chain",)),
    "jit-call": Case("generated code calls a function", ["@jit", "call"],
                     [["hot", "ANON", "[JIT or anonymous code]"]]),
    "jit-spin": Case("generated code burns the time", ["@jit", "spin"],
                     [["ANON", "[JIT or anonymous code]"]], hot=("anon:", "anon://anon")),
    "jit-frames": frames_case("generated code with frame pointers calls a function that calls more",
                              "frames", AOT_JIT_AOT),
    "jit-frames-memfd": frames_case("the same in a memfd", "frames", AOT_JIT_AOT, "memfd"),
    "jit-frames-file": frames_case("the same in a file", "frames", AOT_JIT_AOT, "%"),
    "jit-leaf": frames_case("generated code with a frame pointer burns the time", "leaf", JIT_LEAF,
                            hot=("anon:", "anon://anon")),
    "jit-leaf-file": frames_case("the same in a file", "leaf", JIT_LEAF, "%",
                                 hot=("generated:?",)),
    "jit-far-file": frames_case("generated code in a file loops and does not use the stack", "far",
                                [["GENFILE", "run_kept", "with_frame_pointer",
                                  "run_with_frame_pointer", "main", *START]], "%",
                                hot=("generated:?",)),
    "jit-steps": frames_case("each instruction of a small function in a file that keeps frame "
                             "pointers, called by code in no file", "steps",
                             [["GENFILE?", "ANON", "run_generated", "run_steps", "main", *START]], "%",
                             hot=("generated:?", "anon:", "anon://anon"), share=1.0,
                             check=both_frames("generated:?")),
    # Behind the call, the words of the frame could be return addresses into ordinary code, and the
    # code does not show that there is a frame.
    "jit-steps-back": frames_case("the same, in no file, called by code in a file", "steps-back",
                                  [["ANON?", "GENFILE", "run_generated", "run_steps", "main", *START],
                                   ["GENFILE", NO_CFI]], "%",
                                  seen=[(["ANON?", "GENFILE", "run_generated", "run_steps", "main",
                                          *START], 200)],
                                  hot=("generated:?", "anon:", "anon://anon"), share=1.0,
                                  check=both_frames("anon://anon")),
    "jit-none": frames_case("generated code without a frame pointer, called by code with one",
                            "none", NO_CALLER),
    "jit-none-leaf": frames_case("the same burns the time", "none-leaf", [["ANON", JIT]],
                                 hot=("anon:", "anon://anon")),
    "jit-mixed": frames_case("generated code with a frame pointer, called by some without",
                             "mixed", NO_CALLER),
    "jit-loop": frames_case("a frame pointer that leads to itself", "loop", NO_CALLER),
    "jit-no-call": frames_case("a frame with an address that no call is in front of", "no-call",
                               NO_CALLER),
    "jit-no-code": frames_case("a frame with an address that is no code", "no-code", NO_CALLER),
    "jit-unaligned": frames_case("a frame pointer that is not aligned", "unaligned", NO_CALLER),
    "jit-below": frames_case("a frame pointer below the stack pointer", "below", NO_CALLER),
    "jit-inside": frames_case("a frame pointer into words that the code has pushed", "inside",
                              NO_CALLER),
    "jit-elsewhere": frames_case("a frame pointer into the program's data", "elsewhere", NO_CALLER),
    # Its rows come from its instructions, if the library that decodes them is there.
    "no-cfi": Case("a function without CFI in a file", ["@no-cfi"],
                   [["hot", "inner", "without_cfi", "outer", "main", *START],
                    ["hot", "inner", "without_cfi", NO_CFI]]),
    "assembly": Case("functions in assembly that the frame pointer skips the caller of",
                     ["@assembly"],
                     [["hot_odd|hot_large", NO_CFI], ["hot_inner", "through", NO_CFI],
                      ["hot_bare", "straight", NO_CFI],
                      ["hot_odd|hot_large", "keeper", "outer", "main", *START],
                      # with rows from the code of the assembly
                      ["hot_inner", "through", "without_frame_pointer", "keeper", "outer", "main", *START],
                      ["hot_bare", "straight", "without_frame_pointer|realigner", "keeper", "outer", "main",
                       *START]],
                     hot=("hot_odd", "hot_large", "hot_inner", "hot_bare"),
                     allowed=[["LIBC|VDSO*", "without_frame_pointer|realigner", "keeper", "outer", "main", *START],
                              ["keeper", "outer", "main", *START]]),
    "landing-pad": landing_pad("a function that jumps to a landing pad", TABLE),
    "landing-pad-kernel": landing_pad("the same, with walks in the kernel", KERNEL, KERNEL_WALKS),
    "leaf-no-cfi": Case("a leaf without CFI in a file", ["@leaf-no-cfi"],
                        [["hot", "inner", "outer", "main", *START]]),
    "entry": Case("a leaf without CFI just behind the entry point", ["@entry"],
                  [["hot", "run", "_start"]], allowed=[["run", "_start"]]),
    "kernel": Case("samples taken in the kernel", ["@kernel"],
                   [["LIBC*", "system_calls", "work", "main", *START]], hot=("system_calls",),
                   allowed=[["LIBC*", "work", "main", *START],
                            ["PLT", "system_calls?", "work", "main", *START],
                            ["LDSO+", "system_calls?", "work", "main", *START]],
                   check=kernel_parts(200), minimum=0, needs=("root",)),
    "container": Case("a program in namespaces and a file system of its own",
                      ["unshare", "-m", "-p", "-f", "sh", "-c",
                       'mount -t tmpfs none "$2" && cp "$1" "$2/inside" && exec "$2/inside"',
                       "sh", "@chain", "%"], CHAIN, needs=("root", "unshare")),
    "plt": lazy_binding("PLT entries and lazy binding", "plt-library.so"),
    "plt-bare": lazy_binding("PLT entries without unwind information", "plt-library-bare.so"),
    "plt-ibt": lazy_binding("PLT entries for indirect branch tracking", "plt-library-ibt.so"),
}
