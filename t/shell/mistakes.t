#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Mistyped words: the message names the wrong word, and the one that was probably meant.
use strict;
use warnings;
use lib 't/lib';
use Sample;
use Test::More;

my $file = Sample::make();
my $heapsh = "$Sample::build/heapsh";

# A line => what it says, and the status: 2, it makes no sense; 1, the snapshot has nothing of that name.
my @mistakes = (
    # Commands.
    ['cuont',           'cuont: no such command; did you mean count?', 2],
    ['exi',             'exi: no such command; did you mean exit?', 2],
    ['retaind popular', 'retaind: no such command; did you mean retained?', 2],
    ['frobnicate',      'frobnicate: no such command; `help` lists them', 2],
    ['help cuont',      'cuont: no such command; did you mean count?', 2],
    ['popular',         'popular: no such command; did you mean show popular?', 2],
    ['popular->slots[3]', 'popular->slots[3]: no such command; did you mean show popular->slots[3]?', 2],
    # Options, and words that are too many.
    ['count --foo',        '--foo: count has no such option; it has --delta, --by, --all, --limit', 2],
    ['count --limt 3',     '--limt: count has no such option; did you mean --limit?', 2],
    ['count --limit',      '--limit: a number must follow it', 2],
    ['count --limit three', '--limit three: not a number', 2],
    ['count --limit=x',    '--limit x: not a number', 2],
    ['count --limit -1',   '--limit -1: not a number', 2],
    ['count --limit 99999999999999999999', '--limit 99999999999999999999: not a number', 2],
    ['count --by',         '--by: type|site|size|module|tag|age must follow it', 2],
    ['count --by modul',   '--by modul: not type, site, size, module, tag or age; did you mean module?', 2],
    ['count --delta=1',    '--delta=1: nothing may follow --delta', 2],
    ['count --delta untyped', 'untyped: --delta takes no filter', 2],
    ['largest abc',        'abc: not a number', 2],
    ['largest 3 4',        '4 is one word too many; usage: largest [--retained] [--conservative] [--all | --limit N] [N]', 2],
    ['find --limit x',     '--limit x: not a number', 2],
    ['largest 3 retained', 'retained is one word too many; did you mean --retained?', 2],
    ['info -v',            '-v: info has no such option', 2],
    ['roots --min much',   '--min much: not a size such as 64, 4K or 1M', 2],
    # Filters, and names in them.
    ['find typ node',       'typ: no such filter; did you mean type?', 2],
    ['find "type node"',    'type node: no such filter; did you mean it without the quotes?', 2],
    ['find table',          'table: no such filter; did you mean type table?', 2],
    ['find evidence vtabel', 'evidence vtabel: not one of none, declared, vtable, pointer, embedding, site, vote, pool, tag, methods, shape, cast; did you mean vtable?', 2],
    ['find type tabel',     'tabel: no such type in the snapshot; did you mean struct table?', 1],
    ['find type struct tabel', 'struct tabel: no such type in the snapshot; did you mean struct table?', 1],
    ['find type TABLE',     'TABLE: no such type in the snapshot; did you mean struct table?', 1],
    ['find type zzz*',      'zzz*: no such type in the snapshot; `types` lists those of objects', 1],
    ['find not type tabel', 'tabel: no such type in the snapshot; did you mean struct table?', 1],
    ['find untyped or type tabel', 'tabel: no such type in the snapshot; did you mean struct table?', 1],
    ['find field nosuch=1', 'field nosuch: no such member of any type', 1],
    ['find type node field valu=1', 'field valu: struct node has no such member; did you mean value?', 1],
    ['find type date field next=1', 'field next: struct date has no such member; it has year, month, day', 1],
    ['find field colour=PINK', 'field colour: enum colour has no value PINK; it has RED, GREEN, BLUE', 1],
    ['find field colour=BLEU', 'field colour: enum colour has no value BLEU; did you mean BLUE?', 1],
    ['find site node_nw',   'site node_nw: nothing was allocated in a function or file of that name; did you mean node_new?', 1],
    ['find site nosuch.c',  'site nosuch.c: nothing was allocated in a function or file of that name; `sites` lists them', 1],
    ['find frame nod_new',  'frame nod_new: nothing was allocated in a function or file of that name; did you mean node_new?', 1],
    ['find module libutilty.so', 'module libutilty.so: no such module; did you mean libutility.so?', 1],
    ['find module zzz',     'module zzz: no such module; there are app, libutility.so', 1],
    ['strings type tabel',  'tabel: no such type in the snapshot; did you mean struct table?', 1],
    # Types and objects.
    ['types utilty',        'utilty: no such type in the snapshot; did you mean struct utility?', 1],
    ['istype popular tabel', 'tabel: no such type in the snapshot; did you mean struct table?', 1],
    ['show populr',         'populr: neither an address nor a variable; did you mean popular?', 1],
    ['show table',          'table: neither an address nor a variable, but a type: `find type table` has its objects', 1],
    ['path &populr',        'populr: neither an address nor a variable; did you mean popular?', 1],
    ['find under populr',   'populr: neither an address nor a variable; did you mean popular?', 1],
    ['show popular->slot',  'struct table has no member slot: it has slots, count, name; did you mean slots?', 1],
);
fails_with $file, $_->[0], "heapsh: $_->[1]", $_->[2] for @mistakes;

