#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# heapsh-check: programs that grow by loop, and programs that only seem to; rules, forms, trouble.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Sample;
use Cwd qw(getcwd);
use JSON::PP;
use Test::More;
use Tools;

my $build = $Sample::build;
my $check = "$build/heapsh-check";
my $root = getcwd();
my $loops = "$build/t/programs/loops";
my $directory = $Sample::directory;
$ENV{TMPDIR} = "$directory/100% temporary";
mkdir $ENV{TMPDIR} or die $!;

sub check { return Sample::run('', $check, @_) }

sub loops {
    my ($options, @what) = @_;
    return check('--loops', 10, @$options, '--', $loops, 10, @what);
}

sub left_behind {
    opendir my $in, $ENV{TMPDIR} or die $!;
    return grep { !/^\./ } readdir $in;
}

# --- what grows ------------------------------------------------------------------------------

my ($out, $err, $status) = loops([], 'leak');
is $status, 1, 'a list that grows: status';
like $out, qr/^FAIL struct session, session_new \(loops\.c:\d+\) grows by 1 object, 16 B per loop, in 9 of 9 loops$/m,
    'what grows, by how much';
like $out, qr/^     objects: 1 2 3 4 5 6 7 8 9 10$/m, 'its history';
like $out, qr/^     held by .*sessions/m, 'what holds it';
like $out, qr/^       the global variable sessions \(loops\.c:\d+, loops\)\n +→ struct session at/m, 'the path';
is $err, "output of the program\n", "the program's output is no part of the verdict";
is_deeply [left_behind()], [], 'nothing is left behind';

for (['text', qr/^FAIL text_new \(loops\.c:\d+\) grows by 1 object/m, 'blocks of different sizes, by their site'],
    ['vector', qr/^FAIL char, step \(loops\.c:\d+\) grows by 1000 B per loop/m, 'one block that gets larger'],
    ['sometimes', qr/^FAIL struct session, .* grows by 0\.56 objects, 9 B per loop, in 5 of 9 loops/m, 'a leak in every second loop']) {
    my ($what, $pattern, $name) = @$_;
    ($out, $err, $status) = loops([], $what);
    like $out, $pattern, $name;
    is $status, 1, "$name: status";
}
for (['cache', 'a cache that fills'], ['pool', 'a pool that doubles'], ['', 'nothing']) {
    my ($what, $name) = @$_;
    ($out, $err, $status) = loops(['--max-leaked', 0], $what);
    is $out, <<'END', "$name does not grow";
ok   nothing grows by loop, in 9 loops
ok   0 objects, 0 B leaked; the limit is 0 objects
0 of 2 checks failed.
END
    is $status, 0, "$name: status";
}

# --- leaks, rules, suppressions --------------------------------------------------------------

my $rules = Sample::write_file('rules', "# what may grow\n\nstruct session <= 2 per loop\n");
my $lost = "$directory/lost";
mkdir $lost;
($out, $err, $status) = loops(['--keep', $lost, '--rules', $rules, '--max-leaked', 0], 'lose');
my @lost = sort glob "$lost/*.snap";
is $status, 1, 'leaks beyond the budget: status';
like $out, qr/^ok   nothing grows by loop/m, 'a rule replaces the default';
like $out, qr/^ok   struct session grows by 2 objects per loop; the limit is 2 objects$/m, 'a rule that holds';
# Registers and stack words may hold the last pair.
like $out, qr/^FAIL (?:18|20) objects, \d+ B leaked; the limit is 0 objects\n     held by nothing:\n       (?:9|10) struct session, session_new \(loops\.c:\d+\), \d+ B with what they hold$/m,
    'leaks beyond the budget';
