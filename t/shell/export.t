#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Exports for other tools: every format, of snapshots that are known to the last byte, read by
# readers of our own here and by those tools' in readers.t.
use strict;
use warnings;
use lib 't/lib';
use Protobuf;
use Sample;
use Compress::Zlib qw(memGunzip);
use JSON::PP;
use Test::More;
use Tools;

my $typed = Sample::make('typed');
my $sample = Sample::make();
my $directory = $Sample::directory;
my $heapsh_export = "$Sample::build/heapsh-export";

sub export {
    my ($snapshot, $format, @options) = @_;
    my ($out, $err, $status) = Sample::run('', $heapsh_export, @options, '--format', $format, '-o', '-', $snapshot);
    is "$status$err", '0', join ' ', $format, @options;
    return $out;
}

# --- stacks ----------------------------------------------------------------------------------

my %stack = (
    'main;add;node_new;xmalloc;struct node' => [3, 48],
    'main;serve;cache_insert;struct node' => [1, 64],
    'main;serve;cache_insert;struct table' => [1, 24],
    'main;serve;cache_insert;grow;struct slot[]' => [1, 64],
    'copy_text;(untyped)' => [1, 256],
    '0x12345678;(untyped)' => [4, 112],
);
is_deeply { map { /^(.*) (\d+)$/ ? ($1 => $2) : () } split /\n/, export($typed, 'collapsed') },
    { map { $_ => $stack{$_}[1] } keys %stack }, 'collapsed stacks';
is export($typed, 'collapsed', '--by', 'owners'), <<'END', 'along owners';
(list and pool, together);struct node 48
global variable popular (cache.c:50, libutility.so);struct table 24
global variable popular (cache.c:50, libutility.so);struct table;struct slot[] 64
global variable pool (app.c:6, app);pool from copy_text (text.c:7) 80
global variable header (app.c:7, app);struct node 64
unnamed data of app;block(48) from 0x12345678 48
unnamed data of app;block(48) from 0x12345678;block(24) from 0x12345678 24
unnamed data of app;block(48) from 0x12345678;block(24) from 0x12345678;block(16) from 0x12345678 16
(leaked);block(24) from 0x12345678 24
global variable pool (app.c:6, app);pool from copy_text (text.c:7);struct node 48
global variable pool (app.c:6, app);pool from copy_text (text.c:7);struct node[] 64
global variable pool (app.c:6, app);pool from copy_text (text.c:7);struct date 64
END

my $scope = JSON::PP->new->utf8->decode(export($typed, 'speedscope'));
is $scope->{'$schema'}, 'https://www.speedscope.app/file-format-schema.json', 'speedscope: its schema';
my @names = map { $_->{name} } @{ $scope->{shared}{frames} };
for my $i (0, 1) {
    my $profile = $scope->{profiles}[$i];
    my %found;
    for my $j (0 .. $#{ $profile->{samples} }) {
        $found{ join ';', @names[@{ $profile->{samples}[$j] }] } = $profile->{weights}[$j];
    }
    is_deeply \%found, { map { $_ => $stack{$_}[1 - $i] } keys %stack }, "speedscope: $profile->{name}";
    is $profile->{endValue}, [568, 11]->[$i], 'and their sum';
}
is_deeply $scope->{shared}{frames}[1], { name => 'main', file => 'app.c', line => 44 }, 'places';

# --- pprof, by a decoder of Protocol Buffers -------------------------------------------------

my @profile = fields(memGunzip(export($typed, 'pprof')));
my @text = all(6, @profile);
is $text[0], '', 'pprof: the first string is empty';
is join(' ', map { my @f = fields($_); "$text[one(1, @f)]/$text[one(2, @f)]" } all(1, @profile)),
    'inuse_objects/count inuse_space/bytes', 'pprof: types of samples';
