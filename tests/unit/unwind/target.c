/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* target.c - a program that stops itself at the end of a call chain that it has recorded.
 *
 * tracee.c runs it under ptrace. Each function of the chain records its return address; the last
 * one executes int3 with the list's address and length in registers. It is built in several ways
 * (PIE, fixed address, static, 32-bit, ...), so it uses only libc. */

#define NOINLINE __attribute__ ((noinline, noclone))

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

static uintptr_t returns[8192]; /* leaf first */
static uintptr_t chain[8192];   /* in the order of calls, outermost first */
static unsigned n_chain;

static unsigned char alternate_stack[65536];

/* Keeps a call from becoming a jump, and a frame from being merged. */
#define HERE()  __asm__ volatile("" ::: "memory")
#define ENTER() (chain[n_chain++] = (uintptr_t) __builtin_return_address (0))

/* The registers of the stop: a = list, b = length. */
static inline __attribute__ ((always_inline)) void
stop (void)
{
  for (unsigned i = 0; i < n_chain; i++)
    returns[i] = chain[n_chain - 1 - i];
  __asm__ volatile("int3" ::"a"(returns), "b"((uintptr_t) n_chain) : "memory");
}

static NOINLINE void
leaf (void)
{
  ENTER ();
  stop ();
  HERE ();
}

static NOINLINE void
middle (void (*next) (void))
{
  ENTER ();
  next ();
  HERE ();
}

static NOINLINE int
outer (int n, void (*next) (void))
{
  volatile char room[300];

  ENTER ();
  memset ((char *) room, n, sizeof room);
  middle (next);
  HERE ();
  return room[7];
}

static NOINLINE int
recurse (int depth)
{
  int result;

  ENTER ();
  if (depth == 0)
    stop ();
  result = depth > 0 ? recurse (depth - 1) : 1;
  HERE ();
  return result + 1;
}

static NOINLINE __attribute__ ((noreturn)) void
never_returns (void)
{
  ENTER ();
  stop ();
  for (;;)
    HERE ();
}

/* The call is the last instruction, so its return address belongs to the next function. */
static NOINLINE void
calls_never_returns (void)
{
  ENTER ();
  never_returns ();
}

/* Records the interrupted pc as it is, and before it the address to which the handler returns. */
static void
on_fault (int signo, siginfo_t *info, void *context)
{
  ucontext_t *user = context;

#if defined __x86_64__
  chain[n_chain++] = (uintptr_t) user->uc_mcontext.gregs[REG_RIP];
#else
  chain[n_chain++] = (uintptr_t) user->uc_mcontext.gregs[REG_EIP];
#endif
  ENTER ();
  stop ();
}

static NOINLINE void
fault (void)
{
  ENTER ();
  __asm__ volatile("ud2");
  HERE ();
}

static void
catch_fault (int flags)
{
  struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | flags };
  stack_t stack = { .ss_sp = alternate_stack, .ss_size = sizeof alternate_stack };

  sigaltstack (&stack, NULL);
  sigaction (SIGILL, &action, NULL);
}

#ifdef __x86_64__
/* Stops before the return of a frame that gcc has realigned, with the unwind information that gcc
 * writes: rbp is already the caller's, but the rule still says that it is saved where rbp points.
 * Records its own return address at list[0]. */
void realigned_leaf (uintptr_t *list, uintptr_t n);
__asm__(".text\n"
        ".type realigned_leaf, @function\n"
        "realigned_leaf:\n"
        "  .cfi_startproc\n"
        "  movq (%rsp), %rax\n"
        "  movq %rax, (%rdi)\n"
        "  leaq 8(%rsp), %r10\n"
        "  .cfi_def_cfa 10, 0\n"
        "  andq $-64, %rsp\n"
        "  pushq -8(%r10)\n"
        "  pushq %rbp\n"
        "  movq %rsp, %rbp\n"
        "  .cfi_escape 0x10, 6, 2, 0x76, 0\n" /* rbp: *(rbp + 0) */
        "  pushq %r10\n"
        "  .cfi_escape 0x0f, 3, 0x76, 0x78, 6\n" /* cfa: *(rbp - 8) */
        "  movq %rdi, %rax\n"
        "  movq %rsi, %rbx\n"
        "  movq -8(%rbp), %r10\n"
        "  .cfi_def_cfa 10, 0\n"
        "  leave\n"
        "  leaq -8(%r10), %rsp\n"
        "  .cfi_def_cfa 7, 8\n"
        "  int3\n"
        "  ret\n"
        "  .cfi_endproc\n");

