#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# heapsnap core: the blocks of a process that has crashed, from the kernel's core file and gcore's;
# compressed ones, ones that were cut short, and files that are none.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Heapsh;
use POSIX qw(WNOHANG mkfifo);
use Test::More;
use Tools;

my $build = abs_path($ENV{BUILD} || 'build');

my $source = '';    # what is piped into heapsnap

sub take {
    my ($file, @options) = @_;
    my $snapshot = tempdir(CLEANUP => 1) . '/core.snap';
    my $output = `$source $build/heapsnap core --types none --file $snapshot @options $file 2>&1`;
    return ($? == 0 ? $snapshot : undef, $output);
}

sub live {
    my ($directory) = @_;
    open my $in, '<', "$directory/live" or die $!;
    return { map { my ($address, $size) = split ' '; ('0x' . $address =~ s/^0+//r => hex $size) } <$in> };
}

sub is_exact {
    my ($core, $live, $name, @options) = @_;
    my ($file, $output) = take($core, @options);
    ok $file, "$name: a snapshot" or diag $output;
    return unless $file;
    my $found = Heapsh::blocks_of($file);
    my @missed = grep { !defined $found->{$_} || $found->{$_} < $live->{$_} } keys %$live;
    my @phantoms = grep { !defined $live->{$_} } keys %$found;
    cmp_ok keys %$live, '>', 1000, "$name: there are blocks";
    is scalar @missed, 0, "$name: none is missed";
    is scalar @phantoms, 0, "$name: none is made up";
    my $info = Heapsh::ask_json($file, 'info');
    is $info->{origin}, 'core', "$name: the origin";
    is $info->{doubts}, '', "$name: the sums agree";
    return $info;
}

# --- whole ones ------------------------------------------------------------------

my $program = Heapsh->start('live-blocks', bare => 1, args => [ 'live', 3, 2000 ]);
my $directory = $program->{directory};
my $live = live($directory);
my $core;

SKIP: {
    skip 'no gcore', 1 unless has('gcore') && system("gcore -o $directory/gcore $program->{pid} >/dev/null 2>&1") == 0;
    $core = "$directory/gcore.$program->{pid}";
    my $old = time - 7 * 86400;
    utime $old, $old, $core or die "$core: $!";
    my $info = is_exact($core, $live, "gcore's");
    is int($info->{time_ns} / 1e9), $old, "gcore's: the time is the core's";
    cmp_ok $info->{writer_ns}, '<', 3600e9, 'writing took the time since it was opened';
    is waitpid($program->{pid}, WNOHANG), 0, "gcore's: the process lives";
    my ($file) = take($core);
    my $text = Heapsh::ask($file, 'info');
    like $text, qr/^time +[\d-]+ [\d:]+, when the core file was last written to$/m, "gcore's: which time that is";
    like $text, qr/^writing +[\d.]+ (?:ms|s), [\d.]+ \w+ in heapsnap-writer$/m, '... and how long it took';
    unlike $text, qr/^pause|after the process began/m, '... no pause, and no beginning that nobody knows';
}
kill 'KILL', $program->{pid};

# A core file has all pages of a mapping, and only those that were written to may hold blocks.
for ([ 6 << 10, '6 MiB of anonymous memory hold no block of a known allocator' ], [ 500, '' ]) {
  SKIP: {
        my ($used, $doubts) = @$_;
        my $pools = Heapsh->start('mapped-pools', bare => 1, args => [$used]);
        my $folder = $pools->{directory};
        skip 'no gcore', 1 unless has('gcore') && system("gcore -o $folder/pools $pools->{pid} >/dev/null 2>&1") == 0;
        my ($file, $output) = take("$folder/pools.$pools->{pid}");
        is $file && Heapsh::ask_json($file, 'info')->{doubts}, $doubts, "pools of its own, $used KiB: what is said" or diag $output;
        $pools->finish;
    }
}

# A process under heapsnap: the library's tables are in the core file, too.
SKIP: {
    my $prepared = Heapsh->start('rounds');
    my $folder = $prepared->{directory};
    skip 'no gcore', 1 unless has('gcore') && system("gcore -o $folder/prepared $prepared->{pid} >/dev/null 2>&1") == 0;
    my $captured = $prepared->capture;
    my $taken = "$folder/taken.snap";
    system("$build/heapsnap core --file $taken $folder/prepared.$prepared->{pid} >/dev/null") == 0 or diag 'heapsnap core failed';
    is_deeply Heapsh::blocks_of($taken), Heapsh::blocks_of($captured), 'prepared: the same blocks';
    is scalar Heapsh::ask($taken, $_), scalar Heapsh::ask($captured, $_), "prepared: the same $_" for qw(sites types);
    like scalar Heapsh::ask($taken, 'info'), qr/^taken +from a core file; it ran under heapsnap, so nothing is missing$/m, 'prepared: info';
    kill 'KILL', $prepared->pid;
}

SKIP: {
    chomp(my $pattern = `cat /proc/sys/kernel/core_pattern 2>/dev/null`);
    skip 'cores go elsewhere', 1 if $pattern ne 'core' && $pattern ne 'core.%p';
    my $crashing = Heapsh->start('/bin/sh', bare => 1,
        args => [ '-c', "ulimit -c unlimited && exec $build/t/programs/live-blocks live 3 2000" ]);
    my $folder = $crashing->{directory};
    kill 'SEGV', $crashing->{pid};
    waitpid $crashing->{pid}, 0;
    my ($dumped) = grep { -s } "$folder/core", "$folder/core.$crashing->{pid}";
    skip 'no core file was written', 1 unless $dumped;
    my $info = is_exact($dumped, live($folder), "the kernel's");
    is $info->{signal}, 11, "the kernel's: the signal";
    my ($file) = take($dumped);
    like scalar Heapsh::ask($file, 'info'), qr/^ended +by signal 11, Segmentation fault/m, "the kernel's: as text";
    # The kernel leaves the note out from 65,536 mappings on: NT_FILE, in a note of CORE.
    my $bytes = Heapsh::content($dumped);
    is scalar($bytes =~ s/(\x05\0{3}.{4})ELIF(?=CORE\0)/$1\0\0\0\x01/s), 1, "without the files' names: there was such a note";
    Heapsh::write_file("$folder/nameless", $bytes);
    my $named = Heapsh::ask_json($file, 'info');
    my $nameless = is_exact("$folder/nameless", live($folder), "without the files' names");
    is_deeply [ map { [ @$_{qw(start build_id)} ] } @{ $nameless->{modules} } ], [ map { [ @$_{qw(start build_id)} ] } @{ $named->{modules} } ],
        "without the files' names: the modules";
    $core = $dumped;
    $live = live($folder);

    my $shy = Heapsh->start('/bin/sh', bare => 1,
        args => [ '-c', "ulimit -c unlimited && echo 0 >/proc/self/coredump_filter && exec $build/t/programs/live-blocks live 1 500" ]);
    kill 'SEGV', $shy->{pid};
    waitpid $shy->{pid}, 0;
    ($dumped) = grep { -s } "$shy->{directory}/core", "$shy->{directory}/core.$shy->{pid}";
    like((take($dumped))[1], qr/the core file lacks the allocator's memory: \d+ bytes were left out, by coredump_filter/, 'no memory: why')
        if $dumped;
}

# --- packed, cut short, none -------------------------------------------------------

SKIP: {
    skip 'no core file', 1 unless $core;
    for (['zstd', 'zst'], ['lz4', 'lz4'], ['xz', 'xz'], ['gzip', 'gz'], ['bzip2', 'bz2']) {
        my ($packer, $suffix) = @$_;
      SKIP: {
            skip "no $packer", 1 unless has($packer);
            system("$packer -1 -q -c $core >$directory/core.$suffix") == 0 or die $packer;
            is_exact("$directory/core.$suffix", $live, $packer);
        }
    }
    # As a program of core_pattern gets it, or one behind coredumpctl(1).
    $source = "cat $core |";
    is_exact('-', $live, 'from a pipe');
    $source = "gzip -c $core |";
    is_exact('-', $live, 'packed, from a pipe') if has('gzip');
    $source = '';
    is_exact('-', $live, 'standard input is a file', "<$core");
    like((take('-', '</dev/null'))[1], qr/^heapsnap: the input: no core file: it has no bytes$/m, 'standard input is empty');
    like((take('-', '<&-'))[1], qr/^heapsnap: standard input: Bad file descriptor$/m, 'no standard input');
    # What unpacks a file goes with heapsnap: nobody wants the rest, which may be terabytes.
  SKIP: {
        skip 'no gzip', 1 unless has('gzip');
        my $large = "$directory/large.gz";
        my $member = `head -c 10000000 /dev/zero | gzip -c`;
        open my $out, '>', $large or die;
        print $out $member for 1 .. 2_000;    # 20 GB
        close $out;
        my $pid = fork() // die;
        if (!$pid) {
            open STDERR, '>', '/dev/null';
            exec "$build/heapsnap", 'core', '--file', "$directory/never", $large or POSIX::_exit(127);
        }
        my $unpacks = sub { grep { Heapsh::content("$_/cmdline") =~ /-dcq\0--\0\Q$large\E/ } glob '/proc/[0-9]*' };
        ok Heapsh::await($unpacks), 'it unpacks';
        kill 'KILL', $pid;
        waitpid $pid, 0;
        Heapsh::await(sub { !$unpacks->() });
        my $left = join ' ', $unpacks->();
        is $left, '', 'killed while it unpacks: nothing goes on unpacking';
    }
    system("head -c 3000000 $core >$directory/short") == 0 or die;
    my ($file, $output) = take("$directory/short");
    like $output, qr/^heapsnap: .*the core file is cut short: (?:\d+ of \d+ bytes|[\d.]+ %) are missing/m, 'cut short: it says so';
    system("head -c 20000 $core >$directory/shorter") == 0 or die;
    ($file, $output) = take("$directory/shorter");
    like $output, qr/^heapsnap: .*: the core file is cut short: \d+ of \d+ bytes are missing, and no blocks are found in the rest: it lacks .*/m, 'cut very short: why';
    is_exact($core, $live, 'the program by --exe', '--exe', "$build/t/programs/live-blocks");
    # What is no such thing is refused before any work, not silently without.
    for ([ '--exe', "$directory/none", 'No such file or directory' ], [ '--exe', $directory, 'no file' ],
        [ '--exe', "$directory/live", 'no program' ], [ '--sysroot', "$directory/none", 'No such file or directory' ],
        [ '--sysroot', $core, 'no directory' ]) {
        my ($option, $path, $why) = @$_;
        my ($made, $said) = take($core, $option, $path);
        ok !$made, "$option $path: refused";
        is $said, "heapsnap: $option $path: $why\n", '... and why';
    }
    my $there = "$directory/there.snap";
    Heapsh::write_file($there, 'mine');
    my $said = `$build/heapsnap core --file $there $core 2>&1`;
    is $said, "heapsnap: $there: File exists\n", 'a file of that name: refused';
    is Heapsh::content($there), 'mine', '... and it stays as it was';
    is_deeply [ glob "$directory/.there*" ], [], '... and nothing beside it';
  SKIP: {
        skip 'sanitizers need terabytes of addresses', 1 if $ENV{SANITIZE};
        $said = `bash -c 'ulimit -v 30000; exec $build/heapsnap core --file $directory/little.snap $core' 2>&1`;
        is $said, "heapsnap: $directory/little.snap: out of memory: heapsnap-writer may use 29.3 MiB of address space (ulimit -v)\n",
            'a limit of addresses: whose it is';
    }
    $said = `bash -c 'ulimit -f 4; exec $build/heapsnap core --file $directory/little.snap $core' 2>&1`;
    is $said, "heapsnap: a description of the process: File too large\n", 'a limit of the size of files: what it is';
    is $?, 1 << 8, '... and no signal ends it';
    ok !-e "$directory/little.snap", '... and nothing is left';
    (my $elsewhere, $output) = take($core, '--sysroot', $directory);
    ok $elsewhere, 'files that are not in the sysroot';
    like $output, qr{^heapsnap: (\d+) of \1 modules lack their files, so names and types: \Q$directory\E/\S+/live-blocks: No such file or directory; see --exe and --sysroot$}m,
        '... and it says so';
    (undef, $output) = take($core);
    unlike $output, qr/lack their files/, 'files that are all there: nothing is said';
    (undef, $output) = take($core, '--exe', "$build/t/programs/crashes");
    like $output, qr{^heapsnap: 1 of \d+ modules lack their files, so names and types: \S+/live-blocks: the file of --exe is not the one that was loaded; see --exe and --sysroot$}m,
        'another program by --exe: it says so';
    like scalar Heapsh::ask($elsewhere, 'info'), qr/No such file/, 'info says so' if $elsewhere;
}

{
    open my $out, '>', "$directory/text" or die $!;
    print $out "no core\n" x 100;
    close $out;
    # One of another machine, of 32 bits, and what a full disk leaves of one.
    my $header = substr Heapsh::content($core), 0, 64;
    my $machine = unpack 'x18 S', $header;
    my ($own, $other, $number) = $machine == 62 ? ('x86-64', 'aarch64', 183) : ('aarch64', 'x86-64', 62);
    my $reads = "this heapsnap reads those of $own, of 64 bits";
    for (
        [ 'another machine', substr($header, 0, 18) . pack('S', $number) . substr($header, 20), "a core file of $other, of 64 bits; $reads" ],
        [ '32 bits', substr($header, 0, 4) . "\1" . substr($header, 5, 13) . pack('S', 3) . substr($header, 20, 32), "a core file of i386, of 32 bits; $reads" ],
        [ 'a header cut off', substr($header, 0, 40), 'the core file is cut short' ],
        [ 'a few bytes', substr($header, 0, 10), 'no core file: it has too few bytes' ],
        [ 'nothing', '', 'no core file: it has no bytes' ])
    {
        my ($what, $bytes, $why) = @$_;
        Heapsh::write_file("$directory/odd", $bytes);
        is((take("$directory/odd"))[1] =~ s{^heapsnap: .*/(?:core\.snap|odd): }{}r, "$why\n", "$what: why");
    }
    like((take("$directory/text"))[1], qr/^heapsnap: .*text: no core file/, 'a text');
    like((take("$build/t/programs/live-blocks"))[1], qr/no core file/, 'a program');
    like((take("$directory/none"))[1], qr/^heapsnap: .*none: No such file/, 'no file');
    like((take($directory))[1], qr/^heapsnap: .* is no file/, 'a directory');
    mkfifo("$directory/pipe", 0600) or die $!;
    like scalar `timeout 20 $build/heapsnap core $directory/pipe 2>&1`, qr/^heapsnap: .* is no file/, 'a pipe: it does not wait';
}
done_testing;
