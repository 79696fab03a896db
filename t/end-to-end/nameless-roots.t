#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# What a mapping holds: it has no name that a command could take, but suspects says what to ask.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

my $program = Heapsh->start('nameless-roots');
my $file = $program->capture;
$program->finish;

my $suspects = Heapsh::ask($file, 'suspects', '--limit', 1);
like $suspects, qr/\A1\. \d.* of the heap, [\d.]+ KiB: the mapping at 0x\w+, which holds much of many kinds$/m,
    'a mapping is the first suspect';
my ($question) = $suspects =~ /If it should be smaller, `([^`]*)` says what it holds\.$/m;
like $question // '', qr/ \d/, 'what to ask about it';
my ($header, @lines) = Heapsh::ask($file, $question // 'help');
is scalar(@lines), 10, '... is answered';
like $lines[0], qr/ fill \(nameless-roots\.c:\d+\) +100 +56000$/, '... by what takes most';
like Heapsh::ask($file, 'dominators'), qr/ +├─words of stacks, registers and mappings alone$/m, 'dominators names mappings, too';
done_testing;
