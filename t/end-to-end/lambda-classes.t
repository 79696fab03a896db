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
# Of what compiles for long; `make check` has both.
my @levels = $ENV{SHORT} ? '-O2' : ('-O0', '-O2');
for my $way (map { my $level = $_; map { s/LEVEL/$level/r } 'g++ LEVEL', 'clang++ LEVEL', 'clang++ LEVEL -stdlib=libc++' } @levels) {
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

# Lambdas that capture the same are several types.
my $source = <<'END';
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>
struct Widget { std::string title; int clicks; };
std::vector<std::function<void(int)>> one, two, three;
static void first(std::shared_ptr<Widget> w) { one.push_back([w](int n) { w->clicks += n; }); }
static void second(std::shared_ptr<Widget> w) { two.push_back([w](int n) { w->clicks -= n; }); }
static void third(std::shared_ptr<Widget> w) { three.push_back([w](int n) { w->clicks += n; }); }
int main()
{
	for (int i = 0; i < 18; i++)
		(i < 5 ? first : i < 11 ? second : third)(std::make_shared<Widget>());
	puts("ready");
	fflush(stdout);
	return getchar();
}
END
my %own = ('lambdas.cc:8' => 5, 'lambdas.cc:9' => 6, 'lambdas.cc:10' => 7);
my $refusal = Heapsh::attach_refusal();
Heapsh::write_file("$directory/lambdas.cc", $source);
for my $way (map { ("g++ $_", "clang++ $_") } @levels) {
    my ($compiler) = split ' ', $way;
  SKIP: {
        skip "there is no $compiler", 1 unless has($compiler);
        my $program = "$directory/lambdas-" . $way =~ s/\W//gr;
        system("$way -std=c++17 -g -o $program $directory/lambdas.cc") == 0 or die;
        my %count;
        $count{ $_->{type} =~ s/.*\((.*)\)$/$1/r }++ for @{ Heapsh::ask_json(Heapsh->start($program)->capture, 'find', 'not', 'untyped', 'size', 16)->{objects} };
        is_deeply \%count, \%own, "$way: lambdas are known by their lines" or diag explain \%count;
        skip $refusal, 1 if $refusal;
        my $attached = Heapsh->start($program, bare => 1)->attach_and_finish;
        is Heapsh::ask_json($attached, qw(find --count type std::_Any_data))->{count}, 0, "$way, attach: none is what its function has to call it by";
    }
}
done_testing;
