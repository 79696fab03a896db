#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A series of snapshots of a process that nobody prepared: blocks are told apart by address, type and
# contents, and what is not known is said.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use Heapsh;
use JSON::PP;
use Test::More;
use Time::HiRes qw(sleep);

my $build = abs_path($ENV{BUILD} || 'build');
if (my $why = Heapsh::attach_refusal()) { plan skip_all => $why }

my $program = Heapsh->start('rounds', bare => 1);
my $pid = $program->pid;
my @file;

for my $i (0 .. 3) {
    if ($i) {
        print { $program->{in} } "\n";
        $program->line eq 'round' or die 'no round';
    }
    my $file = "$program->{directory}/$i.snap";
    my $output = `$build/heapsnap attach --file $file $pid 2>&1`;
    plan skip_all => 'processes may not be traced here' if $output =~ /may not be/;
    is $output, "$file\n", "snapshot $i";
    push @file, $file;
    sleep 0.02;
}
my $has_core = system("gcore -o $program->{directory}/core $pid >/dev/null 2>&1") == 0;
close $program->{in};
waitpid $pid, 0;

sub run { my ($tool, @words) = @_; my $text = `$build/heapsh-$tool @words 2>&1`; return wantarray ? ($text, $? >> 8) : $text }

# --- leakreport

my $births = "When blocks were allocated is not known: those at one address with alike contents count as the same\n";
my ($text, $status) = run('leakreport', @file);
is $status, 0, 'leakreport: there are leaks';
like $text, qr/\A\Q$births\E/, 'leakreport: births are not known';
unlike $text, qr/code that is not known|struct page|struct counter/, 'leakreport: neither sites nor what was replaced or stays';
my %first;
$first{"$1 $2"}++ while $text =~ /^LEAK\[(\d)\] (struct leaf|char\[24\])/mg;
is_deeply \%first, { '1 struct leaf' => 100, '1 char[24]' => 100, '2 struct leaf' => 100, '2 char[24]' => 100 },
    'leakreport: those of the middle rounds, each once';
like $text, qr/^ +200 +4\.7 KiB  struct leaf\n +steady growth: /m, 'leakreport: their growth';
my $json = decode_json(scalar run('leakreport', '--json', @file));
is $json->{births_are}, 'not known', 'leakreport --json: births';
is scalar(grep { exists $_->{site} } @{ $json->{leaks} }), 0, 'leakreport --json: no sites';
like scalar run('leakreport', '--by', 'site', '--summary', @file),
    qr/\ANobody had prepared the process: where blocks were allocated is not known\n/, 'leakreport --by site: says so';

# --- filters that need what is not known find nothing, and say why

for my $filter ('site main', 'frame main', 'module rounds', 'age <1h') {
    is scalar Heapsh::ask($file[0], "find --count $filter"),
        "Total: 0 objects, 0 B\n", "find $filter: nothing";
    is $Heapsh::complaint,
        "heapsh: $filter: not known: the snapshot was taken by attach, and nobody had noted where and when blocks were allocated\n",
        "find $filter: not known";
}
like scalar Heapsh::ask($file[0], 'count', '--by', 'module'), qr/ \(not known: taken by attach\)\n/, 'count --by module: the same';
like scalar Heapsh::ask($file[3], 'sites'), qr/  code that is not known: taken by attach\n/, 'sites: why sites are not known';

my $suspects = Heapsh::ask($file[3], 'suspects', '--min', '1');
like $suspects, qr/: a chain of \d+ × struct leaf, held by .*\n   The first of them is struct leaf at 0x[0-9a-f]+\.\n   If the list/m,
    'suspects: one of them';
unlike $suspects, qr/not known/, 'suspects: nothing of sites';

# --- diff, evolution, and the shell

$text = run('diff', @file[0, 3]);
like $text, qr/\A\Q$births\E/, 'diff: births are not known';
like $text, qr/^ +\+300 +\S+ KiB +300 +0 +100 +0  struct leaf$/m, 'diff: leaves';
like $text, qr/^ +0 +0 B +50 +50 +0 +0  struct page$/m, 'diff: pages were replaced';
unlike $text, qr/struct counter/, 'diff: counters stay, whatever they count';
unlike $text, qr/code that is not known/, 'diff: no sites';
is((run('diff', @file[0, 0]))[1], 1, 'diff: nothing has changed');
like scalar run('evolution', '--by', 'site', @file), qr/^rounds: bytes by site \(sites are not known\)$/m, 'evolution --by site: says so';
unlike scalar run('evolution', '--by', 'type', @file), qr/not known/, 'evolution --by type: nothing is missing';

# --- with a core file of the same moment as the last: how a snapshot was taken tells no blocks apart

SKIP: {
    skip 'no gcore', 6 unless $has_core;
    my $core = "$program->{directory}/core.snap";
    is system("$build/heapsnap core --file $core $program->{directory}/core.$pid >/dev/null"), 0, 'a core file: a snapshot';
    for my $by ('kind', 'site') {
        ($text, $status) = run('diff', '--by', $by, $file[3], $core);
        unlike $text, qr/^ +[-+]/m, "diff --by $by, with a core file: no kind has changed";
        is $status, 1, "diff --by $by, with a core file: status";
    }
    like scalar run('diff', $file[0], $core), qr/^ +\+300 +\S+ KiB +300 +0 +100 +0  struct leaf$/m, 'diff, with a core file: leaves';
}

my ($object) = scalar(Heapsh::ask($file[3], 'find', 'type', 'struct counter')) =~ /(0x[0-9a-f]+)/;
my @shown = map { s/^\s+//r } split /\n/, scalar Heapsh::ask($file[3], 'show', $object);
like $shown[1], qr/^where and when it was allocated is not known; type by /, 'show: says so';
my $shown = Heapsh::ask_json($file[3], 'show', $object);
is scalar(grep { exists $shown->{$_} } qw(site born_ns)), 0, 'show --json: what is not known is not there';
$text = `printf 'go 3\\nhistory $object\\n' | $build/heapsh -q @file 2>&1`;
like $text, qr/; when it was allocated is not known, and another may have been at its address\n\[0\] \S+: struct counter, 40 B;/m, 'history: says so';
unlike $text, qr/gone|not there/, 'history: it is in all';

done_testing;
