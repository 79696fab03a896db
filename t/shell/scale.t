#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Large snapshots: what is computed once is kept; with little memory the answers are the same.
use strict;
use warnings;
use lib 't/lib';
use IO::Select;
use IPC::Open2;
use Cgroup;
use Sample;
use Test::More;

my $heapsh = "$Sample::build/heapsh";
my $file = "$Sample::directory/large.snap";
my $cache = "$Sample::directory/cache";
my @question = ('-q', $file, 'largest', '--retained', 5);

system("$Sample::build/t/bench/generate -n 320000 -w -o $file >/dev/null") == 0
    or die 'generate failed';
$ENV{XDG_CACHE_HOME} = $cache;

my ($answer, $complaint, $status) = Sample::run('', $heapsh, @question);
is $status, 0, 'the largest';
is $complaint, '', 'no complaint';
is scalar(split /\n/, $answer), 5, 'five of them';

my ($kept) = glob "$cache/heapsh/*.dominators";
ok $kept, 'the dominators are kept';
is((stat $kept)[2] & 0777, 0600, 'for the user alone');
my $good = Sample::content($kept);
is length($good) >= 12 * 320_000, 1, '12 bytes per object';

# Whoever needs more than the dominators that were kept gets the rest, too.
my @rows = map {
    local $ENV{XDG_CACHE_HOME} = $_;
    join ' ', (Sample::run('', "$Sample::build/heapsh-export", qw(-q --format rows -o -), $file))[2, 0];
} $cache, '/dev/null/none';
like $rows[0], qr/^0 ./, 'an export with dominators that were kept';
ok $rows[0] eq $rows[1], '... is the same as without';

sub put {
    my ($bytes) = @_;
    unlink $kept;
    open my $out, '>', $kept or die "$kept: $!";
    print $out $bytes;
    close $out;
}

# @return what is in the side file after the question has been asked again
sub answers_as_before {
    my ($what) = @_;
    is_deeply [Sample::run('', $heapsh, @question)], [$answer, '', 0], "$what: the same answer";
    return Sample::content($kept);
}

my $before = (stat $kept)[1];
answers_as_before('from the side file');
is((stat $kept)[1], $before, 'which is not written again');

# A side file that is not whole is made anew.
my %damage = (
    'an empty one'       => '',
    'a truncated one'    => substr($good, 0, 100_000),
    'one that has grown' => $good . "\0",
    'another magic'      => 'x' . substr($good, 1),
    'a header of others' => substr($good, 0, 16) . 'abcd' . substr($good, 20),
    'zeros'              => "\0" x length $good,
);
for my $at (20, 24, 40, 90, 4096, 1_000_000, length($good) - 1) {
    my $bytes = $good;
    vec($bytes, $at, 8) ^= 4;
    $damage{"a flipped bit at $at"} = $bytes;
}
for my $what (sort keys %damage) {
    put($damage{$what});
    ok answers_as_before($what) eq $good, "$what: made anew";
}

# Links are not followed, and the cache's directory may be unusable.
unlink $kept;
rename $kept, "$kept.away";
put($good);
rename $kept, "$Sample::directory/elsewhere";
symlink "$Sample::directory/elsewhere", $kept or die "symlink: $!";
answers_as_before('a symbolic link');
ok !-l $kept, 'a symbolic link is replaced';
{
    local $ENV{XDG_CACHE_HOME} = '/dev/null';
    is_deeply [Sample::run('', $heapsh, @question)], [$answer, '', 0], 'without a cache';
}

# Old ones go when another is stored.
my $old = "$cache/heapsh/" . '0' x 32 . '-12345678.dominators';
my $other = "$cache/heapsh/something-else";
for my $path ($old, $other) {
    open my $out, '>', $path or die "$path: $!";
    close $out;
    utime time - 15 * 86400, time - 15 * 86400, $path;
}
unlink $kept;
answers_as_before('with an old one beside it');
ok !-e $old, 'one that nobody has asked for in two weeks is removed';
ok -e $other, 'what is no side file stays';

