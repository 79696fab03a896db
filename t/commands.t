#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Every command says what it is for, with an example that works, and has its place in the manual.
use strict;
use warnings;
use Cwd;
use lib 't/lib';
use Sample;
use Test::More;

my $file = Sample::make();
my %before = map { $_ => 1 } glob '*';
my $heapsh = "$Sample::build/heapsh";

# The list in shell/command.h and what the shell says it has are one.
open my $header, '<', 'shell/command.h' or die "shell/command.h: $!";
my @command = map { /^\t_\((\w+)\)/ ? $1 : () } <$header>;
cmp_ok scalar @command, '>=', 17, 'there are commands';
is_deeply [map { $_->{name} } @{ Sample::json($file, 'help') }], \@command,
    'help lists all of them, in that order';

# Forms that the manual has: .It Ic name, with or without arguments.
my $manual = Sample::content('man/heapsh.1') // '';
my @in_manual = $manual =~ /^\.It (?:Ic|Cm) (\w+)/mg;
my %in_manual = map { $_ => 1 } @in_manual;

for my $name (@command) {
    my $help = Sample::json($file, 'help', $name);
    like $help->{summary}, qr/^\S.*[^.\n]$/, "$name: a summary in one line, without a full stop";
    # An example may have an explanation behind it.
    my @example = map { /^  (\S.*?)(?:   .*)?$/ ? $1 : () } split /\n/, $help->{details};
    ok scalar(@example), "$name: an example";
    is_deeply [grep { !/^\Q$name\E\b/ } @example], [], "$name: its examples are of it";
    for my $example (@example) {
        # Examples write files, which must not stay in the checkout.
        my $here = getcwd();
        chdir $Sample::directory or die $!;
        my ($out, $err, $status) = Sample::run("$example\n", $heapsh, '-q', $file);
        chdir $here or die $!;
        isnt $status, 2, "$name: $example is no misuse";
    }
    my ($out) = Sample::heapsh($file, 'help', $name);
    my $synopsis = $help->{synopsis} eq '' ? $name : "$name $help->{synopsis}";
    like $out, qr/\A\Q$synopsis\E\n    \Q$help->{summary}\E\n\n/, "$name: help, in text";
    ok $in_manual{$name}, "$name: in heapsh(1)";
    delete $in_manual{$name};
}

# Each has completions of its options that it takes.
my %option;
for my $name (@command) {
    my $synopsis = Sample::json($file, 'help', $name)->{synopsis};
    $option{$name} = join ' ', sort $synopsis =~ /(--\w+)/g;
}
for my $source (glob 'shell/commands/*.c') {
    my $text = Sample::content($source);
    my %listed = $text =~ /^static const char \*const (\w+)_options\[\] = \{ ([^}]*)NULL \};/mg;
    for my $name (sort keys %listed) {
        is join(' ', sort $listed{$name} =~ /"(--\w+)"/g), $option{$name},
            "$name: completes the options of its synopsis";
        delete $option{$name};
    }
}
is_deeply [grep { $option{$_} } sort keys %option], [], 'no options that are not completed';
is_deeply [grep { !$before{$_} } glob '*'], [], 'examples leave nothing in the checkout';
done_testing;
