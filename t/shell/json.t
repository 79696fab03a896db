#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Every command in JSON: one value on one line, numbers as numbers, addresses as "0x...".
use strict;
use warnings;
use lib 't/lib';
use Sample;
use JSON::PP;
use List::Util;
use Test::More;

my $file = Sample::make();
my ($true, $false) = (JSON::PP::true, JSON::PP::false);

sub object {
    my ($address, $type, $size, $elements, $evidence, @text) = @_;
    return { address => $address, type => $type, size => $size, elements => $elements,
        evidence => $evidence, @text ? (text => @text) : () };
}
my $date = object('0x5f00100', 'struct date', 12, 1, 'pointer');
my $utility = object('0x5f00200', 'struct utility', 24, 1, 'pointer');
my $slots = object('0x5f00300', 'struct slot[14]', 224, 14, 'pointer');
my $table = object('0x5f00400', 'struct table', 24, 1, 'pointer');
my $hello = object('0x5f00500', 'char[17]', 17, 17, 'pointer', 'hello, world');
my $first_node = object('0x5f01000', 'struct node', 16, 1, 'pointer');
my $ring = object('0x5f01100', 'struct node', 16, 1, 'pointer');
my $leaked = object('0x5f01200', 'struct node', 16, 1, 'vote');
my $block = object('0x5f02300', 'block(48)', 48, 1, 'none');
my $vector = object('0x5f03000', 'struct node *[512]', 4096, 512, 'pointer');
my $popular = {
    kind => 'global', name => 'popular',
    description => 'the global variable popular (cache.c:50, libutility.so)',
    type => 'struct table *', address => '0x7f0000004010', size => 8,
    module => 'libutility.so', file => 'cache.c', line => 50,
};

sub says {
    my ($expected, @command) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    is_deeply Sample::json($file, @command), $expected, "@command";
}

sub edge { my ($field, $interior, $typed) = @_; return (field => $field, interior => $interior, typed => $typed) }

says { objects => [$slots, $table], count => 2, bytes => 248 } => qw(find type table or size 224);
says { objects => [$hello], count => 1, bytes => 17 } => qw(find string hello);
says { objects => [], count => 20, bytes => 4810 } => qw(find --count);
says { objects => [], count => 0, bytes => 0 } => qw(find type nothing);
says [{ type => 'struct node *', objects => 1, bytes => 4096, evidence => 'pointer' }] =>
    qw(count --limit 1);
says [{ module => 'app', objects => 15, bytes => 4478 },
    { module => 'libutility.so', objects => 4, bytes => 284 },
    { module => '(no module)', objects => 1, bytes => 48 }] => qw(count --by module);
says [{ bytes => 4096, object => $vector }] => qw(largest 1);
says [{ retained => 4096, object => $vector }] => qw(largest --retained 1);

says {
    object => $date, leaked => $false,
    held_by => [{ edge('.month', 0, $true), object => $utility,
        held_by => [{ edge('[3].value', 0, $true), object => $slots,
            held_by => [{ edge('.slots', 0, $true), object => $table,
                held_by => [{ edge('', 0, $true), root => $popular }] }] }] }],
} => qw(identify 5f00100);
says {
    object => $date, leaked => $false,
    held_by => [{ edge('.month', 0, $true), object => $utility, end => 'which is held further up' }],
} => qw(identify --depth 0 5f00100);
says { object => $leaked, leaked => $true, held_by => [] } => qw(identify 5f01200);
is Sample::json($file, qw(identify --width 1 5f01020))->{more}, 2, 'identify: how many more';

says [{ root => $popular },
    { edge('', 0, $true), object => $table },
    { edge('.slots', 0, $true), object => $slots },
    { edge('[3].value', 0, $true), object => $utility },
    { edge('.month', 0, $true), object => $date }] => qw(path 5f00100);
