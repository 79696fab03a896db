#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Strings behind headers with their lengths, of which nothing but pointers to void leads to the characters: those with a
# block of their own have the struct's type, and a page of many is no string.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
if (my $why = Heapsh::attach_refusal()) { plan skip_all => $why }

my $directory = tempdir(CLEANUP => 1);
open my $out, '>', "$directory/strings.c" or die $!;
print $out <<'END';
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct string { uint32_t length, hash; char text[]; };
struct string *typed; // for the debug information to have the type
void **texts;
static char *page;
static size_t left;
static void *make(struct string *string, int i)
{
	string->length = sprintf(string->text, "the text of number %d", i * 7919 + 1);
	string->hash = i * 31337;
	return string->text;
}
int main(void)
{
	texts = calloc(1040, sizeof(*texts));
	for (int i = 0; i < 1000; i++) {
		if (left < 64) {
			page = malloc(4096);
			left = 4096;
		}
		texts[i] = make((struct string *)page, i);
		page += 64;
		left -= 64;
	}
	for (int i = 1000; i < 1040; i++)
		texts[i] = make(malloc(50), i);
	page = NULL;
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return typed != NULL;
}
END
close $out;
system("gcc -g -O1 -w -o $directory/strings $directory/strings.c") == 0 or die 'gcc';

my $file = "$directory/attached.snap";
my $program = Heapsh->start("$directory/strings", bare => 1);
like `$build/heapsnap attach --file $file @{[$program->pid]} 2>&1`, qr/attached\.snap/, 'attached';
$program->finish;
my $strings = Heapsh::ask_json($file, 'find', '--count', 'type', 'struct string', 'size', '<100');
is $strings->{count}, 40, 'strings in blocks of their own' or diag explain $strings;
is Heapsh::ask_json($file, 'find', '--count', 'type', 'struct string', 'size', '>4000')->{count}, 0, 'pages are none';
is Heapsh::ask_json($file, 'find', '--count', 'size', '>4000', 'size', '<5000')->{count} >= 16, 1, 'though they are there';
done_testing;
