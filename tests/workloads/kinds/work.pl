% SPDX-License-Identifier: LGPL-2.1-or-later
% SPDX-FileCopyrightText: 2026 The live-unwinder authors

% Recursion, sorting and text, for Prolog.
fibonacci(N, N) :- N < 2, !.
fibonacci(N, R) :- A is N - 1, B is N - 2, fibonacci(A, X), fibonacci(B, Y), R is X + Y.
word(I, W) :- K is I * 7919 mod 1009, atom_concat(word, K, W).
main :- numlist(1, 2000, L), maplist(word, L, W), msort(W, S), length(S, N), fibonacci(18, F),
        R is N + F, write(R), nl.
:- initialization((main, main, main, halt)).
