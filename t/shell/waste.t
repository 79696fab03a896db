#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# strings, waste: texts, copies of texts, arrays with room to spare; on the sample, and on a
# program whose waste is known to the byte.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Sample;
use Test::More;

# --- the sample --------------------------------------------------------------

my $file = Sample::make();
# A first object of no bytes, for which there is no buffer (a sanitizer looks at it).
system("$Sample::build/t/bench/generate -p -n 3000 -o $Sample::directory/none.snap >/dev/null") == 0 or die 'generate failed';
is_deeply [(Sample::heapsh("$Sample::directory/none.snap", 'strings'))[1, 2]], ['', 1], 'no bytes of any object';

is_text $file, 'strings', <<'END';
     count  length       bytes     wasted  text
         1      12        17 B        0 B  "hello, world" at 0x5f00500
         1      12        13 B        0 B  "\x1b[31mred\n\"\xff\\" at 0x5f00600
         1       9        48 B        0 B  "raw bytes" at 0x5f02300
END
is_text $file, 'strings --limit 1 untyped', <<'END';
     count  length       bytes     wasted  text
         1       9        48 B        0 B  "raw bytes" at 0x5f02300
END
is_text $file, 'waste', <<'END';
      wasted   arrays       used of elements   as by  held by, and the worst
     4.0 KiB        1          2 of 512        slots  the global variable vector (app.c:7, app): struct node *[512] at 0x5f03000
       208 B        1          1 of 14         slots  .slots of struct table: struct slot[14] at 0x5f00300
END
is_text $file, 'waste --limit 1 type slot', <<'END';
      wasted   arrays       used of elements   as by  held by, and the worst
       208 B        1          1 of 14         slots  .slots of struct table: struct slot[14] at 0x5f00300
END
fails_with $file, 'strings --by colour', 'heapsh: --by colour: not length, count or waste', 2;
fails_with $file, 'strings --limit many', 'heapsh: --limit many: not a number', 2;
fails_with $file, 'waste --some', 'heapsh: --some: waste has no such option; it has --all, --limit', 2;
is_deeply [map { (Sample::heapsh($file, @$_))[2] } ['strings', '--duplicates'], ['waste', 'type', 'node']],
    [1, 1], 'nothing found';
my $strings = Sample::json($file, 'strings', '--limit', '1');
is_deeply $strings, {
    strings => [{
        text => 'hello, world', count => 1, length => 12, cut => JSON::PP::false, bytes => 17,
        wasted => 0, example => { address => '0x5f00500', type => 'char[17]', size => 17,
            elements => 17, evidence => 'pointer', text => 'hello, world' },
    }],
    texts => 3, objects => 3, bytes => 78, wasted => 0,
}, 'strings in JSON';
is_deeply Sample::json($file, 'waste', 'type', 'slot'), {
    groups => [{
        held_by => '.slots of struct table', measure => 'slots', arrays => 1, elements => 14,
        used => 1, wasted => 208, worst => { address => '0x5f00300', type => 'struct slot[14]',
            size => 224, elements => 14, evidence => 'pointer' },
    }],
    arrays => 1, wasted => 208,
}, 'waste in JSON';

# --- a program ---------------------------------------------------------------

# Copies of 85, 65, 55 and 55 bytes, of which one of each is needed.
my $server = Heapsh->start('waste');
my $snapshot = $server->capture;
my $duplicates = Heapsh::ask_json($snapshot, 'strings', '--duplicates');
is_deeply [map { [@$_{qw(text count bytes wasted)}] } @{ $duplicates->{strings} }],
    [['application/json', 5, 85, 68], ['Content-Type', 5, 65, 52], ['Connection', 5, 55, 44],
    ['keep-alive', 5, 55, 44]], 'texts that are there five times';
is $duplicates->{wasted}, 208, 'what the copies waste';
my $all = Heapsh::ask_json($snapshot, 'strings');
is_deeply [map { [@$_{qw(length count cut)}] } @{ $all->{strings} }[0 .. 5]],
    [([256, 1, JSON::PP::true]) x 5, [16, 5, JSON::PP::false]],
    'longer ones than were kept are five texts, not one';

my $waste = Heapsh::ask_json($snapshot, 'waste');
is_deeply [map { [@$_{qw(held_by measure used elements wasted)}] } @{ $waste->{groups} }],
    [['.items of struct samples', 'count', 10, 100, 1440],
    ['.buckets of struct table', 'slots', 5, 64, 472]],
    'a list by its count, though its rest is not zero; a hash table by its buckets';

# Parts of a pool hold their own arrays.
my $pools = Heapsh::ask_json(Heapsh->start('pool-waste')->capture, 'waste');
is_deeply [map { [@$_{qw(held_by measure arrays used elements wasted)}] } @{ $pools->{groups} }],
    [['.slots of struct server', 'slots', 3, 9, 192, 2928]], 'the holder is a part of a pool, by its type';

# With all bytes kept nothing is cut.
my $whole = Heapsh->start('waste', run => ['--content', 'all']);
$all = Heapsh::ask_json($whole->capture, 'strings', '--limit', '1');
is $all->{strings}[0]{text}, 'a' x 999, 'a text that was kept as a whole';

# A vector's end, and the buckets of a std::unordered_map.
my $containers = Heapsh->start('cxx-containers');
my %held = map { $_->{held_by} =~ /variable (\w+)/ ? ($1 => $_) : () }
    @{ Heapsh::ask_json($containers->capture, 'waste', '--all')->{groups} };
is_deeply [@{ $held{g_numbers} }{qw(measure used elements wasted)}], ['end', 40, 64, 96],
    'a std::vector by its end';
is_deeply [@{ $held{g_hash} }{qw(measure elements)}], ['slots', 13], 'a std::unordered_map by its buckets';
ok !$held{g_owned_array}, 'numbers that are 0 are not unused';
done_testing;
