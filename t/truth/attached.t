#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Types in programs that nobody prepared: heapsnap attach knows neither sites nor requested sizes, so
# that pointers, classes and content are all the evidence. What that names must be right.
use strict;
use warnings;
use lib 't/truth';
use Judge;
use JSON::PP;
use Test::More;

$Judge::attached = 1;
my $table = Judge::heading();
# The per cent of objects that get a type. regions: only void pointers lead to most. votes: only void pointers lead to crews and jobs, and the links of jobs are those of timers, too.
# casts: two structs that nothing tells apart.
# cells: numbers lead to texts, half of which have a single character.
# clauses: references that are cut off.
# cabinets, lookups: nothing but code tells of values that other structs are like.
# matches: nothing leads to nodes.
# objects: only void pointers lead to texts.
# orphans: nothing leads to any.
# codecs: a struct of numbers alone.
# forgotten: lists and trees have the same pointers, tickets and parcels the same members, and a struct of texts is an array.
# futures: results of numbers alone may be anything.
# heads: void pointers lead to the bodies of texts and maps.
# indexes: nothing but the nodes of libc's trees leads to most.
# letters: only void pointers lead to records.
# pieces: only void pointers lead to large texts.
# plugins: numbers alone could be points as well.
# queries: nothing but functions that cast their parameter without a variable tells of constants.
# statements: nothing tells numbers of a union apart.
# stash: nothing tells what bytes of a union hold.
# thirds: only numbers lead to numbers.
# tries: nothing tells what flagged pointers lead to.
# versions: nothing tells a number behind a header from one in a struct.
# windows: numbers lead to customers.
my %least = (
    accounted => 100,
    agents => 100,
    alarms => 100,
    bank => 98.5,
    baskets => 100,
    boxed => 99.9,
    boxes => 99.9,
    branches => 100,
    btree => 90,
    cabinets => 100,
    cache => 95,
    callables => 100,
    capacities => 100,
    captions => 99.9,
    casts => 85,
    catalog => 84,
    cells => 60,
    chains => 99,
    chunks => 99.4,
    classes => 95,
    clauses => 79,
    codecs => 99.2,
    collector => 95,
    daemon => 99.9,
    dictionaries => 100,
    depot => 99.9,
    drawing => 99.9,
    emitters => 99.7,
    engine => 100,
    erased => 95,
    estates => 99,
    expressions => 100,
    extensions => 99,
    faces => 100,
    filters => 100,
    forgotten => 86,
    fragments => 100,
    flat => 99.9,
    front => 97,
    futures => 94,
    generic => 99,
    grammars => 100,
    grids => 100,
    growing => 96.5,
    handles => 99,
    headed => 100,
    heads => 60,
    hierarchy => 95,
    history => 98,
    index => 50,
    indexes => 23,
    interpreter => 90,
    ir => 95,
    island => 100,
    items => 99.5,
    json => 99.9,
    kv => 70,
    labels => 100,
    leaks => 90,
    letters => 50,
    levels => 100,
    links => 99,
    lisp => 19,
    lowering => 99,
    lookups => 100,
    macros => 99.9,
    mailer => 99.9,
    markup => 99.9,
    messages => 100,
    mislaid => 100,
    matches => 96,
    models => 99,
    notebooks => 99.6,
    notes => 99,
    objects => 98.5,
    optimizer => 80,
    orphans => 0,
    parcels => 100,
    parser => 95,
    patterns => 99,
    pieces => 50,
    playlists => 100,
    plugins => 99.4,
    portfolios => 100,
    ports => 100,
    queries => 82,
    radix => 65,
    recycled => 90,
    regex => 95,
    regions => 33,
    registries => 100,
    registry => 100,
    remains => 99.9,
    repeated => 100,
    ropes => 100,
    rosters => 100,
    rules => 100,
    script => 99,
    sections => 95,
    sessions => 95,
    shapes => 95,
    sheet => 100,
    shelves => 95,
    signals => 100,
    slices => 99.5,
    slots => 98,
    solver => 99,
    stash => 69,
    statements => 94.5,
    storage => 100,
    store => 95,
    tables => 99.9,
    telegrams => 100,
    thin => 100,
    thirds => 0,
    timelines => 100,
    toolkit => 99.9,
    topics => 99.9,
    torrents => 100,
    transactions => 99,
    tries => 33,
    values => 95,
    umlauts => 100,
    variants => 95,
    versions => 96,
    votes => 0,
    widgets => 99.5,
    wards => 100,
    wide => 100,
    windows => 70,
    words => 100,
    workers => 99,
    worlds => 100,
);
# What is right of these, where it is less than of others. rosters: the number of an array with one element could as
# well count references to a struct.
my %right = (rosters => 99);
$right{growing} = 99;    # stale pointers behind the last element
$right{notebooks} = 98.9;    # likewise
$right{$_} = 100 for qw(registries timelines worlds);
$right{parcels} = 100;    # texts behind a header are no more of these
$right{forgotten} = 100;    # what leaked has no type rather than a wrong one
$right{matches} = 100;    # frames lead to a match, and have the variable of a node
$right{faces} = 95.8;    # a chunk may be larger than the struct with which another begins
$right{codecs} = 99;    # buffers of bytes lead to a struct
$right{statements} = 99.4;    # numbers read as texts
$right{umlauts} = 99;    # likewise, and texts as numbers
$right{sessions} = 100;    # words of earlier calls in frames lead to packets
$right{$_} = 100 for qw(indexes patterns pieces);
# And of the parts of blocks that it cuts up.
my %least_parts = ((map { $_ => 99.5 } qw(chains links pieces slices widgets)), slots => 99, solver => 89);
# Judges a program of which so many per cent of the objects have a type. @return the result, or undef
sub judge {
    my ($name, $variant, $least) = @_;
    my $result = eval { Judge::program($name, $variant) };
    ok $result, "$name.$variant: attached" or diag $@;
    return unless $result;
    $table .= Judge::row("$name.$variant", $result);
    my ($covered) = Judge::coverage($result);
    my ($precise) = Judge::precision($result);
    cmp_ok $covered, '>=', $least, "$name.$variant: objects that have a type, per cent";
    cmp_ok $precise, '>=', $right{$name} // 99.5, "$name.$variant: typed objects of the right type, per cent";
    return $result;
}

