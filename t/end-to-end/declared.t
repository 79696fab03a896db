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
use Tools;

my $directory = tempdir(CLEANUP => 1);
my $source = <<'END';
#include "dumper/heapsnap.h"
#include <map>
#include <string>
#include <vector>
struct Order {
	std::string customer, nick;
	std::wstring wide;
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
		order->nick = "short";
		order->wide = L"a text of wide characters";
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
        skip "there is no $compiler", 8 unless has($compiler);
        my $file = Heapsh::capture_source("$directory/declared.cc", "$way -std=c++14", text => $source);
        my %count;
        $count{ $_->{type} }++ for @{ Heapsh::ask_json($file, 'find', '--all', 'size', '>0')->{objects} };
        is $count{'class std::string[3]'}, 100, "$way: elements of vectors" or diag explain \%count;
        # The reserve of the C++ runtime is a larger array of them.
        is grep({ /^char\[\d{1,3}\]/ } map { ($_) x $count{$_} } keys %count), 500, "$way: texts";
        my $shown = Heapsh::ask($file, 'show', 'orders[0][0]');
        like $shown, qr{^  customer = "a customer with a long name 0"$}m, "$way: a text";
        like $shown, qr{^  nick = "short"$}m, "$way: a text in the string itself";
        like $shown, qr{^  wide = "a text of wide characters"$}m, "$way: wide characters";
        like $shown, qr{^    \[2\] = "a line that is long enough 2"$}m, "$way: an element";
        like $shown, qr{^    \[0\] = "a tag that does not fit its buffer"$}m, "$way: the value of a node";
        my $found = Heapsh::ask_json($file, 'find', 'field', 'customer=a customer with a long name 7');
        is @{ $found->{objects} }, 1, "$way: found by its text";
    }
}
done_testing;
