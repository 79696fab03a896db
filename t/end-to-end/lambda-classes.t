#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Classes made for lambdas have their members (t/programs/lambda-classes.cc), although a vtable's symbol and debug
# information have two names for them: HandlerOf<fill()::{lambda(int)#1}>, HandlerOf<work::fill()::<lambda(int)> >
# of gcc, HandlerOf<(lambda at lambda-classes.cc:44:44)> of clang.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;
use Tools;

my $directory = tempdir(CLEANUP => 1);
for my $way ('g++ -O0', 'g++ -O2', 'clang++ -O0', 'clang++ -O2', 'clang++ -O0 -stdlib=libc++', 'clang++ -O2 -stdlib=libc++') {
    my ($compiler, $level, @library) = split ' ', $way;
  SKIP: {
        skip "$way does not work here", 1 unless compiles($compiler, "@library -x c++", '#include <memory>');
        my $program = "$directory/" . $way =~ s/\W//gr;
        system("$way -std=c++17 -g -o $program t/programs/lambda-classes.cc") == 0 or die;
        my $file = Heapsh->start($program)->capture;
        is Heapsh::ask_json($file, 'find', '--count', 'untyped', 'site', 'lambda-classes.cc')->{count}, 0, "$way: all have types";
        my %expected = (double => 5, long => 9, 'work::Ticket' => 7);
        for my $type (sort keys %expected) {
            is Heapsh::ask_json($file, 'find', '--count', 'type', $type)->{count}, $expected{$type}, "$way: what they hold: $type";
        }
        for ([ weights => 5 ], [ ticket => 7 ]) {
            my ($field, $count) = @$_;
            my $with = grep { Heapsh::ask($file, 'show', $_->{address}) =~ /^    (?:__)?$field = /m }
                @{ Heapsh::ask_json($file, 'find', 'type', 'work::HandlerOf<*')->{objects} };
            is $with, $count, "$way: their captured variable $field";
        }
    }
}
done_testing;
