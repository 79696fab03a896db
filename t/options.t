#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Every program's options are those of its manual page and of its usage, no more and no fewer.
use strict;
use warnings;
use lib 't/lib';
use Sample;
use Test::More;

# The long options of a page's synopsis and lists: .It Fl -name, .It Fl n , -name, two by one .It.
sub of_manual {
    my ($page) = @_;
    my %found;
    # heapsh(1) lists its commands and their options behind its own; t/commands.t has those.
    my ($synopsis, $lists) = $page =~ /^\.Sh SYNOPSIS\n(.*?)^\.Sh DESCRIPTION\n(.*?)(?:^\.It Ic|^\.Sh EXAMPLES)/ms;
    for my $item ($synopsis =~ /\b(Fl .*)/g, $lists =~ /^\.It (Fl .*)/mg) {
        $found{$_} = 1 for $item =~ /(?:Fl|,|\|) -([a-z][a-z-]*)/g;
    }
    return %found;
}

# Those of its getopt_long() table.
sub of_source {
    my ($source) = @_;
    return map { $_ => 1 } $source =~ /\{ "([a-z-]+)", (?:no|required|optional)_argument,/g;
}

for my $path ('shell/main.c', glob 'shell/batch/heapsh-*.c') {
    my $program = $path eq 'shell/main.c' ? 'heapsh' : $path =~ s{.*/|\.c$}{}gr;
    my %manual = of_manual(Sample::content("man/$program.1"));
    my %source = of_source(Sample::content($path));
    my ($usage, $err, $status) = Sample::run('', "$Sample::build/$program", '--help');
    my %usage = map { $_ => 1 } qw(help version), $usage =~ /--([a-z][a-z-]*)/g;
    is "$status$err", 0, "$program --help";
    cmp_ok scalar keys %source, '>=', 3, "$program has options";
    is_deeply [sort keys %manual], [sort keys %source], 'which its manual page lists';
    is_deeply [sort keys %usage], [sort keys %source], 'and its usage';
}
# A value that an option does not take is named, with what it takes; the usage follows.
my %wrong = (
    'heapsh-trace --by middle' => 'allocated, peak, end or a time, like 1.5s',
    'heapsh-trace --at noon' => 'a time, like 1.5s',
    'heapsh-trace --live 1s' => 'two times, like 1.5s,2m',
    'heapsh-trace --size large' => 'a size, like 64K or >1M',
    'heapsh-trace --thread 4294967296' => 'the number of a thread',
    'heapsh-trace --limit few' => 'a number',
    'heapsh-export --by name' => 'sites or owners',
    'heapsh-export --min few' => 'a size, like 64K',
    'heapsh-check --loops 1001' => 'a number from 1 to 1000',
    'heapsh-unfreed --by size' => 'kind, type, site or module',
);
for my $words (sort keys %wrong) {
    my ($program, @words) = split / /, $words;
    my ($out, $err, $status) = Sample::run('', "$Sample::build/$program", @words, 'nosuch');
    is "$status$out", 2, "$words: misuse";
    like $err, qr/\A$program: @words: not \Q$wrong{$words}\E\nusage: $program /, '... says what it takes';
}

# heapsnap's, each of which belongs to one or more of its commands, without getopt_long().
my %manual = Sample::content('man/heapsnap.1') =~ /^\.Sh SYNOPSIS\n(.*?)^\.Sh DESCRIPTION/ms ? map { $_ => 1 } $1 =~ /(?:Fl|\|) -([a-z][a-z-]*)/g : ();
my %source = map { $_ => 1 } qw(help version),
    map { Sample::content($_) =~ /(?:\{|strcmp\(\*words?,) "--([a-z-]+)"/g } glob 'dumper/command/*.c';
my ($usage, $err, $status) = Sample::run('', "$Sample::build/heapsnap", '--help');
my %usage = map { $_ => 1 } $usage =~ /--([a-z][a-z-]*)/g;
is "$status$err", 0, 'heapsnap --help';
cmp_ok scalar keys %source, '>', 20, 'heapsnap has options';
is_deeply [sort keys %manual], [sort keys %source], 'which its manual page lists';
is_deeply [sort keys %usage], [sort keys %source], 'and its usage';
done_testing;