($out, $err, $status) = check('--rule', 'site session_new <= 31B per loop', '--rule', 'struct * <= 5', '--max-leaked', '1K', @lost);
like $out, qr/^FAIL session_new grows by 32 B per loop; the limit is 31 B$/m, 'a rule for a site, in bytes';
like $out, qr/^FAIL struct \* has 20 objects; the limit is 5 objects$/m, 'a pattern, of what is there';
like $out, qr/^ok   \d+ objects, \d+ B leaked; the limit is 1\.0 KiB$/m, 'a budget in bytes';
($out, $err, $status) = check('--suppressions', Sample::write_file('suppressions', "leak:session_new\n"), '--max-leaked', 0, @lost);
is $status, 0, 'what is suppressed is neither growth nor a leak';
($out, $err, $status) = check('--rule', 'total <= 1 per loop', '--rule', 'total <= 1M', '--warmup', 3, @lost);
like $out, qr/^FAIL the heap grows by 2 objects per loop; the limit is 1 object$/m, 'growth of the whole heap';
like $out, qr/^     objects: \d+(?: \d+){7}$/m, 'loops that warm up do not count';
like $out, qr/^ok   the heap has [\d.]+ K?i?B; the limit is 1\.0 MiB$/m, 'the size of the whole heap';

# --- snapshots, forms ------------------------------------------------------------------------

my $kept = "$directory/kept";
mkdir $kept;
($out, $err, $status) = loops(['--keep', $kept], 'leak', 'text');
my @file = sort glob "$kept/*.snap";
is scalar @file, 10, 'snapshots that are kept';
like $out, qr/^2 of 2 checks failed\.$/m, 'two kinds that grow';
my ($again) = check(@file);
is $again, $out, 'the same by the files alone';

($out, $err, $status) = check('--format', 'json', @file);
my $answer = JSON::PP->new->utf8->decode($out);
is_deeply [@$answer{qw(program snapshots loops failures)}], ['loops', 10, 9, 2], 'JSON';
is_deeply [map { $_->{rule} } @{ $answer->{checks} }], ['growth', 'growth'], 'JSON: rules';

($out, $err, $status) = check('--format', 'sarif', '--max-leaked', 0, @file);
my $sarif = JSON::PP->new->utf8->decode($out);
my $run = $sarif->{runs}[0];
is $sarif->{version}, '2.1.0', 'SARIF';
is_deeply [map { $_->{ruleId} } @{ $run->{results} }], ['growth', 'growth'], 'SARIF: only failures are results';
my %known = map { $_->{id} => 1 } @{ $run->{tool}{driver}{rules} };
ok !(grep { !$known{ $_->{ruleId} } } @{ $run->{results} }), 'SARIF: each rule is declared';
my ($session) = grep { $_->{message}{text} =~ /struct session/ } @{ $run->{results} };
my $place = $session->{locations}[0]{physicalLocation};
open my $source, '<', 't/programs/loops.c' or die $!;
my @line = <$source>;
is $place->{artifactLocation}{uri}, 't/programs/loops.c', 'SARIF: the file that allocates, from the working directory';
like $line[$place->{region}{startLine} - 1], qr/malloc\(sizeof\(\*session\)\)/, 'SARIF: the line that allocates';


# GitHub refuses all of a SARIF file if one result has no location, with a URI and a line.
($out) = check('--format', 'sarif', '--rule', 'total <= 1', @file);
my ($total) = grep { $_->{ruleId} eq 'limit' } @{ JSON::PP->new->utf8->decode($out)->{runs}[0]{results} };
is_deeply $total->{locations}, [{ physicalLocation => { artifactLocation => { uri => 'loops' }, region => { startLine => 1 } } }],
    'SARIF: a result of no line is placed at the program';
system('cp', 't/programs/loops.c', "$directory/100% lö.c") == 0 or die;
is system("cd '$directory' && cc -g -I '$root' -o spaces '100% lö.c'"), 0, 'a file of a name with spaces compiles';
($out) = check('--format', 'sarif', '--source-root', $directory, '--loops', 5, '--', "$directory/spaces", 5, 'leak');
my $spaces = JSON::PP->new->utf8->decode($out)->{runs}[0]{results}[0];
is $spaces->{locations}[0]{physicalLocation}{artifactLocation}{uri}, '100%25%20l%C3%B6.c', 'SARIF: a name as a URI';

