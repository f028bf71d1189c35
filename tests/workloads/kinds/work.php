<?php
// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// Recursion, sorting with a function, text and exceptions.
function fibonacci ($n) { return $n < 2 ? $n : fibonacci ($n - 1) + fibonacci ($n - 2); }

$sum = 0;
for ($round = 0; $round < 10; $round++)
  {
    $words = array_map (fn ($i) => strtoupper ("word" . $i * 7919 % 1009), range (1, 2000));
    usort ($words, fn ($a, $b) => strcmp ($b, $a));
    $sum += preg_match_all ('/\D+(\d+)/', implode (" ", $words)) + fibonacci (20);
    try { throw new Exception ("deep"); } catch (Exception $error) { $sum++; }
  }
echo $sum, "\n";
