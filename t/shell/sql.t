#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Queries in SQL: the questions of heapsh-sql(7) on a program whose heap is known; every column of every
# table against what the other commands say; what may not be done.
use strict;
use warnings;
use lib 't/lib';
use Sample;
use File::Temp qw(tempdir);
use JSON::PP;
use Test::More;

my $build = $Sample::build;
my $directory = tempdir(CLEANUP => 1);

# 10 sessions in a list, 20 that are lost by twos, a cache of 3, 10 texts of different sizes.
mkdir "$directory/snaps";
{
    local $ENV{HEAPSNAP_AT_CHECKPOINT} = 10;
    local $ENV{HEAPSNAP_FILE} = "$directory/snaps/app-%N.snap";
    my ($out, $err, $status) = Sample::run('', "$build/heapsnap", 'run', '--', "$build/t/programs/loops", 10, qw(leak lose cache text));
    is $status, 0, 'a program' or diag $err;
}
my @file = sort glob "$directory/snaps/*.snap";
is scalar @file, 10, 'its snapshots';
my $last = $file[-1];

sub sql { return Sample::run('', "$build/heapsh", '-q', ref $_[0] ? @{ $_[0] } : $_[0], 'sql', $_[1]) }
sub rows {
    my ($out, $err, $status) = Sample::run('', "$build/heapsh", '-q', '--json', ref $_[0] ? @{ $_[0] } : $_[0], 'sql', $_[1]);
    return $err if $status > 1;
    return JSON::PP->new->utf8->decode($out);
}
sub lists { my $rows = rows(@_); return ref $rows ? [map { my $row = $_; [map { $row->{$_} } sort keys %$row] } @$rows] : $rows }
sub value { my $rows = rows(@_); return ref $rows ? (values %{ $rows->[0] })[0] : $rows }

# --- the manual's questions ------------------------------------------------------------------

open my $manual, '<', 'man/heapsh-sql.7' or die $!;
my $text = do { local $/; <$manual> };
my @question = $text =~ s/.*^\.Sh EXAMPLES\n//smr =~ /^\$ heapsh (.*?\.snap) sql "([^"]*)"\n\.Ed/mg;
my @files = @question[map { 2 * $_ } 0 .. @question / 2 - 1];
my @query = @question[map { 2 * $_ + 1 } 0 .. @question / 2 - 1];
is scalar @query, 10, 'ten questions';
my $first = "$directory/snaps/app-00.snap";
my $answer = sub { my ($i) = @_; return rows($files[$i] =~ / / ? [$first, $last] : $last, $query[$i]) };

