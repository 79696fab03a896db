#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The pictures of README are there, and scripts/pictures can still draw them.
use strict;
use warnings;
use utf8;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Browser;
use Terminal;
use Test::More;

my $directory = tempdir(CLEANUP => 1);

sub content {
    my ($name) = @_;
    open my $in, '<:raw', $name or return '';
    local $/;
    return scalar <$in>;
}

sub is_session {
    my ($svg, $name) = @_;
    utf8::decode($svg);
    like $svg, qr/\A<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" .*<\/svg>\n\z/s, "$name: an SVG";
    like $svg, qr/\Q$_\E</, "... with: $_" for '$ heapsh demo-02.snap', 'struct session', 'HUNG_UP', 'the global variable sessions (demo.c:55, demo)';
    unlike $svg, qr/[\e\x00]|no live object|>heapsh: /, '... and no complaint';
    is scalar(() = $svg =~ /<text /g), scalar(() = $svg =~ /<\/text>/g), '... all of whose texts end';
}

# Its size in pixels.
sub is_picture {
    my ($png, $name) = @_;
    is substr($png, 0, 8), "\x89PNG\r\n\x1a\n", "$name: a PNG";
    my ($width, $height) = unpack 'x16 N N', $png;
    is_deeply [$width, $height], [1100, 900], '... of a window';
    cmp_ok length $png, '>', 30_000, '... that is not empty';
}

is_session(content('man/pictures/session.svg'), 'the session that is kept');
is_picture(content('man/pictures/report.png'), 'the page that is kept');

SKIP: {
    skip 'no tmux', 1 unless Terminal::is_possible();
    local $ENV{BUILD} = abs_path($ENV{BUILD} || 'build');
    my $said = qx(scripts/pictures $directory 2>&1);
    is $?, 0, 'the pictures are drawn' or diag $said;
    is_session(content("$directory/session.svg"), 'a new one');
    if (Browser->missing) { like $said, qr/^pictures: no chromium/m, 'without a browser that is said' }
    else { is_picture(content("$directory/report.png"), 'a new one') }
}
done_testing;
