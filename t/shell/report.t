#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# heapsh-report and `report`: what they write, without a browser; t/end-to-end/report.t has one.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use JSON::PP;
use Sample;
use Test::More;

my $report = "$Sample::build/heapsh-report";
my $usage = "usage: heapsh-report [-q|--quiet] [--conservative] [-o|--output FILE] FILE...\n";
my $html = "$Sample::directory/page.html";

sub answers {
    my ($name, $arguments, $out, $err, $status) = @_;
    is_deeply [Sample::run('', $report, @$arguments)], [$out, $err, $status], $name;
}

# The data of a page; checks what all pages have.
sub data {
    my ($name) = @_;
    my $page = Sample::content($html);
    my ($data) = $page =~ m{<script type="application/json" id="data">(.*?)</script>}s;
    ok defined $data, "$name: data";
    unlike $data, qr/</, "$name: nothing in it ends the script";
    unlike $page, qr/\@[\w.-]+\@/, "$name: all parts are there";
    is scalar(() = $page =~ m{</script>}g), 5, "$name: and end where they should";
    unlike $page, qr{(?:src|href)=["']?(?:https?:)?//}, "$name: nothing from elsewhere";
    return JSON::PP->new->utf8->decode($data);
}

# Invariants of any data: numbers of objects are of objects, holdings add up.
sub check {
    my ($data) = @_;
    my $objects = @{ $data->{objects} };
    my @number = (@{ $data->{largest} }, map { @{ $_->{examples} || [] } } @{ $data->{types} }, @{ $data->{sites} });
    push @number, grep { defined } map { @$_{qw(example place)} } @{ $data->{suspects} }, @{ $data->{unreachable} }, @{ $data->{holdings} },
        @{ ($data->{leaks} || {})->{groups} || [] };
    my @below = map { 0 } @{ $data->{holdings} };
    my $last = 0;
    for my $i (1 .. $#below) {
        my $holding = $data->{holdings}[$i];
        return "holding $i has no parent before it" unless $holding->{parent} < $i;
        $below[$holding->{parent}] += $holding->{bytes};
    }
    for my $i (0 .. $#below) {
        my $holding = $data->{holdings}[$i];
        return "holding $i is less than what is in it" if $below[$i] + $holding->{own} > $holding->{bytes};
    }
    return 'the holdings are not the heap' if $data->{holdings}[0]{bytes} != $data->{totals}{bytes};
    return 'an object that is not there' if grep { $_ >= $objects } @number;
    return '';
}

# --- misuse ---

answers 'no file', [], '', "heapsh-report: no snapshot\n$usage", 2;
answers 'no such option', ['--png', 'x'], '', "$report: unrecognized option '--png'\n$usage", 2;
answers 'no such file', ["$Sample::directory/none"], '',
    "heapsh-report: $Sample::directory/none: No such file or directory\n", 2;
my $file = Sample::make();
answers 'nowhere to write', ['-o', "$Sample::directory/none/page.html", $file], '',
    "heapsh-report: $Sample::directory/none/page.html: No such file or directory\n", 2;
answers 'a full disk', ['-o', '/dev/full', $file], '',
    "heapsh-report: /dev/full: No space left on device\n", 2;
answers 'help', ['--help'], $usage, '', 0;

# --- one snapshot ---

my ($out, $err, $status) = Sample::run('', $report, '-o', $html, $file);
like $out, qr{\A\Q$html\E: \d+\.\d KiB\n\z}, 'says what it has written';
is "$err$status", '0', 'and nothing else';
my $data = data('one');
is check($data), '', 'one: sound';
my $info = Sample::json($file, 'info');
is $data->{totals}{$_}, $info->{$_}, "one: $_" for qw(objects bytes typed_objects typed_bytes);
is $data->{totals}{pointers}, $info->{edges}, 'one: pointers';
my $leaked = Sample::json($file, 'find', '--count', 'leaked');
is $data->{totals}{unreachable_objects}, $leaked->{count}, 'one: unreachable objects';
is $data->{totals}{unreachable_bytes}, $leaked->{bytes}, 'one: unreachable bytes';
is_deeply [map { [@$_{qw(retained reachable exclusive)}, $_->{name}] } @{ $data->{roots} }],
    [map { [@$_{qw(retained reachable exclusive)}, $_->{name}] } @{ Sample::json($file, 'roots', '--all') }],
    'one: roots';
is_deeply [map { [@$_{qw(direct_objects direct_bytes indirect_objects indirect_bytes circles name)}] } @{ $data->{unreachable} }],
    [map { [@$_{qw(direct_objects direct_bytes indirect_objects indirect_bytes circles)}, "$_->{type}, $_->{site}"] }
        @{ Sample::json($file, 'leaks')->{groups} }], 'one: what is leaked as leaks has it';
is $data->{leaks}, undef, 'one: nobody can tell what leaks';
for my $object (@{ $data->{objects} }) {
    my ($show) = Sample::heapsh($file, 'show', $object->{address});
    my ($path) = Sample::heapsh($file, 'path', $object->{address});
    utf8::decode($_) for $show, $path;
    $path = undef if $path =~ /leaked$/;
    my $first = ($object->{paths} || [])->[0];
    is $object->{show}, $show =~ s/\A.*\n//r, "$object->{name}: as show has it";
    is $first, $path, "$object->{name}: as path has it";
}

# --- in the shell ---

my ($page) = Sample::content($html);
is_text($file, "report -o $html", "$html: " . sprintf("%.1f KiB\n", (-s $html) / 1024));
is Sample::content($html), $page, 'report in the shell writes the same page';
my @series = map { Sample::make('series', $_) } 0 .. 4;
is_deeply [Sample::run('', "$Sample::build/heapsh", '-q', '--json', @series, 'report', "--output=$html")],
    [qq({"file":"$html","bytes":@{[-s $html]}}\n), '', 0], 'and so it does of a series';
$page = Sample::content($html);
is_deeply [Sample::run('', $report, '-q', @series, '-o', $html)], ['', '', 0], 'heapsh-report of it';
is Sample::content($html), $page, 'is the same, too';
fails_with($file, 'report x', 'heapsh: x is one word too many; usage: report [-o|--output FILE]', 2);

# --- a series ---

$data = data('series');
is check($data), '', 'series: sound';
is_deeply [map { $_->{objects} } @{ $data->{snapshots} }], [2, 5, 6, 8, 10], 'series: objects';
is_deeply [map { [@$_{qw(name objects bytes judgement)}] } @{ $data->{leaks}{groups} }],
    [['block(48), 0x12345678', 3, 144, 'steady growth'], ['struct node, node_new (app.c:12)', 3, 48, 'steady growth']],
    'series: leaks';
my ($node) = grep { $_->{name} eq 'struct node' } @{ $data->{evolution}{types} };
is_deeply $node, { name => 'struct node', objects => [1 .. 5], bytes => [map { 16 * $_ } 1 .. 5] }, 'series: evolution';
answers 'out of order', ['-q', '-o', $html, @series[1, 0]], '', "heapsh-report: $series[0]: not later than the one before\n", 2;

# A long one is thinned out, and a large one bounded: the page stays small.
my @long = map { Sample::make('flat', $_) } 0 .. 419;
is_deeply [Sample::run('', $report, '-q', @long, '-o', $html)], ['', '', 0], 'a long series';
$data = data('long');
is check($data), '', 'long: sound';
is_deeply [$data->{files}, scalar @{ $data->{snapshots} }], [420, 400], 'long: not all are told';
my $minute = $data->{snapshots}[1]{time_ms} - $data->{snapshots}[0]{time_ms};
is $data->{snapshots}[-1]{time_ms}, $data->{snapshots}[0]{time_ms} + 419 * $minute, 'long: but the first and the last';
is_deeply [map { scalar @{ $_->{bytes} } } @{ $data->{evolution}{types} }], [400], 'long: evolution';
unlink @long;
my $large = "$Sample::directory/large.snap";
system("$Sample::build/t/bench/generate -n 100000 -c 64 -w -o $large >/dev/null") == 0 or die 'generate failed';
is_deeply [Sample::run('', $report, '-q', $large, '-o', $html)], ['', '', 0], 'a large one';
$data = data('large');
is check($data), '', 'large: sound';
is scalar(@{ $data->{objects} }), 700, 'large: as many objects as there is room for';
for my $object (@{ $data->{objects} }[0, 100, 200, 300]) {
    my ($path) = Sample::heapsh($large, 'path', $object->{address});
    is $object->{paths} && scalar(() = ($object->{paths}[0] // 'leaked') =~ /→/g),
        scalar(() = do { utf8::decode($path); $path } =~ /→/g), "$object->{name}: a way as short as path says";
}
cmp_ok -s $html, '<', 2 << 20, 'large: the page is small';
unlink $large;

# --- nothing, and what makes no sense ---

is_deeply [Sample::run('', $report, '-q', '-o', $html, Sample::make('empty'))], ['', '', 0], 'an empty heap';
is check(data('empty')), '', 'empty: sound';
my ($written, @bad) = (0);
for my $seed (1 .. 60) {
    my $wild = Sample::make('wild', $seed);
    local $SIG{ALRM} = sub { die "seed $seed: no end\n" };
    unlink $html;
    alarm $Heapsh::patience;
    ($out, $err, $status) = Sample::run('', $report, '-q', '-o', $html, $wild);
    alarm 0;
    push @bad, "seed $seed: status $status\n$err" unless $status =~ /^[02]$/;
    if ($status eq '0') {
        $written++;
        my ($text) = Sample::content($html) =~ m{id="data">(.*?)</script>}s;
        my $wrong = eval { check(JSON::PP->new->utf8->decode($text)) } // $@;
        push @bad, "seed $seed: $wrong" if $wrong;
    }
    unlink $wild;
}
is_deeply \@bad, [], 'snapshots that make no sense are refused, or told';
cmp_ok $written, '>', 30, 'many of them are told';
done_testing;