# With hardly any memory, as data that cannot be written to a file is limited by setrlimit.
for my $question (\@question, ['-q', $file, 'leaks', '--limit', 3],
    ['-q', $file, 'roots', '--limit', 3], ['-q', $file, 'identify', '0x555555560010'],
    ['-q', $file, 'retained', 'type', 'record_11'], ['-q', $file, 'dominators'])
{
    my @expected = Sample::run('', $heapsh, @$question);
    for my $memory (0, '4M', '12M') {    # nothing is memory, or some of it, and some makes way
        unlink $kept;
        is_deeply [Sample::run('', $heapsh, '--memory', $memory, @$question)], \@expected,
            "--memory $memory @$question[2..$#$question]";
    }
    next if $ENV{SANITIZE};    # which takes all memory
    unlink $kept;
    is_deeply [Sample::run('', 'prlimit', '--data=' . (24 << 20), $heapsh, @$question)],
        \@expected, "24 MiB of data: @$question[2..$#$question]";
}
# The same in a control group, whose limit pages of files count towards as well.
SKIP: {
    skip 'a sanitizer takes all memory', 1 if $ENV{SANITIZE};
    my $group = Cgroup->create(40 << 20);
    skip Cgroup::reason(), 1 unless $group;
    for my $question (\@question, ['-q', $file, 'leaks', '--limit', 3],
        ['-q', $file, 'identify', '0x555555560010'], ['-q', $file, 'path', '0x555555560010'],
        ['-q', $file, 'retained', 'type', 'record_11'], ['-q', $file, 'roots', '--limit', 3],
        ['-q', $file, 'suspects'], ['-q', $file, 'sizes', '0x555555560010'])
    {
        my @expected = Sample::run('', $heapsh, @$question);
        unlink $kept;
        is_deeply [Sample::run('', $group->enter, $heapsh, @$question)], \@expected,
            "a group of 40 MiB: @$question[2..$#$question]";
    }
    cmp_ok $group->peak, '<=', 40 << 20, 'no more memory than that';
    cmp_ok $group->peak, '>', 8 << 20, 'but some';
}
{
    local $ENV{TMPDIR} = '/nonexistent';
    unlink $kept;
    my ($out, $err, $failed) = Sample::run('', $heapsh, '--memory', '0', @question);
    is $err, "heapsh: $file: /nonexistent: no temporary file: No such file or directory\n",
        'no place for temporary files';
    is $failed, 1, 'no place for temporary files: status';
}

# ^C stops a command, and not the shell.
system("$Sample::build/t/bench/generate -r -n 3000000 -w -o $file >/dev/null") == 0
    or die 'generate failed';
$ENV{TERM} = 'dumb';
$ENV{XDG_STATE_HOME} = "$Sample::directory/state";
my $pid = open2(my $from, my $to, "$Sample::build/t/helper/terminal", $heapsh, '-q', $file);

# Reads until a pattern matches.
sub await {
    my ($pattern) = @_;
    my $text = '';
    while ($text !~ $pattern && IO::Select->new($from)->can_read(60)) {
        sysread($from, $text, 4096, length $text) or last;
    }
    return $text =~ s/\r//gr;
}
await(qr/heapsh> $/);
syswrite $to, "largest --retained 1\n";
await(qr/retained 1\r?\n/);
select undef, undef, undef, 0.2;
syswrite $to, "\x03";
like await(qr/heapsh> $/), qr/interrupted\nheapsh> $/, '^C stops a command';
syswrite $to, "find --count size=100\n";
like await(qr/heapsh> $/), qr/^Total: \d+ objects/m, 'the shell goes on';
syswrite $to, "largest --retained 1\n";
like await(qr/heapsh> $/), qr/(?:^|\e\[K) *\d\S+ (?:Ki)?B  .*struct record_.* at/m,
    'and the command can be given again';
syswrite $to, "quit\n";
waitpid $pid, 0;
is $?, 0, 'to its end';
done_testing;