# A number in spite of it: loops over a series add it up.
sub answers {
    my ($name, $arguments, $out, $err, $status) = @_;
    is_deeply [Sample::run('', $heapsh, '-q', @$arguments)], [$out, $err, $status], $name;
}
my $absent = "heapsh: session: no such type in the snapshot; `types` lists those of objects\n";
answers 'find --count of a type that is not there', [$file, qw(find --count type session)],
    "Total: 0 objects, 0 B\n", $absent, 1;
answers 'in JSON', [$file, qw(--json find --count type session)], qq({"objects":[],"count":0,"bytes":0}\n), $absent, 1;
answers 'in JSON', [$file, qw(find --json --count type session)],
    qq({"objects":[],"count":0,"bytes":0}\n), $absent, 1;
answers 'others of the filter count', [$file, qw(find --count type session or untyped)],
    "Total: 1 object, 48 B\n", $absent, 1;
answers 'a type that no object has is known', [$file, qw(find --count type mode)], "Total: 0 objects, 0 B\n", '', 1;
answers 'a value that no object has is known', [$file, qw(find --count field colour=GREEN)], "Total: 0 objects, 0 B\n", '', 1;
answers 'numbers of enumerators are values', [$file, qw(find --count field colour=9)], "Total: 0 objects, 0 B\n", '', 1;
answers 'a module that allocates nothing is there', [Sample::make('empty'), qw(find --count module libutility.so)], "Total: 0 objects, 0 B\n", '', 1;

# Options of one grammar: anywhere, with = or a blank, and the same everywhere.
sub first_words {
    my ($line) = @_;
    my ($out, $err) = Sample::run("$line\n", $heapsh, '-q', $file);
    return $err . join '|', map { /(\S+)/ ? $1 : '' } split /\n/, $out;
}
is first_words($_), first_words('largest 2'), $_
    for 'largest --limit 2', 'largest --limit=2', 'largest --limit 9 2';
is scalar(() = first_words('largest --all') =~ /\|/g), 19, 'largest --all: all 20';
for my $command ('types', 'last', 'outrefs vector', 'inrefs 5f01020', 'find', 'count', 'largest', 'strings', 'dangling', 'suggest', 'leaks', 'sites', 'dominators', 'retained --by type') {
    my ($limited, $status) = (Sample::run("$command --limit 1\n", $heapsh, '-q', $file))[0, 2];
    my $err = (Sample::run("$command --all\n", $heapsh, '-q', $file))[1];
    is $err, '', "$command --all";
    isnt $status, 2, "$command --limit";
    my $json = (Sample::run("$command --json --limit 1\n", $heapsh, '-q', $file))[0];
    like $json, qr/^([\[{].*)?$/, "$command --json";
}
is_text $file, "find --json untyped\n", (Sample::run("find untyped\n", $heapsh, '-q', '--json', $file))[0];

is_text $file, 'inrefs --limit 1 5f01020', <<'END';
.next of the global variable first (app.c:9, app)
… 2 more; --all shows them
END
is_text $file, 'outrefs --limit 1 sample', <<'END';
.next = struct node at 0x5f01000
… 2 more; --all shows them
END
is_text $file, 'types struct table', (Sample::heapsh($file, 'types', 'struct table'))[0];

# A file that is missing is no command.
answers 'a second file', [$file, 'missing.snap'], '', "heapsh: missing.snap: No such file or directory, and no command\n", 2;
answers 'with a directory', [$file, '/nowhere/app', 'count'], '', "heapsh: /nowhere/app: No such file or directory, and no command\n", 2;
answers 'a command that is none', [$file, 'cuont'], '', "heapsh: cuont: no such command; did you mean count?\n", 2;

# Words of other shells.
answers 'exit', [$file, 'exit'], '', '', 0;
is +(Sample::heapsh($file, '?'))[0], (Sample::heapsh($file, 'help'))[0], '? is help';
done_testing;
