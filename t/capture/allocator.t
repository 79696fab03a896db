#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# malloc and new look the same to a program with the library and without.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use Test::More;
use Tools;

my $build = abs_path($ENV{BUILD} || 'build');

my @libraries = map { "$build/libheapsnap$_.so" } '', '-trace';

# Runs a program. @return its output, its errors, its status
sub run {
    my ($preload, $name, @arguments) = @_;
    local $ENV{LD_PRELOAD} = $preload;
    my $output = `$build/t/programs/$name @arguments 2>&1`;
    return $output . sprintf 'ended with status %d, signal %d', $? >> 8, $? & 127;
}

sub same {
    my ($what, $name, @arguments) = @_;
    my $bare = run('', $name, @arguments);
    is run($_, $name, @arguments), $bare, "$what: " . s{.*/}{}r for @libraries;
    return;
}

like run('', 'capture-malloc'), qr/status 0, signal 0$/, 'the program works without';
same('the malloc family', 'capture-malloc');
same('new and delete', 'capture-new');
same('alignments that make no sense', 'odd-alignments');
same('new and delete that the program replaces', 'capture-replaced');

# glibc's key of freed blocks differs from run to run.
my %fault = (
    'twice-small'   => 'a small block freed twice',
    'twice-fast'    => 'a small block freed twice past the cache',
    'twice-large'   => 'a large block freed twice',
    'twice-huge'    => 'an unmapped block freed twice',
    'twice-aligned' => 'an aligned block freed twice',
    'odd'           => 'an odd address freed',
    'inside'        => 'an address inside a block freed',
    'static'        => 'a static variable freed',
    'page'          => 'an unmapped address freed',
    'realloc-freed' => 'a freed block reallocated',
    'overrun'       => 'a block behind one that was overrun by a byte',
);
for my $fault (sort keys %fault) {
    my $bare = run('', 'capture-malloc', $fault);
    my @other = grep { $_ ne $bare } map { run($libraries[$_ % 2], 'capture-malloc', $fault) } 1 .. 10;
    is $other[0], undef, "libc says the same of $fault{$fault}";
}

# Other allocators, where they are installed: below ours.
my %library = map { m{^\s*(lib(?:jemalloc|tcmalloc_minimal|mimalloc))\.so\S* .* => (\S+)$} ? ($1, $2) : () }
    `PATH=\$PATH:/sbin:/usr/sbin ldconfig -p`;
for my $name (qw(libjemalloc libtcmalloc_minimal libmimalloc)) {
  SKIP: {
        skip "$name is not installed", 2 unless $library{$name};
        my $bare = run($library{$name}, 'capture-new');
        is run("$_:$library{$name}", 'capture-new'), $bare, "new and delete above $name: " . s{.*/}{}r
            for @libraries;
    }
}

# valgrind says nothing of us if it leaves our malloc to us.
SKIP: {
    skip 'valgrind is not installed', scalar @libraries
        unless has('valgrind');
    my $valgrind = 'valgrind -q --soname-synonyms=somalloc=nouserintercepts';
    for my $library (@libraries) {
        local $ENV{HEAPSNAP_STACKS} = 0;
        local $ENV{LD_PRELOAD} = $library;
        is `$valgrind $build/t/programs/capture-malloc aligned 2>&1`,
            "aligned blocks: 60\nwent on\n", 'valgrind has no complaint: ' . $library =~ s{.*/}{}r;
    }
}
done_testing;
