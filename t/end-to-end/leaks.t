#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Leaks of every shape, as heapsh, LeakSanitizer and Valgrind see them at a program's end.
# Blocks are known by their sizes: t/programs/leaks.c.
use strict;
use warnings;
use File::Temp qw(tempdir);
use lib 't/lib';
use Heapsh;
use Test::More;

my $directory = tempdir(CLEANUP => 1);
my $program = Heapsh::program_path('leaks');
$ENV{XDG_CACHE_HOME} ||= "$Heapsh::build/t/cache";

# Each block's class, by its size. Blocks that are not listed are held.
my %expected = (
    104 => 'direct',
    112 => 'direct', 120 => 'indirect', 128 => 'indirect',
    136 => 'cycle', 144 => 'indirect', 152 => 'indirect',
    160 => 'direct',
    168 => 'direct', 176 => 'direct', 184 => 'indirect',
    192 => 'direct', 200 => 'indirect',
    208 => 'direct',
    216 => 'direct', 224 => 'indirect',
    272 => 'direct',
    280 => 'direct', 288 => 'indirect',
);
my %times = (map({ $_ => 1 } keys %expected), 200 => 10);

# --- heapsh

system("cd $directory && $Heapsh::build/heapsnap run --at-exit -- $program") == 0
    or die 'the program failed';
my ($file) = glob "$directory/leaks-*.snap";
ok $file, 'a snapshot at the end';

my $list = Heapsh::ask_json($file, 'leaks', '--list');
my (%class, %count);
for my $leak (@{ $list->{leaks} }) {
    next unless $leak->{size} >= 104 && $leak->{size} <= 304; # libc has blocks of its own
    # Either of the two in the cycle may come first.
    my $size = $leak->{class} eq 'cycle' && $leak->{size} == 144 ? 136
        : $leak->{class} eq 'indirect' && $leak->{size} == 136 ? 144 : $leak->{size};
    $class{$size} = $leak->{class};
    $count{$size}++;
}
# Where it differs from both others: the stack of a thread that has ended stays mapped for the
# next one, with what the thread had to itself in it. Whose it is, a snapshot does not know.
my %ours = %expected;
delete $ours{272};
is_deeply \%class, \%ours, 'each block is what it is';
is_deeply \%count, { map { $_ => $times{$_} } keys %ours }, 'as many as there are';
my ($dead) = grep { $_->{size} == 272 } @{ Heapsh::ask_json($file, 'find', 'size=272')->{objects} };
like scalar(Heapsh::ask($file, 'path', $dead->{address})), qr/^the mapping /,
    'but what only the stack of a dead thread holds';
is $list->{classes}{direct}{objects}, 9, 'direct ones';
is $list->{classes}{cycle}{objects}, 1, 'cycles';
is $list->{classes}{indirect}{objects}, 17, 'indirect ones';
my ($tree) = grep { $_->{size} == 192 } @{ $list->{leaks} };
is $tree->{indirect_bytes}, 2000, 'what a direct one takes with it';
cmp_ok $list->{classes}{interior}{objects}, '>=', 2, 'interior pointers alone hold 240 and 248';

# Groups, by type and site: all are of one site, but for the branches' vector.
my $groups = Heapsh::ask_json($file, 'leaks', '--by', 'site')->{groups};
my ($links) = grep { $_->{site} =~ /^new_link / } @$groups;
is_deeply [@$links{qw(direct_objects circles indirect_objects)}], [8, 1, 6], 'new_link';
my ($plugin) = grep { $_->{site} =~ /^plugin_register / } @$groups;
is_deeply [@$plugin{qw(direct_bytes indirect_bytes)}], [280, 288], 'plugin_register';
my ($vector) = grep { $_->{site} =~ /^leak_tree / } @$groups;
is_deeply [@$vector{qw(direct_objects direct_bytes indirect_objects indirect_bytes)}],
    [1, 192, 10, 2000], 'leak_tree';

