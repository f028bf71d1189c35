% SPDX-License-Identifier: LGPL-2.1-or-later
% SPDX-FileCopyrightText: 2026 The live-unwinder authors

%% Recursion, sorting with a function, processes and text, for Erlang.
-module (work).
-export ([main/0]).

fibonacci (N) when N < 2 -> N;
fibonacci (N) -> fibonacci (N - 1) + fibonacci (N - 2).

once () ->
  Words = lists:sort (fun (A, B) -> A > B end,
                      ["word" ++ integer_to_list (I * 7919 rem 1009) || I <- lists:seq (1, 2000)]),
  Self = self (),
  [spawn (fun () -> Self ! fibonacci (18) end) || _ <- lists:seq (1, 4)],
  lists:sum ([receive N -> N end || _ <- lists:seq (1, 4)]) + length (Words).

main () -> io:format ("~p~n", [lists:sum ([once () || _ <- lists:seq (1, 20)])]), halt ().
