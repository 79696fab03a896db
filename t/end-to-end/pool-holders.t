#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The parts of pools belong to whoever points to them: a list and a table hold 1,000 items in 20 slabs together, and
# 500 labels (t/programs/pool-holders.c).
use strict;
use warnings;
no warnings 'portable'; # addresses
use Test::More;
use lib 't/lib';
use Heapsh;

my $items_text = 1000 * 32 + 500 * 14;
my $all = $items_text + 20 * 24; # the slabs begin with 24 bytes
my $file = Heapsh->start('pool-holders')->capture;
sub ask { return join "\n", Heapsh::ask($file, @_) }

like ask(qw(find --count type), 'struct item'), qr/^Total: .*, 31\.2 KiB$/, 'the items are known';
my $roots = ask('roots');
like $roots, qr/list and table, together: 1000 struct item, 500 char, \.\.\.$/m, 'roots';
unlike $roots, qr/untyped/, 'nothing is called untyped';
my ($together) = grep { $_->{together} } @{ Heapsh::ask_json($file, 'roots') };
is_deeply [ @$together{qw(retained retained_objects)} ], [ $all, 1520 ], 'all bytes of slabs and labels';
like ask('suspects'), qr/1000 × struct item, held by list and table, together$/m, 'suspects';
my $summary = ask('summary');
like $summary, qr/^ +20 .* \(pools\)$/m, 'summary, too';
unlike $summary, qr/\(untyped\)/, '... has nothing else without a type';

# An odd number has a label, and is held by the table and by the next item.
my $slab = Heapsh::ask_json($file, qw(find size), 50 * 32 + 24)->{objects}[3]{address};
my $item = sprintf '%#x', hex($slab) + 24 + 5 * 32;
is ask('retained', $item), "struct item at $item: own 32 B, retained 46 B, held by list and table, together", 'retained by a part';
like ask('retained', $slab), qr/: own 1\.6 KiB, retained 1\.9 KiB, held by list and table, together$/, '... and by its pool';
is Heapsh::ask_json($file, 'retained', $slab)->{retained}, 50 * 32 + 24 + 25 * 14, '... with all its parts';
my $tree = Heapsh::ask_json($file, qw(dominators --all), $slab);
is scalar @{ $tree->{dominates} }, 50, 'dominators begins with the parts of a pool';
is scalar(grep { $_->{retained} == 46 } @{ $tree->{dominates} }), 25, '... half of which have labels';
my $set = Heapsh::ask_json($file, qw(retained type), 'struct item');
is_deeply [ @$set{qw(retained_objects retained parts)} ], [ 1000 + 500 + 20, $all, 1000 ], 'retained by all parts of a type';
my ($by) = grep { $_->{type} eq 'struct item' } @{ Heapsh::ask_json($file, qw(retained --by type)) };
is_deeply [ @$by{qw(objects bytes retained)} ], [ 1000, 32_000, $items_text ], '... by type';
is Heapsh::ask_json($file, qw(find --count type), 'struct item', 'retained', '>40')->{count}, 500, 'parts are found by what they retain';
is Heapsh::ask_json($file, qw(find --count type), 'struct item', 'under', $slab)->{count}, 50, '... and below their pool';

# The holders of a part are those who point to it, not to the pool.
my $identified = ask('identify', $item);
like $identified, qr/^struct item at $item, part of the pool of 50 typed parts at $slab is:$/m, 'identify names the part';
like $identified, qr/^├─\.next_in_bucket of struct item at 0x[0-9a-f]+, which is:$/m, '... and the parts that hold it';
like $identified, qr/^ *│ +└─the global variable table /m, '... up to the table';
done_testing;