/* A leaf without unwind information, as in hand-written libraries, which has pushed a word; its
 * code holds an instruction that the engines do not know, so only the stack tells. */
void bare_leaf (uintptr_t *list, uintptr_t n);
__asm__(".text\n"
        "bare_leaf:\n"
        "  movq (%rsp), %rdx\n"
        "  movq %rdx, (%rdi)\n"
        "  movq %rdi, %rax\n"
        "  xchgq %rsi, %rbx\n"
        "  pushq %rsi\n"
        "  int3\n"
        "  cld\n"
        "  popq %rbx\n"
        "  ret\n");

/* Code whose frame is found by rbx, which the function that it calls at *%rdx does not mention: the
 * third one, which stops, has saved it. The return addresses of all three go to the beginning of
 * the list. One of the functions in the middle says that rbx is lost. */
void by_bx (uintptr_t *list, uintptr_t n, void (*middle) (void));
void keeps_bx (void);
void loses_bx (void);
__asm__(".text\n"
        "by_bx:\n"
        "  .cfi_startproc\n"
        "  movq (%rsp), %rax\n"
        "  movq %rax, 16(%rdi)\n"
        "  pushq %rbx\n"
        "  .cfi_def_cfa 7, 16\n"
        "  .cfi_offset 3, -16\n"
        "  movq %rsp, %rbx\n"
        "  .cfi_def_cfa 3, 16\n"
        "  andq $-64, %rsp\n"
        "  call *%rdx\n"
        "  movq %rbx, %rsp\n"
        "  popq %rbx\n"
        "  .cfi_def_cfa 7, 8\n"
        "  ret\n"
        "  .cfi_endproc\n"
        "keeps_bx:\n"
        "  .cfi_startproc\n"
        "  movq (%rsp), %rax\n"
        "  movq %rax, 8(%rdi)\n"
        "  call stops_with_bx\n"
        "  ret\n"
        "  .cfi_endproc\n"
        "loses_bx:\n"
        "  .cfi_startproc\n"
        "  .cfi_undefined 3\n"
        "  movq (%rsp), %rax\n"
        "  movq %rax, 8(%rdi)\n"
        "  call stops_with_bx\n"
        "  ret\n"
        "  .cfi_endproc\n"
        "stops_with_bx:\n"
        "  .cfi_startproc\n"
        "  movq (%rsp), %rax\n"
        "  movq %rax, (%rdi)\n"
        "  pushq %rbx\n"
        "  .cfi_def_cfa 7, 16\n"
        "  .cfi_offset 3, -16\n"
        "  movq %rdi, %rax\n"
        "  movq %rsi, %rbx\n"
        "  int3\n"
        "  popq %rbx\n"
        "  .cfi_def_cfa 7, 8\n"
        "  ret\n"
        "  .cfi_endproc\n");

static NOINLINE void
calls_by_bx (void (*middle) (void))
{
  ENTER ();
  for (unsigned i = 0; i < n_chain; i++)
    returns[3 + i] = chain[n_chain - 1 - i];
  by_bx (returns, n_chain + 3, middle);
  HERE ();
}

static NOINLINE void
calls_keeps_bx (void)
{
  ENTER ();
  calls_by_bx (keeps_bx);
  HERE ();
}

static NOINLINE void
calls_loses_bx (void)
{
  ENTER ();
  calls_by_bx (loses_bx);
  HERE ();
}

static NOINLINE void
calls_bare (void)
{
  ENTER ();
  for (unsigned i = 0; i < n_chain; i++)
    returns[1 + i] = chain[n_chain - 1 - i];
  bare_leaf (returns, n_chain + 1);
  HERE ();
}

