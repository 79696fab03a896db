#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Blocks that leaked, attached to, of a program with many structs of one size that point to each other: each has
# its type by likeness, and is compared with the few structs that its pointers allow.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;

if (my $why = Heapsh::attach_refusal()) { plan skip_all => $why }

my ($types, $kept, $lost) = (400, 6, 20);
my $directory = tempdir(CLEANUP => 1);
my $text = join "\n", '#include <stdio.h>', '#include <stdlib.h>', '#include <string.h>',
    (map { "struct s$_;" } 0 .. $types - 1),
    (map { my ($a, $b) = (($_ * 7 + 1) % $types, ($_ * 11 + 3) % $types);
           "struct s$_ { struct s$a *a; char *t; struct s$b *b; long n[3]; } *kept$_\[$kept];" } 0 .. $types - 1),
    (map { my ($a, $b) = (($_ * 7 + 1) % $types, ($_ * 11 + 3) % $types);
           "static struct s$_ *make$_(void) { struct s$_ *s = calloc(1, sizeof(*s)); s->a = kept$a\[0]; s->t = strdup(\"a text\"); s->b = kept$b\[0]; return s; }" }
        0 .. $types - 1),
    'int main(void) {',
    (map { "for (int i = 0; i < $kept; i++) kept$_\[i] = make$_();" } 0 .. $types - 1),
    (map { "for (int i = 0; i < $lost; i++) make$_();" } 0 .. $types - 1),
    'puts("ready"); fflush(stdout); while (getchar() != EOF) ; return 0; }';

Heapsh::write_file("$directory/many.c", $text);
system("cc -g -O0 -o $directory/many $directory/many.c") == 0 or plan skip_all => 'cc does not compile it';

my $file = Heapsh->start("$directory/many", bare => 1)->attach_and_finish;
my %objects = map { $_->{type} => $_->{objects} } @{ Heapsh::ask_json($file, 'count', '--all') };
is scalar(grep { ($objects{"struct s$_"} // 0) == $kept + $lost } 0 .. $types - 1), $types,
    'all types have all of their objects';
cmp_ok Heapsh::ask_json($file, 'info')->{steps}, '<', 500 * $types * ($kept + $lost), 'steps for each object are few';

done_testing;
