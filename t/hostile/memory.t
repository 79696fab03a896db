#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A program's own ways with memory, stacks and code.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Hostile;
use POSIX ();
use Test::More;

my $program = 'hostile-memory';
my $page = POSIX::sysconf(POSIX::_SC_PAGESIZE());

# A check of each snapshot: how many objects a filter finds.
sub finds {
    my ($wanted, @filter) = @_;
    return sub {
        return is Heapsh::ask_json($_[0], 'find', @filter)->{count}, $wanted, "find @filter";
    };
}

survives('mallopt and malloc_trim', $program, 'tuned');
survives('obstacks', $program, 'obstacks');
survives('exceptions', $program, 'exceptions', snapshots => 4);
survives('setjmp, longjmp, alloca', $program, 'longjmp', snapshots => 2);
survives('coroutines on stacks of malloc', $program, 'coroutines', snapshots => 3,
    check => finds(0, 'size', '777', 'leaked'));
survives('code without a file', $program, 'made-code', check => finds(50, 'size', '555'));
survives('mremap', $program, 'mremap', snapshots => 3, check => finds(1, 'size', '4321', 'reachable'));
survives('huge pages', $program, 'huge-pages', check => finds(1, 'size', 16 << 20));
survives('shared memory that holds a block', $program, 'shared',
    check => finds(1, 'size', '4321', 'reachable'));
survives('userfaultfd', $program, 'userfaultfd');
SKIP: {
    # Kernels refuse a mapping larger than all memory, unless they are told to overcommit.
    my ($memory, $swap) = map { `cat /proc/meminfo` =~ /^$_:\s*(\d+)/m } qw(MemTotal SwapTotal);
    my ($overcommits) = `cat /proc/sys/vm/overcommit_memory`;
    skip 'less than 20 GiB of memory', 1 if $overcommits != 1 && $memory + $swap < 20 << 20;
    survives('one object of 20 GiB', $program, '20-gigabytes', check => finds(1, 'size', '>=20G'));
}
survives('60,000 mappings', $program, 'fragments', check => finds(1, 'size', '4321', 'reachable'));
survives('mappings with holes', $program, 'holes');
survives('numbers that look like headers', $program, 'numbers', check => finds(0, 'size', '4001'));
survives('addresses that look like headers', $program, 'addresses', check => finds(0, 'size', '4001'));
survives('modules that are unloaded', $program, 'unload', snapshots => 4);

# Blocks of which a page cannot be read are there all the same: their sizes, what they hold, and
# how many bytes are missing.
sub finds_holed {
    my ($file) = @_;
    is Heapsh::ask_json($file, 'find', 'size', $_->[0], 'reachable')->{count}, $_->[1],
        "$_->[1] blocks of $_->[0] bytes"
        for [65552, 3], [300000, 3], [100000, 2], [4321, 8];
    my $info = Heapsh::ask_json($file, 'info');
    is $info->{unreadable_objects}, 8, 'info counts the blocks';
    is $info->{unreadable_bytes}, 8 * $page, 'and what is missing of them';
    my $one = Heapsh::ask_json($file, 'find', 'size', '300000')->{objects}[0]{address};
    is Heapsh::ask_json($file, 'show', $one)->{unreadable_bytes}, $page, 'show says it, too';
    return;
}

survives('protected pages in blocks', $program, 'protected', check => \&finds_holed);
survives('pages that copies lack', $program, 'left-out', check => \&finds_holed);
survives('pages that are empty in copies', $program, 'wiped', check => sub {
    finds_holed(@_);
    is Heapsh::ask_json($_[0], 'info')->{wiped_bytes}, 8 * $page, 'info says how much is';
});
SKIP: {
    my ($major, $minor) = `uname -r` =~ /^(\d+)\.(\d+)/;
    skip 'no guard pages before Linux 6.13', 1 if $major * 1000 + $minor < 6013;
    survives('guard pages in blocks', $program, 'guards', check => \&finds_holed);
}

# How many headers are said to be overwritten in the snapshots of a way, one by one.
sub finds_damages {
    my @wanted = @_;
    return sub {
        my $wanted = shift @wanted;
        return is scalar @{ Heapsh::ask_json($_[0], 'info')->{damages} }, $wanted,
            "$wanted headers are overwritten";
    };
}

survives('a damaged header, until the block is freed', $program, 'damage', snapshots => 2,
    check => finds_damages(1, 0));
survives('1,200 damaged headers', $program, 'damages', check => sub {
    my @damages = @{ Heapsh::ask_json($_[0], 'info')->{damages} };
    is scalar @damages, 1000, 'as many are listed';
    like $damages[-1]{note}, qr/; 200 more are not listed$/, 'the last one says how many are not';
});
survives('a block that overruns into the next', $program, 'overrun', snapshots => 2,
    check => finds_damages(1, 0));
survives('pairs that look like damaged headers', $program, 'lookalikes', snapshots => 2,
    check => finds_damages(0, 0));
done_testing;
