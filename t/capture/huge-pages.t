#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The library's tables are sparse. Where the system makes huge pages of all memory, each touched word would
# take 2 MiB; so their mappings refuse them.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

plan skip_all => 'a kernel without huge pages' unless -e '/sys/kernel/mm/transparent_hugepage/enabled';

my $program = Heapsh->start('many-sites', args => ['wait'], run => [qw(--trace t.trace --rate 16)]);
open my $in, '<', "/proc/@{[$program->pid]}/smaps" or die "smaps: $!";
my @mappings;
while (<$in>) {
    if (/^[0-9a-f]+-[0-9a-f]+ rw-p \S+ \S+ 0\s*(.*)$/) {
        push @mappings, { name => $1 };
    } elsif (/^[0-9a-f]+-[0-9a-f]+ /) {
        push @mappings, { name => 'other' };
    } elsif (/^Size:\s+(\d+) kB/) {
        $mappings[-1]{size} = $1;
    } elsif (/^VmFlags: (.*)/) {
        $mappings[-1]{flags} = $1;
    }
}
close $in;
# Not the library's own data, which has hardly room for a huge page.
my @tables = grep { $_->{name} eq '' && $_->{size} >= 2048 } @mappings;
cmp_ok scalar @tables, '>=', 3, 'there are such tables';
is scalar(grep { $_->{flags} !~ /\bnh\b/ } @tables), 0, 'none of them takes huge pages';
$program->finish;
done_testing;
