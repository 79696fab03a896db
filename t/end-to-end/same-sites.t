#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs of one program have the same sites, though wrappers are recognised while it runs, and its
# addresses and samples are others each time.
use strict;
use warnings;
use Test::More;
use lib 't/lib';
use Heapsh;


# Strings of many lengths by many callers: Perl_sv_grow() is recognised by its use alone.
my $script = 'my %h; $h{$_} = [1 .. 10] for 1 .. 20000; syswrite STDOUT, "ready\n"; sleep 60 while 1';

sub sites {
    my $program = Heapsh->start(
        $^X,
        args => [ '-e', $script ],
        run => [qw(--types none)],
        env => { PERL_HASH_SEED => 0, PERL_PERTURB_KEYS => 0 },
    );
    my $file = $program->capture;
    my @sites = map { s/0x[0-9a-f]+//gr } Heapsh::ask($file, qw(count --by site --all));
    return join "\n", sort @sites;
}

my $first = sites();
like $first, qr/perl/, 'there are sites';
is sites(), $first, "run $_ has those of the first" for 2 .. 6;

done_testing;
