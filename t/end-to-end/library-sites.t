#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Blocks that a library without debug information allocates: their sites say for whom, too.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;

my $compiler = $ENV{CC} || 'gcc';
my $directory = abs_path(tempdir(CLEANUP => 1));

sub compile {
    my ($name, $text, $flags, @libraries) = @_;
    open my $out, '>', "$directory/$name.c" or die "$name: $!";
    print $out $text;
    close $out;
    is system("cd $directory && $compiler $flags $name.c -Wl,-rpath,$directory -L. @libraries"), 0, "$name is compiled";
}

compile('library', <<'END', '-O1 -shared -fPIC -o liblibrary.so');
#include <stdlib.h>
struct codec { void *window, *table; };
int codec_begin(struct codec *codec) { codec->window = malloc(300); codec->table = malloc(500); return codec->window && codec->table; }
void *buffer_new(void) { void *volatile buffer = calloc(1, 700); return buffer; }
END
compile('user', <<'END', '-g -O0 -o user', '-llibrary');
#include <stdio.h>
struct codec { void *window, *table; };
int codec_begin(struct codec *codec);
void *buffer_new(void);
struct codec codecs[40];
void *buffers[20];
static void reader_open(int i) { codec_begin(&codecs[i]); }
static void writer_open(int i) { codec_begin(&codecs[i]); }
static void lose(void) { for (int i = 0; i < 30; i++) buffer_new(); }
int main(void)
{
	for (int i = 0; i < 20; i++) reader_open(i);
	for (int i = 20; i < 40; i++) writer_open(i);
	for (int i = 0; i < 20; i++) buffers[i] = buffer_new();
	lose();
	lose();
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
}
END

# Each block is a sample.
my $file = Heapsh->start("$directory/user", env => { HEAPSNAP_STACKS => 1 })->capture;
my @sites = grep { $_->{site} =~ /liblibrary/ } @{ Heapsh::ask_json($file, 'sites') };

is_deeply [ map { [ @$_{qw(objects bytes)} ] } @sites ], [ [ 80, 56000 ], [ 40, 20000 ], [ 40, 12000 ] ], 'the blocks of the library';
is scalar(grep { $_->{site} =~ /^(codec_begin|buffer_new)\+0x[0-9a-f]+ \(liblibrary\.so\)$/ } @sites), 3, 'their sites';
is $sites[0]{caller} =~ s/:\d+//r, 'main (user.c)', 'the caller of one';
ok $sites[0]{has_other_callers}, 'which is not the only one';
is $sites[1]{caller}, 'reader_open (user.c:7)', 'the caller of the other';
ok $sites[1]{has_other_callers}, 'which is not the only one';

my $text = Heapsh::ask($file, 'sites');
like $text, qr/ 40 .* codec_begin\+0x[0-9a-f]+ \(liblibrary\.so\), for reader_open \(user\.c:7\) and others$/m, 'sites says so';
my ($leaked) = grep { /buffer_new/ } split /\n/, Heapsh::ask($file, 'leaks');
like $leaked, qr/^\s+(59|60) .*buffer_new\+0x[0-9a-f]+ \(liblibrary\.so\), for lose \(user\.c:9\)$/, 'leaks does';

# What starts a program or a thread calls for everybody. libc's has debug information on some machines only: this one stands for it.
compile('start', "void start_thread(void (*work)(void)) { work(); __asm__ volatile(\"\"); }\n", '-g -O1 -c');
compile('started', <<'END', '-g0 -O1 -o started start.o');
#include <stdio.h>
#include <stdlib.h>
void start_thread(void (*work)(void));
void *kept;
static void work(void) { kept = malloc(77); }
int main(void)
{
	start_thread(work);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
}
END
$file = Heapsh->start("$directory/started", env => { HEAPSNAP_STACKS => 1 })->capture;
my ($started) = grep { $_->{bytes} == 77 } @{ Heapsh::ask_json($file, 'sites') };
like $started->{site}, qr/^work\+0x/, 'a block of a thread';
is $started->{caller}, undef, 'what starts it is nobody to tell of';

# A function of libc's that the library wraps: its blocks are those of its caller, not of the wrapper.
compile('daemon', <<'END', '-g -O0 -o daemon');
#define _GNU_SOURCE
#include <grp.h>
#include <stdio.h>
static void drop_rights(void) { initgroups("root", 0); }
int main(void)
{
	drop_rights();
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
}
END
$file = Heapsh->start("$directory/daemon", env => { HEAPSNAP_STACKS => 1 })->capture;
my %counts = map { ($_->{site} => $_->{objects}) } @{ Heapsh::ask_json($file, 'sites') };
# Whether main() has read something yet depends on the machine.
my %functions = map { s/:\d+//r => 1 } keys %counts;
is_deeply [ sort keys %functions ], [ 'drop_rights (daemon.c)', 'main (daemon.c)' ], 'sites are in the program alone'
    or diag join "\n", %counts;

done_testing;