says [] => qw(path 5f01200);
is_deeply [map { $_->{object} // $_->{root}{name} } @{ Sample::json($file, qw(inrefs 5f01000)) }],
    ['list', object('0x5f02000', 'struct all', 152, 1, 'declared'), $vector], 'inrefs';
says [{ edge('+0x18', 8, $false), object => $ring }] => qw(outrefs 5f02300);
says { object => $date, own => 12, retained => 12, held_by_object => $utility } =>
    qw(retained 5f00100);
says { object => $table, own => 24, retained => 284, held_by_root => $popular } =>
    qw(retained popular);
says { object => $leaked, own => 16, retained => 0 } => qw(retained 5f01200);
says { types => [{ type => 'struct node', objects => 5, bytes => 80 }], count => 9, own => 144,
    retained_objects => 5, retained => 80 } => qw(retained type node);
my ($lost, @suspects) = @{ Sample::json($file, 'suspects') };
is_deeply [@$lost{qw(kind members path)}], ['leaked', 4, undef], 'a suspect that is leaked';
is_deeply [map { $_->{kind}, $_->{bytes}, $_->{members}, $_->{held_by_object}, $_->{example},
    scalar @{ $_->{path} } } @suspects],
    ['one', 4096, 1, $vector, $vector, 2], 'suspects';
says { both => { objects => 1, bytes => 17 }, first => { objects => 4, bytes => 284 },
    second => { objects => 4, bytes => 200 } } => qw(shared &popular &sample);
is_deeply [map { [@$_{qw(kind rest retained)}] } @{ Sample::json($file, qw(roots --by kind --limit 1)) }],
    [['global variables', undef, 4594], [undef, 'more', 152], [undef, 'leaked', 64]], 'roots --by kind';
my ($joint) = grep { $_->{together} } @{ Sample::json($file, 'roots') };
delete $joint->{per_cent};
is_deeply $joint, { name => 'popular and sample, together: 1 char', together => [qw(popular sample)],
    types => '1 char', retained => 17, retained_objects => 1 }, 'roots: several together';
is List::Util::sum(map { $_->{retained} } @{ Sample::json($file, qw(roots --limit 2)) }),
    Sample::json($file, 'info')->{bytes}, 'roots: rows add up to the heap';
my $tree = Sample::json($file, qw(dominators --depth 2 popular));
is_deeply [@$tree{qw(retained own)}], [284, 24], 'dominators';
is_deeply [@{ $tree->{dominates}[0] }{qw(retained own)}], [260, 224], 'dominators: below';
is_deeply $tree->{dominates}[0]{dominates}[0]{retained}, 36, 'dominators: further below';
my ($root) = grep { ($_->{root}{name} // '') eq 'popular' } @{ Sample::json($file, 'roots') };
is sprintf('%.3f', delete $root->{per_cent}), '5.904', 'roots: per cent';
is_deeply $root, { name => 'the global variable popular (cache.c:50, libutility.so)', retained => 284, retained_objects => 4, reachable => 301,
    reachable_objects => 5, shared => 17, exclusive => 24,
    root => $popular }, 'roots';

says {
    object => object('0x5f00100', 'struct date', 12, 1, 'pointer'),
    site => 'cache_insert (cache.c:88)', born_ns => 1795197601000000000,
    fields => { year => 2026, month => 11, day => 20 },
} => qw(show 5f00100);
my $all = Sample::json($file, qw(show sample))->{fields};
sub points { my ($to, $object) = @_; return { pointer => $to, $object ? (object => $object) : () } }
is_deeply $all, {
    next => points('0x5f01000', $first_node), middle => points('0x5f00507', $hello),
    nothing => points('0x0'), call => points('0x401000'), wild => points('0xdead0000'),
    count => 18446744073709551615, colour => 'BLUE', mode => 'MODE_READ|MODE_EXECUTE', odd => '3',
    ratio => 0.5, balance => -2.25, yes => $true, letter => 10, red => 1, depth => -3,
    label => 'label', scores => [1, 2, -3], size => { width => 640, height => 480 },
    either => { node => points('0x5f01020', object('0x5f01020', 'struct node', 16, 1, 'pointer')),
        number => 99618848 },
    points => [{ x => 1, y => 2 }, { x => 3, y => 4 }],
    width => 11, height => 22,    # of the anonymous structure
}, 'show: every kind of field';
is_deeply Sample::json($file, qw(show 5f02100))->{fields},
    { 'class Shape' => { '_vptr.Shape' => points('0x403010'), id => 17 }, radius => 1.5 },
    'show: a class and its base';
is scalar @{ Sample::json($file, qw(show 5f03000))->{elements} }, 512, 'show: arrays are whole';
is Sample::json($file, qw(show greeting))->{value}, "\e[31mred\n\"\x{ff}\\",
    'show: control characters and what is not UTF-8';
my $raw = Sample::json($file, qw(show 5f02300));
is $raw->{bytes}, '726177206279746573' . '00' x 15 . '0811f00500000000' . '00' x 16, 'show: bytes';
is_deeply $raw->{pointers}, [{ offset => 24, object => $ring }], 'show: their pointers';
is_deeply Sample::json($file, qw(show &nobody))->{value}, points('0x0'), 'show: a variable';

says [{
    thread => 4242, name => 'app', skipped_frames => 0, frames => [
        { function => 'serve', file => 'app.c', line => 30, pc => '0x401200', inlined => $false,
            locals => [{ name => 'ring', type => 'struct node *',
                value => 'struct node at 0x5f01100', object => $ring }] },
        { function => 'main', file => 'app.c', line => 44, pc => '0x401300', inlined => $false,
            locals => [] }],
}, {
    thread => 4243, name => 'worker', skipped_frames => 0, frames => [
        { function => 'poll', file => '', line => 0, pc => '0x7f0000003010', inlined => $false,
            locals => [] }],
}] => 'callstack';
says [{ root => $popular, value => 'struct table at 0x5f00400', object => $table }] =>
    qw(symbols popular);
says [{ type => 'class Circle', size => 24, objects => 1, bytes => 24, members => [
    { name => 'Shape', type => 'class Shape', offset => 0, size => 16, base => $true },
    { name => 'radius', type => 'double', offset => 16, size => 8 }] }] => qw(types Circle);
says [{ type => 'enum colour', size => 4, objects => 0, bytes => 0, members => [
    { name => 'RED', value => 0 }, { name => 'GREEN', value => 1 }, { name => 'BLUE', value => 7 }] }]
    => qw(types colour);
is_deeply Sample::json($file, 'types')->[3], { type => 'struct node', objects => 9, bytes => 144 },
    'types';
my $site = Sample::json($file, 'sites')->[1];
is sprintf('%.3f', delete $site->{per_cent}), '4.948', 'sites: per cent';
is_deeply $site, { site => 'copy_text (text.c:7)', objects => 5, bytes => 238 }, 'sites';
my $info = Sample::json($file, 'info');
is_deeply [@$info{qw(program pid objects bytes typed_objects edges stop_ns content_limit)}],
    ['app', 4242, 20, 4810, 19, 19, 1500000, 256], 'info';
is_deeply $info->{damages}, [{ address => '0x5f05ff0', after => $vector,
    note => 'the block below it has overrun its end' }], 'info: damage';
is_deeply $info->{modules}[1], { path => '/opt/demo/libutility.so', build_id => 'fedcba9876543210',
    debug => '', note => 'no debug information', start => '0x7f0000000000' }, 'info: a module';
is_deeply Sample::json($file, qw(help quit)), { name => 'quit', synopsis => '',
    summary => 'leave the shell', details => "So does the end of the input (^D).\n\n  quit" }, 'help';

# One line for each command, whatever it says.
my ($out, $err, $status) = Sample::run("count\nfind\nfrob\nshow sample\nshow 1\ninfo\nhelp\n",
    "$Sample::build/heapsh", '--json', $file);
my @lines = split /\n/, $out;
is scalar @lines, 5, 'a line for each command that has an answer';
ok eval { JSON::PP->new->utf8->decode($_); 1 }, 'which is JSON' for @lines;
is scalar(() = $err =~ /\n/g), 2, 'what goes wrong is said elsewhere';

# Names come out as they went in, whatever they are made of, and are not escaped for a terminal.
my $hostile = Sample::make('hostile', 1);
my ($end) = Sample::json($hostile, 'info')->{program} =~ /^=app(.*)/s;
like $end, qr/^\e\]0;owned\a\e\[2J\x{9b}31m\x{9b}1m\x{85}\n\r\t\x0b\x08\x7f"'<img .*\|\\%s.*\x{202e}/s,
    'a name that means harm';
is Sample::json($hostile, qw(show 5f00100))->{object}{type}, "struct =date$end", 'a type, as it is';
is join(' ', sort keys %{ Sample::json($hostile, qw(show 5f00100))->{fields} }),
    join(' ', map { "=$_$end" } qw(day month year)), 'members';
is Sample::json($hostile, qw(show 5f00100))->{site}, "=cache_insert$end (" . ("=cache.c$end" =~ s{.*/}{}sr) . ':88)',
    'a place, with the file without its directories';
my ($known) = grep { ($_->{root}{name} // '') eq "=popular$end" } @{ Sample::json($hostile, 'roots') };
is $known->{root}{description},
    "the global variable =popular$end (=cache.c$end:50, " . ("=/opt/demo/libutility.so$end" =~ s{.*/}{}sr) . ')',
    'a description';
is Sample::json($hostile, 'callstack')->[0]{frames}[0]{locals}[0]{type}, "struct =node$end *", 'of a local variable';
done_testing;
