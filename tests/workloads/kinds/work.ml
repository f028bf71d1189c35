(* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors *)

(* Recursion, maps, closures, exceptions and garbage. *)
module Names = Map.Make (String)

let rec fibonacci n = if n < 2 then n else fibonacci (n - 1) + fibonacci (n - 2)
let rec depth n = if n = 0 then raise Not_found else 1 + depth (n - 1)

let text n =
  List.init n (fun i -> Printf.sprintf "word%d" (i * 7919 mod 1009))
  |> List.sort (fun a b -> compare b a)
  |> List.fold_left (fun names word -> Names.add word (String.length word) names) Names.empty

let () =
  let sum = ref 0 in
  for _ = 1 to 30 do
    sum := !sum + fibonacci 22 + Names.cardinal (text 2000);
    sum := !sum + (try depth 50 with Not_found -> 1)
  done;
  Printf.printf "%d\n" !sum