my %function = map { my @f = fields($_); (one(1, @f) => [$text[one(2, @f)], $text[one(4, @f)]]) } all(5, @profile);
my %location;
for (all(4, @profile)) {
    my @location = fields($_);
    my @line = fields(one(4, @location));
    $location{ one(1, @location) } = [@{ $function{ one(1, @line) } }, one(2, @line), one(2, @location)];
}
my %found;
for (all(2, @profile)) {
    my @of = fields($_);
    my @label = fields(one(3, @of));
    is $text[one(1, @label)], 'type', 'pprof: a label';
    my $names = join ';', map({ $location{$_}[0] } reverse varints(one(1, @of))), $text[one(2, @label)];
    $found{$names} = [varints(one(2, @of))];
}
is_deeply \%found, \%stack, 'pprof: objects and bytes of stacks and types';
my ($main) = grep { $_->[0] eq 'main' && $_->[2] == 44 } values %location;
is_deeply $main, ['main', 'app.c', 44, 1], 'pprof: a place, and its module';
my @mapping = map { [fields($_)] } all(3, @profile);
is $text[one(5, @{ $mapping[0] })], '/opt/demo/app', 'pprof: the module';
is one(9, @profile), 1795201201000000000, 'pprof: the time';

# --- heapsnapshot ----------------------------------------------------------------------------

# The graph of a file: nodes, and what each holds.
sub read_heapsnapshot {
    my ($text) = @_;
    my $file = JSON::PP->new->utf8->decode($text);
    my @key = $text =~ /^(?:\{|\],?)?"?(snapshot|nodes|edges|trace_function_infos|trace_tree|samples|locations|strings)"/mg;
    my ($meta, $strings) = ($file->{snapshot}{meta}, $file->{strings});
    my ($width, @node) = scalar @{ $meta->{node_fields} };
    my @cells = @{ $file->{nodes} };
    while (my @cell = splice @cells, 0, $width) {
        push @node, { type => $meta->{node_types}[0][$cell[0]], name => $strings->[$cell[1]], id => $cell[2],
            size => $cell[3], edges => $cell[4], trace => $cell[5], holds => [] };
    }
    is scalar(@node), $file->{snapshot}{node_count}, 'as many nodes as it says';
    is @{ $file->{edges} } / 3, $file->{snapshot}{edge_count}, 'and edges';
    my @edge = @{ $file->{edges} };
    for my $node (@node) {
        for (1 .. $node->{edges}) {
            my ($type, $name, $to) = splice @edge, 0, 3;
            $type = $meta->{edge_types}[0][$type];
            $name = $strings->[$name] unless $type eq 'element' || $type eq 'hidden';
            push @{ $node->{holds} }, [$type, $name, $to / $width];
        }
    }
    is scalar(@edge), 0, 'the edges are those of the nodes';
    return (\@node, $file);
}

# Bytes that go if a node goes, by trying.
sub retained {
    my ($nodes, $without) = @_;
    my %seen = ($without => 1);
    my @next = (0);
    while (@next) {
        my $node = pop @next;
        next if $seen{$node}++;
        push @next, map { $_->[2] } grep { $_->[0] ne 'weak' } @{ $nodes->[$node]{holds} };
    }
    my $bytes = 0;
    $bytes += $nodes->[$_]{size} for grep { $_ == $without || !$seen{$_} } 0 .. $#$nodes;
    return $bytes;
}

