#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# What a process uses memory for beside live blocks: free memory that malloc keeps, stacks, and what it maps itself.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

my $mebibyte = 1 << 20;

# What heapsh says of a program that uses memory in a way.
sub ask_of {
    my ($use, $how) = @_;
    my $program = Heapsh->start('memory-uses', bare => $how ne 'run', args => [$use], env => { GLIBC_TUNABLES => 'glibc.malloc.trim_threshold=1000000000' });
    my $file = $how eq 'run' ? $program->capture : undef;
    if ($how eq 'core') {
        my $core = "$program->{directory}/core";
        system("gcore -o $core $program->{pid} >/dev/null 2>&1") == 0 or return;
        $file = "$program->{directory}/core.snap";
        system("$Heapsh::build/heapsnap core --file $file $core.$program->{pid} >/dev/null") == 0 or return;
    }
    if ($file) { $program->finish }
    else { $file = $program->attach_and_finish }
    return ($file, Heapsh::ask_json($file, 'info')->{memory});
}

sub is_about {
    my ($bytes, $expected, $name) = @_;
    return ok(abs($bytes / $mebibyte - $expected) < 3, $name) || diag sprintf '%.1f MiB, not %g', $bytes / $mebibyte, $expected;
}

# MiB in live blocks, in what malloc has beside them, in whole pages of that, in stacks, and what is mapped.
my %expected = (
    freed     => [ 0,  64, 62, 0,  0 ],
    scattered => [ 32, 32, 0,  0,  0 ],
    mapped    => [ 0,  0,  0,  0,  64 ],
    stack     => [ 0,  0,  0,  32, 0 ],
    live      => [ 64, 0,  0,  0,  0 ],
);

my @ways = ('run', Heapsh::attach_refusal() ? () : 'attach', system('command -v gcore >/dev/null') == 0 ? 'core' : ());
for my $how (@ways) {
    for my $use (sort keys %expected) {
      SKIP: {
            my ($file, $memory) = ask_of($use, $how);
            skip 'no snapshot', 1 unless $file;
            my ($live, $spare, $pages, $stacks, $mapped) = @{ $expected{$use} };
            my $name = "$how, $use";
            is_about($memory->{blocks}, $live, "$name: live blocks");
            is_about($memory->{spare}, $spare, "$name: what malloc has beside them");
            is_about($memory->{spare_pages}, $pages, "$name: whole pages of that");
            is_about($memory->{stacks}, $stacks, "$name: stacks");
            is_about($memory->{mapped}, $mapped, "$name: what is mapped otherwise");
            is $memory->{blocks} + $memory->{spare} + $memory->{stacks} + $memory->{mapped}, $memory->{all}, "$name: the sum";
            my $text = join "\n", Heapsh::ask($file, 'info'), '';
            like $text, qr/^memory +[\d.]+ MiB .*\n +[\d.]+ \w+ +live blocks$/m, "$name: info";
            my $says = join "\n", Heapsh::ask($file, 'suspects'), '';
            my %hint = (
                freed     => qr/free memory that malloc keeps/,
                scattered => undef, # half of it is live
                mapped    => qr/mapped without malloc/,
                stack     => qr/threads' stacks/,
            );
            $hint{$use} ? like $says, $hint{$use}, "$name: suspects says so" : unlike $says, qr/^Live blocks are/m, "$name: suspects";
        }
    }
}

done_testing;
