#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Pages of structs that end in flexible arrays (t/programs/pages.c): each page fits one of them, too.
use strict;
use warnings;
use Test::More;
use lib 't/lib';
use Heapsh;

for my $program (qw(pages pages-of-bytes)) {
    my $file = Heapsh->start($program)->capture;

    is Heapsh::ask_json($file, 'find', 'type', 'struct item')->{count}, 1001, "$program: all items, in pages and alone";
    my %types = map { $_->{type} => $_->{objects} } @{ Heapsh::ask_json($file, 'types') };
    is $types{'struct item'}, 1, "$program: one is a block of its own";
    is_deeply [@types{'(pools)', '(untyped)'}], [4, undef], "$program: pages are not untyped";
    my @pages = @{ Heapsh::ask_json($file, 'find', 'size', '65536')->{objects} };
    is scalar(@pages), 4, "$program: pages";
    is scalar(grep { $_->{evidence} eq 'pool' } @pages), 4, "$program: none of them is an item";
    like Heapsh::ask($file, 'show', $pages[0]{address}), qr/^\s+\d+ .* struct item$/m, "$program: but has some";
    my ($suspect) = grep { $_->{type} eq 'struct item' } @{ Heapsh::ask_json($file, 'suspects') };
    is $suspect->{members}, 996, "$program: suspects counts the parts that are not the first of their page";
    like $suspect->{text}, qr/held by classes, table and large, together$/, '... and names who holds them';
    like join("\n", Heapsh::ask($file, 'roots')), qr/996 struct item, 4 pools of struct item by take \(pages\.c:\d+\)$/m,
        "$program: so does roots";
    is Heapsh::ask_json($file, 'find', 'type', 'char \*')->{count}, 3, "$program: lists of pages";
}
# Items of pages and the one alone, and no pages that match as wholes.
{
    my $file = Heapsh->start('pages')->capture;
    is scalar Heapsh::ask($file, qw(retained type), 'struct item'), <<'END', 'retained tells of parts';
   objects        bytes  type
       997    164.6 KiB  struct item
Total: 1 object, own 3.9 KiB; together they retain 997 objects, 164.6 KiB
Parts of pools: 1000, 31.2 KiB, 12.2 % of their 4 pools, 256.0 KiB
END
    my $answer = Heapsh::ask_json($file, qw(retained type), 'struct item');
    is_deeply { map { $_ => $answer->{$_} } qw(count retained_objects parts part_bytes pools pool_bytes) },
        { count => 1, retained_objects => 997, parts => 1000, part_bytes => 32_000, pools => 4, pool_bytes => 4 * 65_536 },
        'in JSON';
    # The data of items is behind what the type has.
    is_deeply Heapsh::ask_json($file, 'leaks')->{rest_of_pools}, { pools => 4, bytes => 4 * 65_536 - 32_000 }, 'leaks';
    like scalar Heapsh::ask($file, 'leaks'), qr/^not judged: 224\.8 KiB of 4 pools, which no known part has: free, or lost$/m,
        '... says so';
    is Heapsh::ask_json($file, qw(retained evidence pool))->{parts}, undef, 'no parts of pools that match themselves';
    is Heapsh::ask_json($file, qw(retained type), 'struct item', 'size', '<1000')->{parts}, 1000, 'parts alone';
    is $Heapsh::status // 0, 0, 'which are an answer';
}
# The snapshot keeps 256 bytes of a page, with the sizes of 7 items.
my @question = ('find', '--count', 'type', 'struct item', 'field', 'size=96');
my $file = Heapsh->start('pages')->capture;
is scalar Heapsh::ask($file, @question), "Total: 3 objects, 96 B\n", 'items whose size is known';
is $Heapsh::complaint, "heapsh: 993 more objects have that field, but its bytes were not kept (heapsnap run --content all keeps them)\n",
    'and how many are not';
$file = Heapsh->start('pages', run => [ '--content', 'all' ])->capture;
is scalar Heapsh::ask($file, @question), "Total: 334 objects, 10.4 KiB\n", 'if all is kept, all are found';
is $Heapsh::complaint, '', 'without a word';
done_testing;