# A CI annotates the file in the directory where it lies, wherever and however it was compiled.
my $tree = "$directory/tree";
mkdir $_ or die $! for $tree, "$tree/lib", "$tree/build";
system('cp', 't/programs/loops.c', "$tree/lib/main.c") == 0 or die;
my @compiled = map { my $how = $_; map { "$_ $how" } 'gcc', 'clang' }
    '-gdwarf-5 ../lib/main.c', '-gdwarf-4 ../lib/main.c', "-gdwarf-5 $tree/lib/main.c", '-gdwarf-4 -gsplit-dwarf ../lib/./main.c';
@compiled = @compiled[0, -1] if $ENV{SHORT};
for my $how (@compiled, "gcc -g -ffile-prefix-map=$tree=/mapped ../lib/main.c") {
    SKIP: {
        skip 'no clang', 3 if $how =~ /^clang/ && !has('clang');
        my $where = $how =~ /mapped/ ? '/mapped/' : $tree;
        is system("cd '$tree/build' && TMPDIR=/tmp ${\ ($how =~ s/ / -I '$root' -o program /r)}"), 0, "$how compiles";
        ($out) = check('--format', 'json', '--source-root', $where, '--loops', 5, '--', "$tree/build/program", 5, 'leak');
        my ($grown) = @{ JSON::PP->new->utf8->decode($out)->{checks} };
        is $grown->{file}, 'lib/main.c', "$how: the path from the source root";
        like $grown->{message}, qr/^struct session, session_new \(main\.c:\d+\) grows/, "$how: people read the name alone";
    }
}

SKIP: {
    skip 'xmllint is not here', 4 unless has('xmllint');
    ($out, $err, $status) = check('--format', 'junit', '--name', 'a "suite" & more', '--max-leaked', 0, @file);
    my $xml = Sample::write_file('junit.xml', $out);
    is system('xmllint', '--noout', $xml), 0, 'JUnit: well-formed';
    my $ask = sub { my $answer = `xmllint --xpath '$_[0]' $xml`; chomp $answer; $answer };
    is $ask->('concat(//testsuite/@tests, "/", //testsuite/@failures)'), '3/2', 'JUnit: tests and failures';
    is $ask->('string(//testsuite/@name)'), 'a "suite" & more', 'JUnit: the name of the suite';
    is $ask->('count(//testcase[failure])'), 2, 'JUnit: a failure in its test case';
}

# A directory that has snapshots of another run: with more loops, and with as many.
for my $count (5, 10) {
    ($out, $err, $status) = check('--loops', $count, '--keep', $kept, '--', $loops, $count);
    is $status, 0, "$count loops beside another run's snapshots: only these count";
}
unlink grep { my $file = $_; !grep { $_ eq $file } @file } glob "$kept/*.snap";

# Settings in the environment do not change which snapshots count.
for (['HEAPSNAP_KEEP', 2], ['HEAPSNAP_EVERY', '20ms'], ['HEAPSNAP_AT_EXIT', 'exit'], ['HEAPSNAP_GROWTH', '4K']) {
    my ($variable, $value) = @$_;
    local $ENV{$variable} = $value;
    local $ENV{HEAPSNAP_MIN_INTERVAL} = '0';
    ($out, $err, $status) = check('--loops', 5, '--', $loops, 5, 'leak');
    like $out, qr/^     objects: 1 2 3 4 5$/m, "$variable: only loops count";
}

# --- one snapshot, and trouble ---------------------------------------------------------------

($out, $err, $status) = check('--rule', 'struct session <= 9', $file[-1]);
like $out, qr/^FAIL struct session has 10 objects; the limit is 9 objects$/m, 'one snapshot is held to a rule';
like $out, qr/^One snapshot: growth was not checked\.$/m, 'one snapshot does not tell growth';

