#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Real programs, built from Debian's sources with -g -O2, captured while they work: their
# output does not change, their blocks are typed, and lead up to variables with names.
# `make check-real`; the sources come by apt-get.
use strict;
use warnings;
use lib 't/lib';
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;

my $scratch = tempdir(CLEANUP => 1);

sub write_file {
    my ($name, @lines) = @_;
    open my $out, '>', "$scratch/$name" or die "$name: $!";
    print $out "$_\n" for @lines;
    close $out;
    return "$scratch/$name";
}

# Captures a program in the middle of its work. @return its snapshot and its output
sub work {
    my ($path, %option) = @_;
    my $program = Heapsh->start($path, %option, no_wait => 1);
    my $file;
    if (defined $option{ready}) {
        my $line;
        print { $program->{in} } map { "$_\n" } @{ $option{input} || [] };
        do { $line = $program->line } until !defined $line || $line eq $option{ready};
        $file = $program->capture;
    } else {
        select undef, undef, undef, $option{after};
        $file = $program->capture;
    }
    return ($program, $file);
}

sub share_typed {
    my ($file) = @_;
    my $info = Heapsh::ask_json($file, 'info');
    diag sprintf '%s: %d objects, %.1f %% typed, stop %.2f ms', $info->{program}, $info->{objects},
        100 * $info->{typed_objects} / $info->{objects}, $info->{stop_ns} / 1e6;
    return 100 * $info->{typed_objects} / $info->{objects};
}

sub leads_to {
    my ($file, $wanted, @filter) = @_;
    my $found = Heapsh::ask_json($file, 'find', @filter)->{objects};
    my $path = Heapsh::ask($file, 'path', $found->[@$found / 2]{address});
    like $path, $wanted, "a path from a variable to @filter";
}

subtest 'Lua, 200,000 tables' => sub {
    my $script = write_file('tables.lua',
        'tables = {}',
        'for i = 1, 200000 do tables[i] = { id = i, name = "table " .. i } end',
        'print("ready") io.stdout:flush() io.read()',
        'local sum = 0 for _, t in ipairs(tables) do sum = sum + t.id end print(sum)');
    my ($program, $file) = work(Heapsh::fetch_real('lua'), args => [$script], ready => 'ready');
    my $attached = "$scratch/attached.snap";
    is system("$Heapsh::build/heapsnap attach --file $attached $program->{pid} >$scratch/attached.out"), 0, 'attached';
    cmp_ok share_typed($attached), '>=', 98, 'its blocks are typed after an attach, too';
    is(Heapsh::ask_json($attached, 'find', '--count', 'type', 'struct Table')->{count},
        Heapsh::ask_json($file, 'find', '--count', 'type', 'struct Table')->{count}, 'as many of them are Tables');
    is(($program->finish)[0], "20000100000\n", 'its output is as ever');
    cmp_ok share_typed($file), '>=', 99, 'its blocks are typed';
    cmp_ok(Heapsh::ask_json($file, 'find', '--count', 'type', 'struct Table')->{count}, '>=', 200000,
        'all the tables are Tables');
    leads_to($file, qr/^the (global|local) variable \w+ .*(lua|l\w+)\.c:\d+/, 'type', 'struct Table');
};

subtest 'SQLite, a database in memory' => sub {
    my @input = (
        'create table people(id integer primary key, name text, email text);',
        'create index by_name on people(name);',
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000)\n"
            . "insert into people select i, 'name ' || i, 'person' || i || '\@example.org' from n;",
        'select count(*) from people;');
    my ($program, $file) = work(Heapsh::fetch_real('sqlite'), args => [':memory:'], input => \@input, ready => '100000');
    print { $program->{in} } "select sum(id) from people;\n";
    is(($program->finish)[0], "5000050000\n", 'its output is as ever');
    share_typed($file);
    cmp_ok(Heapsh::ask_json($file, 'find', '--count', 'type', 'struct sqlite3')->{count}, '>=', 1,
        'the connection is a struct sqlite3');
    leads_to($file, qr/^the (global|local) variable \w+ .*\w+\.c:\d+/, 'type', 'struct BtShared');
};

subtest 'jq, a large document' => sub {
    my $document = write_file('large.json',
        '[' . join(',', map { qq({"id":$_,"name":"person $_","tags":["a$_","b$_"]}) } 1 .. 60000) . ']');
    my ($program, $file) = work(Heapsh::fetch_real('jq'),
        args => ['. as $all | [range(500) as $i | $all | map(.id) | add] | add', $document], after => 2.0);
    is(($program->finish)[0], 500 * 60000 * 60001 / 2 . "\n", 'its output is as ever');
    share_typed($file);
    cmp_ok(Heapsh::ask_json($file, 'info')->{objects}, '>', 60000, 'captured while it worked');
    my ($largest) = @{ Heapsh::ask_json($file, 'largest', '--retained', '1') };
    my $path = Heapsh::ask($file, 'path', $largest->{object}{address});
    like $path, qr/^the (global|local) variable \w+ .*\(\w+\.[cly]:\d+/, 'what holds most leads to a variable';
};
done_testing;
