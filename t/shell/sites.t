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
         1         64 B    11.3  grow+0x10 (libutility.so), for cache_insert (cache.c:88)
         3         48 B     8.5  node_new (app.c:12)
END
is_text $file, 'sites --by objects --limit 2', <<'END';
   objects        bytes       %  site
         4        112 B    36.4  0x12345678
         3         48 B    27.3  node_new (app.c:12)
END

# Samples stand for the objects of their sites; of the others, only the site is known.
is_text $file, 'sites --tree', <<'END';
   objects        bytes       %      ±  call
         6        432 B    76.1         caller not sampled
         1        256 B    45.1         ├─copy_text (text.c:7)
         4        112 B    19.7         ├─0x12345678
         1         64 B    11.3         └─grow+0x10 (libutility.so)
         2         88 B    15.5   ±6.1  main (app.c:46)
         2         88 B    15.5   ±6.1  └─serve (app.c:30)
         2         88 B    15.5   ±6.1    └─cache_insert (cache.c:88)
         3         48 B     8.5   ±3.4  main (app.c:44)
         3         48 B     8.5   ±3.4  └─add (app.c:20)
         3         48 B     8.5   ±3.4    └─node_new (app.c:12), inlined
         3         48 B     8.5   ±3.4      └─xmalloc (util.c:5)
END

# From sites up wrappers of malloc are left out. The sites are exact.
is_text $file, 'sites --callers', <<'END';
   objects        bytes       %      ±  site, and who calls it
         1        256 B    45.1         copy_text (text.c:7)
         1        256 B    45.1         └─caller not sampled
         4        112 B    19.7         0x12345678
         4        112 B    19.7         └─caller not sampled
         2         88 B    15.5         cache_insert (cache.c:88)
         2         88 B    15.5   ±6.1  └─serve (app.c:30)
         2         88 B    15.5   ±6.1    └─main (app.c:46)
         1         64 B    11.3         grow+0x10 (libutility.so)
         1         64 B    11.3         └─caller not sampled; one was cache_insert (cache.c:88)
         3         48 B     8.5         node_new (app.c:12), inlined
         3         48 B     8.5   ±3.4  └─add (app.c:20)
         3         48 B     8.5   ±3.4    └─main (app.c:44)
END
is_text $file, 'sites --tree --min 80 --depth 2', <<'END';
   objects        bytes       %      ±  call
         6        432 B    76.1         caller not sampled
         1        256 B    45.1         ├─copy_text (text.c:7)
         4        112 B    19.7         ├─0x12345678
         1         64 B    11.3         └─… 1 more
         2         88 B    15.5   ±6.1  main (app.c:46)
         2         88 B    15.5   ±6.1  └─serve (app.c:30)
         2         88 B    15.5           └─… 1 more
         3         48 B     8.5         … 1 more
END
is_text $file, 'sites --tree --by objects --min 100 --limit 1', <<'END';
   objects        bytes       %      ±  call
         6        432 B    54.5         caller not sampled
         4        112 B    36.4         ├─0x12345678
         2        320 B    18.2         └─… 2 more
         5        136 B    45.5         … 2 more
END
my ($out) = Sample::run('', "$Sample::build/heapsh", $file, qw(sites --tree));
is +(split /\n/, $out)[-1], '2 samples stand for 3 more objects of their sites (± is the 95 % confidence interval);'
    . ' callers of 6 are not known', 'what it rests on is said';

sub call {
    my ($place, $objects, $bytes, $inlined, @calls) = @_;
    return { place => $place, objects => $objects, bytes => $bytes, inlined => $inlined,
        calls => \@calls };
}
sub without_per_cent {
    my ($node) = @_;
    delete @$node{qw(per_cent margin_per_cent)};
    without_per_cent($_) for @{ $node->{calls} };
    return $node;
}
my $tree = Sample::json($file, qw(sites --tree));
is sprintf('%.2f', $tree->{calls}[0]{per_cent}), '76.06', 'per cent';
# One sample of one: the Wilson score interval is 0.21 to 1.
is sprintf('%.3f', $tree->{calls}[1]{margin_per_cent} / $tree->{calls}[1]{per_cent}), '0.397', 'margin of one sample';
is_deeply without_per_cent($tree), {
    objects => 11, bytes => 568, sampled => 2, estimated => 3, not_sampled => 6,
    calls => [
        call('caller not sampled', 6, 432, $false, call('copy_text (text.c:7)', 1, 256, $false),
            call('0x12345678', 4, 112, $false), call('grow+0x10 (libutility.so)', 1, 64, $false)),
        call('main (app.c:46)', 2, 88, $false, call('serve (app.c:30)', 2, 88, $false,
            call('cache_insert (cache.c:88)', 2, 88, $false))),
        call('main (app.c:44)', 3, 48, $false, call('add (app.c:20)', 3, 48, $false,
            call('node_new (app.c:12)', 3, 48, $true, call('xmalloc (util.c:5)', 3, 48, $false)))),
    ],
}, 'the tree in JSON';

# A snapshot without backtraces, and one without objects.
is_text Sample::make(), 'sites --tree --limit 1', <<'END';
   objects        bytes       %      ±  call
        20      4.7 KiB   100.0         caller not sampled
        10      4.1 KiB    88.1         ├─node_new (app.c:12)
        10        570 B    11.9         └─… 4 more
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
