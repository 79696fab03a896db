#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# leaks, count and suspects after heapsnap attach: no sites are known, so that sizes tell kinds of blocks without a type
# apart (t/programs/attached-leaks.c). That sites are not known is said where somebody asks for them alone.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

plan skip_all => $_ for grep { $_ } Heapsh::attach_refusal();

my $file = Heapsh->start('attached-leaks', bare => 1)->attach_and_finish;
my @leaks = Heapsh::ask($file, 'leaks');
is_deeply [ grep { /block/ } @leaks ], [
    '        20        480 B         40      5.9 KiB  block(24)',
    '         5        520 B          0          0 B  block(104)',
], 'leaks by size';
is_deeply [ map { [ @$_{qw(direct_objects indirect_objects)}, $_->{example}{size} ] }
    @{ Heapsh::ask_json($file, 'leaks')->{groups} } ], [ [ 20, 40, 24 ], [ 5, 0, 104 ] ], 'in JSON';
unlike join("\n", @leaks, map { Heapsh::ask($file, $_) } qw(count roots suspects suggest)), qr/not known/, 'no site that is not known';
is_deeply [ grep { /block/ } Heapsh::ask($file, 'count') ], [
    '        20      5.2 KiB    block(264)',
    '        20        800 B    block(40)',
    '         5        520 B    block(104)',
    '        20        480 B    block(24)',
], 'count: untyped blocks by size alone';
is_deeply [ grep { /not known/ } Heapsh::ask($file, 'leaks', '--by', 'site') ],
    [ '        25       1000 B         40      5.9 KiB  code that is not known: taken by attach' ], 'who asks for sites is told';
done_testing;
