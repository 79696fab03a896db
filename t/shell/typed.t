#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Facts about objects beyond their types: backtraces, conflicts, parts of pools.
use strict;
use warnings;
use lib 't/lib';
use Sample;
use JSON::PP;
use Test::More;

my $file = Sample::make('typed');
my ($true, $false) = (JSON::PP::true, JSON::PP::false);

# A backtrace, the object's own or that of the first of its kind, with inlined functions.
is_text $file, 'show list', <<'END';
struct node at 0x5f00100, 16 B
  allocated by node_new (app.c:12), at most 1.0 h ago; type by pointer
  backtrace:
    #0   xmalloc (util.c:5)
    #1   node_new (app.c:12), inlined
    #2   add (app.c:20)
    #3   main (app.c:44)
  next = struct node at 0x5f00120
  value = 0
END
is_text $file, 'show 5f00120', <<'END';
struct node at 0x5f00120, 16 B
  allocated by node_new (app.c:12), at most 1.0 h ago; type by vote
  backtrace of the first of that site and size:
    #0   xmalloc (util.c:5)
    #1   node_new (app.c:12), inlined
    #2   add (app.c:20)
    #3   main (app.c:44)
  next = struct node at 0x5f00140
  value = 1
END
sub call {
    my ($function, $place, $module, $address, $inlined) = @_;
    my ($source, $line) = split /:/, $place;
    return { function => $function, file => $source // '', line => $line // 0, module => $module,
        address => $address, inlined => $inlined };
}
my $shown = Sample::json($file, qw(show 5f00120));
is $shown->{backtrace_of}, 'first of its kind', 'whose backtrace it is';
is_deeply $shown->{backtrace}, [
    call('xmalloc', 'util.c:5', 'app', '0x401010', $false),
    call('node_new', 'app.c:12', 'app', '0x401020', $true),
    call('add', 'app.c:20', 'app', '0x401020', $false),
    call('main', 'app.c:44', 'app', '0x401300', $false),
], 'the backtrace in JSON';
$shown = Sample::json($file, qw(show list));
is $shown->{backtrace_of}, 'object', 'its own';
$shown = Sample::json($file, qw(show 5f00300));
is_deeply $shown->{backtrace}[0], call('grow', '', 'libutility.so', '0x7f0000002010', $false),
    'a function of which nothing but the name is known';
ok !exists Sample::json($file, qw(show 5f03000))->{backtrace}, 'an object without a backtrace';

# Filters of where it comes from.
my $nodes = "struct node at 0x5f00100\nstruct node at 0x5f00120\nstruct node at 0x5f00140\n";
is_text $file, 'find site node_new', $nodes;
is_text $file, 'find frame add', $nodes;
is_text $file, 'find frame xmalloc', $nodes;
is_text $file, 'find frame main not frame serve', $nodes;
is_text $file, 'find --count frame main', "Total: 6 objects, 200 B\n";
is_text $file, 'find --count frame app.c:46', "Total: 3 objects, 152 B\n";
is_text $file, 'find frame serve type slot', "struct slot[4] at 0x5f00300\n";
is_text $file, 'find frame copy_text', "pool of 4 typed parts at 0x5f01000\n";
fails_with $file, 'find site add', 'heapsh: site add: nothing was allocated in a function or file of that name'
    . ' itself; `frame` finds what calls from there allocated', 1;

# Evidence against a type.
is_text $file, 'find conflict', "struct table at 0x5f00200\n";
is_text $file, 'find --count conflict', "Total: 1 object, 24 B\n";
is_text $file, 'show popular | head -2', <<'END';
struct table at 0x5f00200, 24 B
  allocated by cache_insert (cache.c:88), at most 1.0 h ago; type by pointer, against 3 pointers to struct node
END
$shown = Sample::json($file, qw(show popular));
is "$shown->{rivals} $shown->{rival}", '3 struct node', 'the same in JSON';
is_text $file, 'find under-typed', "struct node at 0x5f02000\n";
is_text $file, 'find --count not under-typed not untyped', "Total: 6 objects, 392 B\n";
is_text $file, 'find --count evidence vote', "Total: 2 objects, 32 B\n";
is_text $file, 'find evidence pool', "pool of 4 typed parts at 0x5f01000\n";

