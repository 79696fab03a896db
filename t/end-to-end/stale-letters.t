#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A short text that is written over a pointer leaves a word that leads to any byte of a block. The last byte of a
# number may be a letter: one letter is no text.
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
void *numbers[COUNT], *texts[COUNT];
void *words[2 * COUNT];
__attribute__((noinline)) static void *of_numbers(size_t size) { return calloc(1, size); }
__attribute__((noinline)) static void *of_text(size_t size) { return calloc(1, size); }
int main(void)
{
	for (int i = 0; i < COUNT; i++) {
		double first = 1, second = i;
		numbers[i] = of_numbers(48);
		memcpy(numbers[i], &first, 8);
		memcpy((char *)numbers[i] + 16, &second, 8);
		words[i] = (char *)numbers[i] + 7;
		texts[i] = of_text(48);
		snprintf((char *)texts[i] + 7, 41, "a text behind its length that fills %4d", i);
		memcpy(texts[i], "\1\2\3\4\5\6\7", 7);
		words[COUNT + i] = (char *)texts[i] + 7;
	}
	void **copy = malloc(sizeof(words));
	memcpy(copy, words, sizeof(words));
	memset(words, 0, sizeof(words));
	words[0] = copy;
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
}
END
system("cd $directory && gcc -g -O0 -fno-builtin -o program program.c") == 0 or die 'gcc failed';
my $file = Heapsh->start("$directory/program")->capture;
my %found;
for my $object (@{ Heapsh::ask_json($file, 'find', 'size', '48')->{objects} }) {
    my $begins_with_one = Heapsh::ask($file, 'show', '--hex', $object->{address}) =~ /00 f0 3f/;
    $found{ $begins_with_one ? 'numbers' : 'texts' }{ $object->{evidence} eq 'none' ? 'none' : $object->{type} }++;
}
is_deeply $found{numbers}, { none => 60 }, 'numbers whose last byte is a letter';
is_deeply $found{texts}, { 'char[41] behind 7 bytes' => 60 }, 'texts behind a few bytes';
done_testing;
