# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
#
# script.pl - the workload perl: recursion, sorting and regular expressions for some CPU seconds.

use strict;
use warnings;

sub ackermann {
    my ($m, $n) = @_;
    return $n + 1 if $m == 0;
    return ackermann ($m - 1, 1) if $n == 0;
    return ackermann ($m - 1, ackermann ($m, $n - 1));
}

sub words {
    my ($seed) = @_;
    return map { $seed = ($seed * 1103515245 + 12345) % 2147483648; "w$seed" } 1 .. 2000;
}

sub count_digits {
    my ($text) = @_;
    my %seen;
    $seen{$1}++ while $text =~ /w\d*?(\d\d)\b/g;
    return scalar keys %seen;
}

no warnings 'recursion';
my $seconds = shift;
my $total = 0;
while ((times)[0] + (times)[1] < $seconds) {
    my @words = words ($total + 1);
    $total += ackermann (2, 30) + count_digits (join (' ', @words));
    $total += length ((sort { length ($a) <=> length ($b) or $a cmp $b } @words)[0]);
}
print "$total\n";
