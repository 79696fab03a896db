#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Texts of many megabytes, of which all was kept, have their whole length.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use File::Temp qw(tempdir);
use Test::More;

my $length = 17_000_000;
my $directory = tempdir(CLEANUP => 1);

Heapsh::write_file("$directory/large.cc", <<'END');
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
char *text;
void *bytes;
std::string *string;
int main()
{
	text = (char *)malloc(17000001);
	for (int i = 0; i < 17000000; i++)
		text[i] = "line of text\n"[i % 13];
	text[17000000] = 0;
	bytes = malloc(17000000);
	memset(bytes, 1, 17000000);
	string = new std::string(17000000, 's');
	puts("ready");
	fflush(stdout);
	return getchar();
}
END
system("c++ -g -o $directory/large $directory/large.cc") == 0 or die 'c++ failed';
my $program = Heapsh->start("$directory/large", run => [qw(--content all)]);
my $file = $program->capture;
$program->finish;

# A decoder of JSON in Perl takes its time for such a string.
sub lengths_in_json { return [map { length s/\\n/\n/gr } Heapsh::ask($file, '--json', @_) =~ /"([a-z \\]{1000,})"/g] }

my $answer = Heapsh::ask($file, '--json', 'strings', 'size', '>1M');
is_deeply [$answer =~ /"length":(\d+),"cut":(\w+)/g], [($length, 'false') x 2], 'strings';
is_deeply lengths_in_json('strings', 'size', '>1M'), [$length, $length], '... with all of their text';
like Heapsh::ask($file, 'strings', 'size', '>1M'), qr/^ +1 +$length  .*line of text/m, '... without a plus sign';
is_deeply lengths_in_json('show', 'text'), [$length], 'show --json, an array';
is_deeply lengths_in_json('show', 'string'), [$length], 'show --json, a std::string';
unlike Heapsh::ask($file, 'show', 'bytes'), qr/not kept/, 'all was kept of others';
like Heapsh::ask($file, 'show', 'bytes'), qr/^ +… 16999744 more bytes \(--all shows them\)$/m, '... and all is there';
done_testing;
