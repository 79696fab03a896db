#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Lists and sums: count, largest, callstack, symbols, types, sites, info, help.
use strict;
use warnings;
use lib 't/lib';
use Sample;
use Test::More;

my $file = Sample::make();
is_text $file, 'count', <<'END';
   objects        bytes  type (evidence)
         1      4.0 KiB  struct node * (pointer)
         1        224 B  struct slot (pointer)
         1        152 B  struct all (declared)
         9        144 B  struct node (pointer 56 %, vote 44 %)
         1         48 B  (untyped)
         1         48 B    block(48) from 0x12345678
         1         32 B  struct message (site)
         2         30 B  char (pointer)
         1         24 B  struct utility (pointer)
         1         24 B  struct table (pointer)
         1         24 B  class Circle (vtable)
         1         12 B  struct date (pointer)
END
is_text $file, 'count --by site', <<'END';
   objects        bytes  site
        10      4.1 KiB  node_new (app.c:12)
         5        238 B  copy_text (text.c:7)
         1        224 B  grow+0x10 (libutility.so)
         3         60 B  cache_insert (cache.c:88)
         1         48 B  0x12345678
END
is_text $file, 'count --by size', <<'END';
   objects        bytes  size
         1      4.0 KiB  4.0 KiB to below 8.0 KiB
         2        376 B  128 B to below 256 B
        13        233 B  16 B to below 32 B
         2         80 B  32 B to below 64 B
         2         25 B  8 B to below 16 B
END
is_text $file, 'count --by module', <<'END';
   objects        bytes  module
        15      4.4 KiB  app
         4        284 B  libutility.so
         1         48 B  (no module)
END
is_text $file, 'count --by age', <<'END';
   objects        bytes  age
        14      4.4 KiB  at most 10.0 s
         6        314 B  at most 1.0 h
END
is_text $file, 'count --limit 1', <<'END';
   objects        bytes  type (evidence)
         1      4.0 KiB  struct node * (pointer)
END
is_text $file, 'largest 3', <<'END';
     4.0 KiB  struct node *[512] at 0x5f03000
       224 B  struct slot[14] at 0x5f00300
       152 B  struct all at 0x5f02000
END
is_text $file, 'largest --retained 3', <<'END';
     4.0 KiB  struct node *[512] at 0x5f03000
       284 B  struct table at 0x5f00400
       260 B  struct slot[14] at 0x5f00300
END
is_text $file, 'callstack', <<'END';
thread 4242 (app)
  #0   serve (app.c:30)
        ring: struct node * = struct node at 0x5f01100
  #1   main (app.c:44)
thread 4243 (worker)
  #0   poll+0x10 (libutility.so)
END
is_text $file, 'callstack --thread 4243', <<'END';
thread 4243 (worker)
  #0   poll+0x10 (libutility.so)
END
is_text $file, 'symbols', <<'END';
0x404010 list: struct node * = struct node at 0x5f01000
0x404018 sample: struct all * = struct all at 0x5f02000
0x404020 vector: struct node ** = struct node *[512] at 0x5f03000
0x404028 greeting: char * = char[13] "\x1b[31mred\n\"\xff\\" at 0x5f00600
0x404040 first: struct node
0x7ffd10000000 mine: struct node * = struct node at 0x5f01040
0x7f0000004010 popular: struct table * = struct table at 0x5f00400
END
is_text $file, 'symbols --all', <<'END';
0x404010 list: struct node * = struct node at 0x5f01000
0x404018 sample: struct all * = struct all at 0x5f02000
0x404020 vector: struct node ** = struct node *[512] at 0x5f03000
0x404028 greeting: char * = char[13] "\x1b[31mred\n\"\xff\\" at 0x5f00600
0x404030 nobody: struct node * = NULL
0x404040 first: struct node
0x7ffd10000000 mine: struct node * = struct node at 0x5f01040
0x7f0000004010 popular: struct table * = struct table at 0x5f00400
END
is_text $file, q{symbols '*o*'}, <<'END';
0x404020 vector: struct node ** = struct node *[512] at 0x5f03000
0x404030 nobody: struct node * = NULL
0x7f0000004010 popular: struct table * = struct table at 0x5f00400
END
is_text $file, 'types', <<'END';
   objects        bytes  type
         1      4.0 KiB  struct node *
         1        224 B  struct slot
         1        152 B  struct all
         9        144 B  struct node
         1         48 B  (untyped)
         1         32 B  struct message
         2         30 B  char
         1         24 B  struct utility
         1         24 B  struct table
         1         24 B  class Circle
         1         12 B  struct date
