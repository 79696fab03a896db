#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# heapsnap attach and core find thread-local variables, though no library has asked the dynamic linker
# for their places: those of the program, those of a library in each model of access, and those of a
# library that was loaded later, which each thread has somewhere else; the latter also with heapsnap run.
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

# The library has storage of another size and alignment than the program. Each thread has a ring of each.
Heapsh::write_file("$directory/library.c", <<'END');
#include <stdlib.h>
struct page { struct page *next; long number; double weight[3]; };
_Thread_local char room[200] __attribute__((aligned(64)));
static _Thread_local struct page *pages;
_Thread_local struct page *shared_pages;
void add_page(long number)
{
	struct page *page = calloc(1, sizeof(*page)), *shared = calloc(1, sizeof(*page));
	page->next = pages;
	pages = page;
	page->number = shared->number = number;
	shared->next = shared_pages;
	shared_pages = shared;
	room[number % 200] = 1;
}
END
Heapsh::write_file("$directory/main.c", <<'END');
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
struct item { struct item *next; long number; };
static _Thread_local struct item *items;
#ifdef MANY
_Thread_local char many[MANY];
#endif
static pthread_barrier_t ready, end;
void add_page(long number);
static void fill(void)
{
	for (long i = 0; i < 10; i++) {
		struct item *item = malloc(sizeof(*item));
		item->next = items;
		item->number = i;
		items = item;
		add_page(i);
	}
}
static void *work(void *unused)
{
	fill();
	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&end);
	return unused;
}
int main(void)
{
	pthread_t threads[3];
	pthread_barrier_init(&ready, NULL, 4);
	pthread_barrier_init(&end, NULL, 4);
	fill();
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	pthread_barrier_wait(&ready);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	pthread_barrier_wait(&end);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	puts("done");
	return 0;
}
END

sub build { return system("cd $directory && @_ 2>$directory/errors") == 0 }

sub has_variable {
    my ($file, $name, $type, $count) = @_;
    my @roots = grep { ($_->{root}{kind} // '') eq 'thread-local' && $_->{root}{name} eq $name }
        @{ Heapsh::ask_json($file, 'roots', '--all') };
    is scalar @roots, 4, "$_[4]: $name has a copy in each thread";
    is join(' ', map { $_->{retained_objects} } @roots), '10 10 10 10', "$_[4]: which holds its objects";
    is Heapsh::ask($file, 'find', '--count', 'type', $type) =~ s/,.*//sr, "Total: $count objects",
        "$_[4]: and gives them their type";
}

sub is_found {
    my ($file, $name) = @_;
    has_variable($file, 'items', 'struct item', 40, $name);
    has_variable($file, $_, 'struct page', 80, $name) for qw(pages shared_pages);
}

for my $way (
    ['general dynamic', '-fPIC', ''],
    ['initial exec', '-fPIC -ftls-model=initial-exec', ''],
    ['descriptors', '-fPIC -mtls-dialect=' . ((`uname -m` =~ /aarch64/) ? 'desc' : 'gnu2'), ''],
    ['a static program', undef, '-static'],
    ['a program at a fixed place', '-fPIC', '-no-pie'],
    ['a program with 20 MiB for each thread', '-fPIC', '-DMANY=20971520'],
    ['initial exec beside 20 MiB', '-fPIC -ftls-model=initial-exec', '-DMANY=20971520'],
) {
    my ($name, $library, $program) = @$way;
  SKIP: {
        my $built = defined $library
            ? build("gcc -g -O1 $library -shared -o library.so library.c && gcc -g -O1 $program -pthread -o main main.c -L. -l:library.so -Wl,-rpath,$directory")
            : build("gcc -g -O1 $program -pthread -o main main.c library.c");
        skip "$name: cannot be built here", $program =~ /MANY/ ? 20 : 11 unless $built;
        my $process = Heapsh->start("$directory/main", bare => 1);
        my $file = "$directory/$name.snap" =~ s/ /-/gr;
        my $said = `$build/heapsnap attach --file $file $process->{pid} 2>&1`;
        ok -e $file, "$name: attached" or diag $said;
        is_found($file, $name) if -e $file;
      SKIP: {
            skip 'no gcore', 9 if $name ne 'general dynamic' || system("gcore -o $directory/core $process->{pid} >/dev/null 2>&1") != 0;
            system("$build/heapsnap core --file $directory/core.snap $directory/core.$process->{pid} >/dev/null 2>&1");
            is_found("$directory/core.snap", 'a core file');
        }
        is join(' ', $process->finish), "done\n 0", "$name: the process goes on";
        next unless $program =~ /MANY/;
        $process = Heapsh->start("$directory/main");
        is_found($process->capture, "$name, run");
        $process->finish;
    }
}

# The program above, without the library: that comes while it runs.
my $program = Heapsh::content("$directory/main.c");
$program =~ s/^void add_page\(long number\);/#include <dlfcn.h>\nstatic void (*add_page)(long number);/m or die;
$program =~ s/^(\tfill\(\);\n\tfor)/\tadd_page = dlsym(dlopen("$directory\/later.so", RTLD_NOW), "add_page");\n$1/m or die;
Heapsh::write_file("$directory/later.c", $program);
SKIP: {
    skip 'loaded later: cannot be built here', 18
        unless build('gcc -g -O1 -fPIC -shared -o later.so library.c && gcc -g -O1 -pthread -o later later.c -ldl');
    for my $way ('attach', 'run') {
        my $name = "loaded later, $way";
        my $process = Heapsh->start("$directory/later", bare => $way eq 'attach');
        my $file = $way eq 'run' ? $process->capture : "$directory/later.snap";
        system("$build/heapsnap attach --file $file $process->{pid} >/dev/null") if $way eq 'attach';
        has_variable($file, $_, 'struct page', 80, $name) for qw(pages shared_pages);
        is join(' ', $process->finish), "done\n 0", "$name: the process goes on";
    }
}
done_testing;
