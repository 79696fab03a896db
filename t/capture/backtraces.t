#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Backtraces that the library takes: a program in which all of them are known.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;

$ENV{CC} = 'gcc' unless $ENV{CC};

# Two that lie at the same address one after the other, with frames of different sizes, and one
# without tables.
my $plugins = tempdir(CLEANUP => 1);

sub plugin {
    my ($name, $size, $frame, @flags) = @_;
    open my $out, '>', "$plugins/$name.c" or die $!;
    print $out <<"END";
#include <stdlib.h>
__attribute__((noinline)) static void *$name(void)
{
	volatile char room[$frame];
	void *block;
	room[0] = 1;
	block = malloc($size);
	room[1] = 1;
	return block;
}
void *plugin_make(void)
{
	void *block = $name();
	__asm__ volatile("" ::: "memory");
	return block;
}
END
    close $out;
    system($ENV{CC}, qw(-g -O2 -fPIC -shared), @flags, '-o', "$plugins/$name.so", "$plugins/$name.c") == 0
        or die "no plugin $name";
    return "$plugins/$name.so";
}

my @plugin = (
    plugin('first', 4001, 16),
    plugin('second', 4001, 3000),
    plugin('third', 4003, 16, qw(-fno-asynchronous-unwind-tables -fno-omit-frame-pointer)),
    plugin('fourth', 4004, 16, qw(-fno-asynchronous-unwind-tables -fno-omit-frame-pointer)),
);

sub start {
    my (%env) = @_;
    my $program = Heapsh->start('backtraces', args => \@plugin, env => \%env);
    my $file = $program->capture;
    my ($rest, $status) = $program->finish;
    is $status, 0, 'the program ends well';
    return ($file, $program);
}

# The backtraces of all blocks of a size: "function, function", the innermost first.
sub backtraces {
    my ($file, $size, $limit) = @_;
    my @found;
    for my $object (@{ Heapsh::ask_json($file, 'find', 'size', "=$size")->{objects} }) {
        my $shown = Heapsh::ask_json($file, 'show', $object->{address});
        my @step = map { $_->{function} . ($_->{inlined} ? '*' : '') } @{ $shown->{backtrace} || [] };
        push @found, join ' ', $limit ? @step[0 .. $limit - 1] : @step;
    }
    return @found;
}

my ($file, $program) = start();

is_deeply [backtraces($file, 1001)], ['innermost* inner* outer main'], 'inlined calls';
is_deeply [backtraces($file, 1006)], ['innermost* inner* outer large_frame main'], 'a large frame';
is_deeply [backtraces($file, 1007)], ['innermost* inner* outer aligned_frame main'],
    'a frame that is aligned, of variable size';
is_deeply [backtraces($file, 1002)], ['innermost* inner* outer jumped main'], 'after longjmp';
is_deeply [backtraces($file, 1003, 4)], ['innermost* inner* outer coroutine'], 'a coroutine';
is_deeply [backtraces($file, 1004, 5)], ['innermost* inner* outer large_frame coroutine'],
    'a coroutine, after it was left and entered';
for (backtraces($file, 1003), backtraces($file, 1004)) {
    unlike $_, qr/main|run_coroutine/, 'which nobody has called';
}
like $_, qr/^innermost\* inner\* outer handler .*(?:raise|gsignal) raiser take_signals\* main$/,
    'through a signal' for backtraces($file, 1010), backtraces($file, 1012);
is_deeply [backtraces($file, 1008, 4)], ['innermost* inner* outer worker'], 'a thread';
is_deeply [backtraces($file, 1009)], [join ' ', qw(innermost* inner* outer), ('recurse') x 127],
    'the innermost 128 addresses of a deep recursion';
is_deeply [backtraces("$program->{directory}/a-child.snap", 1005)],
    ['innermost* inner* outer run_child* main'], 'in a child of fork';

# Each plugin lies where the one before was; only the last is still there.
is_deeply [sort(backtraces($file, 4001))], [('  run_plugin* main') x 2],
    'of plugins that are gone, the callers';
is_deeply [backtraces($file, 4003)], ['  run_plugin* main'],
    'also where the last one has code at the same addresses';
is_deeply [backtraces($file, 4004)], ['fourth plugin_make run_plugin* main'],
    'code without tables, by its frame pointers';

# Wrappers.
sub sites {
    my ($size) = @_;
    my %count;
    for my $object (@{ Heapsh::ask_json($file, 'find', 'size', "=$size")->{objects} }) {
        my $shown = Heapsh::ask_json($file, 'show', $object->{address});
        $count{ $shown->{site} =~ s/ .*//r }++;
    }
    return \%count;
}
my %late = %{ sites(2003) };
is $late{make_late}, 1, 'one call of a wrapper, after many others';
cmp_ok $late{make_plum}, '>=', 4, 'calls of a wrapper from one place';
cmp_ok $late{make_cherry}, '>=', 4, 'calls of a wrapper from another';
is_deeply sites(2005), { make_lime => 12 }, 'a wrapper that calls another'
    or diag explain sites(2005);
cmp_ok sites(2204)->{make_rye}, '>=', 8, 'a wrapper that calls an allocator through a pointer'
    or diag explain sites(2204);
is_deeply sites(2100), { new_node => 20 }, 'what always asks for the same is no wrapper';
is_deeply sites(2309), { interpret => 8 }, 'nor is what allocates in many places'
    or diag explain sites(2309);

# Others by name.
($file) = start(HEAPSNAP_WRAPPERS => 'new_node, nothing');
is_deeply sites(2100), { map { $_ => 4 } map { "node_$_" } 1 .. 5 }, 'a wrapper by name';

# Every block a sample.
($file) = start(HEAPSNAP_STACKS => 1);
is_deeply [sort(backtraces($file, 3000))],
    ['innermost* inner* outer way_a main', 'innermost* inner* outer way_b main'],
    'sampled blocks of one site and size know their own ways';
is_deeply [backtraces($file, 3002)], ['grow main'], 'a block that realloc has made';
my ($own) = map { Heapsh::ask_json($file, 'show', $_->{address}) }
    @{ Heapsh::ask_json($file, 'find', 'size', '=3002')->{objects} };
is $own->{backtrace_of}, 'object', 'which is its own';
is Heapsh::ask($file, 'find', '--count', 'frame', 'way_b') =~ s/,.*//sr, 'Total: 1 object', 'find frame';

# None.
($file) = start(HEAPSNAP_STACKS => 0);
is_deeply [backtraces($file, 1001)], [''], 'HEAPSNAP_STACKS=0 takes none';
is_deeply sites(2002), { checked_malloc => 8 }, 'nor looks through wrappers';

# A senseless value costs a line.
$program = Heapsh->start('backtraces', args => \@plugin, env => { HEAPSNAP_STACKS => 'many' });
like $program->errors, qr/^heapsnap: HEAPSNAP_STACKS: many: .*; 512K is used$/m, 'a bad value is named';
$program->finish;
done_testing;
