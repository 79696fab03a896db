#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Fifty busy threads, captured fifty times in a row: every answer is right.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

# A sanitized writer is slow, and has no more to tell.
my $captures = $ENV{SANITIZE} ? 10 : 50;
my $program = Heapsh->start('busy', run => ['--content', 'none']);
my @wrong;
for my $number (1 .. $captures) {
    my $file = $program->capture;
    my $info = Heapsh::ask_json($file, 'info');
    my $threads = @{ $info->{threads} };
    my %count = map { $_ => Heapsh::ask_json($file, 'find', '--count', 'type', "struct $_")->{count} }
        qw(kept held);
    my $lost = Heapsh::ask_json($file, 'find', 'leaked', 'type', 'struct kept', 'or', 'leaked', 'type', 'struct held');
    push @wrong, "$number: $threads threads, $count{kept} kept, $count{held} held, $lost->{count} leaked"
        if $threads != 51 || $count{kept} != 250 || $count{held} != 250 || $lost->{count} != 0;
    rename $file, "$file.old";
}
is join("\n", @wrong), '', "$captures captures of 50 busy threads find all that the threads keep";
my ($last) = glob "$program->{directory}/*.old";
my @locals = grep { $_->{root}{name} eq 'mine' } @{ Heapsh::ask_json($last, 'symbols') };
is scalar @locals, 50, 'each thread has its thread-local variable';
my ($rest, $status) = $program->finish;
is $rest, "done\n", 'the program went on';
is $status, 0, 'and ended well';
is $program->errors, '', 'nothing was said';
done_testing;
