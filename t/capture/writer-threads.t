#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# One heap, captured with one thread and with several: the same objects have the same types, by the same
# evidence, and the same pointers are typed.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Forms;
use Heapsh;
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
if (my $why = Heapsh::attach_refusal()) { plan skip_all => $why }

my $directory = tempdir(CLEANUP => 1);

# The tables of a snapshot. Those of roots have registers, which are not the same a moment later.
sub answers {
    my ($snapshot) = @_;
    system("$build/heapsh-export", '-q', '--format', 'csv', '-o', "$snapshot.csv", $snapshot) == 0
        or die 'heapsh-export failed';
    my %tables = map { $_ => Heapsh::content("$snapshot.csv/$_.csv") } qw(types objects edges);
    # The births of blocks that attach finds are counted from its own time.
    my @names = split /,/, $tables{objects} =~ s/\n.*//sr;
    my ($born) = grep { $names[$_] eq 'born_ns' } 0 .. $#names;
    $tables{objects} =~ s/^((?:[^,\n]*,){$born})\d+,/$1/mg;
    return %tables;
}

# With the library, kinds tell what blocks are; without it each block is considered singly.
for my $bare (0, 1) {
    my $how = $bare ? 'without the library' : 'with the library';
    my $program = Heapsh->start('frontier', bare => $bare);
    $program->await_sleep;
    # One capture more, which fills the cache: it reads units of debug information as a whole, so that its table
    # may have typedefs that nothing has the type of.
    `$build/heapsnap attach --file $directory/$bare-first.snap $program->{pid} 2>&1`;
    my %alone;
    for my $threads (1, 2, 3, 16) {
        my $file = "$directory/$bare-$threads.snap";
        my $said = `HEAPSNAP_THREADS=$threads $build/heapsnap attach --file $file $program->{pid} 2>&1`;
        ok -e $file, "$how: a snapshot with $threads threads" or diag $said;
        last unless -e $file;
        my %answers = answers($file);
        if ($threads == 1) {
            %alone = %answers;
            my $typed = Heapsh::ask_json($file, qw(find --count type), 'struct node')->{count};
            cmp_ok $typed, '>=', 16_000, "$how: nodes have their type";
            cmp_ok Heapsh::ask_json($file, 'info')->{objects}, '>', 50_000, "$how: there is work for many threads";
            next;
        }
        # Not is(), which would print megabytes.
        ok $answers{$_} eq $alone{$_}, "$how, $threads threads: the same $_ as with one" for qw(types objects edges);
    }
    $program->finish;
}
done_testing;