# A rule that can never fail, because its name is wrong.
($out, $err, $status) = check('--rule', 'struct sesion <= 0', '--rule', 'site nowhere <= 1', $file[-1]);
is "$out$status$err", <<'END' . 0, 'rules that match nothing are notes';
note struct sesion: no snapshot has objects of such a type; did you mean struct session?
note nowhere: no snapshot has objects of such a site
One snapshot: growth was not checked.
0 of 2 checks failed.
END
($out, $err, $status) = check('--strict', '--rule', 'struct sesion <= 0 per loop', @file);
like $out, qr/^FAIL struct sesion: no snapshot has objects of such a type; did you mean struct session\?$/m, 'and failures with --strict';
($out, $err, $status) = check('--format', 'json', '--rule', 'struct sesion <= 0', $file[-1]);
is_deeply [map { "$_->{failed} $_->{matched}" } @{ JSON::PP->new->utf8->decode($out)->{checks} }], ['0 0'], 'JSON: a rule that matches nothing';
is $err, "heapsh-check: struct sesion: no snapshot has objects of such a type; did you mean struct session?\n", 'which standard error says';
($out) = check('--format', 'junit', '--rule', 'struct sesion <= 0', $file[-1]);
like $out, qr/tests="1" failures="0" errors="0" skipped="1">\s+<testcase [^>]*>\s+<skipped message="struct sesion: /, 'JUnit: it is skipped';

sub troubles {
    my ($name, $pattern, @words) = @_;
    my ($out, $err, $status) = check(@words);
    is $status, 2, "$name: status";
    like $err, $pattern, $name;
    is $out, '', "$name: no verdict";
}

troubles 'three snapshots', qr/^heapsh-check: 3 snapshots; it takes 4 to see growth by loop: 1 of the warm-up, and 3$/, @file[0 .. 2];
troubles 'a program without --loops', qr/^heapsh-check: \Q$loops\E: a program, not a snapshot: --loops N runs it/, '--max-leaked', 0, '--', $loops, 3;
troubles 'a long warm-up', qr/^heapsh-check: 10 snapshots; it takes 11 /, '--warmup', 8, @file;
troubles 'one snapshot, and growth', qr/^heapsh-check: 1 snapshot; it takes 4 /, '--rule', 'total <= 0 per loop', $file[0];
troubles 'nothing to check', qr/^heapsh-check: 1 snapshot and no rule: there is nothing to check$/, $file[0];
troubles 'in another order', qr/^heapsh-check: .*: not later than the one before$/, reverse @file;
troubles 'no file', qr/^heapsh-check: .*none: No such file or directory$/, "$directory/none";
troubles 'no rule', qr/^heapsh-check: 'struct session' is no rule; like /, '--rule', 'struct session', $file[0];
troubles 'no number', qr/^heapsh-check: 'x <= many' is no rule/, '--rule', 'x <= many', $file[0];
troubles 'a line of a file', qr/^heapsh-check: .*bad, line 2: 'total' is no rule/, '--rules', Sample::write_file('bad', "leaked <= 0\ntotal\n"), $file[0];
troubles 'no file of rules', qr/^heapsh-check: .*none: No such file/, '--rules', "$directory/none", $file[0];
troubles 'no form', qr/^heapsh-check: --format xml: not text, json, junit or sarif\nusage:/, '--format', 'xml', $file[0];
troubles 'no warm-up', qr/^heapsh-check: --warmup 0: not a number from 1 to 1000\nusage:/, '--warmup', 0, $file[0];
troubles 'nothing', qr/^usage: heapsh-check/;
troubles 'a directory for nothing', qr/^usage: heapsh-check/, '--keep', $directory, $file[0];
troubles 'no directory', qr/^heapsh-check: .*none: No such file/, '--loops', 5, '--keep', "$directory/none", '--', $loops, 5;
troubles 'too few loops', qr/^heapsh-check: .*loops has ended after 3 of 5 loops: it is to call heapsnap_checkpoint\(\) at the end of each$/m,
    '--loops', 5, '--', $loops, 3;
