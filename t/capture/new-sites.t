#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Operator new is called from deep within the standard library, again and again: each block counts
# for the program's own function, also when nothing is left to spend on backtraces.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;
use Tools;

plan skip_all => 'there is no g++' unless has('g++');

my $directory = tempdir(CLEANUP => 1);
my $source = <<'END';
#include "dumper/heapsnap.h"
#include <memory>
#include <new>
#include <string>
#include <vector>
std::vector<std::string> first, second;
std::vector<std::unique_ptr<char[]>> third;
__attribute__((noinline)) void make_first(int i)
{
	first.push_back("the first kind of text, number " + std::to_string(i));
}
__attribute__((noinline)) void make_second(int i)
{
	second.push_back("the other kind of text, number " + std::to_string(i));
}
__attribute__((noinline)) void make_third()
{
	third.emplace_back(new (std::nothrow) char[77]);
}
int main(int argc, char **argv)
{
	first.reserve(20000), second.reserve(20000), third.reserve(20000);
	for (int i = 10000; i < 30000; i++)
		make_first(i), make_second(i), make_third();
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
END
for my $flags ('-O0', '-O2') {
    my $file = Heapsh::capture_source("$directory/texts.cc", "g++ $flags", text => $source);
    my %count;
    for (@{ Heapsh::ask_json($file, 'sites') }) {
        $count{ $_->{site} =~ s/[ (+].*//r } += $_->{objects};
    }
    is $count{make_first}, 20000, "$flags: texts of one function" or diag explain \%count;
    is $count{make_second}, 20000, 'and of another';
    is $count{make_third}, 20000, 'and by new that does not throw';
}
done_testing;
