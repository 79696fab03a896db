#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# find by function, by text in all its forms, and by local variable (t/programs/callbacks.c).
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Sample;
use Test::More;

my $program = Heapsh->start('callbacks');
my $file = $program->capture;
is +($program->finish)[0], "4294967295 1\n", 'the program goes on';

sub found { return Heapsh::ask_json($file, 'find', @_)->{count} }

sub says {
    my ($expected, @command) = @_;
    my ($out, $err) = Sample::run('', "$Sample::build/heapsh", '-q', $file, @command);
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    is "$out$err", "heapsh: $expected\n", "@command";
}

# Functions as values.
is found('field', 'call=bump'), 2, 'a pointer to a function, by its name';
is found('field', 'call=on_*'), 3, '... by a glob';
is found('field', 'call!=bump'), 3, '... negated';
is found('field', 'call=nosuch'), 0, '... of another name';
is found('points-to', 'bump'), 2, 'objects that hold a pointer to a function';
is found('points-to', '&on_timeout'), 3, '... written as in C';
is found('not', 'points-to', 'bump', 'type', 'struct timer'), 3, '... negated';
says 'nosuch: neither an address nor a variable', 'find', 'points-to', 'nosuch';

# Texts: a substring, a whole string, a regular expression; upper or lower case.
is found('string', 'hello'), 3, 'a substring';
is found('string', 'GET /api'), 3, '... in the middle';
is found('-i', 'string', 'hello'), 5, '... of either case';
is found('string', '-i', 'get /API'), 3, 'an option behind the name of the filter';
is found('string', '--exact', 'Hello World'), 2, 'a whole string';
is found('string', '--exact', 'Hello'), 0, '... and no beginning of one';
is found('--exact', '-i', 'string', 'HELLO WORLD'), 2, '... of either case';
is found('--regex', 'string', '^hello.*/[a-z]$'), 3, 'a regular expression';
is found('--regex', 'string', '^world'), 0, '... whose ^ is the beginning';
is found('--regex', '-i', 'string', '^HELLO wor(ld)+'), 5, '... of either case';
is found('string', '-i', 'a.i'), 0, 'what looks like one is none without --regex';
is found('string', '--', '-i'), 0, 'a text that looks like an option';
says '--regex (: Unmatched ( or \\(', 'find', '--regex', 'string', '(';
says '--regex: more than 100 parentheses in each other', 'find', '--regex', 'string', '(' x 30_000 . 'a' . ')' x 30_000;
says '--regex (a{255}){255}: repeats too often', 'find', '--regex', 'string', '(a{255}){255}';

# Fields.
is found('field', 'name=Hello*'), 2, 'a glob in a field';
is found('-i', 'field', 'name=hello w*'), 5, '... of either case';
is found('--exact', 'field', 'name=Hello*'), 0, '... taken as it stands';
is found('--regex', 'field', 'name=wor.d,'), 3, '... or a regular expression';
is found('field', 'tag=ABCDEFGH'), 5, 'an array without a NUL ends where its type does';

# Local variables.
is found('local', 'mine'), 1, 'what a local variable points to';
is found('local', 'mine', 'field', 'call=on_timeout'), 1, '... is the last timer';
says 'local nosuch: no local variable is called that; `callstack` lists them', 'find', 'local', 'nosuch';

done_testing;
