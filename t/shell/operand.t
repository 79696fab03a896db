#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# OBJ: how objects are named to commands, and that $N stays with its object.
use strict;
use warnings;
use lib 't/lib';
use Sample;
use Test::More;

my $file = Sample::make();

# The object that a word means, by the first line of show.
sub means {
    my ($word, $expected) = @_;
    my ($out, $err) = Sample::heapsh($file, 'show', $word);
    like "$err$out", qr/\A\Q$expected\E/, "show $word";
}

means 'popular', 'struct table at 0x5f00400, ';
means '&popular', 'the global variable popular (cache.c:50, libutility.so), struct table * at 0x';
means 'popular->slots', 'struct slot[14] at 0x5f00300, ';
means 'popular.slots', 'struct slot[14] at 0x5f00300, ';
means 'popular->slots[3].value', 'struct utility at 0x5f00200, ';
means 'popular->slots[3].value->month', 'struct date at 0x5f00100, ';
means 'popular->slots[0x3]->value.month', 'struct date at 0x5f00100, ';
means '0x5f00300[3].value', 'struct utility at 0x5f00200, ';
means '0x5f00400->slots[3].value', 'struct utility at 0x5f00200, ';
means 'sample->next', 'struct node at 0x5f01000, ';
means 'sample.either.node->next', 'struct node at 0x5f01040, ';
means '&sample->next', 'struct all at 0x5f02000, ';
means 'list->next->next', 'struct node at 0x5f01040, ';
means 'vector[511]', 'struct node at 0x5f01040, ';

# Errors name the wrong word.
fails_with $file, 'show popular->slot', 'heapsh: struct table has no member slot: it has slots, count, name; did you mean slots?', 1;
fails_with $file, 'show popular->slots[14]', 'heapsh: popular->slots[14]: there are 14 elements', 1;
fails_with $file, 'show popular.', 'heapsh: popular.: . is neither .NAME, ->NAME nor [N]', 2;
fails_with $file, 'show popular->slots[x]', 'heapsh: popular->slots[x]: [x] is neither .NAME, ->NAME nor [N]', 2;
fails_with $file, 'show nosuch->next', 'heapsh: nosuch: neither an address nor a variable', 1;
fails_with $file, 'show 5f02300->next', 'heapsh: 5f02300: its type is not known', 1;
fails_with $file, 'inrefs &popular', 'heapsh: &popular is a variable, not an object of the heap; popular is what it points to', 1;

# Commands that take an object take all of these.
is_text $file, 'identify &popular', <<'END';
the global variable popular (cache.c:50, libutility.so) is a root: nothing has to hold it
END
is_text $file, 'outrefs &popular', <<'END';
struct table at 0x5f00400
END
is_text $file, 'path popular->slots[3].value', <<'END';
the global variable popular (cache.c:50, libutility.so)
  → struct table at 0x5f00400
  .slots → struct slot[14] at 0x5f00300
  [3].value → struct utility at 0x5f00200
END
for my $command ('inrefs', 'sizes', 'retained', 'dominators', 'find under', 'find pointed-by') {
    my ($out, $err, $status) = Sample::run("$command popular->slots\n", "$Sample::build/heapsh", '-q', $file);
    is "$status: $err", '0: ', "$command takes a path";
}

# Numbers stay with their objects while these are looked at, until the next list.
sub lines {
    my ($out) = Sample::run(join('', map { "$_\n" } @_), "$Sample::build/heapsh", '-q', $file);
    return split /\n/, $out;
}
my @lines = lines('find type node', 'show $2', 'identify $2', 'path $2 | tail -n 1');
is $lines[-1], '  .next → struct node at 0x5f01020', 'the same object after show and identify';
@lines = lines('show popular', 'last');
like join("\n", @lines), qr/^\$1    struct table at 0x5f00400\n\$2    struct slot\[14\] at 0x5f00300$/m,
    'show keeps the object itself, and what it points to';
@lines = lines('find type node', 'find type date', 'last');
is scalar(grep { /^\$/ } @lines), 1, 'a list begins anew';
done_testing;