for my $name (sort keys %least) {
    my $result = judge($name, 'gcc-O2', $least{$name});
    next unless $result && $least_parts{$name};
    cmp_ok +(Judge::parts($result))[0], '>=', $least_parts{$name}, "$name: parts that have their type, per cent";
    cmp_ok +(Judge::parts($result))[1], '>=', 99.9, "$name: typed parts of the right type, per cent";
}

# Blocks that are cut up are not among those without a type, even if none of their parts is known.
{
    my $snapshot = Judge::path('solver', 'gcc-O2', 'snap');
    my ($all, $untyped) = map {
        my ($row) = grep { $_->{type} eq '(untyped)' } @{ decode_json(`$Judge::build/heapsh --quiet --json $snapshot count $_`) };
        $row->{objects};
    } '', 'untyped';
    is $all, $untyped, 'solver: as many blocks without a type among all as are found';
}

# operator new[] is in the program itself.
judge('playlists', 'gcc-O2-static', 100) if -x "$Judge::where/playlists.gcc-O2-static";

# Functions begin anywhere where gcc does not optimize, so that callbacks are no multiples of 8.
for my $name (qw(cabinets lookups tables toolkit workers)) {
    judge($name, 'gcc-O0', $least{$name});
}
# A variable may be in one register for all of an inlined call, and only there.
# Code of one job is no evidence of what another one gets.
judge('futures', 'clang-O2', $least{futures}) if -x "$Judge::where/futures.clang-O2";
# Its variables are in the frame by the stack pointer.
judge('lookups', 'clang-O2', $least{lookups}) if -x "$Judge::where/lookups.clang-O2";
# Tables in static memory, whose address is a constant in programs that are not moved.
for my $variant (qw(gcc-O0 clang-O2 gcc-O2-fixed)) {
    judge('wards', $variant, $least{wards}) if -x "$Judge::where/wards.$variant";
}
# And clang puts static memory in place of blocks, and static pointers of one function in registers.
for my $name (qw(depot island toolkit)) {
    judge($name, 'clang-O2', 99.9) if -x "$Judge::where/$name.clang-O2";
}

# Without debug information and symbols, too, the containers in memory tell their parts. store logs none of these.
my %least_bare = (engine => 65, shapes => 80, shelves => 75, store => 0, editor => 65, mail => 75, routes => 50);
for my $program (grep { $_->[1] =~ /O2-stripped/ && defined $least_bare{ $_->[0] } } Judge::bare()) {
    my ($name, $variant) = @$program;
    my $result = eval { Judge::program($name, $variant) };
    ok $result, "$name.$variant: attached" or diag $@;
    next unless $result;
    $table .= Judge::row("$name.$variant", $result);
    my ($covered) = Judge::coverage($result);
    my ($precise) = Judge::precision($result);
    cmp_ok $covered, '>=', $least_bare{$name}, "$name.$variant: objects that have a type, per cent";
    # mail has texts in vectors of bytes.
    cmp_ok $precise, '>=', $name eq 'mail' ? 98.5 : 99.5, "$name.$variant: typed objects of the right type, per cent";
}
diag "\n$table";
done_testing;