troubles 'a program that never calls', qr/has ended after 0 of 5 loops/, '--loops', 5, '--', 'true';
troubles 'a program that fails', qr/^heapsh-check: .*loops ended with status 3$/m, '--loops', 5, '--', $loops, 5, 'fail';
troubles 'a program that is killed', qr/^heapsh-check: sh was killed by signal 9$/m, '--loops', 5, '--', 'sh', '-c', 'kill -9 $$';
troubles 'a loop without a rule is not run', qr/^heapsh-check: 1 snapshot and no rule: there is nothing to check$/,
    '--loops', 1, '--', 'sh', '-c', 'echo run >&2';
troubles 'loops that could tell nothing', qr/^heapsh-check: 3 snapshots; it takes 4 /, '--loops', 3, '--', $loops, 3;
is_deeply [left_behind()], [], 'nothing is left behind by programs that fail';

# A build that is cancelled.
my $pid = fork() // die $!;
if (!$pid) {
    open STDERR, '>', "$directory/cancelled";
    exec $check, '--loops', 5, '--', 'sleep', 300 or POSIX::_exit(127);
}
for (1 .. 10 * $Heapsh::patience) { last if left_behind(); select undef, undef, undef, 0.1 }
select undef, undef, undef, 0.5;
kill 'TERM', $pid;
waitpid $pid, 0;
is $? >> 8, 2, 'a check that is ended';
is Sample::content("$directory/cancelled"), "heapsh-check: sleep was killed by signal 15\n", 'ends its program';
is_deeply [left_behind()], [], 'and leaves nothing behind';

# A reader that does not wait for the verdict.
{
    pipe my $from, my $to or die $!;
    close $from;
    $pid = fork() // die $!;
    if (!$pid) {
        $SIG{PIPE} = 'DEFAULT';
        open STDOUT, '>&', $to or die $!;
        open STDERR, '>', '/dev/null';
        exec $check, '--loops', 5, '--', $loops, 5, 'leak' or POSIX::_exit(127);
    }
    waitpid $pid, 0;
    is $? & 127, 13, 'a verdict that nobody reads';
    is_deeply [left_behind()], [], 'leaves nothing behind';
}

# --- unit tests ------------------------------------------------------------------------------

delete $ENV{TMPDIR}; # where the C helper takes no %
mkdir "$directory/include";
system('cp', 'dumper/heapsnap.h', "$directory/include") == 0 or die;
for (['growth-cmocka.c', 'cc -std=gnu11', '-lcmocka', qr/held by .*queue.*\n.*\n +\.taken → /],
    ['growth-googletest.cc', 'c++ -std=c++17', '-lgtest -lgtest_main -pthread', qr/held by .*sessions/]) {
    my ($file, $compiler, $libraries, $pattern) = @$_;
    SKIP: {
        my $warn = '-Wall -Wextra -Wshadow -Werror';
        skip "GoogleTest is not here", 4 if $file =~ /googletest/ && !-e '/usr/include/gtest/gtest.h';
        for my $leak ('', '-DLEAK') {
            my $program = "$directory/$file$leak.test";
            is system("$compiler -g $warn $leak -I$directory/include -o $program examples/$file $libraries"), 0, "$file $leak compiles";
            my ($out, $err, $status) = Sample::run('', "$build/heapsnap", 'run', '--', $program);
            $leak ? like "$out$err", $pattern, "$file: growth, and what holds it" : is $status, 0, "$file: no growth";
            is $status, 1, "$file: fails" if $leak;
            is +(Sample::run('', $program))[2], 0, "$file: without the library nothing is checked" if $leak;
        }
    }
}
done_testing;