END
is_text $file, q{types 'struct all'}, <<'END';
struct all {
	struct node *next; /* 0, 8 */
	char *middle; /* 8, 8 */
	void *nothing; /* 16, 8 */
	int (*call)(...); /* 24, 8 */
	void *wild; /* 32, 8 */
	size_t count; /* 40, 8 */
	enum colour colour; /* 48, 4 */
	enum mode mode; /* 52, 4 */
	enum colour odd; /* 56, 4 */
	float ratio; /* 60, 4 */
	double balance; /* 64, 8 */
	_Bool yes; /* 72, 1 */
	char letter; /* 73, 1 */
	/* a hole of 2 bytes */
	unsigned int red : 1; /* 76:0, 4 */
	int depth : 5; /* 76:1, 4 */
	/* a hole of 3 bytes */
	char label[12]; /* 80, 12 */
	int scores[3]; /* 92, 12 */
	struct {
		int width; /* 104, 4 */
		int height; /* 108, 4 */
	} size; /* 104, 8 */
	union either either; /* 112, 8 */
	struct point points[2]; /* 120, 16 */
	struct {
		int width; /* 136, 4 */
		int height; /* 140, 4 */
	}; /* 136, 8 */
	/* 8 bytes of padding */
}; /* 152 bytes, app.h:36; 1 object, 152 B */
END
is_text $file, 'types Circle', <<'END';
class Circle {
	/* base */ class Shape; /* 0, 16 */
	double radius; /* 16, 8 */
}; /* 24 bytes, app.h:26; 1 object, 24 B */
END
is_text $file, 'types message', <<'END';
struct message {
	char *author; /* 0, 8 */
	unsigned int length; /* 8, 4 */
	/* a hole of 4 bytes */
	struct point path[]; /* 16, 0 */
}; /* 16 bytes, app.h:28; 1 object, 32 B */
END
is_text $file, 'types either', <<'END';
union either {
	struct node *node; /* 0, 8 */
	unsigned long number; /* 0, 8 */
}; /* 8 bytes, app.h:31; 0 objects, 0 B */
END
is_text $file, 'types colour', <<'END';
enum colour {
	RED = 0,
	GREEN = 1,
	BLUE = 7,
}; /* 4 bytes; 0 objects, 0 B */
END
is_text $file, 'types size_t', <<'END';
typedef unsigned long size_t; /* 8 bytes; 0 objects, 0 B */
END
is_text $file, 'sites', <<'END';
   objects        bytes       %  site
        10      4.1 KiB    88.1  node_new (app.c:12)
         5        238 B     4.9  copy_text (text.c:7)
         1        224 B     4.7  grow+0x10 (libutility.so)
         3         60 B     1.2  cache_insert (cache.c:88)
         1         48 B     1.0  0x12345678
END
is_text $file, 'info', <<'END';
program   app, pid 4242 on nowhere
command   /opt/demo/app --serve
time      2026-11-20 19:00:01, 1.0 h after the library was loaded
snapshot  number 0 of the process, id 00112233445566778899aabbccddeeff, by heapsnap 0.1
pause     1.500 ms, of which the clone took 1.200 ms
heap      20 objects, 4.7 KiB; 19 of them typed, 4.7 KiB; 19 pointers
contents  256 bytes of each object are kept
modules   2
  0x400000 /opt/demo/app
    build id 0123456789abcdef; debug information: its own
  0x7f0000000000 /opt/demo/libutility.so
    build id fedcba9876543210; no debug information
threads   2
  1 stopped, registers exact
  1 asleep, stack pointer known
  1 of which not all registers are known
  4242 app: stopped, registers exact, 2 frames
  4243 worker: asleep, stack pointer known, 1 frame
