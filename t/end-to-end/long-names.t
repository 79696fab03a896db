#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Names that no terminal is wide enough for (t/programs/long-names.cc): each command prints every
# name whole, at any width; its tables keep to the width; without a terminal a row is a line.
use strict;
use warnings;
use utf8;
use lib 't/lib';
use Encode qw(decode_utf8);
use Heapsh;
use JSON::PP;
use Sample;
use Test::More;

binmode $_, ':utf8' for Test::More->builder->output, Test::More->builder->failure_output;

my $program = Heapsh->start('long-names');
my @files;
for (1 .. 3) {
    print { $program->{in} } "\n";
    is $program->line, 'more', 'more names';
    push @files, $program->capture;
}
is +($program->finish)[0], "more\n80\n", 'the program goes on';
my $build = $Sample::build;

# The output of a command on a terminal of that many columns, without colours.
sub on_terminal {
    my ($columns, @command) = @_;
    my $line = join ' ', map { "'$_'" } @command;
    my ($out) = Sample::run('', "$build/t/helper/terminal", 'sh', '-c', "stty cols $columns -echo; $line");
    return decode_utf8($out) =~ s/\r//gr =~ s/\e\[[0-9;]*m//gr;
}

# Columns of the screen, as terminals count them.
sub width {
    my ($text) = @_;
    my $width = 0;
    $width += /\p{Mn}/ ? 0 : /[\p{East_Asian_Width: W}\p{East_Asian_Width: F}]/ ? 2 : 1 for split //, $text;
    return $width;
}

# Every text in an answer that names something: those of these keys, wherever they are.
my %names = map { $_ => 1 } qw(type site name place text held_by title variable file label function);

sub names_in {
    my ($value, $key) = @_;
    return map { names_in($value->{$_}, $_) } keys %$value if ref $value eq 'HASH';
    return map { names_in($_, $key) } @$value if ref $value eq 'ARRAY';
    return defined $value && !ref $value && $key && $names{$key} && length $value > 30 ? $value : ();
}

my $last = $files[-1];
my @heapsh = ("$build/heapsh", '-q', $last);
my $leaked = (Heapsh::ask($last, 'find', '--limit', 1, 'leaked') =~ /at (0x\w+)/)[0];
my %table = (
    (map { ($_ => [@heapsh, split ' ']) } 'count', 'count --by site', 'roots', 'roots --by variable', 'leaks', 'sites',
        'sites --tree', 'waste', 'dominators --depth 3', 'retained --by type', 'summary', 'strings --duplicates',
        'largest'),
    diff => ["$build/heapsh-diff", @files[0, 2]],
);
my %prose = (
    (map { ($_ => [@heapsh, split ' ']) } 'suspects', 'types', 'identify the_entries_of_all_sessions_that_were_ever_opened_by_the_replicated_shards_of_this_server', "show $leaked"),
    leakreport => ["$build/heapsh-leakreport", @files],
    history => ["$build/heapsh", '-q', @files, 'history', $leaked],
);

for my $name (sort keys %table, keys %prose) {
    my ($program, @rest) = @{ $table{$name} || $prose{$name} };
    my ($json) = Sample::run('', $program, '--json', @rest);
    my %expected = map { $_ => 1 } names_in(eval { JSON::PP->new->utf8->decode($json) });
    my @expected = sort keys %expected;
    my ($plain) = Sample::run('', $program, @rest);
    $plain = decode_utf8($plain);
    # JSON tells what the text leaves out: what is not there without a terminal is not looked for.
    @expected = grep { index($plain, $_) >= 0 } @expected;
    cmp_ok scalar @expected, '>', 0, "$name names something" unless $name =~ /^(types|largest)/;
    for my $columns (40, 60, 80, 132) {
        my $shown = on_terminal($columns, $program, @rest);
        my $joined = $shown =~ s/\n[ │]+//gr;
        my @missing = grep { index($joined, $_) < 0 && index($shown, $_) < 0 } @expected;
        is "@missing", '', "$name at $columns columns: names are whole";
        next unless $table{$name};
        my @wide = grep { width($_) > $columns && !/^(Total|leaked|perhaps|\d+ (objects?|pointers?))/ } split /\n/, $shown;
        is "@wide", '', '... and lines are no wider';
    }
}

# A narrow table keeps its most important columns.
like on_terminal(132, @heapsh, 'roots'), qr/^ *retained  reachable     shared  exclusive      %  root$/m, 'all columns';
like on_terminal(80, @heapsh, 'roots'), qr/^ *retained  reachable      %  root$/m, 'fewer columns';
like on_terminal(40, @heapsh, 'roots'), qr/^ *retained  root$/m, 'one column';
unlike +(Sample::run('', @heapsh, 'sites'))[0], qr/^ {20}/m, 'no row goes on in another line without a terminal';

done_testing;
