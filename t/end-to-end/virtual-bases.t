#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Classes with virtual bases: their members are found, shown and followed.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Tools;
use File::Temp qw(tempdir);
use Test::More;

my $source = <<'END';
#include <cstdio>
#include <memory>
#include <vector>
struct Blob { long c[7]; };
struct Top { virtual ~Top() {} std::unique_ptr<Blob> held; int tag = 42; Top *next = nullptr; };
struct Left : virtual Top { int x = 1; };
struct Right : virtual Top { int y = 2; };
struct Diamond : Left, Right { int z = 3; };
std::vector<std::unique_ptr<Top>> list;
Left *lone;
int main()
{
	for (int i = 0; i < 7; i++) {
		auto p = std::make_unique<Diamond>();
		p->held = std::make_unique<Blob>();
		p->tag = 100 + i;
		list.push_back(std::move(p));
	}
	lone = new Left;
	lone->tag = 77;
	puts("ready");
	fflush(stdout);
	return getchar();
}
END

sub check {
    my ($compiler) = @_;
    my $directory = tempdir(CLEANUP => 1);
    Heapsh::write_file("$directory/diamonds.cc", $source);
    system("$compiler -std=c++17 -g -o $directory/diamonds $directory/diamonds.cc") == 0 or die $compiler;
    my $program = Heapsh->start("$directory/diamonds");
    my $file = $program->capture;
    $program->finish;
    is Heapsh::ask($file, 'find', '--count', 'type', 'Diamond'), "Total: 7 objects, 448 B\n", "$compiler: all have their class";
    is Heapsh::ask($file, 'find', '--count', 'type', 'Blob'), "Total: 7 objects, 392 B\n", "$compiler: and what their base holds";
    is Heapsh::ask($file, 'find', '--count', 'conflict'), "Total: 0 objects, 0 B\n", "$compiler: a pointer to the base is right";
    is Heapsh::ask($file, 'find', '--count', 'type', 'Diamond', 'field', 'tag=102'), "Total: 1 object, 64 B\n", "$compiler: its members are found";
    is Heapsh::ask($file, 'find', '--count', 'type', 'Left', 'field', 'tag=77'), "Total: 1 object, 48 B\n", "$compiler: in an object that may be a base";
    like Heapsh::ask($file, 'types', 'Diamond'),
        qr{/\* base \*/ struct Left; /\* 0, 16 \*/\n\t/\* base \*/ struct Right; /\* 16, 12 \*/\n\tint z; /\* 28, 4 \*/\n\t/\* base \*/ struct Top; /\* 32, 32 \*/\n},
        "$compiler: bases do not overlap";
    like Heapsh::ask($file, 'types', 'Left'), qr{\tint x; /\* 8, 4 \*/\n\t/\* virtual base \*/ struct Top; /\* 16, 32 \*/\n\};},
        "$compiler: nor a virtual one";
    like Heapsh::ask($file, 'show', 'lone'), qr/^  x = 1\n  struct Top = \{\n.*\n    held = NULL\n    tag = 77\n    next = NULL\n  \}\n/m,
        "$compiler: they are shown";
    my ($address) = Heapsh::ask($file, 'find', 'type', 'Diamond', 'field', 'tag=103') =~ /(0x\w+)/;
    like Heapsh::ask($file, 'show', $address), qr/^  z = 3\n  struct Top = \{\n.*\n    held = struct Blob at 0x\w+\n    tag = 103\n/m,
        "$compiler: where they are";
    like Heapsh::ask($file, 'identify', $address), qr/\(base struct Top\)/, "$compiler: the path names the base";
    return;
}

for my $compiler ('g++', 'clang++') {
  SKIP: {
        skip "no $compiler", 1 unless has($compiler);
        check($compiler);
    }
}
done_testing;
