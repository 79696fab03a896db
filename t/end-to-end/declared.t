#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A std::string that the debug information only declares, as that of clang does for C++14 without
# -fstandalone-debug: texts, and the elements of containers, have the types that g++ gives them.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;

my $directory = tempdir(CLEANUP => 1);
my $source = <<'END';
#include "dumper/heapsnap.h"
#include <map>
#include <string>
#include <vector>
struct Order {
	std::string customer;
	std::vector<std::string> lines;
	int number;
	std::map<int, std::string> tags;
};
std::vector<Order *> *orders;
int main(int, char **argv)
{
	orders = new std::vector<Order *>;
	orders->reserve(100);
	for (int i = 0; i < 100; i++) {
		Order *order = new Order;
		order->customer = "a customer with a long name " + std::to_string(i);
		order->number = i;
		order->lines.reserve(3);
		for (int j = 0; j < 3; j++)
			order->lines.push_back("a line that is long enough " + std::to_string(j));
		order->tags[i] = "a tag that does not fit its buffer";
		orders->push_back(order);
	}
	return heapsnap_dump(argv[1]) | heapsnap_wait();
}
END

for my $way ('g++ -O0', 'clang++ -O0', 'clang++ -O2') {
    SKIP: {
        my ($compiler) = split / /, $way;
        skip "there is no $compiler", 3 if system("command -v $compiler >/dev/null") != 0;
        my $file = Heapsh::capture_source("$directory/declared.cc", "$way -std=c++14", text => $source);
        my %count;
        $count{ $_->{type} }++ for @{ Heapsh::ask_json($file, 'find', '--all', 'size', '>0')->{objects} };
        is $count{'class std::string[3]'}, 100, "$way: elements of vectors" or diag explain \%count;
        is grep({ /^char\[/ } map { ($_) x $count{$_} } keys %count), 500, "$way: texts";
        like scalar(Heapsh::ask($file, 'show', 'orders[0][0]')), qr{"a customer with a long name 0"}, "$way: a text";
    }
}
done_testing;
