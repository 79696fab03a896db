#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Blocks that read as text have that type where nobody knows what code has allocated them, as attach finds
# them, or nothing but its name: also where others of the same site and size are something else.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;
use Tools;

my $build = abs_path($ENV{BUILD} || 'build');
my $directory = tempdir(CLEANUP => 1);
my $source = <<'END';
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct record { long number; double weight; int (*call)(const char *); };
void *volatile kept[400]; // says nothing of what it holds
static int count;
__attribute__((noinline)) static void *make(size_t size)
{
	return kept[count++] = memset(malloc(size), 0, size);
}
int main(void)
{
	for (int i = 0; i < 40; i++) {
		struct record *record = make(sizeof(*record));
		char *text = make(24);
		uint32_t *numbers = make(24);
		char *old = make(24);
		record->number = 0x4142; // two letters are none
		record->call = puts;
		snprintf(text, 24, "entry number %d", i);
		numbers[0] = 0x41424344, numbers[1] = 0x45464748, numbers[2] = 1001;
		strcpy(old, "a name that was there");
		*(void **)old = (void *)puts;
		strcpy(make(60), "the text of a block with sixty bytes");
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
END
Heapsh::write_file("$directory/texts.c", $source);

sub is_right {
    my ($file, $name) = @_;
    my %texts = map { $_->{address} => $_->{type} } @{ Heapsh::ask_json($file, 'find', 'type', 'char', 'evidence', 'shape')->{objects} };
    my @found = map { [$_, scalar Heapsh::ask($file, 'show', $_)] } sort keys %texts;
    is scalar(grep { $_->[1] =~ /^char\[\d+\] "entry number \d+"/ } @found), 40, "$name: texts";
    is scalar(grep { $_->[1] =~ /^char\[\d+\] "the text of a block/ } @found), 40, "$name: long ones";
    is scalar(grep { $_->[1] !~ /^char\[\d+\] "(?:entry|the text)/ } @found), 0, "$name: nothing else"
        or diag map { $_->[1] } @found;
}

for my $compiler ('gcc', 'clang') {
  SKIP: {
        skip "there is no $compiler", 6 unless has($compiler);
        is system("cd $directory && $compiler -O1 -w -o texts texts.c"), 0, "$compiler: built";
        my $program = Heapsh->start("$directory/texts");
        is_right($program->capture, "$compiler, run");
        $program->finish;
      SKIP: {
            my $why = Heapsh::attach_refusal();
            skip $why, 3 if $why;
            $program = Heapsh->start("$directory/texts", bare => 1);
            system("$build/heapsnap attach --file $directory/$compiler.snap $program->{pid} >/dev/null");
            is_right("$directory/$compiler.snap", "$compiler, attach");
            $program->finish;
        }
    }
}

# A value that leads to a text of its own, as a std::string does, is no header with a link and a length.
my $values = <<'END';
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct text { struct text *next; long hash; size_t length; char characters[]; };
struct text *first;
void *volatile kept[20]; // says nothing of what it holds
int main(void)
{
	for (int i = 0; i < 20; i++) {
		void **value = calloc(1, 56);
		value[0] = &value[3];
		value[2] = (void *)(size_t)sprintf((char *)&value[3], "captured %d", i);
		kept[i] = value;
	}
	first = NULL;
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
END
Heapsh::write_file("$directory/values.c", $values);
SKIP: {
    my $why = Heapsh::attach_refusal();
    skip $why, 2 if $why;
    is system("cd $directory && gcc -g -O1 -w -o values values.c"), 0, 'built';
    my $program = Heapsh->start("$directory/values", bare => 1);
    system("$build/heapsnap attach --file $directory/values.snap $program->{pid} >/dev/null");
    is scalar @{ Heapsh::ask_json("$directory/values.snap", 'find', 'type', 'struct text')->{objects} }, 0,
        'a value that leads into itself is no text behind a header';
    $program->finish;
}
done_testing;
