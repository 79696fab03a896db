#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A known heap of C (t/programs/shapes.c): counts, sizes, fields, holders, leaks, exactly.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

my $program = Heapsh->start('shapes');
my $file = $program->capture;
my ($rest, $status) = $program->finish;
is $rest, "done 10 held by a frame\n", 'the program goes on as if nothing had happened';
is $status, 0, 'and ends well';
is $program->errors, '', 'nothing is said';
like $file, qr{/shapes-00\.snap$}, 'the file has the default name';
is sprintf('%o', (stat $file)[2] & 0777), '600', 'only its owner may read it';

is Heapsh::ask_json($file, 'find')->{count}, 243, 'all objects';
my %expected = (
    'struct node'    => [109, 109 * 16],
    'struct twin'    => [10, 240],
    'struct tree'    => [31, 31 * 32],
    'struct table'   => [1, 32],
    'struct entry'   => [40, 960],
    'struct entry *' => [1, 128],
    'struct point'   => [1, 300],
    'struct holder'  => [1, 56],
    'struct message' => [1, 52],
    'struct node *'  => [1, 64],
);
for my $type (sort keys %expected) {
    my $answer = Heapsh::ask_json($file, 'find', '--count', 'type', $type);
    is_deeply [@$answer{qw(count bytes)}], $expected{$type}, "objects and bytes of $type";
}
is Heapsh::ask($file, 'find', '--count', 'type', 'node'), "Total: 109 objects, 1.7 KiB\n",
    'a type is found without struct';
is Heapsh::ask($file, 'find', '--count', 'type', 'struct nothing'), "Total: 0 objects, 0 B\n",
    'a type that is not there';
is $Heapsh::status, 1, 'nothing found is status 1';

my $strings = Heapsh::ask_json($file, 'find', 'frame', '*strdup', 'type', 'char');
is $strings->{count}, 42, 'strings of strdup, which is looked through';

# show
sub only { my $answer = Heapsh::ask_json($file, 'find', @_); return $answer->{objects}[0]{address} }
my $holder = Heapsh::ask_json($file, 'show', only('type', 'struct holder'));
my $fields = $holder->{fields};
is $fields->{label}, 'held by a frame', 'a char array is text';
is_deeply $fields->{size}, { width => 640, height => -480 }, 'a nested structure, signed numbers';
is $fields->{message}{object}{type}, 'struct message', 'a pointer to a structure';
is $fields->{anything}{object}{type}, 'struct node', 'a void pointer names nothing, but the code that allocated it does';
is Heapsh::ask_json($file, 'show', $fields->{anything}{object}{address})->{object}{evidence}, 'site',
    'and it is said that it did';
is $fields->{either}{node}{object}{type}, 'struct node', 'a union with one pointer';
is $holder->{object}{evidence}, 'pointer', 'why it has its type';
like $holder->{site}, qr/^wait_for_the_end \(shapes\.c:\d+\)$/, 'where it was allocated';

