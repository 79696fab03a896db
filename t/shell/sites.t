#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# sites: per site, and along the calls that led there, from main down and from sites up.
use strict;
use warnings;
use lib 't/lib';
use Sample;
use JSON::PP;
use Test::More;

my $file = Sample::make('typed');
my ($true, $false) = (JSON::PP::true, JSON::PP::false);

is_text $file, 'sites', <<'END';
   objects        bytes       %  site
         1        256 B    45.1  copy_text (text.c:7)
         4        112 B    19.7  0x12345678
         2         88 B    15.5  cache_insert (cache.c:88)
         1         64 B    11.3  grow+0x10 (libutility.so)
         3         48 B     8.5  node_new (app.c:12)
END
is_text $file, 'sites --by objects --limit 2', <<'END';
   objects        bytes       %  site
         4        112 B    36.4  0x12345678
         3         48 B    27.3  node_new (app.c:12)
END

# Objects without a backtrace are there by their site; inlined functions have a line.
is_text $file, 'sites --tree', <<'END';
   objects        bytes       %  call
         1        256 B    45.1  copy_text (text.c:7)
         3        152 B    26.8  main (app.c:46)
         3        152 B    26.8  └─serve (app.c:30)
         3        152 B    26.8    └─cache_insert (cache.c:88)
         1         64 B    11.3      └─grow+0x10 (libutility.so)
         4        112 B    19.7  0x12345678
         3         48 B     8.5  main (app.c:44)
         3         48 B     8.5  └─add (app.c:20)
         3         48 B     8.5    └─node_new (app.c:12), inlined
         3         48 B     8.5      └─xmalloc (util.c:5)
END

# From sites up wrappers of malloc are left out.
is_text $file, 'sites --callers', <<'END';
   objects        bytes       %  site, and who calls it
         1        256 B    45.1  copy_text (text.c:7)
         4        112 B    19.7  0x12345678
         2         88 B    15.5  cache_insert (cache.c:88)
         2         88 B    15.5  └─serve (app.c:30)
         2         88 B    15.5    └─main (app.c:46)
         1         64 B    11.3  grow+0x10 (libutility.so)
         1         64 B    11.3  └─cache_insert (cache.c:88)
         1         64 B    11.3    └─serve (app.c:30)
         1         64 B    11.3      └─main (app.c:46)
         3         48 B     8.5  node_new (app.c:12), inlined
         3         48 B     8.5  └─add (app.c:20)
         3         48 B     8.5    └─main (app.c:44)
END
is_text $file, 'sites --tree --min 100 --depth 2', <<'END';
   objects        bytes       %  call
         1        256 B    45.1  copy_text (text.c:7)
         3        152 B    26.8  main (app.c:46)
         3        152 B    26.8  └─serve (app.c:30)
         3        152 B    26.8    └─… 1 more
         4        112 B    19.7  0x12345678
         3         48 B     8.5  … 1 more
END
is_text $file, 'sites --tree --by objects --min 100 --limit 1', <<'END';
   objects        bytes       %  call
         4        112 B    36.4  0x12345678
         7        456 B    63.6  … 3 more
END
my ($out) = Sample::run('', "$Sample::build/heapsh", $file, qw(sites --tree));
is +(split /\n/, $out)[-1], '2 objects by their own backtrace, 4 by that of the first of their site'
    . ' and size, 5 by their site alone', 'what it rests on is said';

sub call {
    my ($place, $objects, $bytes, $inlined, @calls) = @_;
    return { place => $place, objects => $objects, bytes => $bytes, inlined => $inlined,
        calls => \@calls };
}
sub without_per_cent {
    my ($node) = @_;
    delete $node->{per_cent};
    without_per_cent($_) for @{ $node->{calls} };
    return $node;
}
my $tree = Sample::json($file, qw(sites --tree));
is sprintf('%.2f', $tree->{calls}[0]{per_cent}), '45.07', 'per cent';
is_deeply without_per_cent($tree), {
    objects => 11, bytes => 568, own_backtraces => 2, backtraces_of_kind => 4, sites_alone => 5,
    calls => [
        call('copy_text (text.c:7)', 1, 256, $false),
        call('main (app.c:46)', 3, 152, $false, call('serve (app.c:30)', 3, 152, $false,
            call('cache_insert (cache.c:88)', 3, 152, $false,
                call('grow+0x10 (libutility.so)', 1, 64, $false)))),
        call('0x12345678', 4, 112, $false),
        call('main (app.c:44)', 3, 48, $false, call('add (app.c:20)', 3, 48, $false,
            call('node_new (app.c:12)', 3, 48, $true, call('xmalloc (util.c:5)', 3, 48, $false)))),
    ],
}, 'the tree in JSON';

# A snapshot without backtraces, and one without objects.
is_text Sample::make(), 'sites --tree --limit 1', <<'END';
   objects        bytes       %  call
        10      4.1 KiB    88.1  node_new (app.c:12)
        10        570 B    11.9  … 4 more
END
is((Sample::heapsh(Sample::make('empty'), 'sites', @$_))[2], 1, "sites @$_: nothing")
    for [], ['--tree'], ['--callers'];
my %wrong = (
    '--by age' => '--by age: not bytes or objects',
    '--min big' => '--min big: not a size such as 64, 4K or 1M',
    '--depth' => '--depth: a number must follow it',
    '--depth 1 two' => 'two is one word too many; usage: sites [--by bytes|objects] [--all | --limit N] '
        . '[--tree | --callers] [--depth N] [--min SIZE]',
);
fails_with $file, "sites $_", "heapsh: $wrong{$_}", 2 for sort keys %wrong;
done_testing;
