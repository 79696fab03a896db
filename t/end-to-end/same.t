#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The same program with the same load gives the same answers, in each run: which type each block
# has, how that is known, and where it was allocated. Neither addresses nor threads decide.
use strict;
use warnings;
use lib 't/lib';
use File::Temp qw(tempdir);
use Heapsh;
use List::Util qw(max);
use Test::More;

my $runs = $ENV{SHORT} ? 4 : 10;

# Calls a function with the given columns of each row of an export's table as CSV. Most rows have no
# quotes, and half a million are read here.
sub each_row {
    my ($file, $columns, $visit) = @_;
    open my $in, '<', $file or die "$file: $!";
    my $split = sub {
        my @row;
        push @row, defined $1 ? $1 =~ s/""/"/gr : $2 while $_[0] =~ /\G(?:"((?:[^"]|"")*)"|([^,]*))(?:,|$)/gc && @row < 64;
        return @row;
    };
    chomp(my $header = <$in>);
    my %number;
    @number{ $split->($header) } = 0 .. 64;
    my @wanted = map { $number{$_} // die "$file has no column $_" } @$columns;
    my $most = max(@wanted) + 2;
    while (<$in>) {
        chomp;
        $visit->((index($_, '"') < 0 ? split(/,/, $_, $most) : $split->($_))[@wanted]);
    }
}

my @columns = qw(type size evidence site);

# The answers of a snapshot for each block that the program has a name for: these columns, as one string.
sub answers {
    my ($snapshot, $log) = @_;
    my $directory = tempdir(CLEANUP => 1);
    system("$Heapsh::build/heapsh-export", '-q', '--format', 'csv', '-o', "$directory/csv", $snapshot) == 0
        or die "heapsh-export failed";
    my (%type, %site, %name, %answer);
    each_row("$directory/csv/types.csv", [qw(id name)], sub { $type{ $_[0] } = $_[1] });
    each_row("$directory/csv/sites.csv", [qw(id function line)], sub { $site{ $_[0] } = "$_[1] ($_[2])" });
    open my $in, '<', $log or die "$log: $!";
    while (<$in>) {
        my ($address, $name) = split;
        no warnings 'portable';
        $name{ hex $address } = $name;
    }
    each_row("$directory/csv/objects.csv", [qw(address type elements size evidence site)], sub {
        my ($address, $type, $elements, $size, $evidence, $site) = @_;
        my $name = $name{$address} // return;
        $answer{$name} = join "\t", "$type{$type} x $elements", $size, $evidence, $site{$site};
    });
    return \%answer;
}

# The writer has as many threads as it may use processors. The first processor may be another container's.
my $taskset = (grep { -x } map { "$_/taskset" } split /:/, $ENV{PATH})[0];
my ($processor) = Heapsh::content("/proc/$$/status") =~ /^Cpus_allowed_list:\s+(\d+)/m;
my @answers;
for my $run (1 .. $runs) {
    my $path = Heapsh::program_path('same');
    my $program = $run % 2 && $taskset && defined $processor
        ? Heapsh->start($taskset, args => ['-c', $processor, $path], run => ['--content', 'none'])
        : Heapsh->start('same', run => ['--content', 'none']);
    push @answers, answers($program->capture, "$program->{directory}/same.log");
    push @answers, answers($program->capture, "$program->{directory}/same.log") if $run <= 2;
    $program->finish;
}

# Blocks that have not the same answer in all runs.
my @unsteady = grep { my $name = $_; grep { ($_->{$name} // '') ne $answers[0]{$name} } @answers } sort keys %{ $answers[0] };

# Tells how many blocks differ in a column, and the first of them; '' if none does.
sub differences {
    my ($column) = @_;
    my @differing;
    for my $name (@unsteady) {
        my %seen = map { (split /\t/, $_->{$name} // '', -1)[$column] // 'none' => 1 } @answers;
        push @differing, "$name: " . join(' or ', sort keys %seen) if keys %seen > 1;
    }
    return @differing ? @differing . " blocks, of them $differing[0]" : '';
}

cmp_ok scalar keys %{ $answers[0] }, '>', 30_000, 'blocks were found';
is scalar(grep { keys %$_ != keys %{ $answers[0] } } @answers), 0, 'as many in each run';
is differences($_), '', "$runs runs, two of them captured twice: the same $columns[$_]" for 0 .. $#columns;

# How many blocks have each answer.
sub rows {
    my ($answer) = @_;
    my %row;
    $row{$_}++ for values %$answer;
    return \%row;
}
my $first = rows($answers[0]);
is_deeply rows($_), $first, 'the same rows' for @answers[1 .. $#answers];

# A function that returns its own type is no wrapper, however it was called first.
my %site;
for my $answer (@answers) {
    $site{ (split /\t/, $answer->{$_})[3] }++ for grep { /\.(?:key|member|element|query)\./ } keys %$answer;
}
my ($most) = sort { $site{$b} <=> $site{$a} } keys %site;
like $most, qr/^sds_new_length /, 'texts are made by what makes texts';
is scalar(grep { !/^(?:sds_new_length|try_allocate) / } keys %site), 0, 'and by none of its callers';
done_testing;