# By backtrace the functions that called new_link() are apart.
my $traces = Heapsh::ask_json($file, 'leaks', '--by', 'backtrace')->{groups};
SKIP: {
    skip 'the library has taken no backtraces', 2 unless grep { $_->{backtrace} } @$traces;
    my ($chain) = grep { ($_->{backtrace}[1]{function} // '') eq 'leak_chain' } @$traces;
    is $chain->{direct_bytes}, 112, 'leak_chain, by its backtrace';
    is $chain->{indirect_bytes}, 248, 'and what is below it';
}

# Suppressions, in LeakSanitizer's format.
sub suppress {
    my ($text) = @_;
    open my $out, '>', "$directory/suppressions" or die $!;
    print $out $text;
    close $out;
    return Heapsh::ask_json($file, 'leaks', '--suppressions', "$directory/suppressions");
}
my $some = suppress("# known\n\nleak:plugin_reg\nleak:never_called\n");
is_deeply $some->{classes}{suppressed}, { objects => 2, bytes => 568 },
    'a suppression takes a leak and what is below it';
is_deeply $some->{suppressions}, [{ pattern => 'plugin_reg', objects => 2, bytes => 568 }],
    'and says so, of all of it';
is $some->{classes}{direct}{objects}, 8, 'the others stay';
my $all = suppress("leak:leaks.c\n");
is $all->{classes}{direct}{objects} + $all->{classes}{cycle}{objects}, 0, 'by source file';
is suppress("leak:/leaks\$\n")->{classes}{direct}{objects}, 0, 'by module';
is suppress("leak:^plugin\$\n")->{classes}{suppressed}{objects}, 0, 'tied at both ends';
open my $bad, '>', "$directory/bad" or die $!;
print $bad "leak:good\nrace:bad\n";
close $bad;
Heapsh::ask($file, 'leaks', '--suppressions', "$directory/bad");
is $Heapsh::complaint, "heapsh: $directory/bad: line 2: not leak:PATTERN\n", 'a line that is none';
is $Heapsh::status, 2, 'its status';

# --- LeakSanitizer

# Its "Direct leak of 104 byte(s) in 1 object(s)". @return ({ size => class }, { size => count })
sub lsan {
    my (@environment) = @_;
    my $text = `env @environment $directory/leaks-lsan 2>&1`;
    my (%class, %count);
    while ($text =~ /^(Direct|Indirect) leak of (\d+) byte\(s\) in (\d+) object\(s\)/mg) {
        $class{ $2 / $3 } = lc $1;
        $count{ $2 / $3 } += $3;
    }
    return (\%class, \%count, $text);
}

SKIP: {
    system("gcc -g -O0 -fsanitize=leak -pthread -o $directory/leaks-lsan t/programs/leaks.c") == 0
        or skip 'no gcc with LeakSanitizer', 3;
    my ($classes, $counts, $text) = lsan();
    skip 'LeakSanitizer does not work here', 3 unless $text =~ /detected memory leaks/;
    is_deeply $counts, \%times, 'what LeakSanitizer calls leaked is leaked here, and nothing else';
    # Where it differs: to it each block of a cycle is held by another, so none is direct.
    is_deeply $classes, { %expected, 136 => 'indirect' }, 'and directly or not';
    (undef, $counts) = lsan("LSAN_OPTIONS=suppressions=$directory/known");
    open my $known, '>', "$directory/known" or die $!;
    print $known "leak:plugin_reg\n";
    close $known;
    (undef, $counts) = lsan("LSAN_OPTIONS=suppressions=$directory/known");
    my %others = %times;
    delete @others{280, 288};
    is_deeply $counts, \%others, 'the same suppression means the same to it';
}

# --- Valgrind

SKIP: {
    my $text = `valgrind --leak-check=full --show-leak-kinds=all --num-callers=4 $program 2>&1`;
    skip 'no valgrind', 2 unless $text =~ /LEAK SUMMARY/;
    my %kind;
    while ($text =~ /([\d,]+) (?:\(([\d,]+) direct, [\d,]+ indirect\) )?bytes in (\d+) blocks are (definitely|indirectly|possibly) lost/g) {
        my ($bytes, $blocks, $kind) = (($2 // $1) =~ tr/,//dr, $3, $4);
        $kind{ $bytes / $blocks } = $kind;
    }
    my %theirs = map {
        $_ => $expected{$_} =~ /direct$/ && $expected{$_} ne 'indirect' || $expected{$_} eq 'cycle'
            ? 'definitely' : 'indirectly'
    } keys %expected;
    # It may take the other one of the cycle as the first, too.
    @kind{136, 144} = @kind{144, 136} if ($kind{144} // '') eq 'definitely';
    # Where it differs: what is held by a pointer into its middle alone may be lost. So it
    # is with heapsh's class "interior", which is not counted as leaked.
    is_deeply [sort grep { $kind{$_} eq 'possibly' } keys %kind], [240, 248],
        'what Valgrind says may be lost is interior here';
    delete @kind{240, 248};
    is_deeply \%kind, \%theirs, 'what it says is lost is leaked, directly or not';
}
done_testing;
