#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Which functions are looked through (t/programs/wrappers.c): allocators, also those that are called
# through a pointer; and not those that call themselves.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use File::Temp qw(tempdir);
use Test::More;
use Tools;

my $directory = tempdir(CLEANUP => 1);
my %makes = (new_object => 400, new_shape => 400, new_property => 400, new_string => 400, new_atom => 400,
    evaluate => 12000, list_new => 17976);
my @compilers = grep { has($_) } qw(gcc clang);
for my $way (map { my $compiler = $_; map { ["$compiler -g", $_], ["$compiler -g0", $_] } '-O0', '-O2' } @compilers) {
    my $what = "@$way";
    my $program = "$directory/" . $what =~ s/\W//gr;
    is system("$what -o $program t/programs/wrappers.c"), 0, $what;
    my %objects;
    for (@{ Heapsh::ask_json(Heapsh->start($program)->capture, 'sites') }) {
        my ($function) = $_->{site} =~ /^(\w+)/;
        $objects{$function} += $_->{objects};
    }
    # The first blocks come before it shows that a function is an allocator.
    cmp_ok delete $objects{default_alloc} // 0, '<=', 8, "$what: the allocator is looked through";
    delete $objects{main};
    my @wrong = grep { abs(($objects{$_} // 0) - ($makes{$_} // 0)) > 8 } sort keys %{ { %makes, %objects } };
    is "@wrong", '', "$what: blocks stand at the functions that made them";
}
done_testing;
