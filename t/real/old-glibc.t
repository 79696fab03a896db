#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The blocks of processes with another glibc, in a Debian of their own: heapsnap attaches from outside.
# t/unit/blocks.c has all versions, made up; here run those that can be had. `make check-real`, as root:
#
#	prove t/real/old-glibc.t                                  bullseye, trixie, sid: glibc 2.31, 2.41 and the newest
#	SUITES='buster stretch' MIRROR=http://archive.debian.org/debian prove t/real/old-glibc.t
#
# The systems are made by debootstrap, and kept in build/old-glibc.
use strict;
use warnings;
use lib 't/lib';
use File::Copy qw(copy);
use Heapsh;
use LiveBlocks;
use Test::More;
use Tools;

if (my $why = Heapsh::attach_refusal()) { plan skip_all => $why }
plan skip_all => 'only root may make a chroot' if $> != 0;
$ENV{PATH} .= ':/usr/sbin:/sbin';
plan skip_all => 'there is no debootstrap' unless has('debootstrap');

my $where = "$Heapsh::build/old-glibc";
my $mirror = $ENV{MIRROR} || 'http://deb.debian.org/debian';
# jemalloc there is built for addresses of 57 bits, and in sid 5.3.1, whose large blocks are of no class; tcmalloc
# is that of gperftools 2.16 or later. mimalloc 3.0.1 of trixie itself damages its lists when aligned blocks are freed.
my %more = map { $_ => ',libjemalloc2,libtcmalloc-minimal4t64' } qw(trixie sid);
$more{sid} .= ',libmimalloc3';
my %preloaded = (jemalloc => 'libjemalloc.so.2', tcmalloc => 'libtcmalloc_minimal.so.4', mimalloc => 'libmimalloc.so.3');
mkdir $where;

# @return the root of a system with a compiler, or undef
sub make_root {
    my ($suite) = @_;
    my $root = "$where/$suite";
    return $root if -e "$root.made";
    system("rm -rf --one-file-system $root && debootstrap --variant=minbase --include=gcc,libc6-dev@{[$more{$suite} // '']} $suite $root $mirror >$root.log 2>&1") == 0
        or return;
    open my $made, '>', "$root.made" or die $!;
    return $root;
}

for my $suite (split ' ', $ENV{SUITES} || 'bullseye trixie sid') {
  SKIP: {
        my $root = make_root($suite) or skip "$suite cannot be had: see $where/$suite.log", 1;
        mkdir "$root/live";
        copy('t/programs/live-blocks.c', "$root/live") or die $!;
        my $compile = "chroot $root gcc -O1 -pthread -D_GNU_SOURCE /live/live-blocks.c -o /live";
        is system("$compile/blocks && $compile/explicit -DLIVE_BLOCKS_EXPLICIT"), 0, "$suite: the programs" or next;
        my ($version) = `chroot $root ldd --version` =~ /(\d+\.\d+)$/m;
        for my $way ('1 4000', '8 5000', '2 3000 foreign', '4 3000 crossed') {
            my $program = Heapsh->start('/usr/sbin/chroot', bare => 1, args => [ $root, '/live/blocks', '/live/log', split ' ', $way ]);
            LiveBlocks::are_exact($program, "glibc $version, $way", 64, log => "$root/live/log");
        }
        for my $name (grep { ($more{$suite} // '') =~ /lib$_/ } sort keys %preloaded) {
            my $program = Heapsh->start('/usr/sbin/chroot', bare => 1,
                args => [ $root, 'env', "LD_PRELOAD=$preloaded{$name}", '/live/explicit', '/live/log', 4, 3000, 'crossed' ]);
            LiveBlocks::are_exact($program, "$name of $suite", 5000, log => "$root/live/log", own => 12, around => $name eq 'mimalloc');
        }
    }
}
done_testing;