my $root = Heapsh::ask_json($file, 'show', 'root')->{fields};
is $root->{colour}, 'BLUE', 'an enumerator by name';
is_deeply [@$root{qw(red depth weight)}], [0, 4, 1000], 'bit-fields';
is $root->{balance}, 1, 'a double';
my $text = Heapsh::ask($file, 'show', only('type', 'struct message'));
like $text, qr/author = char\[13\] "nobody\\n\\x1b\[31m" at/, 'control characters are escaped';
like $text, qr/^    \[2\] = \{\n      x = 0\n      y = 2\.5\n/m, 'elements of a flexible array';
like Heapsh::ask($file, 'show', '&greeting'),
    qr/^the global variable greeting \(shapes\.c:\d+, shapes\), char \* at 0x[0-9a-f]+, 8 B\n  value = char\[13\] "hello, world" at 0x/,
    'a variable itself';
like Heapsh::ask($file, 'show', 'points'), qr/^struct point\[25\] at 0x[0-9a-f]+, 300 B\n/,
    'what a variable points to, an array';

# identify
my $key = only('string', 'key number 37');
like Heapsh::ask($file, 'identify', $key), qr/\A
    char\[14\]\ "key\ number\ 37"\ at\ 0x[0-9a-f]+\ is:\n
    └─\.key\ of\ struct\ entry(\ \(shapes\.c:\d+\))?\ at\ 0x[0-9a-f]+,\ which\ is:\n
    \ \ └─\[5\]\ of\ struct\ entry(\ \(shapes\.c:\d+\))?\ \*\[16\]\ at\ 0x[0-9a-f]+,\ which\ is:\n
    \ \ \ \ └─\.slots\ of\ struct\ table\ at\ 0x[0-9a-f]+,\ which\ is:\n
    \ \ \ \ \ \ └─the\ global\ variable\ popular\ \(shapes\.c:\d+,\ shapes\)\n\z/x,
    'a string, up to the global variable';
like Heapsh::ask($file, 'identify', only('type', 'struct message')),
    qr/└─\.message of struct holder at 0x[0-9a-f]+, which is:\n  └─the local variable holder of wait_for_the_end \(shapes\.c:\d+\), thread \d+\n/,
    'what only a frame holds';
my ($mine) = grep { $_->{root}{kind} eq 'thread-local' } @{ Heapsh::ask_json($file, 'symbols', 'mine') };
like $mine->{value}, qr/^struct node at 0x/, 'a thread-local variable';
like Heapsh::ask($file, 'identify', 'ring'), qr/itself \(a cycle\)/, 'a cycle is said, not followed';

# path
my $path = Heapsh::ask_json($file, 'path', $key);
is $path->[0]{root}{name}, 'popular', 'a path begins with its root';
is_deeply [map { $_->{field} } @$path[1 .. $#$path]], ['', '.slots', '[5]', '.key'],
    'and names the fields';

# leaks
my $leaked = Heapsh::ask_json($file, 'find', 'leaked');
is_deeply [map { $_->{size} } @{ $leaked->{objects} }], [(777) x 5], 'the five leaked blocks';
Heapsh::ask($file, 'path', $leaked->{objects}[0]{address});
is $Heapsh::status, 1, 'no path leads to a leaked one';

# roots
my %root = map { $_->{root}{name} => $_ } grep { $_->{root} } @{ Heapsh::ask_json($file, 'roots', '--all') };
is_deeply [@{ $root{list} }{qw(retained reachable exclusive)}], [1600, 1600, 16],
    'a list: retained, reachable, exclusive';
is $root{root}{retained}, 992, 'a tree retained by its root';
my $keys = 0;
$keys += length("key number $_") + 1 for 0 .. 39;
is $root{popular}{retained}, 32 + 128 + 960 + $keys, 'a table with all that it holds';
is $root{holder}{kind} // $root{holder}{root}{kind}, 'local', 'a local variable is a root';
like Heapsh::ask($file, 'retained', 'popular'), qr/own 32 B, retained 1\.6 KiB, held by the global/,
    'retained says by whom';


# dominators: what is known to be held alone
my $tree = Heapsh::ask_json($file, 'dominators', '--depth', '2', 'root');
is_deeply [@$tree{qw(own retained)}], [32, 992], 'a tree of 31 nodes';
is_deeply [map { $_->{retained} } @{ $tree->{dominates} }], [480, 480], 'its halves, of 15 each';
is_deeply [map { $_->{retained} } map { @{ $_->{dominates} } } @{ $tree->{dominates} }],
    [(224) x 4], 'and theirs, of 7';
my $trees = Heapsh::ask_json($file, 'retained', 'type', 'struct tree');
is_deeply [@$trees{qw(count own retained_objects retained)}], [31, 992, 31, 992],
    'what all of a type retain';
my $below = Heapsh::ask_json($file, 'find', '--count', 'under', 'popular');
is_deeply [@$below{qw(count bytes)}], [1 + 1 + 40 + 40, 32 + 128 + 960 + $keys],
    'under an object lies what it retains';
is Heapsh::ask_json($file, 'find', '--count', 'type', 'struct node', 'retained', '>1000')->{count},
    100 - 62, 'a list\'s nodes retain what follows them: 16 bytes each';
my ($chain) = grep { $_->{type} eq 'struct node' } @{ Heapsh::ask_json($file, 'suspects', '--min', '1K') };
is_deeply [@$chain{qw(kind members bytes)}], ['chain', 100, 1600], 'a list is a suspect of its own';
is $chain->{held_by_root}{name}, 'list', 'and held by its variable';
my $lost = Heapsh::ask_json($file, 'leaks', '--by', 'site');
is_deeply [map { [@$_{qw(direct_objects direct_bytes indirect_objects)}] } @{ $lost->{groups} }],
    [[5, 5 * 777, 0]], 'leaks, by site';
my $apart = Heapsh::ask_json($file, 'shared', '&list', '&root');
is_deeply [map { $apart->{$_}{bytes} } qw(both first second)], [0, 1600, 992],
    'a list and a tree have nothing in common';
my %kind = map { $_->{kind} => $_ } grep { $_->{kind} } @{ Heapsh::ask_json($file, 'roots', '--by', 'kind') };
is $kind{'thread-local variables'}{reachable}, $root{mine}{reachable}, 'roots by kind';

# types and sites
like Heapsh::ask($file, 'types', 'struct tree'), qr/\Astruct tree \{
\tstruct tree \*left; \/\* 0, 8 \*\/
\tstruct tree \*right; \/\* 8, 8 \*\/
\tenum colour colour; \/\* 16, 4 \*\/
\tunsigned int red : 1; \/\* 20:0, 4 \*\/
\tunsigned int depth : 5; \/\* 20:1, 4 \*\/
\tunsigned int weight : 10; \/\* 20:6, 4 \*\/
\t\/\* a hole of 2 bytes \*\/
\tdouble balance; \/\* 24, 8 \*\/
\}; \/\* 32 bytes, shapes\.c:\d+; 31 objects, 992 B \*\//, 'a type as C, with its hole';
my %site = map { $_->{site} =~ s/ .*//r => $_->{objects} } @{ Heapsh::ask_json($file, 'sites') };
is $site{make_node}, 109, 'objects of a site';

# callstack
my ($thread) = @{ Heapsh::ask_json($file, 'callstack') };
my ($frame) = grep { $_->{function} eq 'wait_for_the_end' } @{ $thread->{frames} };
ok $frame, 'the frame that waits';
is_deeply [sort map { "$_->{name}: $_->{type}" } @{ $frame->{locals} }],
    ['holder: struct holder *', 'line: int'], 'its variables';
is $thread->{frames}[-1]{function}, '_start', 'the stack is unwound to its end';

# filters
is Heapsh::ask_json($file, 'find', 'size', '777')->{count}, 5, 'size';
is Heapsh::ask_json($file, 'find', 'size', '>0.7K')->{count}, 5, 'size with a unit';
is Heapsh::ask_json($file, 'find', 'untyped', 'size', '>700')->{count}, 5, 'two filters';
is Heapsh::ask_json($file, 'find', 'type', 'struct twin', 'or', 'type', 'struct tree')->{count}, 41, 'or';
is Heapsh::ask_json($file, 'find', 'type', 'struct *', 'not', 'type', 'struct tree')->{count},
    109 + 10 + 1 + 40 + 1 + 1 + 1 + 1 + 1, 'not; pointers to structures begin alike';
is Heapsh::ask_json($file, 'find', 'points-to', $key)->{count}, 1, 'points-to';
is Heapsh::ask_json($file, 'find', 'pointed-by', 'vector')->{count}, 6, 'pointed-by';
is Heapsh::ask_json($file, 'find', 'module', 'shapes')->{count}, 243, 'module';
done_testing;
