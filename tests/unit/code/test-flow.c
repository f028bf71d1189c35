/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-flow.c - rows from assembled code whose frames are known: prologues and epilogues, paths
 * that meet, calls that never return, tables of jumps, and code that must have no rows.
 *
 * Each case is the code at ADDRESS; its first byte is a function. */

#include "arch/arch.h"
#include "code/flow.h"
#include "code/decoder.h"
#include "code/returns.h"
#include "code/row-list.h"
#include "table/rule.h"

#include <string.h>

#define ADDRESS  0x1000
#define NORETURN 0x2000 /* the address of a pointer */
#define MAX_WANT 8

typedef struct
{
  guint at;         /* offset of an instruction */
  const char *rule; /* NULL: there is none */
} Want;

typedef struct
{
  const char *title;
  const char *code; /* hexadecimal, with spaces */
  Want want[MAX_WANT];
  gboolean has_tables; /* of unknown size, which are followed, too */
} Case;

#define ENTRY "cfa=rsp+8 rbp=same rbx=same ra=*(cfa-8)"

static const Case cases[] = {
  { "a leaf", "31 c0 c3", { { 0, ENTRY }, { 2, ENTRY } } },
  /* push rbx; sub $16,rsp; call *rax; add $16,rsp; pop rbx; ret */
  { "pushes and a constant",
    "53 48 83 ec 10 ff d0 48 83 c4 10 5b c3",
    { { 0, ENTRY },
      { 1, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)" },
      { 5, "cfa=rsp+32 rbp=same rbx=same ra=*(cfa-8)" },
      { 11, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)" },
      { 12, ENTRY } } },
  /* push rbx; mov rdi,rbx; call *rax; pop rbx; ret */
  { "a saved register that is used",
    "53 48 89 fb ff d0 5b c3",
    { { 4, "cfa=rsp+16 rbp=same rbx=*(cfa-16) ra=*(cfa-8)" }, { 7, ENTRY } } },
  /* push rbp; mov rsp,rbp; sub rax,rsp; leave; ret */
  { "a frame pointer and a variable frame",
    "55 48 89 e5 48 29 c4 c9 c3",
    { { 1, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)" },
      { 4, "cfa=rbp+16 rbp=*(cfa-16) rbx=same ra=*(cfa-8)" },
      { 7, "cfa=rbp+16 rbp=*(cfa-16) rbx=same ra=*(cfa-8)" },
      { 8, ENTRY } } },
  /* push rbp; mov rdi,rbp; test edi,edi; je 1f; sub $8,rsp; call *rax; add $8,rsp; 1: pop rbp; ret
   */
  { "two paths that agree",
    "55 48 89 fd 85 ff 74 0a 48 83 ec 08 ff d0 48 83 c4 08 5d c3",
    { { 14, "cfa=rsp+24 rbp=*(cfa-16) rbx=same ra=*(cfa-8)" },
      { 18, "cfa=rsp+16 rbp=*(cfa-16) rbx=same ra=*(cfa-8)" } } },
  /* test edi,edi; je 1f; push rax; 1: nop; hlt */
  { "two paths that do not agree", "85 ff 74 01 50 90 f4", { { 4, ENTRY }, { 5, NULL } } },
  /* push rax; ret: the return address is not on top */
  { "a return that is not balanced", "50 c3", { { 0, NULL }, { 1, NULL } } },
  /* mov rdi,rsp; ret */
  { "a stack pointer from elsewhere", "48 89 fc c3", { { 0, NULL }, { 3, NULL } } },
  /* mov rdi,rbp; ret */
  { "a frame pointer that is lost", "48 89 fd c3", { { 0, NULL }, { 3, NULL } } },
  /* sub $8,rsp; call 1f; push rax (not reached); 1: hlt */
  { "a call that never returns",
    "48 83 ec 08 e8 01 00 00 00 50 f4",
    { { 4, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)" }, { 9, NULL }, { 10, ENTRY } } },
  /* sub $8,rsp; call -32 (an entry for a function that never returns); push rax (not reached) */
  { "a call of a function of another file that never returns",
    "48 83 ec 08 e8 d7 ff ff ff 50 f4",
    { { 4, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)" }, { 9, NULL } } },
  /* sub $8,rsp; call -16 (an entry); add $8,rsp; jmp -32 */
  { "a jump to a function of another file that never returns",
    "48 83 ec 08 e8 e7 ff ff ff 48 83 c4 08 e9 ce ff ff ff",
    { { 9, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)" }, { 13, ENTRY } } },
  /* push rbp; mov rsp,rbp; call *rax; push rbp; xor eax,eax; mov rsp,rbp; pop rbp; ret */
  { "a frame that is set up behind a call that never returns",
    "55 48 89 e5 ff d0 55 31 c0 48 89 e5 5d c3",
    { { 4, "cfa=rbp+16 rbp=*(cfa-16) rbx=same ra=*(cfa-8)" }, { 6, NULL }, { 12, NULL } } },
  /* push rbp; mov rsp,rbp; call *rax; push rbp; xor eax,eax; mov rsp,rdi; leave; ret */
  { "a frame pointer that is an argument",
    "55 48 89 e5 ff d0 55 31 c0 48 89 e7 c9 c3",
    { { 6, "cfa=rbp+16 rbp=*(cfa-16) rbx=same ra=*(cfa-8)" },
      { 12, "cfa=rbp+16 rbp=*(cfa-16) rbx=same ra=*(cfa-8)" },
      { 13, ENTRY } } },
  /* sub $8,rsp; call -256; padding; 16: push rbx; pop rbx; ret */
  { "a call of code elsewhere before something that is a function",
    "48 83 ec 08 e8 f7 fe ff ff 90 90 90 90 90 90 90 53 5b c3",
    { { 9, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)" }, { 16, NULL } } },
  /* sub $8,rsp; call -256; padding; 16: dec edi; jne 16b; add $8,rsp; ret */
  { "a call of code elsewhere before a loop",
    "48 83 ec 08 e8 f7 fe ff ff 90 90 90 90 90 90 90 ff cf 75 fc 48 83 c4 08 c3",
    { { 16, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)" }, { 24, ENTRY } } },
  /* sub $8,rsp; call 1f; add $8,rsp; ret; 1: ret */
  { "a call that returns",
    "48 83 ec 08 e8 05 00 00 00 48 83 c4 08 c3 c3",
    { { 9, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)" }, { 13, ENTRY }, { 14, ENTRY } } },
  /* push rbx; pop rbx; jmp 1f; nop; 1: ret, which is also called: push rbx; call 1b; pop rbx; ret
   */
  { "a jump to another function",
    "53 5b eb 01 90 c3",
    { { 2, ENTRY }, { 4, NULL }, { 5, ENTRY } } },
  /* push rbp; mov rsp,rbp; push rbx; and $-32,rsp; mov $1,ebx; lea -8(rbp),rsp; pop rbx; pop rbp;
     ret */
  { "an aligned frame with a frame pointer",
    "55 48 89 e5 53 48 83 e4 e0 bb 01 00 00 00 48 8d 65 f8 5b 5d c3",
    { { 14, "cfa=rbp+16 rbp=*(cfa-16) rbx=*(cfa-24) ra=*(cfa-8)" },
      { 18, "cfa=rbp+16 rbp=*(cfa-16) rbx=*(cfa-24) ra=*(cfa-8)" },
      { 20, ENTRY } } },
  /* lea 8(rsp),r10; and $-32,rsp; push -8(r10); push rbp; mov rsp,rbp; push r10; call *rax;
   * pop r10; pop rbp; lea -8(r10),rsp; ret */
  { "an aligned frame that keeps the CFA",
    "4c 8d 54 24 08 48 83 e4 e0 41 ff 72 f8 55 48 89 e5 41 52 ff d0 41 5a 5d 49 8d 62 f8 c3",
    { { 19, "cfa=*(rbp-8)+0 rbp=*(rbp+0) rbx=same ra=*(cfa-8)" }, { 28, ENTRY } } },
  /* mov rsp,r10; and $-32,rsp; sub $160,rsp; mov r10,128(rsp); nop; mov 128(rsp),rsp; ret */
  { "an aligned frame that keeps its first stack pointer",
    "49 89 e2 48 83 e4 e0 48 81 ec a0 00 00 00 4c 89 94 24 80 00 00 00 90 48 8b a4 24 80 00 00 00 "
    "c3",
    { { 3, ENTRY },
      { 7, "cfa=r10+8 (leaf) rbp=same rbx=same ra=*(cfa-8)" },
      { 14, "cfa=r10+8 (leaf) rbp=same rbx=same ra=*(cfa-8)" },
      { 22, "cfa=*(rsp+128)+8 rbp=same rbx=same ra=*(cfa-8)" },
      { 31, ENTRY } } },
  /* mov rsp,rax; and $-32,rsp; mov rdi,rax; nop; hlt: nothing has the CFA any more */
  /* sub $16,rsp; mov rbx,(rsp); mov rbp,8(rsp); mov rsp,rbx; sub $128,rsp; and $-64,rsp;
   * mov rdi,rbp; call *rax; mov rbx,rsp; mov (rsp),rbx; mov 8(rsp),rbp; add $16,rsp; ret */
  { "an aligned frame that keeps its first stack pointer in rbx",
    "48 83 ec 10 48 89 1c 24 48 89 6c 24 08 48 89 e3 48 83 c4 80 48 83 e4 c0 48 89 fd ff d0 "
    "48 89 dc 48 8b 1c 24 48 8b 6c 24 08 48 83 c4 10 c3",
    { { 16, "cfa=rsp+24 rbp=same rbx=*(cfa-24) ra=*(cfa-8)" },
      { 24, "cfa=rbx+24 rbp=same rbx=*(cfa-24) ra=*(cfa-8)" },
      { 29, "cfa=rbx+24 rbp=*(cfa-16) rbx=*(cfa-24) ra=*(cfa-8)" },
      { 32, "cfa=rsp+24 rbp=*(cfa-16) rbx=*(cfa-24) ra=*(cfa-8)" },
      { 45, ENTRY } } },
  /* mov rsp,rcx; and $-32,rsp; sub $32,rsp; call 1f; nop; mov rcx,rsp; ret; 1: nop; ret */
  { "an aligned frame that calls a part of itself",
    "48 89 e1 48 83 e4 e0 48 83 ec 20 e8 05 00 00 00 90 48 89 cc c3 90 c3",
    { { 11, "cfa=rcx+8 (leaf) rbp=same rbx=same ra=*(cfa-8)" },
      { 16, "cfa=rcx+8 (leaf) rbp=same rbx=same ra=*(cfa-8)" },
      { 20, ENTRY } } },
  /* The part changes the register. */
  { "an aligned frame that loses its first stack pointer in a call",
    "48 89 e1 48 83 e4 e0 48 83 ec 20 e8 03 00 00 00 90 f4 cc 31 c9 c3",
    { { 16, NULL } } },
  { "an aligned frame that forgets its first stack pointer",
    "48 89 e0 48 83 e4 e0 48 89 f8 90 f4",
    { { 7, "cfa=rax+8 (leaf) rbp=same rbx=same ra=*(cfa-8)" }, { 10, NULL } } },
  /* push rbp; mov rdi,rbp; call 1f; push rax; pop rax; pop rbp; ret; 1: mov (rsp),rbp; nop;
   * ret */
  { "a function that changes the frame pointer for its caller",
    "55 48 89 fd e8 07 00 00 00 50 58 5d c3 cc cc cc 48 8b 2c 24 90 c3",
    { { 9, "cfa=rsp+16 rbp=*(cfa-16) rbx=same ra=*(cfa-8)" },
      { 12, ENTRY },
      { 16, ENTRY },
      { 20, "cfa=rsp+8 rbp=unknown rbx=same ra=*(cfa-8)" } } },
  /* call 1f; ret; 1: mov (rsp),rbp; nop; ret: the first one gives its caller another frame pointer,
   * and nobody knows */
  { "a function that calls one that changes the frame pointer",
    "e8 03 00 00 00 c3 cc cc 48 8b 2c 24 90 c3",
    { { 0, NULL }, { 5, NULL }, { 8, ENTRY } } },
  /* xor ebp,ebp after a system call: the first function of a thread */
  /* mov $0x2000,eax; call 1f; sub rax,rsp; nop; add $0x2000,rsp; ret;
   * 1: push rbp; mov rsp,rbp; test eax,eax; je 2f; nop; 2: leave; ret */
  { "a large frame whose pages are touched first",
    "b8 00 20 00 00 e8 0c 00 00 00 48 29 c4 90 48 81 c4 00 20 00 00 c3 "
    "55 48 89 e5 85 c0 74 01 90 c9 c3",
    { { 10, ENTRY },
      { 13, "cfa=rsp+8200 rbp=same rbx=same ra=*(cfa-8)" },
      { 21, ENTRY },
      { 22, ENTRY } } },
  /* The function called changes rax, or may go on elsewhere. */
  { "a frame of another size",
    "b8 00 20 00 00 e8 0c 00 00 00 48 29 c4 90 48 81 c4 00 20 00 00 c3 31 c0 c3",
    { { 10, NULL }, { 13, NULL }, { 22, ENTRY } } },
  { "a frame of a size that is not certain",
    "b8 00 20 00 00 e8 0c 00 00 00 48 29 c4 90 48 81 c4 00 20 00 00 c3 74 01 c3 31 c0 c3",
    { { 10, NULL }, { 13, NULL }, { 24, ENTRY } } },
  { "a root", "0f 05 31 ed ff d0 f4", { { 2, ENTRY }, { 4, "end of stack" } } },
  /* mov rbx,-8(rsp) without a push, then sub $24,rsp; mov rdi,rbx; call *rax; mov 16(rsp),rbx;
   * add $24,rsp; ret */
  { "a register that is stored",
    "48 89 5c 24 f8 48 83 ec 18 48 89 fb ff d0 48 8b 5c 24 10 48 83 c4 18 c3",
    { { 12, "cfa=rsp+32 rbp=same rbx=*(cfa-16) ra=*(cfa-8)" }, { 23, ENTRY } } },
  /* jmp into the middle of: mov $0xc3, eax */
  { "instructions that overlap", "85 ff 74 01 b8 c3 00 00 00 c3", { { 0, NULL }, { 9, NULL } } },
  { "bytes that are no instruction", "50 06", { { 0, NULL } } },
  /* cmp $1,edi; ja 1f; lea T(rip),rdx; movslq (rdx,rdi,4),rax; add rdx,rax; jmp *rax; 1: ret;
   * 2: push rbx; pop rbx; ret; T: 2b - T, 1b - T */
  { "a table of jumps",
    "83 ff 01 77 10 48 8d 15 0f 00 00 00 48 63 04 ba 48 01 d0 ff e0 c3 53 5b c3 00 00 "
    "fb ff ff ff fa ff ff ff",
    { { 19, ENTRY },
      { 21, ENTRY },
      { 22, ENTRY },
      { 23, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)" } } },
  /* push rbx; cmp $1,edi; ja 1f; lea T(rip),rdx; movslq (rdx,rdi,4),rax; add rdx,rax; jmp *rax;
   * 1: pop rbx; ret; 2: padding; 32: push rbx; pop rbx; ret; T: 1b - T, 2b - T */
  { "a table of jumps to padding behind the function",
    "53 83 ff 01 77 10 48 8d 15 17 00 00 00 48 63 04 ba 48 01 d0 ff e0 5b c3 0f 1f 04 00 "
    "0f 1f 40 00 53 5b c3 90 f2 ff ff ff f4 ff ff ff",
    { { 22, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)" }, { 23, ENTRY }, { 32, NULL } } },
  /* As before, but 2: is at 32. */
  { "a table of jumps to the next function",
    "53 83 ff 01 77 10 48 8d 15 17 00 00 00 48 63 04 ba 48 01 d0 ff e0 5b c3 b8 00 00 00 "
    "00 90 0f 0b 53 5b c3 90 f2 ff ff ff fc ff ff ff",
    { { 22, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)" }, { 23, ENTRY }, { 32, NULL } } },
  /* push rbx; sub $16,rsp; mov $0,eax; nop; call -256; 16: add bl,bl; add $16,rsp; pop rbx; ret */
  { "a zero behind a call that is an instruction's",
    "53 48 83 ec 10 b8 00 00 00 00 90 e8 f0 fe ff ff 00 db 48 83 c4 10 5b c3",
    { { 16, "cfa=rsp+32 rbp=same rbx=same ra=*(cfa-8)" }, { 23, ENTRY } } },
  /* cmp $2,edi; ja 1f; lea B(rip),rdx; movzbl (rdx,rdi,1),eax; lea T(rip),rdx; lea 1f(rip),rcx;
   * movslq (rdx,rax,4),rax; add rcx,rax; jmp *rax; 1: ret; 2: push rbx; pop rbx; ret; B: 1, 0, 0;
   * T: 2b - 1b, 1b - 1b, and what is no entry */
  { "a table of bytes before one of jumps",
    "83 ff 02 77 22 48 8d 15 1f 00 00 00 0f b6 04 3a 48 8d 15 17 00 00 00 48 8d 0d 09 00 00 00 "
    "48 63 04 82 48 01 c8 ff e0 c3 53 5b c3 01 00 00 01 00 00 00 00 00 00 00 ff ff ff 7f",
    { { 37, ENTRY },
      { 39, ENTRY },
      { 40, ENTRY },
      { 41, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)" } } },
  /* cmpb $1,(rax,rcx); ja 1f; movzbl (rax,rcx),eax; lea T(rip),rdi; movslq (rdi,rax,4),rax;
   * add rdi,rax; jmp *rax; 1: ret; 2: push rbx; pop rbx; ret; T: 2b - T, 1b - T */
  { "a table of jumps by an element of an array",
    "80 3c 08 01 77 14 0f b6 04 08 48 8d 3d 0f 00 00 00 48 63 04 87 48 01 f8 ff e0 c3 53 5b c3 "
    "00 00 fb ff ff ff fa ff ff ff",
    { { 24, ENTRY },
      { 26, ENTRY },
      { 27, ENTRY },
      { 28, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)" } } },
  /* It is another element that was compared: movzbl (rax,rdx),eax */
  { "a table of jumps by another element of an array",
    "80 3c 08 01 77 14 0f b6 04 10 48 8d 3d 0f 00 00 00 48 63 04 87 48 01 f8 ff e0 c3 53 5b c3 "
    "00 00 fb ff ff ff fa ff ff ff",
    { { 24, ENTRY }, { 26, ENTRY }, { 27, NULL }, { 28, NULL } } },
  /* cmp $1,edi; ja 1f; lea T(rip),rdx; mov $0 to seven other registers; movslq (rdx,rdi,4),rax;
   * add rdx,rax; jmp *rax; 1: ret; 2: push rbx; pop rbx; ret; T: 2b - T, 1b - T */
  { "a table of jumps behind much else that is known",
    "83 ff 01 77 23 48 8d 15 22 00 00 00 31 c9 31 f6 45 31 c0 45 31 c9 45 31 d2 45 31 db 45 31 e4 "
    "48 63 04 ba 48 01 d0 ff e0 90 c3 53 5b c3 90 fc ff ff ff fa ff ff ff",
    { { 38, ENTRY },
      { 40, ENTRY },
      { 42, ENTRY },
      { 43, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)" } } },
  /* xbegin 1f; push rbx; xabort $255; pop rbx; xend; 1: ret */
  { "a transaction",
    "c7 f8 08 00 00 00 53 c6 f8 ff 5b 0f 01 d5 c3",
    { { 6, ENTRY },
      { 7, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)" },
      { 10, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)" },
      { 14, ENTRY } } },
  /* A comparison with a register is not understood, and the limit is not that of the one before.
   * 0: push rbx; cmp $1,al; je 1c; cmp ecx,edx; ja 1c; lea T(rip),rdx; movslq (rdx,rax,4),rax;
   * add rdx,rax; jmp *rax; 1a: nop; nop; 1c: pop rbx; ret; 1e: pop rbx; ret;
   * 20: T: 1c - T, 1c - T, 1e - T, what leads nowhere */
  { "the last comparison, which is not understood",
    "53 3c 01 74 17 39 ca 77 13 48 8d 15 10 00 00 00 48 63 04 82 48 01 d0 ff e0 "
    "90 90 90 5b c3 5b c3 fc ff ff ff fc ff ff ff fe ff ff ff 00 00 00 7f",
    { { 0x1c, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)" },
      { 0x1e, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)" } },
    .has_tables = TRUE },
  /* A table of two offsets by an index that was compared with something larger, for another reason.
   * 0: push rbx; cmp $3,eax; ja 1d; lea T(rip),rdx; lea U(rip),rcx; movslq (rdx,rax,4),rax;
   * add rdx,rax; jmp *rax; 1d: pop rbx; ret; 1f: mov $0xc35bc031,ecx; pop rbx; ret;
   * 26: T: 1d - T, 1f - T; 2e: U: what are no offsets of T, 20 - T, 22 - T */
  { "a table of two offsets by an index with a larger limit",
    "53 83 f8 03 77 17 48 8d 15 19 00 00 00 48 8d 0d 1a 00 00 00 48 63 04 82 "
    "48 01 d0 ff e0 5b c3 b9 31 c0 5b c3 5b c3 "
    "f7 ff ff ff f9 ff ff ff fa ff ff ff fc ff ff ff",
    { { 0x1d, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)" },
      { 0x1f, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)" },
      { 0x20, NULL },
      { 0x25, ENTRY } },
    .has_tables = TRUE },
  /* A table for numbers from 2 on. Before it are offsets that are not its own.
   * 0: push rbx; movzbl (rdi),eax; lea T(rip),rdx; movslq -8(rdx,rax,4),rax; add rdx,rax; jmp *rax;
   * 15: pop rbx; ret; 17: mov $0xc35bc031,ecx; pop rbx; ret;
   * 1e: 18 - T, 1a - T; 26: T: 15 - T, 17 - T */
  { "a table for numbers from 2 on",
    "53 0f b6 07 48 8d 15 1b 00 00 00 48 63 44 82 f8 48 01 d0 ff e0 5b c3 "
    "b9 31 c0 5b c3 5b c3 f2 ff ff ff f4 ff ff ff ef ff ff ff f1 ff ff ff",
    { { 0x15, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)" },
      { 0x17, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)" },
      { 0x18, NULL },
      { 0x1d, ENTRY } },
    .has_tables = TRUE },
};

typedef struct
{
  guint8 bytes[256];
  gsize size;
} Code;

static Code
assemble (const char *text)
{
  Code code = { 0 };
  g_auto (GStrv) words = g_strsplit (text, " ", -1);

  for (guint i = 0; words[i] != NULL; i++)
    code.bytes[code.size++] = (guint8) g_ascii_strtoull (words[i], NULL, 16);
  return code;
}

static gboolean
read_bytes (gpointer data, guint64 address, gpointer bytes, gsize size)
{
  const Code *code = data;

  if (address < ADDRESS || address - ADDRESS + size > code->size)
    return FALSE;
  memcpy (bytes, code->bytes + (address - ADDRESS), size);
  return TRUE;
}

static gboolean
read_pointer (gpointer data, guint64 address, guint64 *pointer)
{
  return read_bytes (data, address, pointer, sizeof *pointer);
}

static gboolean
is_noreturn (gpointer data, guint64 address)
{
  return address == NORETURN;
}

/* Below the code are two entries of a procedure linkage table. */
static guint64
linkage_at (gpointer data, guint64 address)
{
  return address == ADDRESS - 0x20 ? NORETURN : address == ADDRESS - 0x10 ? NORETURN + 8 : 0;
}

/* The last file's; owned. */
static LuCodeHints *hints;

static void
describe (Code *code, LuFlowFile *file)
{
  const LuCodeBytes range = { ADDRESS, code->size, code->bytes };
  g_autoptr (GArray) ranges = g_array_new (FALSE, FALSE, sizeof range);

  g_array_append_val (ranges, range);
  lu_code_hints_free (hints);
  hints = lu_code_hints_new (ranges, ranges);
  *file = (LuFlowFile){ read_bytes, read_pointer, is_noreturn,
                        linkage_at, code,         lu_arch_x86_64.kernel_frame,
                        hints };
}

static LuFlow *
analyse (Code *code, LuFlowFile *file)
{
  const LuCodeBytes range = { ADDRESS, code->size, code->bytes };
  LuFlow *flow;

  describe (code, file);
  flow = lu_flow_new (&range, file);
  g_assert_true (lu_flow_add_start (flow, ADDRESS, LU_START_CERTAIN, FALSE));
  g_assert_true (lu_flow_run (flow));
  return flow;
}

static void
test_case (gconstpointer data)
{
  const Case *test = data;
  Code code = assemble (test->code);
  LuFlowFile file;
  g_autoptr (LuFlow) flow = analyse (&code, &file);

  if (test->has_tables)
    g_assert_true (lu_flow_run_tables (flow));
  for (guint i = 0; i < MAX_WANT && (i == 0 || test->want[i].at > 0); i++)
    {
      g_autofree char *text = NULL;
      struct lu_rule rule;

      g_test_message ("%u", test->want[i].at);
      if (lu_flow_rule_at (flow, ADDRESS + test->want[i].at, &rule))
        text = lu_rule_to_text (&rule, &lu_arch_x86_64);
      g_assert_cmpstr (text, ==, test->want[i].rule);
    }
}

static gboolean
has_rule (const LuFlow *flow, guint at, const char *rule_text)
{
  g_autofree char *text = NULL;
  struct lu_rule rule;

  if (lu_flow_rule_at (flow, ADDRESS + at, &rule))
    text = lu_rule_to_text (&rule, &lu_arch_x86_64);
  return g_strcmp0 (text, rule_text) == 0;
}

/* One of two words in data leads into the middle of an instruction of the function that the other
 * one leads to; the function never returns. Functions of this code are not aligned. */
static void
test_words (void)
{
  /* 0: call 8; hlt; 8: ret; 9: push rbx; mov $0x90c35453,eax; call *rax; jmp 0b */
  Code code = assemble ("e8 03 00 00 00 f4 cc cc c3 53 b8 53 54 c3 90 ff d0 eb fc");
  const guint64 words[] = { ADDRESS + 9, ADDRESS + 12 },
                backwards[] = { ADDRESS + 12, ADDRESS + 9 };
  LuFlowFile file;

  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (LuFlow) flow = analyse (&code, &file);

      g_assert_true (lu_flow_run_words (flow, i == 0 ? words : backwards, 2));
      g_assert_true (has_rule (flow, 9, ENTRY));
      g_assert_true (has_rule (flow, 15, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)"));
      g_assert_true (has_rule (flow, 12, NULL));
    }
}

/* A jump through pointers, of which nothing tells how many they are. The third one leads into
 * another function, and what follows the fourth one is not of the table. */
static void
test_open_jump (void)
{
  /* 0: push rbx; jmp *32(,rdi,8); 8: pop rbx; ret; 10: push rax; pop rax; pop rbx; ret; 14: nop;
   * ret; 32: the pointers */
  Code code =
      assemble ("53 ff 24 fd 20 10 00 00 5b c3 50 58 5b c3 90 c3 cc cc cc cc cc cc cc cc cc "
                "cc cc cc cc cc cc cc 08 10 00 00 00 00 00 00 0a 10 00 00 00 00 00 00 0f 10 "
                "00 00 00 00 00 00 00 00 00 00 00 00 00 00 0b 10 00 00 00 00 00 00");
  LuFlowFile file;
  g_autoptr (LuFlow) flow = analyse (&code, &file);

  g_assert_true (lu_flow_add_start (flow, ADDRESS + 14, LU_START_CERTAIN, FALSE));
  g_assert_true (lu_flow_run (flow));
  g_assert_true (has_rule (flow, 8, NULL));
  g_assert_true (lu_flow_run_tables (flow));
  g_assert_true (has_rule (flow, 8, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)"));
  g_assert_true (has_rule (flow, 10, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)"));
  g_assert_true (has_rule (flow, 11, "cfa=rsp+24 rbp=same rbx=same ra=*(cfa-8)"));
  g_assert_true (has_rule (flow, 14, ENTRY));
  g_assert_true (has_rule (flow, 15, ENTRY));
}

#define OPEN_JUMPS  6000
#define OPEN_TABLES 0x1000000

/* Reads from tables of one pointer each, which leads into one of many functions. */
static gboolean
read_many (gpointer data, guint64 address, guint64 *pointer)
{
  guint64 i = (address - OPEN_TABLES) / 16;

  (void) data;
  *pointer = ADDRESS + 32 * i + 8;
  return address >= OPEN_TABLES && address % 16 == 0 && i < OPEN_JUMPS;
}

/* Reads from the bytes themselves. */
static gboolean
read_behind (gpointer data, guint64 address, guint64 *pointer)
{
  const guint8 *bytes = data;

  if (address < ADDRESS || address > ADDRESS + 504)
    return FALSE;
  memcpy (pointer, bytes + (address - ADDRESS), sizeof *pointer);
  return TRUE;
}

/* More functions with such a jump than a part of a file is expected to have: large code has more.
 */
static void
test_many_open_jumps (void)
{
  /* 0: push rbx; jmp *T(,rdi,8); 8: pop rbx; ret */
  const guint8 function[] = { 0x53, 0xff, 0x24, 0xfd, 0, 0, 0, 0, 0x5b, 0xc3 };
  gsize size = (gsize) 32 * OPEN_JUMPS * 6;
  g_autofree guint8 *bytes = g_malloc0 (size);
  const LuCodeBytes range = { ADDRESS, size, bytes };
  Code code = assemble ("c3");
  LuFlowFile file;
  g_autoptr (LuFlow) flow = NULL;

  describe (&code, &file);
  file.read_pointer = read_many;
  flow = lu_flow_new (&range, &file);
  for (guint32 i = 0; i < OPEN_JUMPS; i++)
    {
      guint32 table = OPEN_TABLES + 16 * i;

      memcpy (bytes + (gsize) 32 * i, function, sizeof function);
      memcpy (bytes + (gsize) 32 * i + 4, &table, sizeof table);
      g_assert_true (lu_flow_add_start (flow, ADDRESS + 32 * i, LU_START_CERTAIN, FALSE));
    }
  g_assert_true (lu_flow_run (flow));
  g_assert_true (lu_flow_run_tables (flow));
  for (guint i = 0; i < OPEN_JUMPS; i++)
    g_assert_true (has_rule (flow, 32 * i + 9, ENTRY));
}

/* A jump through fewer pointers than the bits of the index that are kept could choose. */
static void
test_open_jump_by_mask (void)
{
  /* 0: push rbx; and $0x7f,edi; jmp *32(,rdi,8); 11: pop rbx; ret; 32: the pointer, no pointer */
  Code code =
      assemble ("53 83 e7 7f ff 24 fd 20 10 00 00 5b c3 cc cc cc cc cc cc cc cc cc cc cc cc "
                "cc cc cc cc cc cc cc 0b 10 00 00 00 00 00 00 00 00 00 00 00 00 00 00");
  LuFlowFile file;
  g_autoptr (LuFlow) flow = analyse (&code, &file);

  g_assert_true (has_rule (flow, 11, NULL));
  g_assert_true (lu_flow_run_tables (flow));
  g_assert_true (has_rule (flow, 11, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)"));
  g_assert_true (has_rule (flow, 12, ENTRY));
}

/* A table of offsets by a byte, of which nothing tells how many there are: it ends before data
 * whose address the code uses. Read on, that would lead to the middle of an instruction. */
static void
test_open_offsets (void)
{
  /* 0: push rbx; movzbl (rdi),eax; lea T(rip),rdx; lea U(rip),rcx; movslq (rdx,rax,4),rax;
   * add rdx,rax; jmp *rax; 1b: pop rbx; ret; 1d: mov $0xc35bc031,ecx; pop rbx; ret;
   * 24: T: 1b - T, 1d - T; 2c: U: what is no offset of T, 1f - T */
  Code code = assemble ("53 0f b6 07 48 8d 15 19 00 00 00 48 8d 0d 1a 00 00 00 48 63 04 82 "
                        "48 01 d0 ff e0 5b c3 b9 31 c0 5b c3 5b c3 "
                        "f7 ff ff ff f9 ff ff ff fb ff ff ff");
  LuFlowFile file;
  g_autoptr (LuFlow) flow = analyse (&code, &file);

  g_assert_true (has_rule (flow, 0x1b, NULL));
  g_assert_true (lu_flow_run_tables (flow));
  g_assert_true (has_rule (flow, 0x1b, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)"));
  g_assert_true (has_rule (flow, 0x1d, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)"));
  g_assert_true (has_rule (flow, 0x1f, NULL));
  g_assert_true (has_rule (flow, 0x23, ENTRY));
}

/* A byte is compared with a number that has no sign. */
static void
test_byte_comparison (void)
{
  /* cmp $0xbd,al */
  const guint8 bytes[] = { 0x3c, 0xbd };
  LuOp op;

  g_assert_true (lu_decoder_decode (bytes, sizeof bytes, ADDRESS, &op));
  g_assert_cmpuint (op.kind, ==, LU_OP_COMPARE);
  g_assert_cmpuint (op.src, ==, LU_CODE_AX);
  g_assert_cmpuint (op.target, ==, 0xbd);
}

/* Bytes that look like a call of data are something else; those that look like the use of its
 * address tell that it begins there. */
static void
test_hints_of_data (void)
{
  /* call 16; call 10; lea 24(rip),rax */
  Code code = assemble ("e8 0b 00 00 00 e8 00 00 00 00 48 8d 05 07 00 00 00");
  const LuCodeBytes segments[] = { { ADDRESS, 16, code.bytes }, { ADDRESS + 16, 16, NULL } };
  const LuCodeBytes range = { ADDRESS, code.size, code.bytes };
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof range);
  g_autoptr (GArray) ranges = g_array_new (FALSE, FALSE, sizeof range);
  g_autoptr (LuCodeHints) found = NULL;

  g_array_append_vals (all, segments, 2);
  g_array_append_val (ranges, range);
  found = lu_code_hints_new (ranges, all);
  g_assert_false (lu_code_hints_has (found, ADDRESS + 16));
  g_assert_true (lu_code_hints_has (found, ADDRESS + 10));
  g_assert_true (lu_code_hints_has (found, ADDRESS + 24));
}

/* A table of offsets that leads to a part of the function behind another one, up to the data that
 * ends it. */
static void
test_closed_offsets (void)
{
  /* 0: push rbx; movzbl (rdi),eax; lea T(rip),rdx; lea U(rip),rcx; movslq (rdx,rax,4),rax;
   * add rdx,rax; jmp *rax; 1b: pop rbx; ret; 1d: ret; 1e: pop rbx; ret;
   * 20: T: 1b - T, 1e - T; 28: U */
  Code code = assemble ("53 0f b6 07 48 8d 15 15 00 00 00 48 8d 0d 16 00 00 00 48 63 04 82 "
                        "48 01 d0 ff e0 5b c3 c3 5b c3 fb ff ff ff fe ff ff ff 00 00 00 00");
  LuFlowFile file;
  g_autoptr (LuFlow) flow = analyse (&code, &file);

  g_assert_true (lu_flow_add_start (flow, ADDRESS + 0x1d, LU_START_CERTAIN, FALSE));
  g_assert_true (lu_flow_run (flow));
  g_assert_true (lu_flow_run_tables (flow));
  g_assert_true (has_rule (flow, 0x1b, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)"));
  g_assert_true (has_rule (flow, 0x1d, ENTRY));
  g_assert_true (has_rule (flow, 0x1e, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)"));
}

/* The code of a function to which another one jumps, and which it reached first, with a table of
 * unknown size in it. */
static void
test_open_jump_of_another (void)
{
  /* 0: jmp 8; 8: push rbx; jmp *32(,rdi,8); 10: pop rbx; ret; 20: the pointer */
  Code code = assemble ("eb 06 cc cc cc cc cc cc 53 ff 24 fd 20 10 00 00 5b c3 cc cc cc cc cc cc "
                        "cc cc cc cc cc cc cc cc 10 10 00 00 00 00 00 00 00 00 00 00 00 00 00 00");
  LuFlowFile file;
  g_autoptr (LuFlow) flow = analyse (&code, &file);

  g_assert_true (lu_flow_add_start (flow, ADDRESS + 4, LU_START_CERTAIN, FALSE));
  g_assert_true (lu_flow_add_start (flow, ADDRESS + 8, LU_START_CERTAIN, FALSE));
  g_assert_true (lu_flow_run (flow));
  g_assert_true (lu_flow_run_tables (flow));
  g_assert_true (has_rule (flow, 16, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)"));
}

/* Assembly that loads where it goes on later, before a loop, and in one branch of it another place.
 * Labels in other registers are not followed. */
static void
test_jump_to_label (void)
{
  /* 0: push rbx; test edi,edi; je 0e; lea 1f(rip),r14; jmp 15; 0e: lea 21(rip),r14;
   * 15: lea 23(rip),rcx; jmp *r14; 1f: pop rbx; ret; 21: pop rbx; ret; 23: pop rbx; ret */
  Code code = assemble ("53 85 ff 74 09 4c 8d 35 13 00 00 00 eb 07 4c 8d 35 0c 00 00 00 "
                        "48 8d 0d 07 00 00 00 41 ff e6 5b c3 5b c3 5b c3");
  LuFlowFile file;
  g_autoptr (LuFlow) flow = analyse (&code, &file);

  g_assert_true (has_rule (flow, 0x1f, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)"));
  g_assert_true (has_rule (flow, 0x20, ENTRY));
  g_assert_true (has_rule (flow, 0x21, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)"));
  g_assert_true (has_rule (flow, 0x23, NULL));
}

/* Labels of code behind the start of another function, and before that of their own. */
static void
test_jump_to_label_elsewhere (void)
{
  /* 0: nop; ret; 2: push rbx; lea 0(rip),rax; lea 13(rip),rax; jmp *rax; 13: nop; ret */
  Code code = assemble ("90 c3 53 48 8d 05 f6 ff ff ff 48 8d 05 02 00 00 00 ff e0 90 c3");
  LuFlowFile file;
  g_autoptr (LuFlow) flow = NULL;
  const LuCodeBytes range = { ADDRESS, code.size, code.bytes };

  describe (&code, &file);
  flow = lu_flow_new (&range, &file);
  g_assert_true (lu_flow_add_start (flow, ADDRESS + 2, LU_START_CERTAIN, FALSE));
  g_assert_true (lu_flow_add_start (flow, ADDRESS + 19, LU_START_CERTAIN, FALSE));
  g_assert_true (lu_flow_run (flow));
  g_assert_true (has_rule (flow, 0, NULL));
  g_assert_true (has_rule (flow, 17, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)"));
  g_assert_true (has_rule (flow, 20, ENTRY));
}

/* Hints say that a function begins at a label to which a jump through pointers leads. It is none if
 * it returns with what the function before it has pushed. */
static void
test_open_jump_to_label (void)
{
  /* 0: push rbx; test edi,edi; je 16; jmp *32(,rdi,8); 12: pop rbx or nop; ret; nop; nop;
   * 16: pop rbx; ret; 32: the pointer */
  static const char *labels[] = { "5b", "90" };
  static const char *rules[] = { "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)", ENTRY };

  for (guint i = 0; i < G_N_ELEMENTS (labels); i++)
    {
      g_autofree char *text = g_strdup_printf (
          "53 85 ff 74 0b ff 24 fd 20 10 00 00 %s c3 90 90 5b c3 cc cc cc cc cc cc cc cc cc cc cc "
          "cc cc cc 0c 10 00 00 00 00 00 00 00 00 00 00 00 00 00 00",
          labels[i]);
      Code code = assemble (text);
      LuFlowFile file;
      g_autoptr (LuFlow) flow = analyse (&code, &file);

      g_assert_true (lu_flow_add_start (flow, ADDRESS + 12, LU_START_HINT, FALSE));
      g_assert_true (lu_flow_run (flow));
      g_assert_true (has_rule (flow, 12, i == 0 ? NULL : ENTRY));
      g_assert_true (lu_flow_run_tables (flow));
      g_assert_true (has_rule (flow, 12, rules[i]));
      g_assert_true (has_rule (flow, 13, ENTRY));
      g_assert_true (has_rule (flow, 17, ENTRY));
    }
}

/* Code after padding that makes room on the stack is a function, even if nothing else shows it. */
static void
test_room (void)
{
  /* 0: ret; 1: padding; 16: sub $8,rsp or add $8,rsi; call *rax; jmp 20 */
  static const char *codes[] = { "48 83 ec 08", "48 83 c6 08" };

  for (guint i = 0; i < G_N_ELEMENTS (codes); i++)
    {
      g_autofree char *text = g_strdup_printf (
          "c3 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 %s ff d0 eb fc", codes[i]);
      Code code = assemble (text);
      LuFlowFile file;
      g_autoptr (LuFlow) flow = analyse (&code, &file);

      g_assert_true (lu_flow_run_gaps (flow));
      g_assert_true (has_rule (flow, 16, i == 0 ? ENTRY : NULL));
    }
}

/* Code after padding that calls without a frame, before more padding: the cold part of a function,
 * with a call that never returns, before a function to which nothing leads. */
static void
test_cold (void)
{
  /* 0: ret; 1: padding; 16: mov rbx,rdi; call *rax; padding; 32: push rbx; pop rbx; ret */
  Code code =
      assemble ("c3 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 48 89 df ff d0 90 90 90 90 "
                "90 90 90 90 90 90 90 53 5b c3");
  LuFlowFile file;
  g_autoptr (LuFlow) flow = analyse (&code, &file);

  g_assert_true (lu_flow_run_gaps (flow));
  g_assert_true (has_rule (flow, 16, NULL));
  g_assert_true (has_rule (flow, 32, ENTRY));
}

/* A loop with padding before it, in a function that is called from elsewhere: the word in data that
 * leads to the loop is of a table of jumps. */
static void
test_hints (void)
{
  /* 0: call 20; hlt; 10: cc...; 20: push rbx; jmp 30; cc...; 30: call *rax; jmp 30; 34: pop rbx;
   * ret */
  Code code = assemble ("e8 1b 00 00 00 f4 cc cc cc cc cc cc cc cc cc cc cc cc cc cc cc cc cc cc "
                        "cc cc cc cc cc cc cc cc 53 eb 0d cc cc cc cc cc cc cc cc cc cc cc cc cc "
                        "ff d0 75 fc 5b c3");
  const LuCodeBytes range = { ADDRESS, code.size, code.bytes },
                    home = { ADDRESS + 16, code.size - 16, code.bytes + 16 };
  const guint64 word = ADDRESS + 48;
  LuFlowFile file;
  g_autoptr (LuFlow) flow = NULL;

  describe (&code, &file);
  flow = lu_flow_new (&range, &file);
  lu_flow_set_home (flow, &home);
  g_assert_true (lu_flow_run_hints (flow));
  g_assert_true (lu_flow_run_words (flow, &word, 1));
  g_assert_true (has_rule (flow, 32, ENTRY));
  g_assert_true (has_rule (flow, 48, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)"));
  g_assert_true (has_rule (flow, 53, ENTRY));
}

/* A function that jumps to a second one, padding, and the second one, which is called by a third.
 */
static void
test_written (void)
{
  /* 0: jmp 16 (a tail call); 16: push rbx; pop rbx; ret; 32: sub $8; call 16; add $8; ret */
  Code code =
      assemble ("eb 0e cc cc cc cc cc cc cc cc cc cc cc cc cc cc 53 5b c3 cc cc cc cc cc cc "
                "cc cc cc cc cc cc cc 48 83 ec 08 e8 e7 ff ff ff 48 83 c4 08 c3");
  const LuCodeBytes range = { ADDRESS, code.size, code.bytes };
  LuFlowFile file;
  g_autoptr (LuFlow) flow = NULL;
  g_autoptr (LuExtraRows) rows = lu_extra_rows_new ();
  const guint64 starts[] = { ADDRESS, ADDRESS + 16, ADDRESS + 32 };
  const LuFunctionJump *jump;

  describe (&code, &file);
  flow = lu_flow_new (&range, &file);
  lu_flow_add_start (flow, ADDRESS + 32, LU_START_CERTAIN, FALSE);
  g_assert_true (lu_flow_run (flow));
  lu_flow_add_start (flow, ADDRESS, LU_START_CERTAIN, FALSE);
  g_assert_true (lu_flow_run (flow));
  lu_flow_write (flow, LU_FLOW_ALL, rows);
  g_assert_cmpmem (rows->starts->data, rows->starts->len * sizeof (guint64), starts, sizeof starts);
  g_assert_cmpuint (rows->jumps->len, ==, 1);
  jump = &g_array_index (rows->jumps, LuFunctionJump, 0);
  g_assert_cmphex (jump->from, ==, ADDRESS);
  g_assert_cmphex (jump->to, ==, ADDRESS + 16);
  g_assert_cmpint (g_array_index (rows->rows, LuExtraRow, rows->rows->len - 1).rule, ==,
                   LU_RULE_NONE);
}

/* A function at home whose cold part is elsewhere, in the middle of its frame, and that code looked
 * at from its own home, where nothing leads to it. */
static void
test_away (void)
{
  /* 0: push rbx; test edi,edi; jne 32; pop rbx; ret; 32: call *rax; jmp 5 */
  Code code = assemble ("53 85 ff 75 1b 5b c3 cc cc cc cc cc cc cc cc cc cc cc cc cc cc cc cc cc "
                        "cc cc cc cc cc cc cc cc ff d0 eb e1");
  const LuCodeBytes range = { ADDRESS, code.size, code.bytes }, home = { ADDRESS, 16, code.bytes };
  const guint64 starts[] = { ADDRESS + 32 };
  LuFlowFile file;
  g_autoptr (LuFlow) flow = NULL;
  g_autoptr (LuExtraRows) rows = lu_extra_rows_new ();
  const LuExtraRow *first;

  describe (&code, &file);
  flow = lu_flow_new (&range, &file);
  lu_flow_set_home (flow, &home);
  g_assert_false (lu_flow_add_start (flow, ADDRESS + 32, LU_START_CERTAIN, FALSE));
  lu_flow_add_start (flow, ADDRESS, LU_START_CERTAIN, FALSE);
  g_assert_true (lu_flow_run (flow));
  g_assert_true (has_rule (flow, 5, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)"));
  g_assert_true (has_rule (flow, 34, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)"));
  lu_flow_write (flow, LU_FLOW_WEAK, rows);
  g_assert_cmpuint (rows->rows->len, ==, 0);
  lu_flow_write (flow, LU_FLOW_AWAY, rows);
  g_assert_cmpmem (rows->starts->data, rows->starts->len * sizeof *starts, starts, sizeof starts);
  g_assert_cmpuint (rows->jumps->len, ==, 1);
  g_assert_cmpuint (rows->rows->len, ==, 2);
  first = &g_array_index (rows->rows, LuExtraRow, 0);
  g_assert_cmphex (first->address, ==, ADDRESS + 32);
  g_assert_cmphex (first[1].address, ==, ADDRESS + 36);
  g_assert_cmpuint (first[1].rule, ==, LU_RULE_NONE);
}

/* Functions outside of the home: one that returns, one that does not, one that calls it, one that
 * goes round for ever, two that call each other all the time, two that call each other or end, one
 * that calls by a pointer before another function begins, and two that call each other or return.
 */
static void
test_returns (void)
{
  /* 0: ret; 1: hlt; 2: call 1; 7: jmp 7; 9: call 16; f: ret; 10: call 9; 15: test edi,edi; je 1e;
   * 19: call 23; 1e: hlt; 23: call 15; 28: ret; 29: call *rax; 2b: nop; 30: ret; 31: call 30;
   * 36: test edi,edi; je 3f; 3a: call 40; 3f: ret; 40: call 36; 45: ret */
  Code code = assemble ("c3 f4 e8 fa ff ff ff eb fe e8 02 00 00 00 90 c3 e8 f4 ff ff ff "
                        "85 ff 74 05 e8 05 00 00 00 f4 cc cc cc cc e8 ed ff ff ff c3 "
                        "ff d0 0f 1f 44 00 00 c3 e8 fa ff ff ff "
                        "85 ff 74 05 e8 01 00 00 00 c3 e8 f1 ff ff ff c3");
  const LuCodeBytes range = { ADDRESS, code.size, code.bytes };
  g_autoptr (GArray) ranges = g_array_new (FALSE, FALSE, sizeof range);
  LuFlowFile file;
  LuCodeReturns *returns;

  describe (&code, &file);
  g_array_append_val (ranges, range);
  returns = lu_code_returns_new (ranges, &file);
  g_assert_true (lu_code_returns_from (returns, ADDRESS));
  g_assert_false (lu_code_returns_from (returns, ADDRESS + 1));
  g_assert_false (lu_code_returns_from (returns, ADDRESS + 2));
  g_assert_false (lu_code_returns_from (returns, ADDRESS + 7));
  g_assert_false (lu_code_returns_from (returns, ADDRESS + 9));
  g_assert_false (lu_code_returns_from (returns, ADDRESS + 0x23));
  g_assert_false (lu_code_returns_from (returns, ADDRESS + 0x15));
  g_assert_false (lu_code_returns_from (returns, ADDRESS + 0x29));
  g_assert_true (lu_code_returns_from (returns, ADDRESS + 0x30));
  g_assert_true (lu_code_returns_from (returns, ADDRESS + 0x36));
  g_assert_true (lu_code_returns_from (returns, ADDRESS + 0x40));
  g_assert_true (lu_code_returns_from (returns, ADDRESS - 1));
  g_assert_false (lu_code_returns_from (returns, ADDRESS - 0x20));
  g_assert_true (lu_code_returns_from (returns, ADDRESS - 0x10));
  lu_code_returns_free (returns);
}

static guint64
function_at (gpointer data, guint64 address)
{
  return address == NORETURN + 8 ? ADDRESS + 32 : 0;
}

static LuCodeReturns *by_name;

static gboolean
returns_by_name (gpointer data, guint64 address)
{
  return lu_code_returns_from (by_name, address);
}

/* A call through the procedure linkage table of a function of the same file, which calls nothing
 * but itself, in the same way, or returns. */
static void
test_returns_by_name (void)
{
  static const char *functions[] = { "e8 cb ff ff ff", "c3 90 90 90 90" };

  for (guint i = 0; i < G_N_ELEMENTS (functions); i++)
    {
      /* 0: sub $8,rsp; call -16; 9: add $8,rsp; ret; 32: call -16 or ret */
      g_autofree char *text = g_strdup_printf (
          "48 83 ec 08 e8 e7 ff ff ff 48 83 c4 08 c3 cc cc cc cc cc cc cc cc cc cc "
          "cc cc cc cc cc cc cc cc %s",
          functions[i]);
      Code code = assemble (text);
      const LuCodeBytes range = { ADDRESS, code.size, code.bytes },
                        home = { ADDRESS, 16, code.bytes };
      g_autoptr (GArray) ranges = g_array_new (FALSE, FALSE, sizeof range);
      g_autoptr (LuFlow) flow = NULL;
      LuFlowFile file;

      describe (&code, &file);
      file.function_at = function_at;
      file.returns = returns_by_name;
      g_array_append_val (ranges, range);
      by_name = lu_code_returns_new (ranges, &file);
      g_assert_cmpint (lu_code_returns_from (by_name, ADDRESS - 0x10), ==, i == 1);
      flow = lu_flow_new (&range, &file);
      lu_flow_set_home (flow, &home);
      lu_flow_add_start (flow, ADDRESS, LU_START_CERTAIN, FALSE);
      g_assert_true (lu_flow_run (flow));
      g_assert_true (
          has_rule (flow, 9, i == 0 ? NULL : "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)"));
      lu_code_returns_free (by_name);
    }
}

#define MANY (1u << 20)

/* Each byte is a function that never returns. Only so many answers are kept. */
static void
test_many_returns (void)
{
  g_autofree guint8 *bytes = g_malloc (MANY);
  const LuCodeBytes range = { ADDRESS, MANY, bytes };
  Code none = assemble ("c3");
  g_autoptr (GArray) ranges = g_array_new (FALSE, FALSE, sizeof range);
  LuFlowFile file;
  LuCodeReturns *returns;

  memset (bytes, 0xf4, MANY); /* hlt */
  describe (&none, &file);
  g_array_append_val (ranges, range);
  returns = lu_code_returns_new (ranges, &file);
  for (guint i = 0; i < MANY / 2; i++)
    g_assert_false (lu_code_returns_from (returns, ADDRESS + i));
  g_assert_true (lu_code_returns_from (returns, ADDRESS + MANY / 2));
  g_assert_false (lu_code_returns_from (returns, ADDRESS));
  lu_code_returns_free (returns);
}

static void
add_row (LuRowList *list, guint64 address, guint32 rule)
{
  LuExtraRow row = { address, rule };

  g_array_append_val (list->rows, row);
  if (rule != LU_RULE_NONE)
    g_array_append_val (list->starts, address);
}

/* Rows of other code stand where the first say nothing, and so do its starts. */
static void
test_overlay (void)
{
  LuRowList over = lu_row_list_new (), under = lu_row_list_new (), all = lu_row_list_new ();
  const struct
  {
    guint64 address;
    guint32 rule;
  } want[] = { { 5, 7 }, { 10, 2 }, { 20, 7 }, { 25, 0 }, { 30, 3 }, { 40, 0 } };
  const guint64 starts[] = { 5, 10, 30 };

  add_row (&over, 10, 2);
  add_row (&over, 20, 0);
  add_row (&over, 30, 3);
  add_row (&over, 40, 0);
  add_row (&under, 5, 7);
  add_row (&under, 25, 0);
  add_row (&under, 35, 8);
  add_row (&under, 38, 0);
  lu_row_list_overlay (&all, &over, &under);
  g_assert_cmpuint (all.rows->len, ==, G_N_ELEMENTS (want));
  for (guint i = 0; i < G_N_ELEMENTS (want); i++)
    {
      g_assert_cmphex (g_array_index (all.rows, LuExtraRow, i).address, ==, want[i].address);
      g_assert_cmpuint (g_array_index (all.rows, LuExtraRow, i).rule, ==, want[i].rule);
    }
  g_assert_cmpmem (all.starts->data, all.starts->len * sizeof *starts, starts, sizeof starts);
  lu_row_list_clear (&over);
  lu_row_list_clear (&under);
  lu_row_list_clear (&all);
}

/* Rows of the same code by three that know as much as each other, of which one does not agree. */
static void
test_dispute (void)
{
  LuRowList one = lu_row_list_new (), other = lu_row_list_new (), third = lu_row_list_new ();
  LuRowList two = lu_row_list_new (), all = lu_row_list_new ();
  const struct
  {
    guint64 address;
    guint32 rule;
  } want[] = { { 5, 7 }, { 10, LU_RULE_NONE }, { 20, 7 }, { 25, LU_RULE_NONE } };

  add_row (&one, 10, 2);
  add_row (&one, 20, LU_RULE_NONE);
  add_row (&other, 5, 7);
  add_row (&other, 25, LU_RULE_NONE);
  add_row (&third, 10, 7);
  add_row (&third, 20, LU_RULE_NONE);
  lu_row_list_unite (&two, &one, &other);
  lu_row_list_unite (&all, &two, &third);
  lu_row_list_settle (&all);
  g_assert_cmpuint (all.rows->len, ==, G_N_ELEMENTS (want));
  for (guint i = 0; i < G_N_ELEMENTS (want); i++)
    {
      g_assert_cmphex (g_array_index (all.rows, LuExtraRow, i).address, ==, want[i].address);
      g_assert_cmpuint (g_array_index (all.rows, LuExtraRow, i).rule, ==, want[i].rule);
    }
  lu_row_list_clear (&one);
  lu_row_list_clear (&other);
  lu_row_list_clear (&third);
  lu_row_list_clear (&two);
  lu_row_list_clear (&all);
}

/* Functions that go on in code that is not looked at: an entry of a procedure linkage table, which
 * may lead anywhere, a function, and a function in the middle of which the stack is not balanced.
 */
static void
test_far (void)
{
  /* 0: jmp -16 (an entry); 16: jmp -256; 32: push rax; jmp -256 */
  Code code =
      assemble ("e9 eb ff ff ff cc cc cc cc cc cc cc cc cc cc cc e9 eb fe ff ff cc cc cc cc cc "
                "cc cc cc cc cc cc 50 e9 da fe ff ff");
  const LuFunctionJump want[] = { { ADDRESS, LU_JUMP_ANYWHERE },
                                  { ADDRESS + 16, ADDRESS - 0x100 } };
  LuFlowFile file;
  g_autoptr (LuFlow) flow = analyse (&code, &file);
  g_autoptr (LuExtraRows) rows = lu_extra_rows_new ();

  lu_flow_add_start (flow, ADDRESS + 16, LU_START_CERTAIN, FALSE);
  lu_flow_add_start (flow, ADDRESS + 32, LU_START_CERTAIN, FALSE);
  g_assert_true (lu_flow_run (flow));
  lu_flow_write (flow, LU_FLOW_ALL, rows);
  lu_extra_rows_sort_jumps (rows);
  g_assert_cmpmem (rows->jumps->data, rows->jumps->len * sizeof *want, want, sizeof want);
  g_assert_true (has_rule (flow, 16, ENTRY));
  g_assert_true (has_rule (flow, 33, NULL));
}

/* A call of code elsewhere, and padding, before a function to which a pointer leads: nobody knows
 * that the call never returns. */
static void
test_hint (void)
{
  /* 0: push rax; call -256; padding; 16: push rbx; jmp 1f; 1: pop rbx; ret */
  Code code = assemble ("50 e8 fa fe ff ff 90 90 90 90 90 90 90 90 90 90 53 eb 00 5b c3");
  LuFlowFile file;

  for (guint i = 0; i < 2; i++)
    {
      const LuCodeBytes range = { ADDRESS, code.size, code.bytes };
      g_autoptr (LuFlow) flow = NULL;

      describe (&code, &file);
      if (i == 1)
        lu_code_hints_add (hints, ADDRESS + 16);
      flow = lu_flow_new (&range, &file);
      lu_flow_add_start (flow, ADDRESS, LU_START_CERTAIN, FALSE);
      g_assert_true (lu_flow_run (flow));
      g_assert_true (
          has_rule (flow, 1, i == 0 ? NULL : "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)"));
    }
}

/* Bytes that look like a call lead behind a call, to code that uses a register of its caller: no
 * function begins there. */
static void
test_false_hint (void)
{
  /* push rbx; sub $16,rsp; mov $0,eax; nop; call -256; 16: add ebx,ebx; add $16,rsp; pop rbx; ret
   */
  Code code = assemble ("53 48 83 ec 10 b8 00 00 00 00 90 e8 f0 fe ff ff 01 db 48 83 c4 10 5b c3");
  const LuCodeBytes range = { ADDRESS, code.size, code.bytes };
  g_autoptr (LuFlow) flow = NULL;
  LuFlowFile file;

  describe (&code, &file);
  lu_code_hints_add (hints, ADDRESS + 16);
  flow = lu_flow_new (&range, &file);
  lu_flow_add_start (flow, ADDRESS, LU_START_CERTAIN, FALSE);
  g_assert_true (lu_flow_run (flow));
  g_assert_true (has_rule (flow, 16, "cfa=rsp+32 rbp=same rbx=same ra=*(cfa-8)"));
  g_assert_true (has_rule (flow, 23, ENTRY));
}

#define COLD 0x9000 /* offset of the cold parts of two functions */

/* A function's cold part, elsewhere, ends with a call that never returns, which nobody knows. The
 * part behind it is that of another function, which is not looked at. */
static void
test_cold_parts (void)
{
  /* push rbx; jne COLD; pop rbx; ret */
  const guint8 function[] = { 0x53, 0x0f, 0x85, 0xf9, 0x8f, 0, 0, 0x5b, 0xc3 };
  /* 64: push rbx; push rbx; jne COLD + 5; pop rbx; pop rbx; ret */
  const guint8 other[] = { 0x53, 0x53, 0x0f, 0x85, 0xbd, 0x8f, 0, 0, 0x5b, 0x5b, 0xc3 };
  /* COLD: call -256; add $16,rsp; ret */
  const guint8 cold[] = { 0xe8, 0xfb, 0x6e, 0xff, 0xff, 0x48, 0x83, 0xc4, 0x10, 0xc3 };
  gsize size = COLD + 16;
  g_autofree guint8 *bytes = g_malloc0 (size);
  const LuCodeBytes range = { ADDRESS, size, bytes }, home = { ADDRESS, 32, bytes };
  g_autoptr (GArray) ranges = g_array_new (FALSE, FALSE, sizeof range);
  g_autoptr (LuCodeHints) found = NULL;
  g_autoptr (LuFlow) flow = NULL;
  Code code = assemble ("c3");
  LuFlowFile file;

  memcpy (bytes, function, sizeof function);
  memcpy (bytes + 64, other, sizeof other);
  memcpy (bytes + COLD, cold, sizeof cold);
  g_array_append_val (ranges, range);
  describe (&code, &file);
  file.hints = found = lu_code_hints_new (ranges, ranges);
  g_assert_true (lu_code_hints_is_part (found, ADDRESS + COLD));
  g_assert_true (lu_code_hints_is_part (found, ADDRESS + COLD + 5));
  flow = lu_flow_new (&range, &file);
  lu_flow_set_home (flow, &home);
  lu_flow_add_start (flow, ADDRESS, LU_START_CERTAIN, FALSE);
  g_assert_true (lu_flow_run (flow));
  g_assert_true (has_rule (flow, 7, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)"));
  g_assert_true (has_rule (flow, COLD, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)"));
  g_assert_true (has_rule (flow, COLD + 5, NULL));
}

/* An interpreter, which jumps through its program behind each instruction, and uses the table of
 * its labels: bytes 64 and above, eight pointers, of which the sixth leads elsewhere. */
static void
test_labels (void)
{
  /* 0: push rbx; lea 64(rip),rax; mov rax,(rsi); jmp *(rdi); 13: add $8,rdi; jmp *(rdi);
   * 19: pop rbx; ret; 21: pop rbx; ret; 23: pop rbx; ret; 25: pop rbx; ret; 27: pop rbx; ret;
   * 29: pop rbx; ret; 31: pop rbx; ret */
  const guint labels[] = { 0x13 - 6, 19, 21, 23, 25, 2, 27, 29, 31 };
  Code code = assemble ("53 48 8d 05 38 00 00 00 48 89 06 ff 27 48 83 c7 08 ff 27 5b c3 5b c3 "
                        "5b c3 5b c3 5b c3 5b c3 5b c3");
  LuCodeBytes range, home;
  g_autoptr (LuFlow) flow = NULL;
  LuFlowFile file;

  code.size = 64;
  for (guint i = 0; i < G_N_ELEMENTS (labels); i++, code.size += 8)
    {
      guint64 label = ADDRESS + labels[i];

      memcpy (code.bytes + code.size, &label, sizeof label);
    }
  range = (LuCodeBytes){ ADDRESS, code.size, code.bytes };
  home = (LuCodeBytes){ ADDRESS, 64, code.bytes };
  describe (&code, &file);
  flow = lu_flow_new (&range, &file);
  lu_flow_set_home (flow, &home);
  lu_flow_add_start (flow, ADDRESS, LU_START_CERTAIN, FALSE);
  g_assert_true (lu_flow_run (flow));
  g_assert_true (has_rule (flow, 11, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)"));
  for (guint i = 0; i < G_N_ELEMENTS (labels); i++)
    if (labels[i] > 2)
      g_assert_true (has_rule (flow, labels[i], "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)"));
  g_assert_true (has_rule (flow, 32, ENTRY));
}

/* Pointers to functions behind one that uses their table are no labels: they are aligned. */
static void
test_no_labels (void)
{
  /* 0: push rbx; lea 256(rip),rax; mov rax,(rsi); jmp *(rdi) */
  const guint8 function[] = { 0x53, 0x48, 0x8d, 0x05, 0xf8, 0, 0, 0, 0x48, 0x89, 0x06, 0xff, 0x27 };
  g_autofree guint8 *bytes = g_malloc0 (512);
  const LuCodeBytes range = { ADDRESS, 512, bytes }, home = { ADDRESS, 256, bytes };
  g_autoptr (LuFlow) flow = NULL;
  Code code = { .size = 0 };
  LuFlowFile file;

  memcpy (bytes, function, sizeof function);
  for (guint i = 0; i < 12; i++)
    {
      guint64 start = ADDRESS + 16 * (i + 1);

      bytes[16 * (i + 1)] = 0xc3;
      memcpy (bytes + 256 + 8 * i, &start, sizeof start);
    }
  memcpy (code.bytes, bytes, sizeof code.bytes);
  describe (&code, &file);
  file.read_pointer = read_behind;
  file.data = bytes;
  flow = lu_flow_new (&range, &file);
  lu_flow_set_home (flow, &home);
  lu_flow_add_start (flow, ADDRESS, LU_START_CERTAIN, FALSE);
  g_assert_true (lu_flow_run (flow));
  g_assert_true (has_rule (flow, 11, "cfa=rsp+16 rbp=same rbx=same ra=*(cfa-8)"));
  g_assert_true (has_rule (flow, 16, NULL));
}

/* Starts in the middle of a function that another list has as a whole are dropped; not those at
 * places for which that has other rows, its own starts, or none. */
static void
test_inner_starts (void)
{
  const guint64 starts[] = { 0x10, 0x14, 0x20, 0x30, 0x40 }, kept[] = { 0x10, 0x20, 0x30, 0x40 };
  const guint64 home_starts[] = { 0x10, 0x18 };
  const LuExtraRow rows[] = { { 0x10, 1 }, { 0x18, 2 }, { 0x28, 3 }, { 0x38, 0 } };
  const LuExtraRow home_rows[] = { { 0x10, 1 }, { 0x20, 4 }, { 0x30, 0 } };
  LuRowList list = lu_row_list_new (), home = lu_row_list_new ();

  g_array_append_vals (list.rows, rows, G_N_ELEMENTS (rows));
  g_array_append_vals (list.starts, starts, G_N_ELEMENTS (starts));
  g_array_append_vals (home.rows, home_rows, G_N_ELEMENTS (home_rows));
  g_array_append_vals (home.starts, home_starts, G_N_ELEMENTS (home_starts));
  lu_row_list_drop_inner_starts (&list, &home);
  g_assert_cmpmem (list.starts->data, list.starts->len * sizeof *kept, kept, sizeof kept);
  lu_row_list_clear (&list);
  lu_row_list_clear (&home);
}

/* A function that is not understood leads to code elsewhere: no function begins there for that. */
static void
test_bad_away (void)
{
  /* 0: jmp 32; 32: push rax; ret */
  Code code = assemble ("e9 1b 00 00 00 cc cc cc cc cc cc cc cc cc cc cc cc cc cc cc cc cc cc cc "
                        "cc cc cc cc cc cc cc cc 50 c3");
  const LuCodeBytes range = { ADDRESS, code.size, code.bytes }, home = { ADDRESS, 16, code.bytes };
  g_autoptr (LuExtraRows) rows = lu_extra_rows_new ();
  g_autoptr (LuFlow) flow = NULL;
  LuFlowFile file;

  describe (&code, &file);
  flow = lu_flow_new (&range, &file);
  lu_flow_set_home (flow, &home);
  lu_flow_add_start (flow, ADDRESS, LU_START_CERTAIN, FALSE);
  g_assert_true (lu_flow_run (flow));
  lu_flow_write (flow, LU_FLOW_AWAY, rows);
  g_assert_cmpuint (rows->starts->len, ==, 0);
}

/* Two functions that begin beside each other: both starts are written. */
static void
test_close (void)
{
  Code code = assemble ("c3 90 c3 c3 c3 c3");
  LuFlowFile file;
  g_autoptr (LuFlow) flow = analyse (&code, &file);
  g_autoptr (LuExtraRows) rows = lu_extra_rows_new ();

  lu_flow_add_start (flow, ADDRESS + 2, LU_START_CERTAIN, FALSE);
  lu_flow_add_start (flow, ADDRESS + 3, LU_START_CERTAIN, FALSE);
  g_assert_true (lu_flow_run (flow));
  lu_flow_write (flow, LU_FLOW_ALL, rows);
  g_assert_cmpuint (rows->starts->len, ==, 3);
  for (guint i = 0; i < 3; i++)
    g_assert_cmphex (g_array_index (rows->starts, guint64, i), ==, ADDRESS + i + (i > 0));
}

/* The last instruction of a function, beside the next function, of which nothing is known. */
static void
test_shared (void)
{
  /* 0: nop; mov (rdi),rax; ret; 5: mov rsi,rax; ret */
  Code code = assemble ("90 48 8b 07 c3 48 89 f0 c3");
  LuFlowFile file;
  g_autoptr (LuFlow) flow = analyse (&code, &file);
  g_autoptr (LuExtraRows) rows = lu_extra_rows_new ();

  g_assert_true (has_rule (flow, 4, ENTRY));
  g_assert_true (lu_flow_run_gaps (flow));
  g_assert_true (has_rule (flow, 4, ENTRY));
  g_assert_true (lu_flow_is_certain_at (flow, ADDRESS + 4));
  g_assert_false (lu_flow_is_certain_at (flow, ADDRESS + 5));
  lu_flow_write (flow, LU_FLOW_CERTAIN, rows);
  g_assert_cmpuint (rows->starts->len, ==, 1);
  g_assert_cmphex (g_array_index (rows->starts, guint64, 0), ==, ADDRESS);
  g_assert_cmpuint (rows->jumps->len, ==, 0);
  g_assert_cmpuint (rows->rows->len, ==, 2);
  g_assert_cmphex (g_array_index (rows->rows, LuExtraRow, 1).address, ==, ADDRESS + 5);
}

/* Only code after padding, or that an instruction points to. */
static void
test_gaps (void)
{
  /* 0: lea 16(rip) = 23 -> rax; ret; padding; 16: push rax; hlt (no return); 23: ret; 24: push;
   * pop; ret */
  Code code =
      assemble ("48 8d 05 10 00 00 00 c3 cc cc cc cc cc cc cc cc 50 f4 cc cc cc cc cc c3 53 "
                "5b c3");
  LuFlowFile file;
  g_autoptr (LuFlow) flow = analyse (&code, &file);

  g_assert_true (lu_flow_run_pointers (flow));
  g_assert_nonnull (lu_flow_facts_at (flow, ADDRESS + 23));
  g_assert_null (lu_flow_facts_at (flow, ADDRESS + 24));
  g_assert_true (lu_flow_run_gaps (flow));
  g_assert_null (lu_flow_facts_at (flow, ADDRESS + 16)); /* nothing shows that it is a function */
  g_assert_nonnull (lu_flow_facts_at (flow, ADDRESS + 25));
}

/* Behind code that is not understood, a function begins at a multiple of 16, but not in the middle
 * of an instruction. */
static void
test_gaps_inside (void)
{
  /* 0: ret; padding; 8: pop rax; ret (not on top); 10: mov $...,rax, in which 16: push rbx; hlt;
   * 20: ret; padding; 32: push rbx; pop rbx; ret */
  Code code = assemble ("c3 cc cc cc cc cc cc cc 58 c3 48 b8 00 00 00 00 53 f4 90 90 c3 "
                        "cc cc cc cc cc cc cc cc cc cc cc 53 5b c3");
  LuFlowFile file;
  g_autoptr (LuFlow) flow = analyse (&code, &file);

  g_assert_true (lu_flow_run_gaps (flow));
  g_assert_null (lu_flow_facts_at (flow, ADDRESS + 16));
  g_assert_nonnull (lu_flow_facts_at (flow, ADDRESS + 33));
}

/* A constant that is inside of the code is the address of a function, unless the file can be loaded
 * anywhere; an address relative to the instruction always is one. */
static void
test_constants (void)
{
  /* 0: mov $0x1010,eax; lea 7(rip) = 19 -> rax; ret; padding; 16: push rax; pop rax; ret;
   * 19: push rbx; pop rbx; ret */
  Code code = assemble ("b8 10 10 00 00 48 8d 05 07 00 00 00 c3 cc cc cc 50 58 c3 53 5b c3");
  LuFlowFile file;

  for (guint i = 0; i < 2; i++)
    {
      const LuCodeBytes range = { ADDRESS, code.size, code.bytes };
      g_autoptr (LuFlow) flow = NULL;

      describe (&code, &file);
      file.is_movable = i == 1;
      flow = lu_flow_new (&range, &file);
      lu_flow_add_start (flow, ADDRESS, LU_START_CERTAIN, FALSE);
      g_assert_true (lu_flow_run (flow) && lu_flow_run_pointers (flow));
      g_assert_true (has_rule (flow, 16, i == 0 ? ENTRY : NULL));
      g_assert_true (has_rule (flow, 19, ENTRY));
    }
}

/* Megabytes of anything are done in a moment. */
static void
test_garbage (void)
{
  const gsize size = 2 << 20;
  g_autofree guint8 *bytes = g_malloc (size);
  const LuCodeBytes range = { ADDRESS, size, bytes };
  Code nothing = { 0 };
  LuFlowFile file;
  g_autoptr (LuFlow) flow = NULL;
  g_autoptr (LuExtraRows) rows = lu_extra_rows_new ();
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  gint cancelled = 1;

  for (gsize i = 0; i < size; i++)
    bytes[i] = (guint8) g_rand_int (random);
  describe (&nothing, &file);
  flow = lu_flow_new (&range, &file);
  lu_flow_add_start (flow, ADDRESS, LU_START_CERTAIN, TRUE);
  lu_flow_run (flow);
  lu_flow_run_pointers (flow);
  lu_flow_run_gaps (flow);
  lu_flow_write (flow, LU_FLOW_ALL, rows);
  lu_flow_set_cancelled (flow, &cancelled);
  lu_flow_add_start (flow, ADDRESS + 1, LU_START_CERTAIN, FALSE);
  g_assert_false (lu_flow_add_start (flow, ADDRESS + size, LU_START_CERTAIN, FALSE));
}

int
main (int argc, char **argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  if (!lu_decoder_load ())
    {
      g_print ("1..0 # SKIP no library that decodes instructions is installed\n");
      return 0;
    }
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/flow/%s", cases[i].title);

      g_test_add_data_func (path, &cases[i], test_case);
    }
  g_test_add_func ("/flow/words", test_words);
  g_test_add_func ("/flow/open-jump", test_open_jump);
  g_test_add_func ("/flow/many-open-jumps", test_many_open_jumps);
  g_test_add_func ("/flow/jump-to-label", test_jump_to_label);
  g_test_add_func ("/flow/jump-to-label-elsewhere", test_jump_to_label_elsewhere);
  g_test_add_func ("/flow/open-jump-to-label", test_open_jump_to_label);
  g_test_add_func ("/flow/open-jump-by-mask", test_open_jump_by_mask);
  g_test_add_func ("/flow/open-offsets", test_open_offsets);
  g_test_add_func ("/flow/byte-comparison", test_byte_comparison);
  g_test_add_func ("/flow/hints-of-data", test_hints_of_data);
  g_test_add_func ("/flow/closed-offsets", test_closed_offsets);
  g_test_add_func ("/flow/open-jump-of-another", test_open_jump_of_another);
  g_test_add_func ("/flow/room", test_room);
  g_test_add_func ("/flow/cold", test_cold);
  g_test_add_func ("/flow/hints", test_hints);
  g_test_add_func ("/flow/written", test_written);
  g_test_add_func ("/flow/far", test_far);
  g_test_add_func ("/flow/away", test_away);
  g_test_add_func ("/flow/returns", test_returns);
  g_test_add_func ("/flow/returns-by-name", test_returns_by_name);
  g_test_add_func ("/flow/many-returns", test_many_returns);
  g_test_add_func ("/flow/overlay", test_overlay);
  g_test_add_func ("/flow/dispute", test_dispute);
  g_test_add_func ("/flow/hint", test_hint);
  g_test_add_func ("/flow/false-hint", test_false_hint);
  g_test_add_func ("/flow/cold-parts", test_cold_parts);
  g_test_add_func ("/flow/labels", test_labels);
  g_test_add_func ("/flow/no-labels", test_no_labels);
  g_test_add_func ("/flow/inner-starts", test_inner_starts);
  g_test_add_func ("/flow/bad-away", test_bad_away);
  g_test_add_func ("/flow/close", test_close);
  g_test_add_func ("/flow/shared", test_shared);
  g_test_add_func ("/flow/gaps", test_gaps);
  g_test_add_func ("/flow/gaps-inside", test_gaps_inside);
  g_test_add_func ("/flow/constants", test_constants);
  g_test_add_func ("/flow/garbage", test_garbage);
  status = g_test_run ();
  lu_code_hints_free (hints);
  return status;
}
