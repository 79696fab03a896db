#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Pools that two roots hold together are called what they are by roots, as by suspects (t/programs/pool-holders.c).
use strict;
use warnings;
use Test::More;
use lib 't/lib';
use Heapsh;

my $file = Heapsh->start('pool-holders')->capture;
like join("\n", Heapsh::ask($file, qw(find --count type), 'struct item')), qr/^Total: .*, 31\.2 KiB$/, 'the items are known';
my $roots = join "\n", Heapsh::ask($file, 'roots');
like $roots, qr/list and table, together: 20 pools of struct item by new_slab/, 'roots';
like join("\n", Heapsh::ask($file, 'suspects')), qr/20 × pool of struct item by new_slab/, 'suspects';
unlike $roots, qr/untyped/, 'they are not called untyped';
my $summary = join "\n", Heapsh::ask($file, 'summary');
like $summary, qr/^ +20 .* \(pools\)$/m, 'summary, too';
unlike $summary, qr/\(untyped\)/, '... has nothing else without a type';
done_testing;
