/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* swap-library.c - a function with a frame of at least ROOM bytes; see swap.c. */

int
step (int (*call) (int))
{
  volatile char room[ROOM];

  room[0] = 1;
  room[ROOM - 1] = (char) call (1);
  return room[0] + room[ROOM - 1];
}
