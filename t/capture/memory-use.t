#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# What a process uses memory for beside live blocks: free memory that malloc keeps, stacks, and what it maps itself.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use JSON::PP;
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

# A series tells what has grown beside live blocks.
{
    my $program = Heapsh->start('memory-uses', args => ['later']);
    my @files = map { $program->capture } 1, 2;
    print { $program->{in} } "\n";
    $program->line;
    push @files, $program->capture;
    $program->finish;
    my $growth = qr/^Beside live blocks, the memory in use grew from \d+\.\d .iB to 6\d\.\d MiB:\n +\+6\d\.\d MiB  mapped without malloc\n\z/m;
    for ([ 'heapsh-diff', 0, 2 ], [ 'heapsh-leakreport', 0 .. 2 ]) {
        my ($tool, @numbers) = @$_;
        my $ask = "$Heapsh::build/$tool --quiet @files[@numbers]";
        my $memory = decode_json(scalar `$ask --json`)->{memory};
        like scalar `$ask`, $growth, "$tool: growth beside live blocks";
        is_about($memory->{last}{mapped} - $memory->{first}{mapped}, 64, "$tool: in JSON");
    }
    my $diff = "$Heapsh::build/heapsh-diff --quiet";
    like scalar `$diff @files[2, 0]`, qr/^Beside live blocks, the memory in use shrank from 6.*\n +-6\d\.\d MiB  mapped/m, 'what becomes less';
    unlike scalar `$diff @files[0, 1]`, qr/Beside/, 'nothing, of what stays';
    ok decode_json(scalar `$diff --json @files[0, 1]`)->{memory}{first}{all}, '... but in JSON';
}
done_testing;