damage    1 header of blocks overwritten
  0x5f05ff0, after struct node *[512] at 0x5f03000: the block below it has overrun its end
END
is_text $file, 'help', <<'END';
The heap at a glance
  info         the process, its modules and threads, and what was captured of them
  summary      the whole heap at a glance: by reachability, module and type
  count        objects and bytes per type, site, size, module, tag or age
  largest      the largest objects, by their own or by their retained size
  types        a type as C source with offsets, or all types that objects have
  strings      the texts of the heap, the longest or the most frequent first
  sites        objects and bytes per allocation site, or along the calls that led there
Objects
  find         the objects that all filters match
  show         an object's fields, or a variable's value
  last         the objects of the last list, with their numbers
  symbols      global, static and thread-local variables that hold objects
Who holds an object
  identify     who holds an object, up to the roots
  path         a shortest path from a root to an object
  inrefs       the roots and objects that point to an object
  outrefs      the objects that an object points to
  dominators   what an object or a variable holds alone, as a tree
What holds the heap
  roots        the roots by what they hold: retained, reachable, shared, exclusive
  suspects     what leaks or grew, and the few places where most of the heap gathers
  reachability how much each kind of roots reaches, and how much none does
  retained     bytes that would be free without an object, or without all that match
  sizes        how large an object is: alone, with its parts, with all it owns
  shared       how much two objects or variables have in common
  callstack    the threads, their frames and the frames' variables
  callers      the same as callstack
  stack        the values on the threads' stacks and in registers that point into the heap
What is wrong
  leaks        blocks that no root reaches, by type and site
  dangling     pointers into the heap to where no object lives any more
  waste        arrays, lists and hash tables that are less than half full
Types that you know better
  istype       declare the type of an object
  suggest      the objects whose type is worth knowing most
Several snapshots
  snapshots    the snapshots that were opened together, and the current one
  go           go to another of the opened snapshots, by its number
  next         go to the next of the snapshots that were opened
  previous     go to the snapshot before
  compare      compare with another snapshot: find new, find gone, count --delta
  history      an object through all opened snapshots
For others
  sql          a query in SQL over objects, edges, roots, types and sites
  report       a page for a browser: what is in the heap, and what holds it
  export       the snapshot in the format of another tool
The shell
  help         the commands by task, one of them, or a topic
  alias        a name for the beginning of a line, or the names there are
  unalias      forget an alias
  source       run the commands in a file
  time         run a command, and say how long it took
  quit         leave the shell
Topics
  operands     how objects are named: addresses, $1, variables, paths
  filters      how objects are selected: find, strings, waste, retained...
  evidence     how types become known, and how certain they are
  types        how types are named
`help COMMAND` and `help TOPIC` tell more; `COMMAND | program` and
`COMMAND > file` work; every command takes --json and --help.
END
is_text $file, 'help find', <<'END';
find [--count] [--all | --limit N] [--regex] [--exact] [-i|--ignore-case] [FILTER...]
    the objects that all filters match

Filters: type NAME (exact, or a glob), untyped, under-typed (the type covers
half of it at most), conflict (pointers take it for something else),
evidence KIND, size [<>=]N[K|M|G], site FUNCTION|FILE[:LINE] (allocated there),
frame FUNCTION|FILE[:LINE] (allocated on behalf of it), module NAME,
age [<>]DURATION, string TEXT, field NAME=VALUE (also != < > <= >=),
points-to OBJ|FUNCTION, pointed-by OBJ, local NAME (a local variable of that
name points to it), under OBJ (held by it alone, itself included),
retained [<>=]N, leaked, reachable, new and gone (see compare), traced (a
sample of the trace), allocated TIME,TIME (of it, then);
`not` negates the next, `or` stands between groups.
Texts after string and field: --regex (POSIX, extended), --exact (the whole
string, no glob), -i (upper or lower case).

  find --count type 'struct date'
  find --limit 10 size '>1M' or untyped not reachable
  find type 'struct *' site session_new age '<1m'
  find type 'struct request' field path=/login
  find --regex -i string '^(get|post) /api/'
  find field callback=on_timeout
  find frame serve not site xmalloc
  find allocated 10s,20s frame serve
END
done_testing;
