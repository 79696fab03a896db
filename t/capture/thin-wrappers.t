#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Wrappers that are known by their code alone, before anything is known of their callers. Whatever
# compiled them, the first block of each caller counts for that caller.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;
use Tools;

my $directory = tempdir(CLEANUP => 1);

# Objects and bytes of each function.
my %expected = (
    (map {
        my ($name, $first, $second) = @$_;
        ("make_${name}_1" => "1 $first", "make_${name}_2" => "1 $second")
    } ['checked', 1001, 1002], ['explained', 1011, 1012], ['zeroed', 1021, 1022], ['array', 1031, 1032],
        ['multiplied', 1041, 1042], ['resized', 1051, 1052], ['prefixed', 1061, 1062],
        ['counted', 1072, 1080], ['by_pointer', 1081, 1082], ['nested', 1091, 1092],
        ['cleared', 1101, 1102], ['usable', 1171, 1172], ['regrown', 1181, 1182], ['grown', 1191, 1192],
        ['aligned', 1201, 1202]),
    # No wrappers.
    new_node => '1 1208', new_doubles => '2 2248', new_nodes => '2 2288', copy => '1 5',
    checked_node => '1 1308', keeps => '1 1161', keeps_aligned => '1 1211', recursive => '2 2303',
);

sub functions {
    my ($file) = @_;
    return { map { ($_->{site} =~ s/ .*//r) => "$_->{objects} $_->{bytes}" }
        @{ Heapsh::ask_json($file, 'sites') } };
}

# Code for one machine alone: vector prefixes; signed return addresses.
my $special = `uname -m` =~ /^x86_64/ ? '-fcf-protection=none -march=haswell' : '-mbranch-protection=standard';

for my $compiler (qw(gcc clang)) {
    SKIP: {
        skip "there is no $compiler", 1 unless has($compiler);
        for my $flags (qw(-O0 -O1 -O2 -O3 -Os), '-O2 -fno-plt', '-O2 -fno-pie -no-pie',
            "-O2 -fno-omit-frame-pointer $special") {
            my $name = "$directory/$compiler" . $flags =~ s/\W//gr;
            system("$compiler -g $flags -fno-builtin-malloc -iquote . -o $name t/programs/thin-wrappers.c"
                . " && LD_PRELOAD=$Heapsh::build/libheapsnap.so $name $name.snap") == 0
                or die "no $name.snap";
            is_deeply functions("$name.snap"), \%expected, "$compiler $flags"
                or diag explain functions("$name.snap");
        }
    }
}
done_testing;
