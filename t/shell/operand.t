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

# A path that ends at no pointer is the value there, or the element.
is_text $file, 'show popular->count', <<'END';
popular->count: unsigned long, 8 B, in struct table at 0x5f00400
  value = 14
END
is_text $file, 'show popular->slots[3]', <<'END';
popular->slots[3]: struct slot, 16 B, in struct slot[14] at 0x5f00300
  hash = 65261
  value = struct utility at 0x5f00200
END
is_text $file, 'show first.value', <<'END';
first.value: int, 4 B, in the global variable first (app.c:9, app)
  value = 5
END
is_text $file, 'show popular->slots[2..3]', <<'END';
popular->slots[2..3]: 2 of struct slot, 32 B, in struct slot[14] at 0x5f00300
  [2] = {
    hash = 0
    value = NULL
  }
  [3] = {
    hash = 65261
    value = struct utility at 0x5f00200
  }
END
is_text $file, 'show vector[511..511]', <<'END';
vector[511..511]: 1 of struct node *, 8 B, in struct node *[512] at 0x5f03000
  [511] = struct node at 0x5f01040
END
is_deeply Sample::json($file, 'show', 'popular->slots[2..3]')->{elements}{'[2]'}, { hash => 0, value => { pointer => '0x0' } },
    'a range in JSON';
is Sample::json($file, 'show', 'popular->count')->{value}, 14, 'a value in JSON';

# Errors name the wrong word.
fails_with $file, 'show popular->slot', 'heapsh: struct table has no member slot: it has slots, count, name; did you mean slots?', 1;
fails_with $file, 'show popular->slots[14]', 'heapsh: popular->slots[14]: there are 14 elements', 1;
fails_with $file, 'show popular.', 'heapsh: popular.: . is neither .NAME, ->NAME, [N] nor [N..M]', 2;
fails_with $file, 'show popular->slots[x]', 'heapsh: popular->slots[x]: [x] is neither .NAME, ->NAME, [N] nor [N..M]', 2;
fails_with $file, 'show popular->slots[12..14]', 'heapsh: popular->slots[14]: there are 14 elements', 1;
fails_with $file, 'show popular->slots[5..3]', 'heapsh: popular->slots[5..3]: [5..3] is neither .NAME, ->NAME, [N] nor [N..M]', 2;
fails_with $file, 'show popular->slots[3..5].hash', 'heapsh: popular->slots[3..5].hash: nothing may follow a range', 2;
fails_with $file, 'show sample->label[12]', 'heapsh: sample->label[12]: there are 12 elements', 1;
fails_with $file, 'show nosuch->next', 'heapsh: nosuch: neither an address nor a variable', 1;
fails_with $file, 'show 5f02300->next', 'heapsh: 5f02300: its type is not known', 1;
fails_with $file, 'inrefs &popular', 'heapsh: &popular is a variable, not an object of the heap; popular is what it points to', 1;

# As in C, a star before a pointer is what it points to.
for my $case (
    ['*popular', 'struct table at 0x5f00400'],
    ['*popular->slots', 'struct slot[14] at 0x5f00300'],
    ['*vector', 'struct node at 0x5f01000'],
    ['**vector', 'struct node at 0x5f01000'],
) {
    my ($shown) = Sample::heapsh($file, 'show', $case->[0]);
    like $shown, qr/^\Q$case->[1]\E,/, $case->[0];
}
fails_with $file, 'show **popular', 'heapsh: **popular: popular is no pointer to a pointer', 2;
fails_with $file, 'show *popular->count', 'heapsh: *popular->count: popular->count is no pointer to an object', 1;
fails_with $file, 'show *&popular', 'heapsh: *&popular: &popular is no pointer to an object', 1;
fails_with $file, 'show *nosuch', 'heapsh: nosuch: neither an address nor a variable', 1;

# Commands that take an object take all of these.
is_text $file, 'identify &popular', <<'END';
the global variable popular (cache.c:50, libutility.so) is a root: nothing has to hold it. It points to:
  struct table at 0x5f00400
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

# Every command whose synopsis has OBJ takes every form of it: what it says is what it says of the
# address that the form means. &name is the variable itself where a variable will do.
my %form = (
    '0x5f00300' => '5f00300', '5f00308' => '5f00300', '$1' => '5f00400', 'popular' => '5f00400', '$1->slots' => '5f00300',
    'popular->slots' => '5f00300', 'popular.slots[3].value' => '5f00200', 'popular->slots[3]' => '5f00300',
    '0x5f00400->slots' => '5f00300', '5f00300[3].value->name' => '5f00500', '&popular->slots' => '5f00400',
);
my @takers = map { $_->{name} } grep { $_->{synopsis} =~ /\bOBJ\b/ } @{ Sample::json($file, 'help') };
cmp_ok scalar @takers, '>=', 12, 'commands that take objects';
my %line = (shared => 'shared %s list', istype => 'istype %s struct nosuch', export => 'export dot - %s');
my @line = map { $line{$_} // "$_ %s" } @takers;
push @line, map { "find $_ %s" } 'under', 'points-to', 'pointed-by';
push @line, 'strings under %s', 'dangling under %s', 'waste under %s';
my $first = "find type table\n";    # $1
for my $line (@line) {
    my @wrong;
    for my $form (sort keys %form) {
        next if $line =~ /^show/ && $form =~ /\]$|08$|^&/;    # the element, and not all of what is around it
        my @said = map { [Sample::run($first . sprintf("$line\n", $_), "$Sample::build/heapsh", '-q', $file)] } $form, $form{$form};
        $said[0][1] =~ s/\Q$form\E/$form{$form}/g;
        push @wrong, "$form: $said[0][0]$said[0][1] instead of $said[1][0]$said[1][1]" if "@{ $said[0] }" ne "@{ $said[1] }";
    }
    is join('', @wrong), '', "$line takes every form of OBJ";
    my ($out, $err, $status) = Sample::run(sprintf("$line\n", 'popular->slots[1..2]'), "$Sample::build/heapsh", '-q', $file);
    next if $line =~ /^show/;
    is "$status: $out$err", "2: heapsh: popular->slots[1..2]: a range is several places; `show` takes them\n", 'but no range';
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
