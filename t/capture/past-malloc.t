#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Blocks of glibc that a program under heapsnap run has not from the library's malloc: of a malloc of its own that
# asks glibc, of one that passes all on to the library's, by __libc_malloc() and from a second libc.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use File::Temp qw(tempdir);
use Test::More;

my $directory = tempdir(CLEANUP => 1);

my $list = <<'END';
#include <stdlib.h>
struct item { struct item *next; long values[4]; };
struct item *items;
void fill(void)
{
	for (int i = 0; i < 500; i++) {
		struct item *item = malloc(sizeof(*item));
		*item = (struct item){ items, { i, i, i, i } };
		items = item;
	}
}
END
my $main = <<'END';
#include <stdio.h>
void fill(void);
int main(void)
{
	fill();
	puts("ready");
	fflush(stdout);
	return getchar();
}
END
my $to_glibc = <<'END';
#include <stddef.h>
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
void __libc_free(void *);
unsigned long calls;
void *malloc(size_t size) { calls++; return __libc_malloc(size); }
void free(void *block) { __libc_free(block); }
void *calloc(size_t count, size_t size) { calls++; return __libc_calloc(count, size); }
void *realloc(void *block, size_t size) { calls++; return __libc_realloc(block, size); }
END
my $to_next = <<'END';
#include <dlfcn.h>
#include <stddef.h>
unsigned long calls;
static void *next_malloc, *next_free;
void *malloc(size_t size)
{
	calls++;
	if (!next_malloc)
		next_malloc = dlsym(RTLD_NEXT, "malloc");
	return ((void *(*)(size_t))next_malloc)(size);
}
void free(void *block)
{
	if (!next_free)
		next_free = dlsym(RTLD_NEXT, "free");
	((void (*)(void *))next_free)(block);
}
END
my $dlmopen = <<'END';
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **words)
{
	void *library = dlmopen(LM_ID_NEWLM, words[1], RTLD_NOW);
	((void (*)(void))dlsym(library, "fill"))();
	puts("ready");
	fflush(stdout);
	return count > 9 ? 0 : getchar();
}
END

sub build {
    my ($name, $flags, @sources) = @_;
    my @files;
    for my $i (0 .. $#sources) {
        push @files, "$directory/$name-$i.c";
        Heapsh::write_file($files[-1], $sources[$i]);
    }
    system("cc -D_GNU_SOURCE -g $flags -fno-builtin -o $directory/$name @files -ldl") == 0 or die 'cc';
    return "$directory/$name";
}

# Takes a snapshot by the signal and one by attach. @return both
sub capture_twice {
    my ($path, @words) = @_;
    my $program = Heapsh->start($path, args => \@words);
    my @files = ($program->capture);
    push @files, "$files[0].attached";
    is system("$Heapsh::build/heapsnap attach --file $files[1] @{[ $program->pid ]} >/dev/null"), 0, '... attach';
    $program->finish;
    return @files;
}

# The size of each item is what was asked for where it has our header: both are 40 here, glibc's smallest for it.
sub has_items {
    my ($what, $allocators, $malloc, @files) = @_;
    for my $file (@files) {
        my $info = Heapsh::ask_json($file, 'info');
        is $info->{allocators}, $allocators, "$what: whose structures tell of blocks";
        is Heapsh::ask($file, qw(find --count type), 'struct item', 'size', 40), "Total: 500 objects, 19.5 KiB\n", '... all are there, with their type';
        is Heapsh::ask($file, qw(find --count leaked)), "Total: 0 objects, 0 B\n", '... and none is leaked';
        my ($said) = Heapsh::ask($file, 'info') =~ /^malloc +is (.*)/m;
        is $said =~ s/that of \S+\/// ? $said : '', $malloc, '... info tells whose malloc it is' if defined $malloc;
        ok !defined $said, '... info says nothing of malloc' if !defined $malloc;
    }
}

my $path = build('to-glibc', '', $main, $list, $to_glibc);
has_items('a malloc that asks glibc', 'glibc', 'to-glibc, which came before libheapsnap.so: its blocks are those of glibc', capture_twice($path));
$path = build('to-next', '', $main, $list, $to_next);
has_items('a malloc that asks the next one', '', 'to-next, which came before libheapsnap.so: what it passes on is in this snapshot', capture_twice($path));
$path = build('past', '-Dmalloc=__libc_malloc', $main, $list);
has_items('__libc_malloc()', 'glibc', undef, capture_twice($path));
my $library = build('library.so', '-shared -fPIC', $list);
$path = build('namespaces', '', $dlmopen);
has_items('a second libc', 'glibc', undef, capture_twice($path, $library));
done_testing;
