#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The counts of std::shared_ptr and std::weak_ptr, and what a std::any holds, are the same with both libraries.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Tools;
use File::Temp qw(tempdir);
use Test::More;

my $source = <<'END';
#include <any>
#include <cstdio>
#include <memory>
struct Large { long a[6]; };
struct Item { int n; };
std::shared_ptr<Item> live, other;
std::weak_ptr<Item> of_live, expired, expired_twice, copy;
struct Holder { std::any number, large, empty; } *holder;
int main()
{
	live = std::make_shared<Item>();
	other = live;
	of_live = live;
	expired = std::make_shared<Item>();
	copy = expired_twice = std::make_shared<Item>();
	holder = new Holder;
	holder->number = 7;
	holder->large = Large();
	puts("ready");
	fflush(stdout);
	return getchar();
}
END
my %counts = (live => 'use count 2, weak count 1', of_live => 'use count 2, weak count 1',
    expired => 'use count 0, weak count 1', expired_twice => 'use count 0, weak count 2');

for my $compiler ('g++', 'clang++ -stdlib=libc++') {
    my ($program, @flags) = split ' ', $compiler;

  SKIP: {
        skip "no $compiler", 1 unless has($program) && compiles($program, "@flags -x c++ -std=c++17", '#include <any>');

        my $directory = tempdir(CLEANUP => 1);
        Heapsh::write_file("$directory/owners.cc", $source);
        system("$compiler -std=c++17 -g -o $directory/owners $directory/owners.cc") == 0 or die $compiler;
        my $run = Heapsh->start("$directory/owners");
        my $file = $run->capture;
        $run->finish;
        like Heapsh::ask($file, 'show', "&$_"), qr/\($counts{$_}\)/, "$compiler: $_" for sort keys %counts;
        my $shown = Heapsh::ask($file, 'show', 'holder') =~ s/0x\w+/X/gr;
        like $shown, qr/^  number = std::any of int: 7\n  large = std::any of (?:struct Large|Large: block\(48\)) at X\n  empty = std::any, empty\n/m,
            "$compiler: std::any";
    }
}
done_testing;
