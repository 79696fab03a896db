#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Texts in blocks whose code has debug information, which tells nothing of them: a block that ends with its text is one,
# a struct that begins with a name is not.
use strict;
use warnings;
use lib 't/lib';
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;

my $directory = tempdir(CLEANUP => 1);
Heapsh::write_file("$directory/program.c", <<'END');
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { COUNT = 60 };
struct named { char name[24]; long numbers[2]; };
unsigned long texts[COUNT], structs[COUNT], mixed[COUNT];
__attribute__((noinline)) unsigned long hand_out(size_t size)
{
	return (unsigned long)calloc(1, size);
}
int main(void)
{
	for (int i = 0; i < COUNT; i++) {
		char text[64];
		int length = snprintf(text, sizeof(text), "a text of the program, %*d", 5 + i % 3, i);
		texts[i] = hand_out((size_t)length + 1);
		memcpy((void *)texts[i], text, (size_t)length + 1);
		structs[i] = hand_out(40);
		snprintf((char *)structs[i], 24, "the name of number %d", i);
		memset((char *)structs[i] + 24, 7, 16);
		mixed[i] = hand_out(48);
		memset((void *)mixed[i], i % 2 ? 'x' : 1, 47);
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
}
END

for my $flags (qw(-O0 -O2)) {
    system("cd $directory && gcc -g $flags -fno-builtin -o program program.c") == 0 or die 'gcc failed';
    my $file = Heapsh->start("$directory/program")->capture;
    my %found;
    for my $object (@{ Heapsh::ask_json($file, 'find', 'module', 'program')->{objects} }) {
        my $type = $object->{evidence} eq 'none' ? 'none' : "$object->{type} ($object->{evidence})";
        $found{ $object->{size} }{ $type =~ s/\[\d+\]//r }++;
    }
    is_deeply [ map { $found{$_} } 29, 30, 31 ], [ ({ 'char (shape)' => 20 }) x 3 ], "gcc $flags: blocks that end with a text";
    is_deeply $found{40}, { none => 60 }, 'structs that begin with one';
    is_deeply $found{48}, { none => 60 }, 'a kind of which half is none';
}
done_testing;
