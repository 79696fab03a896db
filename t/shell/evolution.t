#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# heapsh-evolution on a series that is known (make_series in t/helper/sample_snapshot.c).
use strict;
use warnings;
use utf8;
use lib 't/lib';
use Sample;
use Encode qw(decode);
use JSON::PP;
use Test::More;

binmode Test::More->builder->$_, ':utf8' for qw(output failure_output);
my $evolution = "$Sample::build/heapsh-evolution";
my @file = map { Sample::make('series', $_) } 0 .. 4;

sub says {
    my ($out, $err, $status) = Sample::run('', $evolution, @_);
    return (decode('UTF-8', $out), $err, $status);
}

# A node and a block more in each; the char was in the second alone.
my ($out, $err, $status) = says('--width', 40, @file);
is $out, <<'END', 'the chart';
app: bytes by type
     296 B ┤                          C
           │                        CCB
           │                      CCBBB
           │                    CCBBBBB
           │                  CCBBBBBBB
           │                CCCBBBBBBBB
           │              CCCBBBBBBBAAA
           │            CCCBBBBBBBAAAAA
     148 B ┤         DDCCBBBBBBAAAAAAAA
           │       DDCCBBBBBBAAAAAAAAAA
           │     DDCCBBBBBAAAAAAAAAAAAA
           │    DCCBBBBBAAAAAAAAAAAAAAA
           │  DCCBBBBAAAAAAAAAAAAAAAAAA
           │ CCCBBBAAAAAAAAAAAAAAAAAAAA
           │CCBBAAAAAAAAAAAAAAAAAAAAAAA
           │BBAAAAAAAAAAAAAAAAAAAAAAAAA
         0 └───────────────────────────
            0 s            4.0 s
D        0 B →        0 B  char
C       24 B →       24 B  struct table
B       16 B →       80 B  struct node
A        0 B →      192 B  untyped
END
is "$err$status", 0, 'without a complaint';
($out) = says('--csv', @file);
is $out =~ s/^[^",]*\.snap/FILE/gmr, join("\r\n",
    'file,time,untyped,struct node,struct table,char',
    'FILE,1795201201.000,0,16,24,0', 'FILE,1795201202.000,48,32,24,17',
    'FILE,1795201203.000,96,48,24,0', 'FILE,1795201204.000,144,64,24,0',
    'FILE,1795201205.000,192,80,24,0', ''), '--csv';
($out) = says('--csv', '--top', 1, '--objects', '--by', 'kind', @file[0, 4]);
is $out =~ s/^[^",]*\.snap/FILE/gmr, join("\r\n", 'file,time,"struct node, node_new (app.c:12)",2 others',
    'FILE,1795201201.000,1,1', 'FILE,1795201205.000,5,5', ''), 'objects; the others together';

my $json = JSON::PP->new->utf8->decode((Sample::run('', $evolution, '--json', '--by', 'site', @file))[0]);
is $json->{measure}, 'bytes', 'JSON: what is told';
is_deeply [map { $_->{file} } @{ $json->{snapshots} }], \@file, 'JSON: of which';
is_deeply $json->{bands}[0], { name => '0x12345678', values => [0, 48, 96, 144, 192], trend => 'steady' },
    'JSON: a band';
my $roots = JSON::PP->new->utf8->decode((Sample::run('', $evolution, '--json', '--by', 'root', @file[0, 1]))[0]);
is_deeply $roots, { measure => 'retained bytes', bands => [{ name =>
    'the global variable popular (cache.c:50, libutility.so)', values => [24, 24] }],
    snapshots => [map { { file => $file[$_], time_ns => (1795201201 + $_) * 1000000000 } } 0, 1] }, 'by root';
($out) = says('--csv', '--retained', $file[0]);
is $out =~ s/^[^",]*\.snap/FILE/gmr, "file,time,struct table\r\nFILE,1795201201.000,24\r\n", '--retained, of one';

my ($svg) = Sample::run('', $evolution, '--svg', @file);
like $svg, qr/^<svg xmlns=.*<title>struct node<\/title><\/polygon>.*<\/svg>\n\z/s, '--svg';
is scalar(() = $svg =~ /<polygon/g), 4, 'a band for each';
unlike $svg, qr/<script|href/, 'without scripts and links';

# PNG is for rsvg-convert to make.
my $bin = "$Sample::directory/bin";
mkdir $bin;
open my $script, '>', "$bin/rsvg-convert" or die $!;
print $script "#!/bin/sh\necho \"\$@\"; exec wc -l\n";
close $script;
chmod 0755, "$bin/rsvg-convert";
{
    local $ENV{PATH} = "$bin:$ENV{PATH}";
    ($out, $err, $status) = says('--png', @file);
    like $out, qr/^--format=png --zoom=2\n\s*\d\d\n\z/, '--png by rsvg-convert';
    local $ENV{PATH} = $bin;
    unlink "$bin/rsvg-convert";
    ($out, $err, $status) = says('--png', @file);
    is "$status $out", '2 ', '--png without it';
    like $err, qr/^heapsh-evolution: --png: there is no rsvg-convert \(of librsvg\); --svg needs none$/m, 'says so';
}

# Colours.
($out) = says('--color=always', '--width', 30, @file);
like $out, qr/\x1b\[38;5;33m[▁▂▃▄▅▆▇█]/, 'colours';

# Snapshots of two programs, as by *.snap: said once.
my @others = map { Sample::make('hostile', 'name') } 1, 2;
($out, $err, $status) = says(@file, @others);
is $status, 0, 'two programs';
like $err, qr/\Aheapsh-evolution: \Q$others[0]\E: of another program than the first: xapp[^\n]*, not app\n\z/, '... one line says so';
($out, $err) = says('--quiet', @file, @others);
is $err, '', '... unless --quiet';

# Impossible requests.
my ($usage) = says('--help');
for (['--by', 'size', '--by size: not kind, type, site, module or root'], ['--top', '0', '--top 0: not a number from 1 to 25'],
    ['--width', '3', '--width 3: not a number from 26 to 1000'], ['--x', 'y', '--x y: not time or number'],
    ['--color', 'x', '--color x: not auto, always or never']) {
    ($out, $err, $status) = says($_->[0], $_->[1], @file);
    is "$status: $out$err", "2: heapsh-evolution: $_->[2]\n$usage", "$_->[0] $_->[1]";
}
is join('|', says()), "|$usage|2", 'no files';
($out, $err, $status) = says("$file[0].none");
is "$status: $out$err", "2: heapsh-evolution: $file[0].none: No such file or directory\n", 'no such file';
done_testing;
