#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# heapsnap(5) describes the format as it is written: its example reads a snapshot, and its
# list of sections is the directory's.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;

my $build   = $ENV{BUILD} || 'build';
my $scratch = tempdir(CLEANUP => 1);

sub slurp {
    open my $in, '<:raw', $_[0] or die "$_[0]: $!";
    local $/;
    return <$in>;
}

my $page = slurp('man/heapsnap.5');
my ($example) = $page =~ /^(#!.*?)^\.Ed/ms;
$example =~ s/\\e/\\/g;
open my $out, '>', "$scratch/sizes" or die $!;
print $out $example;
close $out;

my $sample = "$scratch/sample.snap";
my $crowd  = "$scratch/crowd.snap";
system("$build/t/helper/snapshot", 'sample', $sample) == 0 or die 'no sample';
system("$build/t/helper/snapshot", 'crowd',  $crowd) == 0  or die 'no crowd';
is join(' ', split /\n/, `perl $scratch/sizes $sample`), '16 16 16 100 48', 'the example runs';
my @sizes = split /\n/, `perl $scratch/sizes $crowd`;
is scalar(@sizes), 5000, 'also on compressed blocks';
is_deeply [@sizes[0 .. 3, 2000]], [0, 119, 238, 57, 200_000], 'sizes are right';

my %encoding = (1 => 'bytes', 2 => 'varint', 3 => 'delta');
my $file = slurp($sample);
my ($at, $length, $count) = unpack 'Q< Q< L<', substr $file, -32;
my @written = map {
    my ($tag, $encoding, $fields) = unpack 'a4 S< S<', substr $file, $at + 40 * $_;
    "$tag $encoding{$encoding} $fields";
} 0 .. $count - 1;
my @listed = map { s/ Ta/ /gr =~ s/ +/ /gr }
    $page =~ /^\.It (\w{4} Ta (?:bytes|varint|delta) Ta \d+) Ta/mg;
is_deeply \@listed, \@written, 'the page lists the sections that are written';

# Each table's list of fields has as many items as its rows have values.
my %fields = map { (split)[0, 2] } grep { (split)[2] > 1 } @written;
for my $table (sort keys %fields) {
    my ($list) = $page =~ /^\.Ss $table\n.*?^\.Bl -enum.*?\n(.*?)^\.El/ms;
    is scalar(() = $list =~ /^\.It$/mg), $fields{$table}, "fields of $table";
}
done_testing;
