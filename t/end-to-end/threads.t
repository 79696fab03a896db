#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Fifty busy threads, captured fifty times in a row: every answer is right. Questions wait until the
# threads have ended, which leave no processor for anything else; and most of the captures hold them as
# soon as the writer has its copy of the process.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

# A sanitized writer is slow, and so is an emulated processor. Fewer captures tell as much there.
my $captures = $ENV{SANITIZE} || $Heapsh::patience > 60 ? 10 : 50;
my $program = Heapsh->start('busy', run => ['--content', 'none']);
my @files;
for my $number (1 .. $captures) {
    push @files, ($number % 5 ? $program->capture_and_hold : $program->capture) . '.old';
    rename $files[-1] =~ s/\.old$//r, $files[-1];
}
my ($rest, $status) = $program->finish;
is $rest, "done\n", 'the program went on';
is $status, 0, 'and ended well';
is $program->errors, '', 'nothing was said';

my @wrong;
for my $file (@files) {
    my ($info, @found) = Heapsh::ask_lines_json($file, 'info', 'find --count type "struct kept"', 'find --count type "struct held"',
        'find leaked type "struct kept" or leaked type "struct held"');
    my $answer = sprintf '%d threads, %d kept, %d held, %d leaked', scalar @{ $info->{threads} }, map { $_->{count} } @found;
    push @wrong, "$file: $answer" if $answer ne '51 threads, 250 kept, 250 held, 0 leaked';
}
is join("\n", @wrong), '', "$captures captures of 50 busy threads find all that the threads keep";
my @locals = grep { $_->{root}{name} eq 'mine' } @{ Heapsh::ask_json($files[-1], 'symbols') };
is scalar @locals, 50, 'each thread has its thread-local variable';
done_testing;