for my $snapshot ($typed, $sample) {
    my ($nodes, $file) = read_heapsnapshot(export($snapshot, 'heapsnapshot'));
    my $objects = Sample::objects_and_parts($snapshot);
    my $first = @$nodes - @$objects;
    my (@expected, @got);
    for my $i (0 .. $#$objects) {
        push @expected, $objects->[$i]{retained} if $objects->[$i]{retained};
        push @got, retained($nodes, $first + $i) if $objects->[$i]{retained};
    }
    is_deeply \@got, \@expected, 'heapsnapshot: retained sizes are those of heapsh';
    is_deeply [map { $_->{size} } @$nodes[$first .. $#$nodes]], [map { $_->{size} } @$objects],
        'heapsnapshot: sizes';
    is_deeply [grep { $nodes->[$_]{id} != 2 * $_ + 1 } 0 .. $#$nodes], [], 'heapsnapshot: ids';
}

# Small objects merged: those that are left retain what they did, and no byte is lost.
for my $snapshot ($typed, $sample) {
    my $objects = Sample::objects_and_parts($snapshot);
    my ($all) = (0);
    $all += $_->{size} for @$objects;
    my %retained = map { ($_->{address} => $_->{retained}) } @$objects;
    for my $min (17, 25, 60, 100, 300, 100_000) {
        my ($nodes) = read_heapsnapshot(export($snapshot, 'heapsnapshot', '--min', $min));
        my @kept = grep { ($retained{ $_->{address} } || $_->{size}) >= $min } @$objects;
        my @node = grep { $nodes->[$_]{size} && $nodes->[$_]{name} !~ / \(merged\)$/ } 0 .. $#$nodes;
        is_deeply [map { $nodes->[$_]{size} } @node], [map { $_->{size} } @kept], "heapsnapshot: those of $min bytes";
        my @of = grep { $retained{ $kept[$_]{address} } } 0 .. $#kept;
        is_deeply [map { retained($nodes, $node[$_]) } @of], [map { $retained{ $kept[$_]{address} } } @of],
            'retain what they did';
        is retained($nodes, 0), $all, 'of all';
    }
}
my ($merged) = read_heapsnapshot(export($typed, 'heapsnapshot', '--min', 60));
is_deeply [sort map { "$_->{name} $_->{size}" } grep { $_->{name} =~ /merged/ } @$merged],
    ['block(16) from 0x12345678 (merged) 16', 'block(24) from 0x12345678 (merged) 24',
     'block(24) from 0x12345678 (merged) 24', 'struct node (merged) 48',
     'struct node (merged) 48'], 'by class and owner';
my ($of_several) = grep { $_->{name} eq '(several roots)' } @$merged;
is_deeply [map { "$_->[1] $merged->[$_->[2]]{name}" } @{ $of_several->{holds} }], ['(3 merged) struct node (merged)'],
    'which holds them';

# An object too large for 32 bits is in pieces, which the object owns.
{
    my $huge = Sample::make('huge');
    my ($nodes, $file) = read_heapsnapshot(export($huge, 'heapsnapshot'));
    my ($table) = grep { $nodes->[$_]{name} eq 'struct table' } 0 .. $#$nodes;
    my ($slots) = grep { $nodes->[$_]{name} eq 'struct slot[]' } 0 .. $#$nodes;
    is retained($nodes, $table), 24 + 5 * 2**30, 'heapsnapshot: 5 GiB';
    is retained($nodes, $slots), 5 * 2**30, 'and who has them';
    is_deeply [map { $_->{size} } grep { $_->{size} > 100 } @$nodes], [(2**30) x 5], 'in pieces';
    is_deeply [map { "$_->[0] $_->[1]" } @{ $nodes->[$slots]{holds} }], [('property (continued)') x 4],
        'which go on from it';
}

my ($nodes, $file) = read_heapsnapshot(export($typed, 'heapsnapshot'));
sub node { my ($name) = @_; return grep { $_->{name} eq $name } @$nodes }
is_deeply [map { $_->[2] } @{ $nodes->[0]{holds} }], [1, 9], 'the root holds (GC roots) and (unreachable)';
is "$nodes->[1]{name} $nodes->[9]{name}", '(GC roots) (unreachable)', 'which are these';
is_deeply [map { $_->[1] } @{ (node('(Global variables)'))[0]{holds} }], ['list', 'popular', 'pool', 'header'],
    'variables by name';
my ($popular) = node('global variable popular (cache.c:50, libutility.so)');
is_deeply [map { "$_->[0] $_->[1] $nodes->[$_->[2]]{name}" } @{ $popular->{holds} }],
    ['property value struct table'], 'and what they hold';
my ($table) = node('struct table');
is_deeply [map { "$_->[0] $_->[1] $nodes->[$_->[2]]{name}" } @{ $table->{holds} }],
    ['property slots struct slot[]'], 'fields of objects';
is_deeply [map { $nodes->[$_->[2]]{name} } @{ (node('(unreachable)'))[0]{holds} }],
    ['block(24) from 0x12345678'], 'what nothing reaches';

# Where objects were allocated: [id, function, count, size, [children]], flat in each list.
my %allocated;
sub go_down {
    my ($tree, $path) = @_;
    for (my $i = 0; $i < @$tree; $i += 5) {
        my ($id, $function, $count, $size, $children) = @$tree[$i .. $i + 4];
        my $name = $file->{strings}[$file->{trace_function_infos}[$function * 6 + 1]];
        my $here = $path eq '' ? '-' : $path eq '-' ? $name : "$path;$name";
        $allocated{$id} = [$here, $count, $size];
        go_down($children, $here);
    }
}
go_down($file->{trace_tree}, '');
is_deeply { map { $_->[0] => $_->[2] } grep { $_->[1] } values %allocated }, {
    'main;add;node_new;xmalloc' => 48, 'main;serve;cache_insert' => 88, 'main;serve;cache_insert;grow' => 64,
    copy_text => 256, '0x12345678' => 112,
}, 'the tree of allocations';
is $allocated{ $table->{trace} }[0], 'main;serve;cache_insert', 'and where in it an object is';

# --- graphs ----------------------------------------------------------------------------------

is export($typed, 'dot', '--object', '5f00300', '--depth', '1'), <<'END', 'dot: around an object';
digraph "app" {
	rankdir=LR;
	node [shape=box, fontname="sans-serif", fontsize=10];
	edge [fontname="sans-serif", fontsize=9];
	o4 [label="struct slot[4] at 0x5f00300\n64 B"];
	o3 [label="struct table at 0x5f00200\n24 B"];
	r1 [shape=ellipse, label="global variable popular (cache.c:50, libutility.so)"];
	r1 -> o3 [label=""];
	o3 -> o4 [label=".slots"];
}
END
my @node = export($typed, 'dot', '--limit', '3') =~ /^\t(o\d+) \[/mg;
is scalar(@node), 3, 'dot: no more than were asked for';
SKIP: {
    skip 'no dot', 1 unless has('dot');
    my ($out, $err, $status) = Sample::run(export($sample, 'dot', '--depth', '20'), 'dot', '-Tplain');
    is "$err$status", '0', 'Graphviz reads it';
    is scalar(() = $out =~ /^node o/mg), Sample::json($sample, qw(find --count reachable))->{count},
        'with all that can be reached';
}
my $graphml = export($typed, 'graphml', '--limit', '1000');
is scalar(() = $graphml =~ m{^<node id="o\d+">.*</node>$}mg), 10, 'graphml: nodes';
like $graphml, qr{^<edge source="o3" target="o4"><data key="field">\.slots</data><data key="typed">true</data></edge>$}m,
    'graphml: an edge';
SKIP: {
    skip 'no reader of XML', 1 if system('python3 -c "import xml.etree" >/dev/null 2>&1');
    my ($out, $err, $status) = Sample::run(export($sample, 'graphml'), 'python3', '-c',
        'import sys, xml.etree.ElementTree as tree; print(len(tree.parse(sys.stdin).getroot()))');
    is "$out$err$status", "9\n0", 'graphml: is XML';
}

# --- tables ----------------------------------------------------------------------------------

my ($out, $err, $status) = Sample::run('', $heapsh_export, '-q', '--format', 'csv', '-o', "$directory/csv", $sample);
is "$out$err$status", '0', 'csv';
my %rows = map { $_ => [split /\r\n/, Sample::content("$directory/csv/$_.csv")] }
    qw(snapshots types members sites objects edges roots root_edges);
is $rows{objects}[0], 'snapshot,id,address,size,type,elements,evidence,site,born_ns,reach,retained,text', 'names of columns';
is scalar(@{ $rows{objects} }), 21, 'a row per object';
my ($red) = grep { /red/ } @{ $rows{objects} };
like $red, qr/,"\\x1b\[31mred\\n""\\xff\\"$/, 'texts are quoted';

SKIP: {
    skip 'no sqlite3', 1 unless has('sqlite3');
    my @series = Sample::make('series', 0);
    push @series, Sample::make('series', 1);
    my $database = "$directory/all.sqlite";
    ($out, $err, $status) = Sample::run('', $heapsh_export, '--format', 'sqlite', '-o', $database, $typed, @series);
    is "$out$err$status", "$database\n" x 3 . 0, 'sqlite';
    ($out, $err, $status) = Sample::run('', $heapsh_export, '--format', 'sqlite', '-o', $database, $typed);
    is "$err$status", "heapsh-export: $database: the snapshot is there already, as number 1\n2", 'no snapshot twice';
    my $sql = sub { (Sample::run("$_[0];\n", 'sqlite3', $database))[0] };
    is $sql->('PRAGMA integrity_check'), "ok\n", 'sqlite: is sound';
    is $sql->('SELECT id, program, objects, bytes FROM snapshots WHERE id = 1'), "1|app|11|568\n", 'snapshots';
    is $sql->('SELECT t.name, count(*), sum(o.size) FROM objects o JOIN types t ON t.snapshot = o.snapshot AND t.id = o.type '
        . 'WHERE o.snapshot = 1 GROUP BY 1 ORDER BY 3 DESC'),
        "(untyped)|5|368\nstruct node|4|112\nstruct slot|1|64\nstruct table|1|24\n", 'objects by type';
    is $sql->('SELECT r.name, e.field, o.size, r.retained FROM roots r JOIN root_edges e ON e.snapshot = r.snapshot AND e.root = r.id '
        . "JOIN objects o ON o.snapshot = r.snapshot AND o.id = e.target WHERE r.snapshot = 1 AND r.name = 'popular'"),
        "popular||24|88\n", 'roots';

    # Those of the manual.
    my $manual = Sample::content('man/heapsh-export.1');
    my @example = $manual =~ /^\.Bd -literal -offset indent\n(SELECT.*?)^\.Ed/msg;
    cmp_ok scalar @example, '>=', 3, 'the manual has examples';
    for my $example (@example) {
        ($out, $err, $status) = Sample::run($example =~ s/\\\(aq/'/gr, 'sqlite3', $database);
        is "$err$status", '0', 'an example of the manual: ' . ($example =~ /^(.*)/)[0];
        isnt $out, '', 'which has an answer';
    }
}

# --- the command, and what is wrong ----------------------------------------------------------

is_text $typed, "export --by owners collapsed - | grep slot",
    "global variable popular (cache.c:50, libutility.so);struct table;struct slot[] 64\n";
is_text $typed, "export dot $directory/of.dot 5f00300", '';
like Sample::content("$directory/of.dot"), qr/struct slot\[4\]/, 'into a file';
fails_with $typed, 'export svg x', 'heapsh: svg: not heapsnapshot, pprof, collapsed, speedscope, perfetto, hprof, dot, graphml, csv, sqlite, rows, object_rows or edge_rows', 2;
fails_with $typed, 'export csv -', 'heapsh: csv needs a file\'s name', 2;
fails_with $typed, 'export dot /proc/none/x', 'heapsh: /proc/none/x: No such file or directory', 1;
fails_with $typed, 'export --by weight dot x',
    'heapsh: --by weight: not sites or owners', 2;
($out, $err, $status) = Sample::run('', $heapsh_export, '--format', 'dot', '-o', 'x', $typed, $sample);
is "$err$status", "heapsh-export: -o names one file, and there are several snapshots\n2", 'one name for two';
($out, $err, $status) = Sample::run('', $heapsh_export, '--format', 'dot', "$directory/none");
is "$err$status", "heapsh-export: $directory/none: No such file or directory\n2", 'no such snapshot';
($out, $err, $status) = Sample::run('', $heapsh_export, '--format', 'svg', $typed);
is $status, 2, 'no such format';
like $err, qr/\Aheapsh-export: --format svg: not one of the formats\nusage: .*\n.*\nformats: heapsnapshot /, 'which there are';
if (-e '/dev/full') {
    ($out, $err, $status) = Sample::run('', $heapsh_export, '--format', 'dot', '-o', '/dev/full', $typed);
    is "$err$status", "heapsh-export: /dev/full: No space left on device\n2", 'a full disk';
}
# The batch programs take --conservative, as the shell's commands do: a word of a stack shares what it points to.
my @owners = map { (Sample::run('', "$Sample::build/heapsh-export", '-q', qw(--by owners --format collapsed -o -), @$_, $sample))[0] }
    [], ['--conservative'];
isnt $owners[1], $owners[0], 'heapsh-export --conservative';
my @series = map { Sample::make('series', $_) } 0 .. 2;
is +(Sample::run('', "$Sample::build/$_->[0]", @$_[1 .. $#$_], '--conservative', @series))[1], '', "$_->[0] --conservative"
    for ['heapsh-evolution', '--retained', '--csv'], ['heapsh-leakreport', '-q'], ['heapsh-report', '-q', '-o', "$Sample::directory/conservative.html"];
is +(Sample::run('', "$Sample::build/heapsh-diff", '--retained', '--conservative', $sample, $sample))[1], '', 'heapsh-diff --conservative';

done_testing;
