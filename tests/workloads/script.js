// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors
//
// script.js - the workload node, for information only: compiled code has no CFI.

const seconds = Number(process.argv[2]);
const fibonacci = (n) => (n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2));
const words = Array.from({ length: 500 }, (_, i) => 'w' + ((i * 7919) % 1000));
let total = 0;
while (process.cpuUsage().user + process.cpuUsage().system < seconds * 1e6) {
  total += fibonacci(20) + JSON.parse(JSON.stringify({ words })).words.length;
  total += [...words].sort().join(' ').replace(/w(\d)/g, '$1w').length;
}
console.log(total > 0);
