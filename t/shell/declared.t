#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# istype and suggest: what a person knows of an object, what follows from it, and where it is kept.
use strict;
use warnings;
use lib 't/lib';
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use Heapsh;
use IPC::Open3 qw(open3);
use POSIX qw(mkfifo);
use Test::More;

my $program = Heapsh->start('declared', run => [ '--types', 'none' ]);
my $file = $program->capture;
$program->finish;

# By type: objects and bytes.
sub types {
    my %types = map { $_->{type} => "$_->{objects} $_->{bytes}" } @{ Heapsh::ask_json($file, 'count') };
    delete $types{'(untyped)'};
    return \%types;
}

sub slurp {
    open my $in, '<', "$file.types" or return;
    local $/;
    return <$in>;
}

sub spill {
    open my $out, '>', "$file.types" or die "$file.types: $!";
    print $out @_;
    close $out or die $!;
}

sub is_refused {
    my ($words, $complaint, $name) = @_;
    Heapsh::ask($file, split / /, $words);
    is $Heapsh::complaint, "heapsh: $complaint\n", $name;
}

# --- before anything is said ---------------------------------------------------------

is_deeply types(), {}, 'nobody knows what anything is';
is scalar Heapsh::ask($file, 'istype'), "nothing has been declared\n", 'and nobody says so';
is $Heapsh::status, 1, 'which is nothing found';
ok !-e "$file.types", 'nor is anything kept';

my ($chest) = Heapsh::ask($file, 'find', 'size', '64') =~ /(0x\w+)/;
my ($suggestion) = grep { $_->{object}{address} eq $chest } @{ Heapsh::ask_json($file, 'suggest', '--limit', 1000) };
is $suggestion->{may_be}[0], 'struct chest', 'what it may be: the struct of its size, with pointers where it has some';
is $suggestion->{alike}, 1, 'there is none like it';
cmp_ok $suggestion->{objects}, '>=', 4, 'it leads to others';
cmp_ok $suggestion->{bytes}, '>', 64, 'with their bytes';
like scalar Heapsh::ask($file, 'suggest'), qr/^ +bytes +objects +alike  object\n(?:.*\n)*.* block\(64\) at $chest from main \(declared\.c:\d+\)\n +may be struct chest/m,
    'suggest, as a person reads it';

# --- what follows from one word ------------------------------------------------------

my %known = (
    'struct chest' => '1 64',
    'struct node' => '5 160',
    'struct node *' => '1 40',
    'struct weight' => '8 128',
    'struct tail' => '1 32',
    'char' => '5 60',
);

is scalar Heapsh::ask($file, 'istype', 'chest', 'struct', 'chest'),
    "struct chest at $chest\n20 other objects have a type now\n", 'istype says what follows';
is_deeply types(), \%known, 'of what pointers lead to: structs, arrays, texts, a flexible array; no unions, no middles, no bytes'
    or diag explain types();
my ($id) = Heapsh::ask($file, 'info') =~ /id (\w+),/;
is slurp(), "heapsh types 1 $id\n$chest struct chest\n", 'it is kept beside the snapshot';
is scalar Heapsh::ask($file, 'istype'), "struct chest at $chest\n20 other objects have a type because of that\n", 'and listed';
is scalar(my @declared = Heapsh::ask($file, 'find', 'evidence', 'declared')), 1, 'with the evidence that it was said';
like scalar Heapsh::ask($file, 'show', $chest), qr/^  tail = struct tail \+ 3 elements|^  tail = struct tail/m, 'its fields are shown';
my ($text) = Heapsh::ask($file, 'find', 'string', 'node 3') =~ /(0x\w+)/;
like scalar Heapsh::ask($file, 'identify', $text), qr/\.name of struct node at .*\.table of struct chest at $chest/s,
    'who holds something is told by fields';
my @path = Heapsh::ask($file, 'path', $text);
like $path[-1], qr/^  \.name → char\[12\] "node 3" at $text$/, 'in a path too, where it is a pointer by its type';

is scalar Heapsh::ask($file, 'istype', $chest, 'struct', 'chest'), "struct chest at $chest\n", 'said twice, nothing follows';
is slurp(), "heapsh types 1 $id\n$chest struct chest\n", 'and it stands there once';

# --- what cannot be ------------------------------------------------------------------

