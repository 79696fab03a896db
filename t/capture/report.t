#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The report of unfreed blocks at a program's exit: heapsnap run --report-at-exit.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use JSON::PP;
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
my $program = "$build/t/programs/capture-automatic";
$ENV{XDG_CACHE_HOME} = "$build/t/cache";

# @return what it printed, its wait status, the files it left, what was said on stderr
our $directory;
sub run {
    my ($way, @options) = @_;
    $directory = tempdir(CLEANUP => 1);
    my $output = `cd $directory && exec $build/heapsnap run @options -- $program $way 2>.stderr`;
    my $status = $?;
    return ($output, $status, [map { s{.*/}{}r } sort glob "$directory/*"], text('.stderr'));
}

sub text {
    open my $in, '<', "$directory/$_[0]" or die $!;
    local $/;
    return scalar(<$in>) =~ s/pid \d+/pid PID/r =~ s/\.c:\d+/.c:LINE/gr;
}

my $report = <<'END';
Heap of capture-automatic (pid PID): what has not been freed
Leaked: 2 objects, 32 B
         2         32 B  struct lost, lose (capture-automatic.c:LINE)
Still reachable: 3 objects, 96 B
         3         96 B  struct held, hold (capture-automatic.c:LINE)
END
my ($output, $status, $files, $said) = run('unfreed', '--report-at-exit');
is $said, $report, 'on standard error';
is $status, 4 << 8, 'the program exits as it does';
is "$output@$files", '', 'no file';
($output, $status, $files, $said) = run('unfreed', '--report-at-exit=%e-%N.txt');
is "$said@$files", 'capture-automatic-00.txt', 'in a file';
is text($files->[0]), $report, 'the same';
($output, $status, $files, $said) = run('unfreed', '--report-at-exit', '--at-exit');
is "$said@$files", "${report}capture-automatic-00.snap", 'beside a snapshot';
is `$build/heapsh-unfreed $directory/@$files` =~ s/pid \d+/pid PID/r =~ s/\.c:\d+/.c:LINE/gr, $report,
    'of which heapsh-unfreed tells the same';

# Only what came after the checkpoint.
($output, $status, $files, $said) = run('checkpoint', '--report-at-exit', '--at-exit');
is $output, "0\n", 'there is a checkpoint';
is $said, <<'END', 'only what came after it counts, also at quick_exit()';
Heap of capture-automatic (pid PID): what has not been freed, of what came after the checkpoint
Leaked: 5 objects, 80 B
         5         80 B  struct lost, lose (capture-automatic.c:LINE)
Still reachable: 1 object, 32 B
         1         32 B  struct held, hold (capture-automatic.c:LINE)
END
is `$build/heapsh-unfreed --all --by type $directory/@$files` =~ s/pid \d+/pid PID/r, <<'END', '--all, --by type';
Heap of capture-automatic (pid PID): what has not been freed
Leaked: 7 objects, 112 B
         7        112 B  struct lost
Still reachable: 4 objects, 128 B
         4        128 B  struct held
END
my $json = JSON::PP->new->utf8->decode(scalar `$build/heapsh-unfreed --json --type lost $directory/@$files`);
is_deeply $json, { program => 'capture-automatic', pid => $json->{pid}, since_checkpoint => JSON::PP::true,
    leaked => { objects => 5, bytes => 80, kinds => [{ name => $json->{leaked}{kinds}[0]{name},
        objects => 5, bytes => 80 }] },
    perhaps => { objects => 0, bytes => 0, kinds => [] },
    reachable => { objects => 0, bytes => 0, kinds => [] } }, 'JSON';

# Limits and names.
($output, $status, $files, $said) = run('unfreed', '--report-at-exit --report-type "struct h*"');
is $said, <<'END', '--report-type';
Heap of capture-automatic (pid PID): what has not been freed
Leaked: 0 objects, 0 B
Still reachable: 3 objects, 96 B
         3         96 B  struct held, hold (capture-automatic.c:LINE)
END
($output, $status, $files, $said) = run('growing', '--report-at-exit --report-limit=1 --at-exit=signals');
like $said, qr/^Still reachable: .*\n.* grow .*\n {23}  and 1 more\n\z/m, '--report-limit';

# Not where the program dies otherwise.
($output, $status, $files, $said) = run('at-once', '--report-at-exit');
is "$status$said", 9 << 8, 'not at _exit()';
($output, $status, $files, $said) = run('abort', '--report-at-exit');
is "$status$said", '6', 'nor by a signal';

for (['--report-limit x', '--report-limit x: not a number of lines'],
    ['--report-type', '--report-type needs a value']) {
    my $program = 'unfreed';
    ($output, $status, $files, $said) = $_->[0] =~ / / ? run('unfreed', $_->[0])
        : ('', 512, [], `$build/heapsnap run $_->[0] 2>&1`);
    is "$status: $said", "512: heapsnap: run: $_->[1]; see heapsnap --help\n", $_->[0];
}
done_testing;