/* rbp is needed to find this frame. */
static NOINLINE void
calls_realigned (void)
{
  char *volatile room = __builtin_alloca (n_chain * 16);

  room[0] = 1;
  ENTER ();
  for (unsigned i = 0; i < n_chain; i++)
    returns[1 + i] = chain[n_chain - 1 - i];
  realigned_leaf (returns, n_chain + 1);
  HERE ();
}
#endif

#ifdef HOSTILE
/* Unwind information that no compiler writes; each makes libdw crash or use too much memory. */
#define HOSTILE_FUNCTION(name, ...)                                                                \
  static NOINLINE void name (void)                                                                 \
  {                                                                                                \
    ENTER ();                                                                                      \
    __asm__ volatile(".cfi_escape " #__VA_ARGS__);                                                 \
    stop ();                                                                                       \
    HERE ();                                                                                       \
  }

/* CFA = DW_OP_breg7 0, DW_OP_deref_size 8 */
HOSTILE_FUNCTION (deref_size, 0x0f, 4, 0x77, 0, 0x94, 8)
/* CFA = smallest integer (1 << 63) / -1 */
HOSTILE_FUNCTION (divide, 0x0f, 7, 0x31, 0x08, 63, 0x24, 0x11, 0x7f, 0x1b)
/* DW_CFA_same_value of register 10^8 */
HOSTILE_FUNCTION (registers, 0x08, 0x80, 0xc2, 0xd7, 0x2f)
#endif

#ifdef __x86_64__
/* Code with frame pointers and no other unwind information: calls itself n times, then `next`. */
static NOINLINE int
generated (int n, void (*next) (void))
{
  static const unsigned char code[] = {
    0x55,                         /* push %rbp */
    0x48, 0x89, 0xe5,             /* mov %rsp, %rbp */
    0x57, 0x56,                   /* push %rdi; push %rsi */
    0x85, 0xff, 0x74, 0x09,       /* test %edi, %edi; je to the call of *%rsi */
    0xff, 0xcf,                   /* dec %edi */
    0xe8, 0xef, 0xff, 0xff, 0xff, /* call itself */
    0xeb, 0x02,                   /* jmp to leave */
    0xff, 0xd6,                   /* call *%rsi */
    0xc9, 0xc3,                   /* leave; ret */
  };
  void *memory =
      mmap (NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (memory == MAP_FAILED)
    return 98;
  memcpy (memory, code, sizeof code);
  ((void (*) (int, void (*) (void))) memory) (n, next);
  HERE ();
  return 1;
}
#endif

static NOINLINE int
run (int argc, char **argv)
{
  const char *what = argc > 1 ? argv[1] : "plain";

  if (strcmp (what, "plain") == 0)
    return outer (argc, leaf);
  if (strcmp (what, "signal") == 0 || strcmp (what, "alternate") == 0)
    {
      catch_fault (strcmp (what, "alternate") == 0 ? SA_ONSTACK : 0);
      return outer (argc, fault);
    }
  if (strcmp (what, "noreturn") == 0)
    return outer (argc, calls_never_returns);
  if (strcmp (what, "recurse") == 0)
    return recurse (atoi (argv[2]));
#ifdef __x86_64__
  if (strcmp (what, "realigned") == 0)
    return outer (argc, calls_realigned);
  if (strcmp (what, "bare") == 0)
    return outer (argc, calls_bare);
  if (strcmp (what, "keeps-bx") == 0)
    return outer (argc, calls_keeps_bx);
  if (strcmp (what, "loses-bx") == 0)
    return outer (argc, calls_loses_bx);
  if (strcmp (what, "generated") == 0)
    return generated (atoi (argv[2]), leaf);
#endif
#ifdef HOSTILE
  if (strcmp (what, "deref-size") == 0)
    return outer (argc, deref_size);
  if (strcmp (what, "divide") == 0)
    return outer (argc, divide);
  if (strcmp (what, "registers") == 0)
    return outer (argc, registers);
#endif
  return 99;
}

int
main (int argc, char **argv)
{
  int result = run (argc, argv);

  HERE ();
  return result;
}
