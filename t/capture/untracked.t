#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# heapsnap run --no-snapshots: a program's blocks are what they are without, and traced.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use lib 't/lib';
use Heapsh;
use JSON::PP;
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
my $library = "$build/libheapsnap-trace.so";
my $directory = tempdir(CLEANUP => 1);

# @return what a command in that directory prints and says, and its exit status
sub run {
    my $output = `cd $directory && @_ 2>&1`;
    return ($output, $? >> 8);
}

sub run_traced { return run("$build/heapsnap run --no-snapshots --trace '%N.trace'", @_) }

# --- what the program sees

my $program = "$build/t/programs/untracked";
my ($bare) = run("$program sizes");
like $bare, qr/^malloc 24 .*^valloc .*^refused 1$/ms, 'the program works without';
for ([no => "LD_PRELOAD=$library"], ['few' => "LD_PRELOAD=$library HEAPSNAP_TRACE=few.trace"],
    [all => "LD_PRELOAD=$library HEAPSNAP_TRACE=all.trace HEAPSNAP_RATE=1"]) {
    my ($how, $environment) = @$_;
    my ($output) = run("env $environment $program sizes");
    ok $output eq $bare, "$how blocks sampled: sizes and places are those without" or do {
        my ($one, $other) = map { [split /\n/] } $bare, $output;
        my ($line) = grep { ($one->[$_] // '') ne ($other->[$_] // '') } 0 .. $#$one;
        diag $one->[$line] // '', ' <> ', $other->[$line] // '';
    };
}
is_deeply [run_traced("$program quits")], ["handler 0\nchild dies of 3\n", 0], 'SIGQUIT is its own';
is_deeply [run_traced("$program calls")], [join('', map { "$_\n" } 'dump 1', 'dump as 1', 'wait 1', 'set_type 1',
    'every 1', 'growth 1', 'at exit 1', 'no longer at exit 0', 'report 1', 'unknown 1', 'track 0', 'untrack 0',
    'checkpoint 0'), 0], 'calls for snapshots are refused';

# In a program that is linked with the other library, this one takes its place.
is system("cc -w -iquote . -pthread -o $directory/linked t/programs/untracked.c -L$build -lheapsnap -Wl,-rpath,$build"), 0,
    'a program is linked with libheapsnap';
like +(run("./linked calls"))[0], qr/^dump 0$/m, 'which takes snapshots';
like +(run_traced("./linked calls"))[0], qr/^dump 1$/m, 'but is traced alone';
unlink glob "$directory/*.snap";

# --- blocks that one thread makes, and another resizes or frees

{
    for my $rate (1, 300, 20_000) {
        run("rm -f threads.trace; $build/heapsnap run --no-snapshots --trace threads.trace --rate $rate $program");
        my $asked = sub { JSON::PP->new->decode(scalar `$build/heapsh-trace --json --frame exchange @_ $directory/threads.trace`) };
        my $all = $asked->();
        is $all->{dropped}, 0, "a sample in $rate bytes: no event is missing";
        is $all->{end}{samples}, 0, 'each sample has an end';
        my $made = $asked->('--site', 'make_one')->{allocated};
        if ($rate == 1) { is $made->{samples}, 16000, 'all are samples' }
        else { cmp_ok abs($made->{bytes} - 16000 * 1549.5), '<=', 2 * $made->{error} + 500_000, 'as many bytes as there are' }
    }
}

# Other allocators, where they are installed: below ours.
my %below = map { m{^\s*(lib(?:jemalloc|tcmalloc_minimal|mimalloc))\.so\S* .* => (\S+)$} ? ($1, $2) : () }
    `PATH=\$PATH:/sbin:/usr/sbin ldconfig -p`;
for my $name (qw(libjemalloc libtcmalloc_minimal libmimalloc)) {
  SKIP: {
        skip "$name is not installed", 2 unless $below{$name};
        my ($output) = run("env LD_PRELOAD=$library:$below{$name} HEAPSNAP_TRACE=$name.trace HEAPSNAP_RATE=1 $program");
        is $output, "made 16000\n", "above $name";
        my $all = JSON::PP->new->decode(scalar `$build/heapsh-trace --json --frame exchange $directory/$name.trace`);
        is "$all->{dropped} $all->{end}{samples}", '0 0', "above $name each sample has an end";
    }
}

# --- what cannot be

for my $setting (['--every=1s'], ['--growth', '64M'], ['--at-exit'], ['--at-exit=all'], ['--report-at-exit'],
    ['--report-at-exit=x']) {
    my ($option) = $setting->[0] =~ /^([^=]*)/;
    my ($said, $status) = run_traced(@$setting, '/bin/true');
    like "$status $said", qr/^2 heapsnap: run: \Q$option\E\S* asks for snapshots, and --no-snapshots for none; see .*\n\z/,
        "@$setting is refused";
}
for my $setting (qw(EVERY=1s GROWTH=64M AT_EXIT=1 REPORT=1)) {
    my ($name, $value) = split /=/, $setting;
    is_deeply [run("HEAPSNAP_$setting LD_PRELOAD=$library /bin/true")],
        ["heapsnap: HEAPSNAP_$name: $value: libheapsnap-trace.so takes no snapshots\n", 0], "one line says so of $name";
}

my $pid = fork // die;
if (!$pid) {
    exec "$build/heapsnap", 'run', '--no-snapshots', 'sleep', '100';
    die;
}
Heapsh::await(sub { `cat /proc/$pid/maps` =~ /libheapsnap-trace/ && `cat /proc/$pid/comm` eq "sleep\n" });
unlike +(run("$build/heapsnap list"))[0], qr/^ *$pid /m, 'it is not among those that can be captured';
is_deeply [run("$build/heapsnap capture $pid")],
    ["heapsnap: $pid (sleep) is traced without snapshots: it runs with --no-snapshots\n", 1], 'nor is it captured';
kill KILL => $pid;
waitpid $pid, 0;
is_deeply [map { s{.*/}{}r } glob "$directory/*.snap"], [], 'no snapshot has been written';
done_testing;
