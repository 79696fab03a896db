#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Huge pages of MAP_HUGETLB are few. Where none is free, the kernel takes those of the frozen copy when the program
# writes: what they held is not known, and nothing is called leaked for it.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

my $pool = '/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages';

sub reserved {
    open my $in, '<', $pool or return;
    return 0 + <$in>;
}

sub reserve {
    my ($pages) = @_;
    open my $out, '>', $pool or return;
    return print($out "$pages\n") && close $out;
}

my $before = reserved();
plan skip_all => 'huge pages are for root, on machines that have them' unless $> == 0 && defined $before;
plan skip_all => 'another program has huge pages' if $before > 0;
my $pages = 4;
END { reserve(0) if $before == 0 && $> == 0 }

# @return what info says, and the JSON of leaks
sub ask_all {
    my ($file) = @_;
    return (scalar Heapsh::ask($file, 'info'), Heapsh::ask_json($file, 'info'), Heapsh::ask_json($file, 'leaks'));
}

for my $spare (0, $pages) {
    reserve($pages + $spare);
    my $got = reserved();
    for my $way ('attached', 'run') {
      SKIP: {
            skip "$got huge pages can be had, not " . ($pages + $spare), 1 if $got != $pages + $spare;
            subtest "$way, $spare pages free" => sub {
                my $program = Heapsh->start('taken-pages', args => [$pages], $way eq 'run' ? () : (bare => 1));
                my $file = $way eq 'run' ? $program->capture : $program->attach_and_finish;
                my ($text, $info, $leaks) = ask_all($file);
                if ($spare) {
                    is $info->{lost_bytes}, 0, 'all pages are there';
                    unlike $text, qr/^taken off/m, 'of which info says nothing';
                } else {
                    is $info->{lost_bytes}, $pages << 21, 'pages are lost';
                    like $text, qr/^taken off 8\.0 MiB of huge pages/m, 'of which info tells';
                }
                is $leaks->{direct}{objects} // 0, 0, 'nothing is leaked';
                $program->finish if $way eq 'run';
            };
        }
    }
}
done_testing;
