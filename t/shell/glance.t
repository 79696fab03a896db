#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# summary, reachability, sizes, stack, callers, dangling: Devel::MAT's other words.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Sample;
use Test::More;

my $file = Sample::make();

# --- the whole ---------------------------------------------------------------

is_text $file, 'summary', <<'END';
20 objects, 4.7 KiB; 95.0 % of them typed, 99.0 % of the bytes
19 pointers between them, 11 from 12 roots

   objects        bytes      %  reachability
        16      4.6 KiB   98.7  reachable
         4         64 B    1.3  leaked

   objects        bytes      %  module
        15      4.4 KiB   93.1  app
         4        284 B    5.9  libutility.so
         1         48 B    1.0  (no module)

   objects        bytes      %  type
         1      4.0 KiB   85.2  struct node *
         1        224 B    4.7  struct slot
         1        152 B    3.2  struct all
         9        144 B    3.0  struct node
         1         48 B    1.0  (untyped)
         7        146 B    3.0  6 more
END
my $summary = Sample::json($file, 'summary');
is_deeply [@$summary{qw(objects bytes pointers roots root_pointers)}, $summary->{typed}],
    [20, 4810, 19, 12, 11, { objects => 19, bytes => 4762 }], 'summary in JSON: totals';
is scalar @{ $summary->{type} }, 11, '... all types';
is_deeply $summary->{module}[1], { name => 'libutility.so', objects => 4, bytes => 284 }, '... modules';

# A list that only a local variable holds, a ring that is leaked...
is_text $file, 'reachability', <<'END';
   objects        bytes      %  reached from
        11      4.5 KiB   95.8  global and static variables
         2         32 B    0.7  local variables
         1         48 B    1.0  registers
         1         24 B    0.5  words of stacks without a name
         1         32 B    0.7  words of modules' data without a name
         1         16 B    0.3  nothing
         1         16 B    0.3  nothing but their own cycle
         2         32 B    0.7  leaked objects alone
END
is_deeply Sample::json($file, 'reachability'), {
    reached => [map { { from => $_->[0], objects => $_->[1], bytes => $_->[2] } }
            ['global', 11, 4610], ['local', 2, 32], ['register', 1, 48], ['stack', 1, 24], ['segment', 1, 32]],
    leaked => [map { { class => $_->[0], objects => $_->[1], bytes => $_->[2] } }
            ['direct', 1, 16], ['cycle', 1, 16], ['indirect', 2, 32]],
    interior => { objects => 0, bytes => 0 },
}, 'reachability in JSON';
my $empty = Sample::make('empty');
is((Sample::heapsh($empty, $_))[2], 1, "$_ of nothing") for qw(summary reachability stack dangling);

# --- an object ---------------------------------------------------------------

is_text $file, 'sizes popular', <<'END';
struct table at 0x5f00400
own                24 B  1 object
structure         284 B  4 objects, each but the first held by one other of them alone
owned             284 B  4 objects, that would be free without it
END
# Its text is held by several, the nodes of the list by other variables, too.
is_text $file, 'sizes sample', <<'END';
struct all at 0x5f02000
own               152 B  1 object
structure         152 B  1 object
owned             152 B  1 object, that would be free without it
END
is_text $file, 'sizes 0x5f01200', <<'END';
struct node at 0x5f01200
own                16 B  1 object
structure          16 B  1 object
owned                 -  it is leaked itself
END
is_deeply Sample::json($file, 'sizes', 'popular')->{structure}, { bytes => 284, objects => 4 }, 'sizes in JSON';
fails_with $file, 'sizes', 'usage: sizes OBJ', 2;

# A table with its buckets and records, which do not own the requests.
my $waste = Heapsh->start('waste');
my $snapshot = $waste->capture;
my $sizes = Heapsh::ask_json($snapshot, 'sizes', 'table');
is_deeply [map { [@{ $sizes->{$_} }{qw(bytes objects)}] } qw(own structure owned)],
    [[24, 1], [24 + 512 + 5 * 16, 7], [616, 7]], 'a hash table';
$sizes = Heapsh::ask_json($snapshot, 'sizes', 'requests');
is_deeply [map { [@{ $sizes->{$_} }{qw(bytes objects)}] } qw(own structure)],
    [[40, 1], [40 + 1000 + 8 + 2 * 24 + 11 + 13 + 17 + 11, 9]], 'a request, without the next one';

# --- stacks ------------------------------------------------------------------

is_text $file, 'stack', <<'END';
thread 4242 (app)
  #0   serve (app.c:30)
        ring = struct node at 0x5f01100
        rbx = block(48) at 0x5f02300
  #1   main (app.c:44)
        0x7ffe00000048 = class Circle at 0x5f02100
END
is((Sample::heapsh($file, qw(stack --thread 4243)))[2], 1, 'a thread that holds nothing');
my $stack = Sample::json($file, 'stack');
is_deeply [map { $_->{frame} } @{ $stack->[0]{frames} }], ['serve (app.c:30)', 'main (app.c:44)'], 'frames in JSON';
is_deeply [map { [@$_{qw(slot kind)}, $_->{object}{address}] } @{ $stack->[0]{frames}[0]{slots} }],
    [['ring', 'local', '0x5f01100'], ['rbx', 'register', '0x5f02300']], 'slots in JSON';
is((Sample::heapsh($file, 'callers', @$_))[0], (Sample::heapsh($file, 'callstack', @$_))[0], "callers @$_")
    for [], [qw(--reachable --conservative)];

# --- dangling pointers -------------------------------------------------------

is((Sample::heapsh($file, 'dangling'))[2], 1, 'nothing dangles');
my $program = Heapsh->start('dangling');
my $file_of_it = $program->capture;
my $dangling = Heapsh::ask_json($file_of_it, 'dangling');
is_deeply [map { [$_->{field}, $_->{object} ? $_->{object}{type} : $_->{root}{name}] } @{ $dangling->{pointers} }],
    [['.current', 'struct holder'], ['', 'last'], ['', 'gone']],
    'freed: by a field, a global and a local; not an array\'s end, and not what lives again';
is $dangling->{count}, 3, 'and their number';
like scalar Heapsh::ask($file_of_it, 'dangling', 'type', 'holder'),
    qr/\A\.current of struct holder at 0x\w+ = 0x\w+, \d+ bytes behind struct \w+ at 0x\w+\n\z/, 'of some alone';
done_testing;
