#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# heapsh-tutorial(7), as a person follows it: in a clean directory, on two terminals, every line that
# begins with a prompt is typed, and what follows has to be the answer. Addresses, times and rates
# differ from run to run, and nothing else.
use strict;
use warnings;
use utf8;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Heapsh;
use Terminal;
use Test::More;
use Time::HiRes qw(sleep time);
use Tools;

binmode $_, ':utf8' for Test::More->builder->output, Test::More->builder->failure_output;
plan skip_all => 'no tmux' unless Terminal::is_possible();
plan skip_all => 'no pidof' unless has('pidof');

my $build = $Heapsh::build;
my $programs = abs_path('t/programs');
my $leaky = "leaky$$";    # there may be another one on this machine
my $directory = tempdir(CLEANUP => 1);
my %environment = (PATH => "$build:$ENV{PATH}", XDG_CACHE_HOME => "$directory/.cache", TZ => 'UTC', LC_ALL => 'C.UTF-8');

sub content {
    my ($name) = @_;
    open my $in, '<:encoding(UTF-8)', $name or die "$name: $!";
    local $/;
    return scalar <$in>;
}

# Replaces what differs from run to run.
sub alike {
    my ($text) = @_;
    # Said where another process, of a test beside this one, ends while pidof looks.
    $text =~ s{^pidof: can't read from \d+/stat\n+}{}mg;
    $text =~ s/\b\Q$leaky\E\b/leaky/g;
    $text =~ s/\b0x[0-9a-f]+/0x.../g;
    $text =~ s{^/\S+/}{/.../}mg;
    $text =~ s/\(pid \d+\), [-\d]+ [:\d]+/(pid ...), .../;
    $text =~ s/at most [\d.]+ \w+ ago/at most ... ago/g;
    # A rate is told where its margin is smaller.
    $text =~ s/growth(.*): \+?[\d.]+ (?:±[\d.]+ )?objects?, \+?[\d.]+ \w+ (?:an hour|since \[0\])/growth$1: .../g;
    $text =~ s/born [\d.]+ \w+ after/born ... after/g;
    return $text;
}

# The manual's text as it is printed.
my %special = ('[u2514]' => '└', '[u251C]' => '├', '[u2502]' => '│', '[u2500]' => '─', '[u2026]' => '…', '(->' => '→', '(+-' => '±', '&' => '');
my $tutorial = content('man/heapsh-tutorial.7') =~ s/\\(\[u\w+\]|\(->|\(\+-|&)/$special{$1}/gr;
my $code = content('t/programs/demo.c');

my $shell = Terminal->new($directory, env => \%environment);
my $server = Terminal->new($directory, env => \%environment);
my $rounds = 0;
my %is_spaced;

# The server has answered, and sleeps: no register holds a session any more.
sub serve {
    $rounds++;
    $server->type('Enter');
    like $server->await(qr/(?:served\s+){$rounds}\z/), qr/(?:served\s+){$rounds}\z/, "Return, for the time $rounds";
    my ($pid) = qx(pidof $leaky) =~ /(\d+)/;
    my $until = time + 10;
    sleep 0.01 while time < $until && do { open my $in, '<', "/proc/$pid/status"; local $/; <$in> !~ /^State:.S/m };
}

# Spaces the snapshots of each program evenly, once: a reader has a machine of their own.
sub space_evenly {
    unlink "$directory/series-16.snap"; # one may have come while the program ended
    for my $program ($leaky, 'series') {
        my @files = sort glob "$directory/$program-*.snap";
        Heapsh::space_evenly(@files) if @files && !$is_spaced{$program}++;
    }
    return;
}

# Types a line where it belongs. @return what it prints
sub answer {
    my ($terminal, $line) = @_;
    $line =~ s{/usr/local/share/heapsh/examples}{$programs};
    $line =~ s/\bleaky\b/$leaky/g;
    return $terminal->answer($line) unless $line =~ /^heapsnap run -- /;
    $terminal->type('C-l');
    $terminal->type('-l', $line);
    $terminal->type('Enter');
    return $terminal->await(qr/^ready\n\z/m) =~ s/\A[^\n]*\n//r;
}

my $asked = 0;
my $terminal = $shell;
# Lines that run on another machine are tested elsewhere: t/capture/attach.t and core.t.
$tutorial =~ s/^\.\\" elsewhere\b[^\n]*\n\.Bd .*?^\.Ed\n//msg;
while ($tutorial =~ /^\.\\" (terminal|press): (\w+)$|^\.Bd -literal[^\n]*\n(.*?)^\.Ed$/msg) {
    my ($what, $value, $block) = ($1, $2, $3);
    serve() if ($what // '') eq 'press';
    $terminal = $server if ($what // '') eq 'terminal';
    next unless defined $block;
    if ($block !~ /^(?:\$|heapsh[^>\n]*>) /) {
        ok index($code, $block =~ s/^(?=.)/\t/mgr) >= 0, 'the tutorial quotes the program';
        next;
    }
    while ($block =~ /^(?:\$|heapsh[^>\n]*>) ([^\n]*)\n((?:(?!\$ |heapsh[^>\n]*> )[^\n]*\n)*)/mg) {
        my ($line, $expected) = ($1, $2);
        space_evenly() if $line =~ /^heapsh-leakreport /;
        is alike(answer($terminal, $line)), alike($expected), $line;
        $asked++;
    }
    $terminal = $shell;
}
is $asked, 28, 'all lines were typed';

# It names these lines of the program.
my @line = split /\n/, $code;
like $line[90], qr/calloc/, 'line 91 makes sessions';
like $line[54], qr/\bsessions;/, 'line 55 has their list';

$server->type('C-d');
$server->await(qr/^\$ ?\n\z/m);
done_testing;
