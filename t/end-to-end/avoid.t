#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# path --avoid TYPE.FIELD in C++ (t/programs/avoid.cc): fields of classes, of their bases, in
# unnamed members and of templates. Each target has one holder: without its field, no path.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Sample;
use Test::More;

my $program = Heapsh->start('avoid');
my $file = $program->capture;
my ($rest) = $program->finish;
is $rest, "done 11\n", 'the program goes on';

my %target = map {
    my $address = $_->{address};
    (Heapsh::ask_json($file, 'show', $address)->{fields}{number} => $address)
} @{ Heapsh::ask_json($file, 'find', 'type', 'struct target')->{objects} };
# That which only a virtual base points to has a type by its constructor.
is_deeply [sort { $a <=> $b } keys %target], [1 .. 10], 'the targets';

sub avoids {
    my ($field, $which, $expected) = @_;
    my ($out, $err, $status) = Sample::run('', "$Sample::build/heapsh", '-q', $file, 'path', '--avoid', $field, $target{$which});
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    if ($expected) {
        is "$status$err", "1heapsh: $expected\n", "$field: an error";
        return;
    }
    is "$status$out$err", "1no root reaches struct target at $target{$which} without what is avoided\n", $field;
    my $other = $which == 5 ? 8 : 5;
    is +(Sample::run('', "$Sample::build/heapsh", '-q', $file, 'path', '--avoid', $field, $target{$other}))[2], 0, '... and nothing else';
}

avoids('leaf.own', 5);
avoids('class leaf.own', 5);
avoids('leaf.linked', 1);              # of a base of a base
avoids('node.linked', 1);              # the object's type is derived from that
avoids('link.linked', 1);
avoids('leaf.either', 2);              # in a union without a name
avoids('node.either', 2);
avoids('leaf.inside', 3);
avoids('leaf.guarded', 4);
avoids('diamond.of_right', 7);         # of the second base
avoids('right.of_right', 7);
avoids('box<target, 2>.content', 9);
avoids('box<*>.content[1]', 10);
avoids('deep::outer.in.at_end', 8);
avoids('deep::outer.in', 8);
avoids('diamond.held', 6);             # of a virtual base
avoids('left.held', 7, 'left.held: in a virtual base class, whose place in an object is not known');
avoids('leaf.nothing', 5, 'leaf.nothing: no such type or field');
avoids('nothing.own', 5, 'nothing.own: no such type or field');
done_testing;