is_refused('istype chest struct nobody', 'struct nobody: no such type in the snapshot; `types` lists those of objects', 'no such type');
is_refused("istype $text struct chest", 'struct chest: a value has 64 bytes, the object 12', 'too large a type');
Heapsh::ask($file, 'istype', 'chest');
is "$Heapsh::status $Heapsh::complaint", "2 usage: istype [[--alike] OBJ TYPE | --forget OBJ]\n", 'no type at all';
is_refused("istype --forget $text", "$text: nothing is declared of it", 'nothing to forget');
is_deeply types(), \%known, 'all that changes nothing';

# --- a second opinion, and none ------------------------------------------------------

is scalar Heapsh::ask($file, 'istype', $chest, 'struct', 'weight'), "struct weight[4] at $chest\n", 'another type takes its place';
is_deeply types(), { 'struct weight' => '1 64' }, 'and with it goes what followed';
is scalar Heapsh::ask($file, 'istype', '--forget', $chest), "block(64) at $chest again\n", 'istype --forget';
is_deeply types(), {}, 'nobody knows anything any more';
ok !-e "$file.types", 'and nothing is kept';

{
    my $pid = open3(my $in, my $out, undef, "$ENV{BUILD}/heapsh", '-q', $file);
    print $in "istype chest struct chest\nistype --forget chest\nistype\n";
    close $in;
    is join('', <$out>), "struct chest at $chest\n20 other objects have a type now\nblock(64) at $chest again\nnothing has been declared\n",
        'all that in one session';
    waitpid $pid, 0;
}

# --- of all that are alike -----------------------------------------------------------

my ($node) = Heapsh::ask($file, 'find', 'size', '32', 'site', 'declared.c:69') =~ /(0x\w+)/;
is scalar Heapsh::ask($file, 'istype', '--alike', $node, 'node'), "struct node at $node\n14 other objects have a type now\n",
    'istype --alike: the other nodes, and what they all lead to';
is_deeply types(), { 'struct node' => '5 160', 'struct weight' => '5 80', 'char' => '5 60' }, 'but not what is of their size alone';
is slurp(), "heapsh types 1 $id\nlike $node struct node\n", 'which is kept so';
like scalar Heapsh::ask($file, 'count'), qr/struct node \((?=.*declared 20 %).*\)/, 'each with its evidence';
Heapsh::ask($file, 'istype', '--forget', $node);

# --- the text ------------------------------------------------------------------------

spill("heapsh types 1 $id\n$chest struct chest\n");
is_deeply types(), \%known, 'a text by hand does as well';
spill("heapsh types 1 0123\n$chest struct chest\n");
is_deeply types(), {}, 'that of another snapshot counts for nothing';
for (
    [ "$chest\n", 'line 2: no address and type' ],
    [ "struct chest\n", 'line 2: no address and type' ],
    [ "0x10 struct chest\n", 'line 2: no object begins at 0x10' ],
    [ "$chest struct chest\n\n$text struct chest\n", 'line 4: struct chest does not fit' ],
    [ "$chest struct nobody\n", 'line 2: the snapshot has no type struct nobody' ],
) {
    my ($lines, $complaint) = @$_;
    spill("heapsh types 1 $id\n$lines");
    Heapsh::ask($file, 'count');
    is "$Heapsh::status $Heapsh::complaint", "2 heapsh: $file.types: $complaint\n", "what is wrong is told: $complaint";
}
unlink "$file.types";
mkfifo("$file.types", 0600) or die $!;
is_deeply types(), {}, 'a pipe of that name is not waited for';
unlink "$file.types";

{
    my $directory = tempdir(CLEANUP => 1);
    my $long = "$directory/" . 'x' x 245 . '.snap';    # no longer name will do
    copy($file, $long) or die $!;
    is scalar Heapsh::ask($long, 'find', '--count', 'size', '64'), "Total: 1 object, 64 B\n", 'where it cannot be kept, snapshots are read';
    Heapsh::ask($long, 'istype', 'chest', 'struct', 'chest');
    like $Heapsh::complaint, qr/^heapsh: struct chest: .*cannot be written: File name too long$/, 'and it is told';
    is scalar(() = glob "$directory/*"), 1, 'nothing is left behind';
}
done_testing;