my %type = map { ($_->{type} // 'none') => $_ } @{ $answer->(0) };
is $type{'struct session'}{'count(*)'}, 30, '1: objects of a type';
is $type{'struct session'}{'sum(size)'}, 480, '1: bytes of a type';
is $type{'struct cached'}{'count(*)'}, 3, '1: another type';
my %root = map { $_->{name} => $_ } @{ $answer->(1) };
is $root{sessions}{retained} // 0, value($last, "select sum(size) from objects where type = 'struct session' and reachability = 'reachable' and address in (select address from (with recursive list(address) as (select target from roots join root_edges on root = id where name = 'sessions' union select target from list join edges on source = address and field = '.next') select address from list))"),
    '2: what a variable retains' if $root{sessions};
ok $root{texts}{retained} >= 1000, '2: the array of texts';
# In each lost pair one object points to the other; the list has nine pointers.
is_deeply $answer->(2), [{ type => 'struct session', field => '.next', 'count(*)' => 19 }], '3: who points to sessions';
my ($leaked) = grep { $_->{site} =~ /^session_new/ } @{ $answer->(3) };
ok $leaked->{'count(*)'} >= 16 && $leaked->{'count(*)'} <= 20, "4: leaks by site: $leaked->{'count(*)'}";
is_deeply $answer->(4), [], '5: no string is there twice';
is_deeply $answer->(5), [{ 'count(*)' => 10 }], '6: the length of a list';
my $sizes = $answer->(6);
my $untyped = 0;
$untyped += $_->{'count(*)'} for @$sizes;
is $untyped, value($last, 'select count(*) from objects where type is null'), '7: sizes of blocks without a type';
ok ref $answer->(7) eq 'ARRAY', '8: what functions hold';
my ($grown) = grep { ($_->{type} // '') eq 'struct session' } @{ $answer->(8) };
is $grown->{more}, 27, '9: growth since the first snapshot';
my $retained = $answer->(9);
is $retained->[-1]{retained} % 16, 0, '10: what sessions retain';
is value($last, "select count(*) from objects where type = 'struct session'"), 30, '10: all of them';

# --- tables against other commands -----------------------------------------------------------

my $known = Sample::make('typed');
my $of = sub { value($known, $_[0]) };
my ($found) = Sample::run('', "$build/heapsh", '-q', '--json', $known, 'find', '--limit', '100000', 'size', '>=0');
my $objects = JSON::PP->new->utf8->decode($found);
my @listed = @{ ref $objects eq 'HASH' ? $objects->{objects} : $objects };
is $of->('select count(*) from objects'), scalar @listed, 'objects: as many as find finds';
my $all = rows($known, 'select address, size, type, elements, evidence from objects order by address');
my %listed = map { $_->{address} => $_ } @listed;
is_deeply [grep { my $other = $listed{ $_->{address} }; !$other || $other->{size} != $_->{size} || $other->{evidence} ne $_->{evidence} } @$all], [],
    'objects: address, size and evidence are those of find';
is $of->('select count(*) from edges'), value($known, 'select edges from snapshots'), 'edges: all';
is $of->('select count(*) from edges e join objects o on o.address = e.source'), $of->('select count(*) from edges'), 'edges: each has a source';
is $of->('select count(*) from objects o join edges e on e.target = o.address'), $of->('select count(*) from edges'), 'edges: each has a target';
is $of->('select count(*) from objects o join edges e on e.source = o.address where e.target = e.source'),
    $of->('select count(*) from edges where source = target'), 'edges: both lookups';
is $of->('select count(*) from edges where +source = (select min(address) from objects) or 0'),
    $of->('select count(*) from edges where source = (select min(address) from objects)'), 'edges: a lookup finds what a pass finds';
is $of->('select count(*) from roots r join root_edges e on e.root = r.id'), $of->('select count(*) from root_edges'), 'root_edges: each has a root';
is $of->('select count(*) from objects o join root_edges e on e.target = o.address'), $of->('select count(*) from root_edges'), 'root_edges: each has a target';
is $of->('select count(*) from types t join objects o on o.type_id = t.id'), scalar @listed, 'types: each object has one';
is $of->('select sum(objects) from types'), scalar @listed, 'types: their objects';
is $of->('select sum(bytes) from sites'), $of->('select sum(size) from objects'), 'sites: their bytes';
is $of->('select count(*) from frames f join threads t on t.tid = f.thread'), $of->('select count(*) from frames'), 'frames: each has a thread';
my ($dominators) = Sample::run('', "$build/heapsh", '-q', '--json', $known, 'largest', '--limit', 1);
is $of->('select max(retained) from objects'), ($dominators =~ /"retained":(\d+)/)[0], 'retained: that of largest' if $dominators =~ /"retained":\d+/;
my ($strings) = Sample::run('', "$build/heapsh", '-q', $known, 'find', '--count', 'type', 'char');
is $of->('select count(*) from strings'), ($strings =~ /(\d+) objects?/)[0], 'strings: arrays of characters';
is $of->("select count(*) from objects o join objects d on d.address = o.dominator where d.retained < o.retained"), 0, 'a dominator retains more';

# Conditions that a table answers itself, and the same ones that SQLite tests.
my $address = $of->('select max(address) from objects'); # no column: decimal
for (["type = 'struct node'", "+type = 'struct node'"], ["type like 'STRUCT %'", "+type like 'STRUCT %'"],
    ["type glob 'struct n*'", "+type glob 'struct n*'"], ['type is null', '+type is null'], ['type is not null', '+type is not null'],
    ["type in ('struct node', 'char')", "+type in ('struct node', 'char')"], ["type = 'struct node' collate nocase", "+type = 'struct node' collate nocase"],
    ["site like '%node%'", "+site like '%node%'"], ["type like 'struct%' and type like '%e'", "+type like 'struct%' and +type like '%e'"],
    ['size > 16', '+size > 16'], ['size >= 16 and size < 64', '+size >= 16 and +size < 64'], ['size = 16', '+size = 16'], ['size > 16.5', '+size > 16.5'],
    ['size < 0', '+size < 0'], ["size > 'x'", "+size > 'x'"], ['size between 9 and 50', '+size between 9 and 50'], ['size = null', '+size = null'],
    ["address = $address", "+address = $address"], ["address < $address", "+address < $address"], ["address > $address", "+address > $address"],
    ["address <= $address and address > 0x1000", "+address <= $address and +address > 0x1000"], ["address = $address + 1", "+address = $address + 1"],
    ['address < -1', '+address < -1'], ['address > 9223372036854775807', '+address > 9223372036854775807'], ['id = 3', '+id = 3'], ['id > 3 and id <= 5', '+id > 3 and +id <= 5'],
    ['rowid = 3', '+id = 3'], ['id = -1', '+id = -1'], ['type = null', '+type = null'], ["rowid = 'x'", '0'], ['id = 1e30', '+id = 1e30']) {
    my ($pushed, $tested) = @$_;
    is_deeply lists($known, "select id from objects where $pushed order by id"), lists($known, "select id from objects where $tested order by id"), "where $pushed";
    is_deeply lists($known, "select type as a, count(*) as b from objects where $pushed group by type"),
        lists($known, "select +type as a, count(*) as b from objects where $tested group by +type"), "where $pushed, by type";
}
is_deeply lists($known, 'select type from objects order by type desc'), [reverse @{ lists($known, 'select type from objects order by type') }], 'sorted the other way round';
is_deeply lists($known, 'select type from objects order by type'), lists($known, 'select type from objects order by +type'), 'sorted as SQLite sorts';

# --- a series, forms, the prompt -------------------------------------------------------------

is_deeply rows(\@file, 'select s.number n, count(*) c from snapshots s join objects o on o.snapshot = s.number where o.type = \'struct cached\' group by 1'),
    [map { { n => $_, c => $_ < 2 ? $_ + 1 : 3 } } 0 .. 9], 'a series, snapshot by snapshot';
is_deeply rows(\@file, "select count(*) n from objects where snapshot = 4 and type = 'struct session'"), [{ n => 15 }], 'one of a series';
is_deeply rows(\@file, "select count(*) n from objects(4) where type = 'struct session'"), [{ n => 15 }], 'the same as an argument';
is_deeply rows(\@file, "select count(*) n from objects where type = 'struct session'"), [{ n => 3 }], 'the current one, if none is named';
is_deeply rows(\@file, 'select count(*) n from objects where snapshot = 10'), [{ n => 0 }], 'one that there is not';
is_deeply rows($known, "select x'00ff' b, null n, 1.5 r, -1 i, 'a' t"), [{ b => "X'00ff'", n => undef, r => 1.5, i => -1, t => 'a' }], 'values in JSON';

my ($out, $err, $status) = sql($last, "select type, count(*) as many from objects where type glob 'struct *' group by type");
is $out, <<'END', 'a table';
type            many
struct cached      3
struct session    30
END
($out, $err, $status) = sql($last, "select char(27) || '[31m' as t");
unlike $out, qr/\e/, 'what would move the cursor is escaped';
($out, $err, $status) = Sample::run("sql select count(*) as n from objects where type = 'struct cached' and size > 1 -- | >x\nsql \"select 1 as n\" | cat\nsql --json select 2 as n\n",
    "$build/heapsh", '-q', $last);
is "$out$err", "n\n3\nn\n1\n[{\"n\":2}]\n", 'queries at the prompt';
($out, $err, $status) = sql($last, 'select * from objects where 0');
is "$out$err$status", '1', 'no rows: status 1';
my ($tables) = Sample::run('', "$build/heapsh", '-q', $last, 'sql');
for my $table (qw(objects edges roots root_edges types sites strings threads frames snapshots)) {
    like $tables, qr/^$table\(/m, "$table is listed";
    like $text, qr/^\.It .*\b$table\b/m, "$table is in the manual";
    my ($columns) = $tables =~ /^$table\((.*)\)$/m;
    my @names = map { (split ' ')[0] } split /, /, $columns;
    my ($answer, $complaint, $ended) = sql($last, 'select ' . join(', ', @names) . " from $table");
    ok $ended <= 1 && $complaint eq '', "$table: all columns of all rows" or diag $complaint;
}

# A query without an end, and ^C.
my $pid = fork() // die $!;
if (!$pid) {
    open STDOUT, '>', "$directory/endless.out";
    open STDERR, '>', "$directory/endless.err";
    exec "$build/heapsh", '-q', $last, 'sql', 'with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n';
}
my $ended = 0;
local $SIG{ALRM} = sub { kill 'KILL', $pid };
alarm 60;
for (1 .. 300) {
    select undef, undef, undef, 0.2;
    kill 'INT', $pid;
    last if $ended = waitpid $pid, 1;
}
alarm 0;
is $ended, $pid, '^C ends a query';
isnt $? & 127, 9, '^C: by itself';

# --- what may not be done --------------------------------------------------------------------

chdir $directory or die $!;
sub refuses {
    my ($query, $pattern) = @_;
    my ($out, $err, $status) = sql($last, $query);
    like $err, $pattern, "refused: $query";
    is $status, 2, "status of: $query";
}
refuses $_, qr/^heapsh: sql: a snapshot can only be read, by SELECT$/
    for "attach 'other.db' as other", 'create table t(a)', 'create temp table t(a)', 'insert into objects values (1)', 'drop table objects', 'pragma journal_mode = wal', "vacuum into 'copy.db'", 'begin', 'create virtual table v using objects';
refuses "select load_extension('x')", qr/^heapsh: sql: (?:not authorized|no such function|a snapshot)/;
refuses $_, qr/^heapsh: sql: (?:table objects may not be modified|a snapshot can only be read)/ for 'delete from objects', 'update objects set size = 0';
refuses 'selec 1', qr/^heapsh: sql: near "selec": syntax error$/;
refuses 'select nonsense from objects', qr/^heapsh: sql: no such column: nonsense$/;
refuses 'select * from nowhere', qr/^heapsh: sql: no such table: nowhere$/;
refuses 'select 1; select 2', qr/^heapsh: sql: something follows the query: /;
refuses '/* nothing */', qr/^heapsh: sql: the query is empty$/;
refuses 'select * from objects where snapshot > 1', qr/^heapsh: sql: snapshot must be compared by =$/;
is_deeply [grep { !/^(?:snaps|endless\.(?:out|err))$/ } map { s{.*/}{}r } glob "$directory/*"], [], 'no query has written a file';
done_testing;
