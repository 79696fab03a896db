#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# An intrusive list is typed to its end, however long it is: its nodes are named two at a time.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

my $program = Heapsh->start('intrusive', run => ['--content', 'none']);
my $file = $program->capture;
is Heapsh::ask_json($file, 'find', '--count', 'type', 'struct connection')->{count}, 3000, 'all nodes have their type';
is Heapsh::ask_json($file, 'find', '--count', 'type', 'struct connection', 'leaked')->{count}, 0, 'and are held';
is Heapsh::ask_json($file, 'leaks')->{classes}{interior}{objects}, 0, 'by links that are meant to point to a member';
is_deeply [grep { $_->{type} =~ /keyword/ } @{ Heapsh::ask_json($file, 'count') }], [],
    'free buffers have no type that nothing but their link tells of';
$program->finish;
is $program->errors, '', 'nothing was said';
done_testing;
