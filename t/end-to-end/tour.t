#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The tour: `make demo` works, README shows what it prints, and the tutorial's commands have the
# answers that it shows. Addresses, times and rates differ from run to run, and nothing else.
use strict;
use warnings;
use utf8;
use open qw(:std :encoding(UTF-8));
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
my $directory = tempdir(CLEANUP => 1);
$ENV{BUILD} = $build;
$ENV{PATH} = "$build:$ENV{PATH}";

sub content {
    my ($name) = @_;
    open my $in, '<', $name or die "$name: $!";
    local $/;
    return scalar <$in>;
}

sub alike {
    my ($text) = @_;
    $text =~ s/\b0x[0-9a-f]+/0x.../g;
    $text =~ s/at most [\d.]+ \w+ ago/at most ... ago/g;
    # A rate is told where its margin is smaller.
    $text =~ s/growth(.*): \+?[\d.]+ (?:±[\d.]+ )?objects?, \+?[\d.]+ \w+ (?:an hour|since \[0\])/growth$1: .../g;
    $text =~ s/born [\d.]+ \w+ after/born ... after/g;
    return $text;
}

my $demo = qx(scripts/demo $directory 2>&1);
is $?, 0, 'the demo runs to its end';
ok -s "$directory/demo-0$_.snap", "it leaves demo-0$_.snap" for 0 .. 2;

# The other program of the tutorial.
qx(cd $directory && heapsnap run --every 250ms -- $build/t/programs/series 16);
is $?, 0, 'the series is captured';
unlink "$directory/series-16.snap"; # one may have come while it ended

# README shows its end, indented.
my ($session) = content('README.md') =~ /^(    \$ heapsh .*?)^## /ms;
$session =~ s/^    //mg;
$session =~ s/\n+\z/\n/;
is alike(substr $demo, index $demo, '$ heapsh -q demo-02.snap count'), alike($session),
    'README shows what the demo prints';

# The tutorial: commands at either prompt, and what follows.
my $tutorial = content('man/heapsh-tutorial.7');
my %special = ('\[u2514]' => '└', '\[u2500]' => '─', '\[u2026]' => '…', '\(->' => '→', '\(+-' => '±', '\&' => '');
$tutorial =~ s/(\\\[u\w+\]|\\\(->|\\\(\+-|\\&)/$special{$1}/g;
my ($leak) = qx(heapsh-leakreport -q $directory/demo-*.snap) =~ /session at (0x\w+)/;
my ($date) = qx(heapsh -q $directory/demo-02.snap find --limit 290 type date) =~ /(0x\w+)\n\z/;
my $code = content('t/programs/demo.c');
my $asked = 0;

for my $block ($tutorial =~ /^\.Bd -literal[^\n]*\n(.*?)^\.Ed$/msg) {
    next if $block =~ /kill -QUIT/;    # done by the demo
    if ($block =~ s/^(\$ heapsh series-\*\.snap)\n//) {
        my ($shown, $typed) = ($1, '');
        $typed .= "$1\n" while $block =~ s/^heapsh \[\d+\] \S+> (.*)\n//m;
        open my $script, '>', "$directory/typed" or die $!;
        print $script $typed;
        close $script;
        is alike(scalar qx(cd $directory && heapsh -q series-*.snap <typed)), alike($block), "the tutorial's $shown";
        $asked++;
        next;
    }
    if ($block !~ /^(?:\$|heapsh>) /) {
        $block =~ s/^(?=.)/\t/mg;
        ok index($code, $block) >= 0, 'the tutorial quotes the program';
        next;
    }
    $block =~ s/^\$ heapsh -q demo-02.snap\n(?=heapsh> )//;
    my ($command, $expected) = $block =~ /\A((?:(?:\$|>|heapsh>) [^\n]*\n)+)(.*)\z/s;
    my $shown = $command;
    if ($command =~ s/^heapsh> //) {
        my $object = $command =~ /^identify/ ? $date : $leak;
        $command =~ s/0x\w+/$object/;
        $command = "heapsh -q demo-02.snap $command";
    }
    $command =~ s/^(?:\$|>) //mg;
    my $pattern = join '.*', map { quotemeta } split /^\.\.\.\n/m, alike($expected);
    my $answer = qx(cd $directory && $command);
    my ($title) = $shown =~ /\A(.*)/;
    like alike($answer), qr/\A$pattern\z/s, "the tutorial's $title";
    $asked++;
}
is $asked, 10, 'all of its questions were asked';

# The lines that it names are those.
my @line = split /\n/, $code;
like $line[90], qr/calloc/, 'line 91 makes sessions';
like $line[54], qr/\bsessions;/, 'line 55 has their list';
done_testing;
