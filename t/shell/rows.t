#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# heapsh-export's rows for a column store: what they say, and that ClickHouse finds by them which
# type grows on which machines of a fleet.
use strict;
use warnings;
use lib 't/lib';
use File::Temp qw(tempdir);
use IO::Socket::INET;
use Sample;
use Test::More;
use Time::HiRes qw(sleep);
use Tools;

my $heapsh_export = "$Sample::build/heapsh-export";

# --- what they say -----------------------------------------------------------

# All members of the compressed stream: a snapshot each.
sub rows {
    my ($format, @snapshot) = @_;
    my ($out, $err, $status) = Sample::run('', $heapsh_export, '--format', $format, '-o', '-', @snapshot);
    is "$err$status", '0', "$format of " . scalar @snapshot;
    open my $file, '>', "$Sample::directory/rows.gz" or die $!;
    print $file $out;
    close $file;
    return map { [split /\t/, $_, -1] } split /\n/, scalar `gzip -dc $Sample::directory/rows.gz`;
}

my $sample = Sample::make();
my @common = qw(nowhere app 0123456789abcdef 4242 1795197601 0 00112233445566778899aabbccddeeff 1795201201);
my @row = rows('rows', $sample);
is_deeply \@row, [map { [@common, @$_] } (
    ['struct node *', 'node_new (app.c:12)', 'app', 1, 4096, 4096, 0, 'vector', '49b8d757db95a69e'],
    ['struct slot', 'grow+0x10 (libutility.so)', 'libutility.so', 1, 224, 260, 0, 'popular → struct table.slots', 'f1fe3672e5cee666'],
    ['struct all', 'copy_text (text.c:7)', 'app', 1, 152, 152, 0, 'sample', '45ff6fdca5bc0d18'],
    # Two in a ring, a list of three, four that are leaked.
    ['struct node', 'node_new (app.c:12)', 'app', 9, 144, 80, 64, 'serve: ring', '17079228f7fdb74e'],
    ['(untyped)', '0x12345678', '', 1, 48, 48, 0, 'serve: (register)', '435686ed5fabbf7c'],
    ['struct message', 'copy_text (text.c:7)', 'app', 1, 32, 32, 0, '(segment)', '536b14c767cbe6d2'],
    ['char', 'copy_text (text.c:7)', 'app', 2, 30, 30, 0, 'greeting', 'ef64e9636669a1a9'],
    ['struct utility', 'cache_insert (cache.c:88)', 'libutility.so', 1, 24, 36, 0, 'popular → struct table.slots → struct slot[].value', 'e3357309debef095'],
    ['struct table', 'cache_insert (cache.c:88)', 'libutility.so', 1, 24, 284, 0, 'popular', 'a4f2827b7f3adbbd'],
    ['class Circle', 'copy_text (text.c:7)', 'app', 1, 24, 24, 0, 'main: (stack)', 'f4e9b347a0c8df1e'],
    ['struct date', 'cache_insert (cache.c:88)', 'libutility.so', 1, 12, 12, 0,
        'popular → struct table.slots → struct slot[].value → struct utility.month', 'dfc62a31be2f850a'],
)], 'rows of types and sites';

@row = rows('object_rows', $sample);
is scalar @row, 20, 'a row per object';
is_deeply $row[2], [$common[6], 0x5f00300, 'struct slot', 14, 224, 'grow+0x10 (libutility.so)',
    1795197601, 'start', 260], 'an object';
is_deeply [map { $_->[1] } grep { $_->[7] eq 'leaked' } @row], [0x5f01200, 0x5f01220, 0x5f01240, 0x5f01260],
    'those that are leaked';
@row = rows('edge_rows', $sample);
is scalar @row, 19, 'a row per pointer';
is_deeply $row[2], [$common[6], 0x5f00300, 56, '[3].value', 0x5f00200, 0, 1], 'a pointer';
is_deeply [map { $_->[0] } rows('rows', Sample::make('empty'))], [], 'nothing is no rows';

# A type's retained bytes are not counted twice: each of the list's nodes holds all behind it.
my $list = Sample::make('fleet', 'web1', 'bad', 0);
@row = rows('rows', $list);
is_deeply [grep { $_->[8] eq 'struct node' } @row],
    [['web1', 'app', 'bad', 4242, 1795197601, 0, '0' x 14 . '31' . '0' x 16, 1795201201, 'struct node',
        'node_new (app.c:12)', 'app', 10, 160, 160, 0,
        'list', '20ee68ff02ac20f9']], 'a list';
is scalar rows('rows', $list, $sample), @row + 11, 'several snapshots, one after the other';

