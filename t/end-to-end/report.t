#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The report page in a browser: a series of the demo's snapshots, from a suspect to a path by mouse
# and by keys, and the numbers that heapsh says. Nothing may complain or be asked from elsewhere.
use strict;
use warnings;
use lib 't/lib';
use utf8;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use JSON::PP;
use Browser;
use Heapsh;
use Test::More;

if (my $why = Browser::missing()) {
    plan skip_all => $why unless ($ENV{CI} // '') eq 'true';
    plan tests => 1;
    fail($why);
    exit 1;
}
binmode Test::More->builder->$_, ':utf8' for qw(output failure_output todo_output);

my $build = $Heapsh::build;
my $directory = tempdir(CLEANUP => 1);
$ENV{BUILD} = $build;
system("scripts/demo $directory >/dev/null 2>&1") == 0 or die 'the demo failed';
my @file = map { "$directory/demo-0$_.snap" } 0 .. 2;
my $html = "$directory/report.html";
is system("$build/heapsh-report", '-q', '-o', $html, @file), 0, 'heapsh-report';

sub json { return Heapsh::ask_json($file[-1], @_) }

sub bytes {
    my ($bytes) = @_;
    my @unit = qw(B KiB MiB GiB);
    my $unit = 0;
    for (; $bytes >= 1024; $unit++) { $bytes /= 1024 }
    return sprintf($unit ? '%.1f %s' : '%d %s', $bytes, $unit[$unit]);
}

sub number {
    my ($number) = @_;
    return $number =~ s/(?<=\d)(?=(?:\d{3})+$)/ /gr;
}

my $page = Browser->open("file://$html");
cmp_ok $page->{loaded} - $page->{loading}, '<', 20, 'it opens';
is $page->ask('document.title'), 'The heap of demo', 'title';
is $page->ask('document.documentElement.dataset.drawn'), 'yes', 'it is drawn to its end';

# --- numbers ---

my $info = json('info');
is $page->ask('Number(document.getElementById("total-bytes").dataset.bytes)'), $info->{bytes}, 'bytes';
is $page->text('#total-bytes'), bytes($info->{bytes}), 'bytes as text';
is $page->text('#total-objects'), $info->{objects}, 'objects';

# The texts of a table's rows: the first cells, and the last as its name.
sub rows {
    my ($id) = @_;
    return $page->ask("[...document.querySelectorAll('#$id tbody tr:not(.opened)')]"
        . ".map((row) => [...row.cells].map((cell) => cell.textContent))");
}

my $whole = $info->{bytes};
my %retained = map { $_->{name} => $_->{values}[-1] }
    @{ decode_json(scalar `$build/heapsh-evolution --json --retained @file`)->{bands} };
is_deeply rows('types-table'),
    [map { [number($_->{objects}), bytes($_->{bytes}), sprintf('%.1f %%', 100 * $_->{bytes} / $whole),
        bytes($retained{ $_->{type} }), $_->{type}] } @{ json('count') }], 'types as count has them';
$page->click('#types .choice button:nth-child(2)');
is_deeply [map { [@$_[0, 1, 4]] } @{ rows('sites-table') }],
    [map { [number($_->{objects}), bytes($_->{bytes}), $_->{site}] } @{ json('count', '--by', 'site') }],
    'sites as count --by site has them';
is_deeply [map { [@$_[0, 2 .. 5]] } @{ rows('roots-table') }],
    [map { [bytes($_->{retained}),
        defined $_->{reachable} ? (bytes($_->{reachable}), number($_->{reachable_objects}), bytes($_->{exclusive}))
            : ('', '', ''), $_->{name}] } @{ json('roots') }], 'roots as roots has them';
my @suspect = @{ json('suspects') };
is $page->ask('document.querySelectorAll(".suspect").length'), scalar @suspect, 'suspects';
for my $i (0 .. $#suspect) {
    is $page->ask("Number(document.getElementById('suspect-$i').dataset.bytes)"), $suspect[$i]{bytes},
        "suspect $i: bytes";
    is $page->text("#suspect-$i strong"), sprintf('%.1f %%', $suspect[$i]{per_cent}), "suspect $i: share";
}

my $leaks = decode_json(scalar `$build/heapsh-leakreport -q --json @file`);
is_deeply [map { [@$_[0, 1]] } @{ rows('leaks-table') }],
    [map { [number($_->{objects}), bytes($_->{bytes})] } @{ $leaks->{summary} }], 'leaks as heapsh-leakreport has them';
like rows('leaks-table')->[0][3], qr/^$leaks->{summary}[0]{trend}{judgement} /, 'and their growth';

my $evolution = decode_json(scalar `$build/heapsh-evolution --json @file`);
is_deeply [map { [@$_[0 .. 2]] } @{ rows('evolution-table') }],
    [map { [$_->{name}, map { bytes($_) } @{ $_->{values} }[0, -1]] } @{ $evolution->{bands} }],
    'the evolution as heapsh-evolution has it';
is $page->ask('document.querySelectorAll("#evolution .area").length'), scalar @{ $evolution->{bands} },
    'and an area for each';

$page->click('#evolution .choice button:nth-child(3)');
my $by_root = decode_json(scalar `$build/heapsh-evolution --json --by root @file`);
my @band = grep { $_->{name} =~ /^the global/ } @{ $by_root->{bands} };
is_deeply [map { [@$_[0 .. 2]] } grep { $_->[0] =~ /^the global/ } @{ rows('evolution-table') }],
    [map { [$_->{name}, map { bytes($_) } @{ $_->{values} }[0, -1]] } @band], 'by root, too';
$page->ask('document.querySelector("#evolution .areas").dispatchEvent(new PointerEvent("pointermove", '
    . '{ clientX: innerWidth - 70, clientY: 300 }))');
like $page->text('#tip'), qr/demo-02\.snap.*together\Q${\bytes($whole)}\E$/, 'and what the pointer points at is told';

# The tree from its top: roots retain what dominators says; the rest is held by several.
my @top = @{ json('dominators')->{dominates} };
my %held = map { $_->[4] =~ s/ (object|largest)$//r => $_->[0] } @{ rows('holdings-table') };
for my $root (grep { $_->{root} } @top) {
    is $held{ $root->{root}{description} }, bytes($root->{retained}), "$root->{root}{name} holds that much";
}
is $page->ask('[...document.querySelectorAll("#map .cell")].filter((cell) => cell.ariaLevel === "2")'
    . '.reduce((sum, cell) => sum + Number(cell.dataset.bytes), 0)'), $whole, 'and all of it together is the heap';

# --- from a suspect to a path ---

$page->click('#suspect-0 .ways a');
$page->wait_until('!document.getElementById("object").hidden');
my $example = $suspect[0]{example};
my $retained = json('retained', $example->{address});
is $page->text('#object h2'), "$example->{type} at $example->{address}", 'its example is shown';
is $page->ask('Number(document.querySelector("#object dd[data-bytes]").dataset.bytes)'), $retained->{retained},
    'with what it retains';
my @path = split /\n/, scalar Heapsh::ask($file[-1], 'path', $example->{address});
utf8::decode($_), s/^ +// for @path;
is_deeply $page->ask('[...document.querySelectorAll("#object .path:first-of-type li")].map((line) => line.textContent)'), \@path,
    'and a path, as path says it';
my @field = map { /^  (\w+) = (.*)/ ? [$1, $2] : () } Heapsh::ask($file[-1], 'show', $example->{address});
is_deeply $page->ask('[...document.querySelectorAll("#object .fields tr")].map((row) => [row.cells[0].textContent, '
    . 'row.cells[1].textContent])'), \@field, 'and its fields, as show has them';

my @call = map { /^ {4}#\d+ +(.*)/ ? $1 : () } Heapsh::ask($file[-1], 'show', $example->{address});
cmp_ok scalar @call, '>', 1, 'there is a backtrace';
is_deeply $page->ask('[...document.querySelectorAll("#object .calls li")].map((line) => line.textContent)'), \@call,
    'which is shown';

$page->click('#object .path a');
$page->wait_until('document.querySelector("#object h2").textContent.startsWith("struct table")');
pass 'on to what holds it';
$page->ask('history.back()');
$page->wait_until('document.querySelector("#object h2").textContent.startsWith("struct utility")');
pass 'and back';
$page->press('Escape');
ok $page->ask('document.getElementById("object").hidden'), 'Escape closes it';

# --- a type's examples ---

$page->click('#types .choice button:nth-child(1)');
$page->click('#types-table tr[data-name="struct session"] .opener');
is $page->ask('document.querySelectorAll("#types-table .examples li").length'), 3, 'a type opens to examples';
$page->click('#types-table .examples a');
$page->wait_until('!document.getElementById("object").hidden');
like $page->text('#object .fields'), qr/state = HUNG_UP|stateHUNG_UP/, 'and to their fields';
$page->press('Escape');

# --- search, by keys ---

$page->press('/');
$page->type('hung_up');
$page->wait_until('document.querySelectorAll("#found [role=option]").length > 0');
$page->press('Enter');
$page->wait_until('!document.getElementById("object").hidden');
like $page->text('#object h2'), qr/^struct session at 0x/, 'the search knows values';
$page->press('Escape');
$page->press('/');
$page->ask('document.getElementById("search").select()');
$page->type($example->{address});
$page->press('Enter');
$page->wait_until('!document.getElementById("object").hidden');
is $page->text('#object h2'), "$example->{type} at $example->{address}", 'and addresses';
$page->press('Escape');

# --- the map, by keys ---

$page->press('m');
is $page->ask('document.activeElement.dataset.name'), 'the heap', 'm goes to the map';
$page->press('ArrowDown');
$page->press('Enter');
my $root = $page->text('#holdings .trail b');
is $root, 'global variable popular', 'Enter goes in';
is_deeply [map { [@$_[0, 3]] } @{ rows('holdings-table') }], [[bytes($top[0]{retained}), 1]], 'to what it holds';
$page->press('ArrowDown');
$page->press('Enter');
is $page->text('#holdings .trail b'), 'struct table', 'and further';
$page->press('Backspace');
$page->press('Backspace');
is $page->text('#holdings .trail b'), 'the heap', 'Backspace goes out';
my $cells = $page->ask('document.querySelectorAll("#map .cell").length');
$page->click('#holdings .choice button:nth-child(2)');
ok $page->ask('document.getElementById("map").classList.contains("icicle")'), 'an icicle';
cmp_ok $page->ask('document.querySelectorAll("#map .cell").length'), '>=', $cells, 'has all of it, too';

# --- light and dark ---

my $light = $page->ask('getComputedStyle(document.body).backgroundColor');
$page->press('t');
my $dark = $page->ask('getComputedStyle(document.body).backgroundColor');
isnt $dark, $light, 't: dark';
my $other = Browser->open("file://$html", dark => 1, width => 420);
is $other->ask('getComputedStyle(document.body).backgroundColor'), $dark, 'dark where the browser prefers it';
is $other->ask('document.documentElement.scrollWidth'), 420, 'nothing sticks out of a narrow window';

# --- paper, quiet, one snapshot ---

like $page->pdf, qr/\A%PDF-/, 'it can be printed';
is_deeply [$page->complaints, $other->complaints], [], 'no complaint on the console';
is_deeply [$page->requests, $other->requests], [("file://$html") x 2], 'nothing is asked for but the page';
my $said = Heapsh::ask($file[1], 'report', '-o', $html);
is $said, "$html: " . bytes(-s $html) . "\n", 'report in the shell';
my $one = Browser->open("file://$html");
is $one->ask('document.getElementById("evolution")'), undef, 'of one snapshot there is no evolution';
is $one->ask('document.querySelectorAll(".suspect").length'), scalar @{ Heapsh::ask_json($file[1], 'suspects') },
    'but suspects';
is_deeply [$one->complaints], [], 'and no complaint';
done_testing;
