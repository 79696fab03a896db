#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Blocks that are larger than the struct that pointers lead to, as they extend it: they are the only struct that does, or all
# that is known of them is how they begin. What they lead to is known in either case.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

plan skip_all => $_ for grep { $_ } Heapsh::attach_refusal();
my $file = Heapsh->start('begun', bare => 1)->attach_and_finish;
my %count = map { $_->{type} => $_->{objects} } @{ Heapsh::ask_json($file, 'count') };
is $count{'struct index'}, 50, 'the only struct that begins like a table';
is $count{'struct node'}, 2000, 'and what is behind it';
is $count{'struct style'}, 600, 'what is behind a shape, which may be one of two structs';
is Heapsh::ask_json($file, 'find', '--count', 'type', 'struct shape')->{count}, 600, 'each begins with a shape';
my @shapes = @{ Heapsh::ask_json($file, 'find', 'evidence', 'pool')->{objects} };
is scalar(grep { $_->{type} =~ /^struct shape and 16 bytes$/ } @shapes), 600, 'which is all that is known of them';
my $shown = Heapsh::ask($file, 'show', $shapes[0]{address});
like $shown, qr/^struct shape and 16 bytes at 0x/, 'show: so much';
like $shown, qr/; type of its beginning by pointer$/m, '... how it is known';
like $shown, qr/^  label = char\[24\] "the label of a shape" at 0x/m, '... the members';
like $shown, qr/^  the other 16 B are not known$/m, '... and what is not known';
done_testing;