# Parts of pools are found and counted where their pools do not match themselves.
is_text $file, "find type 'struct node' size '<20'", <<'END';
struct node at 0x5f00100
struct node at 0x5f00120
struct node at 0x5f00140
struct node at 0x5f01010, part of a pool
struct node at 0x5f01020, part of a pool
END
is_text $file, 'find --count type date or type node[2]', "Total: 2 objects, 44 B\n";
is_text $file, 'find points-to 5f00100', "pool of 4 typed parts at 0x5f01000\nblock(48) at 0x5f03000\n";
like((Sample::heapsh($file, 'info'))[0], qr/^pools     4 parts of other objects are typed, 76 B$/m,
    'parts of pools');
is_text $file, 'count', <<'END';
   objects        bytes  type (evidence)
         1        180 B  (the rest of pools)
         7        176 B  struct node (pointer 57 %, vote 29 %, embedding 14 %)
         4        112 B  (untyped)
         3         64 B    block(16..24) from 0x12345678
         1         48 B    block(48) from 0x12345678
         1         64 B  struct slot (pointer)
         1         24 B  struct table (pointer)
         1         12 B  struct date (pointer)
END
my ($untyped) = grep { $_->{type} eq '(untyped)' } @{ Sample::json($file, 'count') };
is_deeply $untyped->{blocks}, [
    { block => 'block(16..24)', site => '0x12345678', objects => 3, bytes => 64 },
    { block => 'block(48)', site => '0x12345678', objects => 1, bytes => 48 },
], 'blocks without a type in JSON';
{
    my ($out) = Sample::run("find type date\nshow \$1\n", "$Sample::build/heapsh", '-q', $file);
    like $out, qr/^struct date at 0x5f01080, 12 B, type by pointer\n  part of pool/m,
        'a part of an answer has a name';
}

# A pool, and the parts that addresses in it mean.
is_text $file, 'show pool', <<'END';
pool of 4 typed parts at 0x5f01000, 256 B
  allocated by copy_text (text.c:7), at most 1.0 h ago; cut up by the program
  parts:
         3         64 B  struct node
         1         12 B  struct date
  +0x10   struct node at 0x5f01010
  +0x20   struct node at 0x5f01020
  +0x40   struct node[2] at 0x5f01040
  +0x80   struct date at 0x5f01080
END
is_text $file, 'show 5f01014', <<'END';
struct node at 0x5f01010, 16 B, type by pointer
  part of pool of 4 typed parts at 0x5f01000, at +0x10
  allocated by copy_text (text.c:7), at most 1.0 h ago; cut up by the program
  next = struct node at 0x5f01020, part of a pool
  value = 7
END
is_text $file, 'show 5f01050', <<'END';
struct node[2] at 0x5f01040, 32 B, type by pointer
  part of pool of 4 typed parts at 0x5f01000, at +0x40
  allocated by copy_text (text.c:7), at most 1.0 h ago; cut up by the program
  [0] = {
    next = NULL
    value = 8
  }
  [1] = {
    next = struct node at 0x5f00100
    value = 0
  }
END
is_text $file, 'show 5f01030 | head -1', "pool of 4 typed parts at 0x5f01000, 256 B\n";
my $pool = { address => '0x5f01000', type => 'pool of 4 typed parts', size => 256, elements => 1,
    evidence => 'pool' };
sub part {
    my ($address, $type, $size, $elements) = @_;
    return { address => $address, type => $type, size => $size, elements => $elements,
        evidence => 'pointer', pool => '0x5f01000' };
}
my @part = (part('0x5f01010', 'struct node', 16, 1), part('0x5f01020', 'struct node', 16, 1),
    part('0x5f01040', 'struct node[2]', 32, 2), part('0x5f01080', 'struct date', 12, 1));
$shown = Sample::json($file, qw(show pool));
is_deeply $shown->{parts}, \@part, 'its parts in JSON';
is_deeply $shown->{types}, [{ type => 'struct node', parts => 3, bytes => 64 },
    { type => 'struct date', parts => 1, bytes => 12 }], 'and their types';
$shown = Sample::json($file, qw(show 5f01014));
is_deeply $shown->{part}, $part[0], 'a part in JSON';
is_deeply $shown->{fields}, { value => 7,
    next => { pointer => '0x5f01020', object => $pool, part => $part[1] } }, 'and its fields';
done_testing;
