#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The filter field: values of every kind, paths, arrays, texts and what points to them.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Sample;
use Test::More;

my $file = Sample::make();
my ($date, $utility, $slots, $table, $all, $circle, $message) =
    map { "0x5f0$_" } qw(0100 0200 0300 0400 2000 2100 2200);

# Which objects there are by their addresses.
sub finds {
    my ($filter, @expected) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my @word = ref $filter ? @$filter : ('field', $filter);
    my $found = Sample::json($file, 'find', @word);
    return is_deeply [map { $_->{address} } @{ $found->{objects} }], \@expected, "@word";
}

# Numbers.
finds 'year=2026', $date;
finds 'month=11', $date;    # a utility's month is a pointer
finds 'year<2026';
finds 'year<=2026', $date;
finds 'year!=2025', $date;
finds 'count>13', $table, $all;
finds 'count=0xe', $table;
finds 'count=-1', $all;
finds 'depth=-3', $all;
finds 'depth<0', $all;
finds 'red=1', $all;
finds 'balance=-2.25', $all;
finds 'ratio>0.4', $all;
finds 'year>2025.5', $date;
finds [qw(field count >13)], $table, $all;    # as separate words
finds [qw(field count > 13)], $table, $all;
finds [qw(field count> 13)], $table, $all;
is_text $file, 'find --count field count > 13', "Total: 2 objects, 176 B\n";    # no redirection
is_text $file, 'find --count field --exact count > 13', "Total: 2 objects, 176 B\n";
finds [qw(field count > 13 type), 'struct nothing*'];
finds [qw(field count != 13 size >0 field year = 2026)];
finds 'colour=BLUE', $all;
finds 'colour!=RED', $all;
finds 'colour=PURPLE';
finds 'yes=true', $all;
finds 'yes=false';

# Paths: nested, of a member without a name, of a base class, in arrays.
finds 'size.width=640', $all;
finds 'width=11', $all;
finds 'id=17', $circle;
finds 'scores[2]=-3', $all;
finds 'points[1].y=4', $all;
finds 'scores[3]=0';
finds '[3].hash=0xfeed', $slots;
finds 'hash=0xfeed', $slots;    # one of several is enough

# Pointers.
finds 'value=0x5f00200', $slots;
finds 'day=NULL', $utility;
finds 'month!=NULL', $date, $utility;    # a date's is a number that is not 0
finds 'nothing=NULL', $all;

# Texts: an array, pointed to, from the middle on, by a glob.
finds 'label=label', $all;
finds 'label=lab?l', $all;
finds 'label=lab';
finds 'label!=lab', $all;
finds 'name=hello, world', $utility, $table;
finds 'name=hello*', $utility, $table;
finds 'author=*world', $message;
finds 'middle=world', $all;

finds [qw(type struct table field count=14 or field radius=1.5)], $table, $circle;
finds [qw(not field count>0 size 24)], $utility, $circle;
finds 'nowhere=1';
fails_with $file, 'find field name', 'heapsh: field name: not NAME=VALUE, NAME!=VALUE, NAME<VALUE...', 2;
fails_with $file, 'find field', 'heapsh: filter field: what follows it is missing', 2;
is_text $file, 'find --count field count>13', <<'END';
Total: 2 objects, 176 B
END

# Fields of parts of pools, too, and of each of two in a row.
my $typed = Sample::make('typed');
is_text $typed, 'find type node field value=0', <<'END';
struct node at 0x5f00100
struct node at 0x5f01020, part of a pool
struct node[2] at 0x5f01040, part of a pool
struct node at 0x5f02000
END
is_text $typed, 'find type node field [1].value=0', <<'END';
struct node[2] at 0x5f01040, part of a pool
END

# Real ones: a request by its path, a std::string, in its object and outside.
my $server = Heapsh->start('waste');
my $request = Heapsh::ask_json($server->capture, 'find', 'type', 'struct request', 'field', 'path=/item/3');
is $request->{count}, 1, 'a request';
my $snapshot = Heapsh->start('cxx-containers')->capture;
is_deeply [map { $_->{type} } map { @{ Heapsh::ask_json($snapshot, 'find', 'field', $_)->{objects} } }
        'name=Ada', 'street=a text that is*', '[1].street=a text that is*', 'name=Eve'],
    ['struct customer[2]', 'struct address[2]', 'struct address[2]'], 'std::strings, short and long';
done_testing;
