#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# show of what is larger than a screen, and of bytes (t/programs/wide.c).
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Sample;
use Test::More;

my %file;
for my $content (qw(256 all)) {
    my $program = Heapsh->start('wide', run => ['--content', $content]);
    $file{$content} = $program->capture;
    $program->finish;
}
my $heapsh = "$Sample::build/heapsh";
my @terminal = "$Sample::build/t/helper/terminal";

sub show {
    my ($content, @words) = @_;
    my ($out, $err, $status) = Sample::run('', $heapsh, '-q', $file{$content}, 'show', @words);
    return wantarray ? ($out, $err, $status) : $out;
}

# The members of the value, without what is said in front of them.
sub members { my ($first, @rest) = split /\n/, $_[0]; return grep { !/^\s+(allocated|backtrace|#)/ } @rest }

# A large structure fits a screen, and shows its own members before those of nested ones.
my $server = show('all', 'server');
my @lines = members($server);
cmp_ok scalar @lines, '<=', 100, 'a screenful of lines';
like $server, qr/^  $_/m, "with $_" for 'port = 8080', 'first = \{', 'point = \{', 'rest = \{', 'name = ', 'last = 7';
like $server, qr/^    … \d+ more \(--all shows them\)$/m, '... and a word on the rest of an array';
my $all = show('all', '--all', 'server');
is scalar(() = $all =~ /^ +c9 = /mg), 41, '--all shows all';
unlike $all, qr/…/, '... without exception';
is Heapsh::ask_json($file{all}, 'show', 'server')->{fields}{rest}[0]{c9}, 99, 'JSON has all anyway';

# An answer that fits is not shortened.
my @many = members(scalar show('all', 'many'));
is scalar @many, 100, 'a hundred members fit into a file';
unlike $many[-1], qr{…}, '... all of them';

# Of the pointers of a table whose type is not known, the first.
my $table = show('all', 'table');
is scalar(() = $table =~ /^  \+[0-9a-fx]+ = struct many at /mg), 16, 'pointers of what has no type';
like $table, qr/^  … 284 more pointers \(--all shows them\)$/m, '... and a word on the others';
is scalar(() = show('all', '--all', 'table') =~ /^  \+[0-9a-fx]+ = struct many at /mg), 300, '... or all';
is scalar @{ Heapsh::ask_json($file{all}, 'show', 'table')->{pointers} }, 300, '... as in JSON';

# On a small terminal it is less.
{
    my ($small) = Sample::run('', @terminal, 'sh', '-c', "stty rows 24; $heapsh -q --color=never $file{all} show server");
    cmp_ok scalar(split /\n/, $small), '<=', 24, 'a screen of 24 lines';
    like $small, qr/^  last = 7\r?$/m, '... with the last member';
    like $small, qr/^    … \d+ more members \(--all\)\r?$/m, '... and a word on the rest of a nested one';
    ($small) = Sample::run('', @terminal, 'sh', '-c', "stty rows 24; $heapsh -q --color=never $file{all} show many");
    like $small, qr/^  b4 = 0\r?\n  … 85 more members \(--all\)\r?$/m, 'more members than there are lines';
}

# Bytes.
my $bytes = join '', map { chr($_ * 7 + 128 & 255) } 0 .. 999;
is show('all', '--raw', 'image'), $bytes, '--raw: all bytes as they are';
my ($kept, $complaint, $status) = show('256', '--raw', 'image');
is $kept, substr($bytes, 0, 256), '... or those that were kept';
is $complaint, "heapsh: 744 of 1000 bytes were not kept (heapsnap run --content all keeps them)\n", '... and a word on the others';
is $status, 0, '... which is no failure';
like show('all', '--hex', 'image'), qr/^  0000  80 87 8e 95 9c a3 aa b1 b8 bf c6 cd d4 db e2 e9  \.+\n/m, '--hex';
like show('all', '--hex', 'image'), qr/^  … 744 more bytes \(--all shows them\)$/m, '... of the first bytes';
is scalar(() = show('all', '--hex', '--all', 'image') =~ /^  [0-9a-f]{4}  /mg), 63, '... or of all';
like show('256', '--hex', 'image'), qr/^  … 744 more bytes, not kept \(heapsnap run --content all keeps them\)$/m, '... as far as they were kept';
like show('all', '--hex', 'server'), qr/^  0000  90 1f 00 00/m, '--hex of what has a type';
like show('all', '--hex', '&server'), qr/^  0000( [0-9a-f]{2}| ){8}/m, '... of a variable';
is length show('all', '--raw', '&server'), 8, '--raw of a variable';
is Heapsh::ask_json($file{all}, 'show', '--raw', 'image')->{bytes}, unpack('H*', $bytes), '... in JSON';
my ($said) = Sample::run('', @terminal, $heapsh, '-q', $file{all}, 'show', '--raw', 'image');
like $said, qr/^heapsh: --raw writes no bytes to a terminal/, '... but not to a terminal';

# Texts that are longer than what was kept.
like show('256', 'text'), qr/"x{256}"…\n  … 744 more bytes, not kept \(heapsnap run --content all keeps them\)$/m, 'a text';
like show('all', 'text'), qr/"x{999}"$/m, '... whole';
done_testing;
