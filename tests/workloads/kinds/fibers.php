<?php
/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fibers.php - eight fibers that take turns, each at another depth of calls. */

function work(int $n): int
{
    $found = [];
    for ($i = 0; $i < $n; $i++) {
        $found[$i % 97] = str_repeat(md5((string)$i), 3);
        if ($i % 50 == 0) {
            Fiber::suspend($i);
        }
    }
    sort($found);
    return count($found);
}

function deeper(int $depth, int $n): int
{
    return $depth > 0 ? deeper($depth - 1, $n) : work($n);
}

$fibers = [];
for ($k = 0; $k < 8; $k++) {
    $fibers[] = new Fiber(fn() => deeper($k, 10000));
}
array_walk($fibers, fn($fiber) => $fiber->start());
while ($fibers = array_filter($fibers, fn($fiber) => !$fiber->isTerminated())) {
    array_walk($fibers, fn($fiber) => $fiber->resume());
}
