#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The tour: `make demo` works, and README shows what it prints. Addresses, times and rates differ from
# run to run, and nothing else.
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

# README shows the text that the demo prints.
my $readme = content('README.md');
my $printed = alike($demo);
for my $line (split /\n/, alike($readme)) {
    next unless $line =~ /^       +(?:objects  |10  |steady growth)/;
    ok index($printed, $line =~ s/^    //r) >= 0, "the demo prints: $line";
}
like $printed, qr/^the global variable sessions \(demo\.c:55, demo\)\n  → struct session at 0x\.\.\.\n  … \d+ more by \.next\n  \.next → struct session at 0x\.\.\.$/m,
    'a path such as README has';

# It names what there is: files, programs, commands, manual pages and rooms.
my @links = $readme =~ /\]\(([^)]+)\)/g;
ok -e $_, "README links to $_" for @links;
my %linked = map { $_ => 1 } @links;
ok $linked{$_}, "$_ is named" for sort glob 'man/*.[1-9]';
my $help = qx(heapsh -q $directory/demo-02.snap help);
for my $line ($readme =~ /^    ((?:heapsh|heapsnap)[-\w]* .*)$/mg) {
    my ($program, @words) = split ' ', $line =~ s/  +#.*//r;
    ok -x "$build/$program", "README: $line";
    next unless $program eq 'heapsh' && $words[1] && $words[1] !~ /^(?:\S*\.snap'?|#.*)$/;
    like $help, qr/\b\Q$words[1]\E\b/, "... which is a command";
}
my ($rooms) = $readme =~ /^Where things are.*?\n\n(.*?)\n\n/ms;
my $top = '';
for my $room (map { s{/\z}{}r } glob '{dumper,lib,shell}/*/ dumper/writer/*/') {
    my ($name) = $room =~ m{([^/]*)\z};
    like $rooms, qr{\b\Q$name\E/}, "README names the room $room" unless $name eq 'vendor';
}
done_testing;
