#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Wrappers that are inlined into their callers have no code of their own: debug information tells
# them. In a snapshot and in a trace the blocks count for the callers.
use strict;
use warnings;
use File::Temp qw(tempdir);
use JSON::PP;
use Test::More;
use lib 't/lib';
use Heapsh;
use Tools;

my $directory = tempdir(CLEANUP => 1);

# Objects and bytes of each function.
my %expected = (
    make_plain => '1 1000', make_twice => '2 2030', make_zeroed => '1 1030', make_larger => '1 1040',
    # No wrappers.
    make_node => '1 128', make_block => '1 200',
);

sub sums {
    my (%of);
    for (@_) {
        my ($function, $objects, $bytes) = @$_;
        next if $function !~ /^(make_|x)/;
        $of{$function}[0] += $objects;
        $of{$function}[1] += $bytes;
    }
    return { map { $_ => "@{ $of{$_} }" } keys %of };
}

sub sites {
    my ($file, @command) = @_;
    return sums(map { [$_->{site} =~ s/ .*//r, @$_{qw(objects bytes)}] } @{ Heapsh::ask_json($file, @command) });
}

for my $compiler (qw(gcc clang)) {
  SKIP: {
        skip "there is no $compiler", 1 unless has($compiler);
        for my $flags ('-O0', '-O2', '-O2 -gdwarf-4', '-O2 -gsplit-dwarf', '-O3 -flto') {
            my $name = "$directory/$compiler" . $flags =~ s/\W//gr;
            system("$compiler -g $flags -fno-builtin-malloc -iquote . -c -o $name.o t/programs/inline-wrappers.c"
                . " && $compiler -g $flags -o $name $name.o"
                . " && LD_PRELOAD=$Heapsh::build/libheapsnap.so HEAPSNAP_RATE=1 HEAPSNAP_TRACE=$name.trace $name $name.snap") == 0
                or die "no $name.snap";
            is_deeply sites("$name.snap", 'sites'), \%expected, "$compiler $flags"
                or diag explain sites("$name.snap", 'sites');
            my $trace = JSON::PP->new->utf8->decode(scalar `$Heapsh::build/heapsh-trace --json --sites --limit 100 $name.trace`);
            my $traced = sums(map { [$_->{place} =~ s/ .*//r, 0, 0] } @{ $trace->{places} });
            is_deeply [sort keys %$traced], [sort keys %expected], "$compiler $flags: a trace"
                or diag explain $trace->{places};
        }
    }
}
done_testing;
