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

# Each stands in a group of `help`; topics name all that they are about.
is_deeply [map { $_->{name} } grep { !$_->{group} } @{ Sample::json($file, 'help') }], [], 'every command has a group';
my @filters = (Sample::run("find nosuchfilter\n", $heapsh, '-q', $file))[1] =~ /; there are (.*)/ ? split /, /, $1 : ();
cmp_ok scalar @filters, '>', 20, 'filters';
my $help = (Sample::heapsh($file, 'help', 'filters'))[0];
is_deeply [grep { $help !~ /(?:^  |, |`)\Q$_\E\b/m } @filters], [], 'help filters has them all';
my @evidence = (Sample::run("find evidence x\n", $heapsh, '-q', $file))[1] =~ /not one of (.*)/ ? split /, /, $1 : ();
cmp_ok scalar @evidence, '>', 6, 'evidence';
$help = (Sample::heapsh($file, 'help', 'evidence'))[0];
is_deeply [grep { $help !~ /^  \Q$_\E\b/m } @evidence], [], 'help evidence has it all';
for my $topic (qw(operands filters evidence types)) {
    my ($out, $err, $status) = Sample::heapsh($file, 'help', $topic);
    is "$status$err", 0, "help $topic";
    is_deeply [grep { length > 88 } split /\n/, $out], [], 'fits a terminal';
}

# The manual lists the commands with their synopses, and then the filters.
my $manual = Sample::content('man/heapsh.1') // '';
my ($commands_in_manual, $filters_in_manual) = $manual =~ /^\.Ss Commands\n(.*?)^\.Ss Filters\n(.*?)^\.Ss /ms;
my %in_manual = $commands_in_manual =~ /^\.It Ic ([\w-]+) ?(.*)$/mg;
my %filter_in_manual = map { $_ => 1 } $filters_in_manual =~ /^\.It Ic ([\w-]+)/mg;
# not and or join filters; the text before the list has them.
is_deeply [sort keys %filter_in_manual], [sort grep { !/^(?:not|or)$/ } @filters], 'heapsh(1) has the filters';

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
    is $in_manual{$name}, $help->{synopsis}, "$name: in heapsh(1), with that synopsis";
    delete $in_manual{$name};
}
is_deeply \%in_manual, {}, 'heapsh(1) has no other commands';

# The options that a command takes off its words are those of its synopsis, from which they are
# checked and completed.
my %option;
for my $name (@command) {
    my $synopsis = Sample::json($file, 'help', $name)->{synopsis};
    $option{$_} .= " $name" for $synopsis =~ /(--[\w-]+)/g;
}
my %taken = map { $_ => 1 } map { Sample::content($_) =~ /command_(?:option|number)\([^"]*"(--[\w-]+)"/g }
    glob 'shell/command.c shell/commands/*.c shell/export/*.c';
delete @taken{qw(--json --each)};    # which all commands take
@taken{qw(--all --limit --regex --exact --ignore-case)} = (1) x 5;    # command_limit(), filters
is_deeply [sort keys %option], [sort keys %taken], 'every option is in a synopsis';
for my $name (grep { !/^(alias|unalias|source|time|help)$/ } @command) {
    fails_with $file, "$name --nosuch", "heapsh: --nosuch: $name has no such option"
        . (Sample::json($file, 'help', $name)->{synopsis} =~ /--/
            ? '; it has ' . join(', ', Sample::json($file, 'help', $name)->{synopsis} =~ /((?<![\w|-])-[io]|--[\w-]+)/g) : ''), 2;
}
is_deeply [grep { !$before{$_} } glob '*'], [], 'examples leave nothing in the checkout';
done_testing;
