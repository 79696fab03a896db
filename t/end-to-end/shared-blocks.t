#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Objects of std::make_shared() lie behind their counts, in a buffer of bytes: what they hold has types too.
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
#include <memory>
#include <vector>
struct mark { long number; double weight; };
struct node { int id; std::vector<std::shared_ptr<node>> kids; mark *marks; };
std::shared_ptr<node> root;
static std::shared_ptr<node> make(int depth)
{
	auto made = std::make_shared<node>();
	made->id = depth;
	made->marks = new mark{ depth, 0.5 };
	for (int i = 0; i < 3 && depth < 3; i++)
		made->kids.push_back(make(depth + 1));
	made->kids.shrink_to_fit();
	return made;
}
int main(int argc, char **argv)
{
	root = make(0);
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
END
for my $way ('g++ -O2', 'clang++ -O2', 'clang++ -O0 -stdlib=libc++', 'clang++ -O2 -stdlib=libc++') {
    my ($compiler, $level, @library) = split ' ', $way;
  SKIP: {
        skip "$way does not work here", 1 unless compiles($compiler, "@library -x c++", '#include <memory>');
        my $file = Heapsh::capture_source("$directory/shared.cc", "$way -std=c++17", text => $source);
        my %count;
        $count{ $_->{type} =~ s/^\w+ |\[\d+\]$//gr }++ for @{ Heapsh::ask_json($file, 'find', 'site', 'shared.cc')->{objects} };
        is_deeply \%count, { 'node (make_shared)' => 40, 'std::shared_ptr<node>' => 13, 'mark' => 40 }, "$way: what they hold"
            or diag explain \%count;
    }
}
done_testing;