# The same program, built again with other lines, and running elsewhere in memory: the same holders.
my @build;
for my $lines (0, 7) {
    my $place = "$Sample::directory/build$lines";
    mkdir $place or die $!;
    open my $in, '<', 't/programs/loops.c' or die $!;
    open my $out, '>', "$place/loops.c" or die $!;
    print $out "\n" x $lines, <$in>;
    close $out or die $!;
    is system("cc -g -I . -o '$place/loops' '$place/loops.c'"), 0, "it compiles with $lines lines more";
    Sample::run('', "$Sample::build/heapsh-check", '--loops', 4, '--keep', $place, '--', "$place/loops", 4, 'leak');
    push @build, { map { $_->[15] ne '' ? ("$_->[8] of " . $_->[9] =~ s/ .*//r, "$_->[15] $_->[16]") : () } rows('rows', glob "$place/*-03.snap") };
    like +(grep { $_->[8] eq 'struct session' } rows('rows', glob "$place/*-03.snap"))[0][9], qr/\(loops\.c:\d+\)/, 'it says the line';
}
like $build[0]{'struct session of session_new'}, qr/^sessions [0-9a-f]{16}$/, 'a list by its variable, however long it is';
is_deeply $build[1], $build[0], 'fingerprints of two builds are equal';

# --- ClickHouse --------------------------------------------------------------

# A server of our own, of a directory that goes away.
my ($server, $client);

sub start_clickhouse {
    my $place = tempdir(CLEANUP => 1);
    my @port = map { IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') } 1, 2;
    my ($tcp, $http) = map { $_->sockport } @port;
    close $_ for @port;
    open my $config, '>', "$place/config.xml" or die $!;
    print $config <<"END";
<?xml version="1.0"?>
<yandex>
	<logger><level>warning</level><log>$place/log</log><errorlog>$place/errors</errorlog></logger>
	<listen_host>127.0.0.1</listen_host>
	<tcp_port>$tcp</tcp_port>
	<http_port>$http</http_port>
	<path>$place/data/</path>
	<tmp_path>$place/tmp/</tmp_path>
	<users_config>$place/users.xml</users_config>
	<default_profile>default</default_profile>
	<default_database>default</default_database>
	<mark_cache_size>16777216</mark_cache_size>
	<timezone>UTC</timezone>
</yandex>
END
    close $config;
    open my $users, '>', "$place/users.xml" or die $!;
    print $users <<'END';
<?xml version="1.0"?>
<yandex>
	<profiles><default><max_threads>2</max_threads></default></profiles>
	<users>
		<default>
			<password></password>
			<networks><ip>127.0.0.1</ip></networks>
			<profile>default</profile>
			<quota>default</quota>
		</default>
	</users>
	<quotas><default/></quotas>
</yandex>
END
    close $users;
    $server = fork() // die $!;
    if (!$server) {
        chdir $place;
        open STDOUT, '>', "$place/out";
        open STDERR, '>&', \*STDOUT;
        exec 'clickhouse-server', "--config-file=$place/config.xml" or exit 127;
    }
    $client = "clickhouse-client --host 127.0.0.1 --port $tcp";
    for (1 .. 300) {
        return 1 if `$client --query 'SELECT 1' 2>$place/waiting` eq "1\n";
        sleep 0.1;
    }
    diag Sample::content("$place/out");
    return 0;
}

END {
    local $?;
    if ($server) {
        kill 'KILL', $server;
        waitpid $server, 0;
    }
}

sub ask {
    my ($name) = @_;
    return map { [split /\t/, $_, -1] } map { chomp; $_ } `$client --multiquery < scripts/clickhouse/$name.sql`;
}

SKIP: {
    $ENV{PATH} .= ':/usr/sbin';
    skip 'no ClickHouse', 13 if grep { !has($_) } qw(clickhouse-server clickhouse-client);
    ok start_clickhouse(), 'ClickHouse runs' or skip 'it does not', 12;
    is `$client --multiquery < scripts/clickhouse/schema.sql 2>&1`, '', 'its tables';

    is `$client --query "ALTER TABLE heapsh.rows DROP COLUMN $_" 2>&1`, '', "a table of an earlier release, without $_" for qw(holder fingerprint);
    is `$client --multiquery < scripts/clickhouse/upgrade.sql 2>&1`, '', 'gets its columns';

    # Two builds on three machines; of the bad one nodes are never freed, by ten a snapshot. The
    # cache of each is full with its third text.
    my @fleet;
    for my $host (['web1', 'bad02'], ['web2', 'bad02'], ['web3', 'good01']) {
        push @fleet, map { Sample::make('fleet', @$host, $_) } 0 .. 4;
    }
    local $ENV{PATH} = "$Sample::build:$ENV{PATH}";
    local $ENV{CLICKHOUSE_CLIENT} = $client;
    for my $again (0, 1) {
        is `scripts/clickhouse/load --objects --edges @fleet 2>&1`, '', $again ? '... and again' : 'it is loaded';
    }
    is_deeply [ask('growth')],
        [['app', 'bad02', 'struct node', 2, "['web1','web2']", 1280, 576000]],
        'what grows, where, and of which build; a cache that has filled does not';
    is_deeply [ask('alert')],
        [['app', '20ee68ff02ac20f9', 'struct node', 'node_new (app.c:12)', 'list', 2, 2, "['bad02']", 576000, 800]],
        'a holder to wake somebody for: the same one on both machines';
    is_deeply [(ask('sites'))[0 .. 3]], [
        ['app', 'char', 'copy_text (text.c:7)', 'bad02', 2, 3000, 3000, 3],
        ['app', 'char', 'copy_text (text.c:7)', 'good01', 1, 3000, 3000, 3],
        ['app', 'struct node', 'node_new (app.c:12)', 'bad02', 2, 800, 800, 50],
        ['app', 'struct node', 'node_new (app.c:12)', 'good01', 1, 160, 160, 10],
    ], 'where that is allocated';
    is_deeply [ask('leaks')], [
        ['app', 'char', 'copy_text (text.c:7)', 3, 2, 9000],
        ['app', 'struct table', 'cache_insert (cache.c:88)', 3, 2, 72],
    ], 'what is leaked';
    is `$client --query 'SELECT count(), uniqExact(snapshot), sum(size) FROM heapsh.object_rows FINAL'`,
        "401\t15\t41960\n", 'objects';
    is `$client --query 'SELECT field, count() FROM heapsh.edge_rows FINAL GROUP BY field'`,
        ".next\t335\n", 'pointers';
}
done_testing;
