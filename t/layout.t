#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Arrows go one way: shell -> lib, writer -> lib, dumper -> libc alone.
use strict;
use warnings;
use Test::More;

my %may_include = (
    'dumper'        => qr{^dumper/(?!writer/)},
    'dumper/writer' => qr{^(dumper/writer|lib)/|^dumper/(header|protocol).h$},
    'dumper/command' => qr{^(dumper/command|lib)/|^dumper/(amount|announce|note|protocol).h$},
    'lib'           => qr{^lib/},
    'shell'         => qr{^(shell|lib)/},
    'shell/batch'   => qr{^(shell|lib)/},
);

for my $room (sort keys %may_include) {
    my @wrong;
    for my $file (glob("$room/*.[ch]")) {
        open my $in, '<', $file or die "$file: $!";
        while (<$in>) {
            push @wrong, "$file:$.: $1" if /^#include "([^"]+)"/ && $1 !~ $may_include{$room};
        }
    }
    is join("\n", @wrong), '', "$room includes only its own and what it may";
}

# A dropped error is a bug, which the compiler sees only where the function says so.
my @silent;
for my $file (glob('lib/*.[ch] dumper/writer/*.[ch] dumper/command/*.[ch] shell/*.[ch]')) {
    my $place = $file =~ /\.h$/ ? qr{^} : qr{^static };
    my $before = '';
    open my $in, '<', $file or die "$file: $!";
    while (<$in>) {
        push @silent, "$file:$.: $_"
            if /${place}struct heap_error \*\w+\(/ && $before !~ /^HEAP_(MUST|MAKES|PRINTF)/;
        $before = $_;
    }
}
is join('', @silent), '', 'every function that returns an error has it checked';
done_testing;
