#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Who holds what: identify, path, inrefs, outrefs, dominators, retained,
# suspects, roots, shared, callstack --reachable.
use strict;
use warnings;
use lib 't/lib';
use Sample;
use Test::More;

my $file = Sample::make();

# The example of the manual.
is_text $file, 'identify 5f00100', <<'END';
struct date at 0x5f00100 is:
└─.month of struct utility at 0x5f00200, which is:
  └─[3].value of struct slot[14] at 0x5f00300, which is:
    └─.slots of struct table at 0x5f00400, which is:
      └─the global variable popular (cache.c:50, libutility.so)
END
is_text $file, 'identify --depth 1 5f00100', <<'END';
struct date at 0x5f00100 is:
└─.month of struct utility at 0x5f00200, which is:
  └─[3].value of struct slot[14] at 0x5f00300, which is held further up
END

# Several holders, one met twice; fewer by request.
is_text $file, 'identify 5f01020', <<'END';
struct node at 0x5f01020 is:
├─.next of the global variable first (app.c:9, app)
├─.next of struct node at 0x5f01000, which is:
│ ├─the global variable list (app.c:5, app)
│ ├─.next of struct all at 0x5f02000, which is:
│ │ └─the global variable sample (app.c:6, app)
│ └─[0] of struct node *[512] at 0x5f03000, which is:
│   └─the global variable vector (app.c:7, app)
└─.either.node of struct all at 0x5f02000, already shown
END
is_text $file, 'identify --width 1 5f01020', <<'END';
struct node at 0x5f01020 is:
├─.next of the global variable first (app.c:9, app)
└─and 2 more (--width shows them)
END

# A cycle; a leaked cycle; what nothing holds; what only a leaked object holds.
is_text $file, 'identify 5f01100', <<'END';
struct node at 0x5f01100 is:
├─the local variable ring of serve (app.c:29), thread 4242
├─+0x18 of block(48) at 0x5f02300 (points to .value), which is:
│ └─the register rbx in serve, thread 4242
└─.next of struct node at 0x5f01120, which it holds itself (a cycle)
END
is_text $file, 'identify 5f01240', <<'END';
struct node at 0x5f01240 is:
└─.next of struct node at 0x5f01260, which is:
  └─.next of struct node at 0x5f01240, itself (a cycle)
no root reaches it: leaked
END
is_text $file, 'identify 5f01200', <<'END';
struct node at 0x5f01200 is:
no root reaches it: leaked
END
is_text $file, 'identify 5f01220', <<'END';
struct node at 0x5f01220 is:
└─.next of struct node at 0x5f01200, which nothing holds (leaked)
no root reaches it: leaked
END

# Each kind of root.
is_text $file, 'identify 5f02300', <<'END';
block(48) at 0x5f02300 is:
└─the register rbx in serve, thread 4242
END
is_text $file, 'identify 5f02200', <<'END';
struct message at 0x5f02200 is:
└─+0x0 of unnamed data of app
END
is_text $file, 'identify 5f02100', <<'END';
class Circle at 0x5f02100 is:
└─+0x0 of the stack of main, thread 4242
END
is_text $file, 'identify 5f01040', <<'END';
struct node at 0x5f01040 is:
├─the thread-local variable mine (app.c:10, app), thread 4243
├─.next of struct node at 0x5f01020, which is:
│ ├─.next of the global variable first (app.c:9, app)
│ └─.either.node of struct all at 0x5f02000, which is:
│   └─the global variable sample (app.c:6, app)
└─[511] of struct node *[512] at 0x5f03000, which is:
  └─the global variable vector (app.c:7, app)
END

# A shortest path.
is_text $file, 'path 5f00100', <<'END';
the global variable popular (cache.c:50, libutility.so)
  → struct table at 0x5f00400
  .slots → struct slot[14] at 0x5f00300
  [3].value → struct utility at 0x5f00200
  .month → struct date at 0x5f00100
END
is_text $file, 'path 5f01020', <<'END';
the global variable first (app.c:9, app)
  .next → struct node at 0x5f01020
END
is_text $file, 'path 5f02200', <<'END';
unnamed data of app
  +0x0 → struct message at 0x5f02200 (untyped pointer)
END

# Neighbours.
is_text $file, 'inrefs 5f01000', <<'END';
the global variable list (app.c:5, app)
.next of struct all at 0x5f02000
[0] of struct node *[512] at 0x5f03000
END
is_text $file, 'inrefs 5f01100', <<'END';
the local variable ring of serve (app.c:29), thread 4242
.next of struct node at 0x5f01120
+0x18 of block(48) at 0x5f02300 + 8 (untyped pointer)
END
is_text $file, 'outrefs 5f00200', <<'END';
.name = char[17] "hello, world" at 0x5f00500
.month = struct date at 0x5f00100
END
is_text $file, 'outrefs 5f02300', <<'END';
+0x18 = struct node at 0x5f01100 + 8 (untyped pointer)
END
is_text $file, 'outrefs sample', <<'END';
.next = struct node at 0x5f01000
.middle = char[17] "hello, world" at 0x5f00500 + 7
.either.node = struct node at 0x5f01020
END

# Retained sizes.
is_text $file, 'retained popular', <<'END';
struct table at 0x5f00400: own 24 B, retained 284 B, held by the global variable popular (cache.c:50, libutility.so)
END
is_text $file, 'retained 5f01100', <<'END';
struct node at 0x5f01100: own 16 B, retained 32 B, held by the local variable ring of serve (app.c:29), thread 4242
END
is_text $file, 'retained --conservative 5f01100', <<'END';
struct node at 0x5f01100: own 16 B, retained 32 B, held by ring and the register rbx in serve, thread 4242, together
END
is_text $file, 'retained 5f01020', <<'END';
struct node at 0x5f01020: own 16 B, retained 16 B, held by list, sample, vector and first, together
END
is_text $file, 'retained &popular', <<'END';
the global variable popular (cache.c:50, libutility.so): retained 284 B in 4 objects, of 301 B in 5 that it leads to
END
# A struct, which is no pointer itself.
is_text $file, 'retained first', <<'END';
the global variable first (app.c:9, app): retained 0 B in 0 objects, of 32 B in 2 that it leads to
END
is_text $file, 'path first', <<'END';
the global variable first (app.c:9, app)
  .next → struct node at 0x5f01020
END
is_text $file, 'retained 5f00100', <<'END';
struct date at 0x5f00100: own 12 B, retained 12 B, held by struct utility at 0x5f00200
END

# The bytes that they hold alone, as a tree.
is_text $file, 'dominators popular', <<'END';
    retained      %  by
       284 B  100.0  struct table at 0x5f00400
       260 B   91.5  └─struct slot[14] at 0x5f00300
END
is_text $file, 'dominators --depth 3 &popular', <<'END';
    retained      %  by
       284 B  100.0  the global variable popular (cache.c:50, libutility.so)
       284 B  100.0  └─struct table at 0x5f00400
       260 B   91.5    └─struct slot[14] at 0x5f00300
        36 B   12.7      └─struct utility at 0x5f00200
END
is_text $file, 'dominators --limit 3', <<'END';
    retained      %  by
     4.0 KiB   85.2  ├─the global variable vector (app.c:7, app)
       284 B    5.9  ├─the global variable popular (cache.c:50, libutility.so)
       152 B    3.2  ├─the global variable sample (app.c:6, app)
       214 B    4.4  └─8 more
END
is_text $file, 'dominators --conservative --limit 3', <<'END';
    retained      %  by
     4.0 KiB   85.2  ├─the global variable vector (app.c:7, app)
       284 B    5.9  ├─the global variable popular (cache.c:50, libutility.so)
       152 B    3.2  ├─the global variable sample (app.c:6, app)
       214 B    4.4  └─9 more
END
is_text $file, 'dominators --depth 2', <<'END';
    retained      %  by
     4.0 KiB   85.2  ├─the global variable vector (app.c:7, app)
     4.0 KiB   85.2  │ └─struct node *[512] at 0x5f03000
       284 B    5.9  ├─the global variable popular (cache.c:50, libutility.so)
       284 B    5.9  │ └─struct table at 0x5f00400
       152 B    3.2  ├─the global variable sample (app.c:6, app)
       152 B    3.2  │ └─struct all at 0x5f02000
        72 B    1.5  ├─words of stacks, registers and mappings alone
        48 B    1.0  │ ├─the register rbx in serve, thread 4242
        24 B    0.5  │ └─the stack of main, thread 4242
        32 B    0.7  ├─the local variable ring of serve (app.c:29), thread 4242
        32 B    0.7  │ └─struct node at 0x5f01100
        32 B    0.7  ├─unnamed data of app
        32 B    0.7  │ └─struct message at 0x5f02200
        17 B    0.4  ├─popular and sample, together
        17 B    0.4  │ └─char[17] "hello, world" at 0x5f00500
        16 B    0.3  ├─list, sample and vector, together
        16 B    0.3  │ └─struct node at 0x5f01000
        16 B    0.3  ├─list, sample, vector and first, together
        16 B    0.3  │ └─struct node at 0x5f01020
        16 B    0.3  ├─list, sample, vector, first and mine, together
        16 B    0.3  │ └─struct node at 0x5f01040
        13 B    0.3  └─1 more
END
is_text $file, 'suspects --min 1%', <<'END';
1. 1.3 % of the heap, 64 B: leaked: 4 objects, struct node and what is lost with them
   The first of them comes from node_new (app.c:12).
   No root leads to them: `leaks` says where they were allocated.

2. 85.2 % of the heap, 4.0 KiB: struct node *[512] at 0x5f03000, which is as large itself
   It comes from node_new (app.c:12).
   If it should be smaller, `dominators --depth 3 0x5f03000` says what is in it.
   the global variable vector (app.c:7, app)
     → struct node *[512] at 0x5f03000

3. 5.4 % of the heap, 260 B: struct slot[14] at 0x5f00300, which is as large itself
   It comes from grow+0x10 (libutility.so).
   If it should be smaller, `dominators --depth 3 0x5f00300` says what is in it.
   the global variable popular (cache.c:50, libutility.so)
     → struct table at 0x5f00400
     .slots → struct slot[14] at 0x5f00300

4. 3.2 % of the heap, 152 B: struct all at 0x5f02000, which is as large itself
   It comes from copy_text (text.c:7).
   If it should be smaller, `dominators --depth 3 0x5f02000` says what is in it.
   the global variable sample (app.c:6, app)
     → struct all at 0x5f02000

5. 1.0 % of the heap, 48 B: 3 × struct node, held by several roots
   The largest of them comes from node_new (app.c:12).
   No single object holds them all: `identify 0x5f01000` says who holds one of them.
   the global variable list (app.c:5, app)
     → struct node at 0x5f01000

6. 1.0 % of the heap, 48 B: block(48) at 0x5f02300, which is as large itself
   It comes from 0x12345678.
   If it should be smaller, `dominators --depth 3 0x5f02300` says what is in it.
   the register rbx in serve, thread 4242
     → block(48) at 0x5f02300 (untyped pointer)
END
is_text $file, 'dominators --depth 0 5f03000', <<'END';
    retained      %  by
     4.0 KiB  100.0  struct node *[512] at 0x5f03000
END
is_deeply [Sample::heapsh($file, 'dominators', '5f01240')],
    ["no root reaches struct node at 0x5f01240: leaked\n", '', 1], 'dominators of what is leaked';
fails_with $file, 'dominators 5f00100 5f00200',
    "heapsh: 5f00200 is one word too many; usage: dominators [--depth N] [--all | --limit N] [--conservative] [OBJ]", 2;

# Sets: the two nodes that only the ring's two objects hold go with both of them.
is_text $file, "retained type 'struct node'", <<'END';
   objects        bytes  type
         5         80 B  struct node
Total: 9 objects, own 144 B; together they retain 5 objects, 80 B
END
is_text $file, 'retained --limit 2 under popular', <<'END';
   objects        bytes  type
         1        224 B  struct slot
         1         24 B  struct utility
Total: 4 objects, own 284 B; together they retain 4 objects, 284 B
END
is_text $file, 'retained --by type --limit 5', <<'END';
   objects        bytes     retained  type
         1      4.0 KiB      4.0 KiB  struct node *
         1         24 B        284 B  struct table
         1        224 B        260 B  struct slot
         1        152 B        152 B  struct all
         9        144 B         80 B  struct node
END
is_text $file, 'retained --by site --limit 2', <<'END';
   objects        bytes     retained  site
        10      4.1 KiB      4.1 KiB  node_new (app.c:12)
         3         60 B        284 B  cache_insert (cache.c:88)
END
fails_with $file, 'retained --by moon', 'heapsh: --by moon: not type or site', 2;
fails_with $file, 'retained', 'usage: retained [--all | --limit N] [--conservative] OBJ|FILTER...|--by type|site', 2;
fails_with $file, 'retained size many', "heapsh: size many: not a size such as 64, >4K or <=1M", 2;
fails_with $file, 'retained nowhere', "heapsh: nowhere: neither an address nor a variable", 1;

# Where most of it gathers.
is_text $file, 'suspects --min 5%', <<'END';
1. 85.2 % of the heap, 4.0 KiB: struct node *[512] at 0x5f03000, which is as large itself
   It comes from node_new (app.c:12).
   If it should be smaller, `dominators --depth 3 0x5f03000` says what is in it.
   the global variable vector (app.c:7, app)
     → struct node *[512] at 0x5f03000

2. 5.4 % of the heap, 260 B: struct slot[14] at 0x5f00300, which is as large itself
   It comes from grow+0x10 (libutility.so).
   If it should be smaller, `dominators --depth 3 0x5f00300` says what is in it.
   the global variable popular (cache.c:50, libutility.so)
     → struct table at 0x5f00400
     .slots → struct slot[14] at 0x5f00300
END
is_deeply [Sample::heapsh($file, 'suspects', '--min', '1M')],
    ["Nothing holds 1.0 MiB or more of one kind.\n", '', 1], 'no suspects';
fails_with $file, 'suspects --min much', "usage: suspects [--all | --limit N] [--conservative] [--min SIZE|PERCENT%]", 2;
# Sizes of roots, one by one and together.
is_text $file, 'roots', <<'END';
  retained  reachable     shared  exclusive      %  root
   4.0 KiB    4.0 KiB       48 B    4.0 KiB   85.2  the global variable vector (app.c:7, app)
     284 B      301 B       17 B       24 B    5.9  the global variable popular (cache.c:50, libutility.so)
     152 B      217 B       65 B      152 B    3.2  the global variable sample (app.c:6, app)
      32 B       32 B        0 B        0 B    0.7  the local variable ring of serve (app.c:29), thread 4242
      32 B       32 B        0 B       32 B    0.7  unnamed data of app
      17 B                                     0.4  popular and sample, together: 1 char
      16 B                                     0.3  list, sample and vector, together: 1 struct node
      16 B                                     0.3  list, sample, vector and first, together: 1 struct node
      16 B                                     0.3  list, sample, vector, first and mine, together: 1 struct node
      13 B       13 B        0 B       13 B    0.3  the global variable greeting (app)
       0 B       48 B       48 B        0 B    0.0  the global variable list (app.c:5, app)
       0 B       32 B       32 B        0 B    0.0  the global variable first (app.c:9, app)
       0 B       16 B       16 B        0 B    0.0  the thread-local variable mine (app.c:10, app), thread 4243
      72 B       72 B        0 B       72 B    1.5  words of stacks, registers and mappings alone (2; see roots --stack)
      64 B                                     1.3  leaked: no root leads to it
END
is_text $file, 'roots --limit 1', <<'END';
  retained  reachable     shared  exclusive      %  root
   4.0 KiB    4.0 KiB       48 B    4.0 KiB   85.2  the global variable vector (app.c:7, app)
     578 B                                    12.0  12 more
      72 B       72 B        0 B       72 B    1.5  words of stacks, registers and mappings alone (2; see roots --stack)
      64 B                                     1.3  leaked: no root leads to it
END
is_text $file, 'roots --min 250', <<'END';
  retained  reachable     shared  exclusive      %  root
   4.0 KiB    4.0 KiB       48 B    4.0 KiB   85.2  the global variable vector (app.c:7, app)
     284 B      301 B       17 B       24 B    5.9  the global variable popular (cache.c:50, libutility.so)
     294 B                                     6.1  11 more
      72 B       72 B        0 B       72 B    1.5  words of stacks, registers and mappings alone (2; see roots --stack)
      64 B                                     1.3  leaked: no root leads to it
END
is_text $file, 'roots --by kind', <<'END';
  retained  reachable     shared  exclusive      %  kind
   4.5 KiB    4.5 KiB       16 B    4.2 KiB   95.5  global variables
      48 B       48 B        0 B       48 B    1.0  registers
      32 B       32 B        0 B        0 B    0.7  local variables
      32 B       32 B        0 B       32 B    0.7  unnamed data of modules
      24 B       24 B        0 B       24 B    0.5  words of stacks
      16 B                                     0.3  global variables and thread-local variables, together: 1 struct node
       0 B       16 B       16 B        0 B    0.0  thread-local variables
      64 B                                     1.3  leaked: no root leads to it
END
is_text $file, 'roots --by thread', <<'END';
  retained  reachable     shared  exclusive      %  thread
   4.5 KiB    4.5 KiB       16 B    4.2 KiB   96.2  (no thread)
     104 B      104 B        0 B       72 B    2.2  thread 4242 (app)
      16 B                                     0.3  (no thread) and thread 4243 (worker), together: 1 struct node
       0 B       16 B       16 B        0 B    0.0  thread 4243 (worker)
      64 B                                     1.3  leaked: no root leads to it
END
is_text $file, 'roots --by frame --stack', <<'END';
  retained  reachable     shared  exclusive      %  frame
      80 B       80 B        0 B       48 B    1.7  serve (app.c:30), thread 4242 (app)
      24 B       24 B        0 B       24 B    0.5  main (app.c:44), thread 4242 (app)
   4.5 KiB                                    96.5  other roots, alone or with these
      64 B                                     1.3  leaked: no root leads to it
END
is_text $file, 'roots --by variable --limit 2', <<'END';
  retained  reachable     shared  exclusive      %  variable
   4.0 KiB    4.0 KiB       48 B    4.0 KiB   85.2  vector (app.c:7)
     284 B      301 B       17 B       24 B    5.9  popular (cache.c:50)
     366 B                                     7.6  13 more
      64 B                                     1.3  leaked: no root leads to it
END
is_text $file, 'roots --by module --globals', <<'END';
  retained  reachable     shared  exclusive      %  module
   4.2 KiB    4.3 KiB       17 B    4.2 KiB   90.2  app
     284 B      301 B       17 B       24 B    5.9  libutility.so
      17 B                                     0.4  app and libutility.so, together: 1 char
     104 B                                     2.2  other roots, alone or with these
      64 B                                     1.3  leaked: no root leads to it
END
is_text $file, 'roots --globals --by file', <<'END';
  retained  reachable     shared  exclusive      %  file
   4.2 KiB    4.2 KiB       17 B    4.1 KiB   89.3  app.c
     284 B      301 B       17 B       24 B    5.9  cache.c
      45 B       45 B        0 B       45 B    0.9  (no file)
      17 B                                     0.4  app.c and cache.c, together: 1 char
     104 B                                     2.2  other roots, alone or with these
      64 B                                     1.3  leaked: no root leads to it
END
is_text $file, 'shared &popular &sample', <<'END';
        17 B  1 object that both lead to
       284 B  4 objects that only the global variable popular (cache.c:50, libutility.so) leads to
       200 B  4 objects that only the global variable sample (app.c:6, app) leads to
END
is_text $file, 'shared 5f01100 5f01120', <<'END';
        32 B  2 objects that both lead to
         0 B  0 objects that only struct node at 0x5f01100 leads to
         0 B  0 objects that only struct node at 0x5f01120 leads to
END
fails_with $file, 'roots --by moon',
    'heapsh: --by moon: not root, variable, file, module, thread, frame or kind', 2;
is_deeply [Sample::heapsh($file, 'shared', '&greeting', '&popular')], [<<'END', '', 1],
         0 B  0 objects that both lead to
        13 B  1 object that only the global variable greeting (app) leads to
       301 B  5 objects that only the global variable popular (cache.c:50, libutility.so) leads to
END
    'nothing in common';
# As it was before there were levels; and the next command does not take over.
is_text $file, 'callstack --conservative --reachable --thread 4242', <<'END';
thread 4242 (app), reaches 104 B, 104 B of it alone
  #0   serve (app.c:30), reaches 80 B, 80 B of it alone
        ring: struct node * = struct node at 0x5f01100, reaches 32 B, 0 B of it alone
  #1   main (app.c:44), reaches 24 B, 24 B of it alone
END
is +(Sample::run("roots --limit 1\nretained --conservative type node\ndominators --limit 4\n", "$Sample::build/heapsh", '--quiet', $file))[0] =~ s/\A.*Total[^\n]*\n//sr,
    (Sample::heapsh($file, qw(dominators --limit 4)))[0], 'conservative is one command only';
is_text $file, 'callstack --reachable', <<'END';
thread 4242 (app), reaches 104 B, 104 B of it alone
  #0   serve (app.c:30), reaches 80 B, 80 B of it alone
        ring: struct node * = struct node at 0x5f01100, reaches 32 B, 32 B of it alone
  #1   main (app.c:44), reaches 24 B, 24 B of it alone
thread 4243 (worker), reaches 16 B, 0 B of it alone
  #0   poll+0x10 (libutility.so)
END
# Ways by each of several holders, and without some fields.
is_text $file, 'path --all 5 5f01100', <<'END';
the local variable ring of serve (app.c:29), thread 4242
  → struct node at 0x5f01100

the register rbx in serve, thread 4242
  → block(48) at 0x5f02300 (untyped pointer)
  +0x18 → struct node at 0x5f01100 + 8 (untyped pointer)
END
for my $line ('path --all 0x5f01100', 'path 0x5f01100 --all', 'path --all=5 5f01100', 'path 5f01100 --all 5') {
    is((Sample::heapsh($file, split / /, $line))[0], (Sample::heapsh($file, qw(path --all 5 5f01100)))[0], $line);
}
like((Sample::heapsh($file, qw(path --all 1001 5f01100)))[1], qr/^heapsh: --all 1001: at most 1000 paths$/, 'too many paths');
is_text $file, 'path --all 9 5f01020', <<'END';
the global variable first (app.c:9, app)
  .next → struct node at 0x5f01020

the global variable list (app.c:5, app)
  → struct node at 0x5f01000
  .next → struct node at 0x5f01020

the global variable sample (app.c:6, app)
  → struct all at 0x5f02000
  .either.node → struct node at 0x5f01020
END
is_text $file, 'path --all 9 --avoid all.either.node 5f01020', <<'END';
the global variable first (app.c:9, app)
  .next → struct node at 0x5f01020

the global variable list (app.c:5, app)
  → struct node at 0x5f01000
  .next → struct node at 0x5f01020
END
is_text $file, "path --all 9 --avoid all.either.node --avoid 'struct node.next' 5f01020", <<'END';
the global variable first (app.c:9, app)
  .next → struct node at 0x5f01020
END
is_deeply [Sample::heapsh($file, qw(path --avoid node.next 5f01120))],
    ["no root reaches struct node at 0x5f01120 without what is avoided\n", '', 1], 'none is left';
fails_with $file, 'path --avoid node.prev 5f01120', 'heapsh: node.prev: no such type or field', 1;
fails_with $file, 'path --avoid node 5f01120', 'heapsh: node: not a field, TYPE.FIELD as in node.next; variables cannot be avoided', 2;
fails_with $file, 'path --all many 5f01120', 'heapsh: --all many: not a number', 2;
# Leaks.
is_text $file, 'leaks', <<'END';
    direct        bytes   indirect  their bytes  type, site
         2         32 B          2         32 B  struct node, node_new (app.c:12), some in cycles
leaked directly: 1 object, 16 B
leaked cycles, one object of each: 1 object, 16 B
leaked indirectly, held by those: 2 objects, 32 B
END
is_text $file, 'leaks --by type --limit 1', <<'END';
    direct        bytes   indirect  their bytes  type
         2         32 B          2         32 B  struct node, some in cycles
leaked directly: 1 object, 16 B
leaked cycles, one object of each: 1 object, 16 B
leaked indirectly, held by those: 2 objects, 32 B
END
is_text $file, 'leaks --by site', <<'END';
    direct        bytes   indirect  their bytes  site
         2         32 B          2         32 B  node_new (app.c:12), some in cycles
leaked directly: 1 object, 16 B
leaked cycles, one object of each: 1 object, 16 B
leaked indirectly, held by those: 2 objects, 32 B
END
is_text $file, 'leaks --list', <<'END';
direct   struct node at 0x5f01200, and 16 B below
indirect struct node at 0x5f01220
cycle    struct node at 0x5f01240, and 16 B below
indirect struct node at 0x5f01260
leaked directly: 1 object, 16 B
leaked cycles, one object of each: 1 object, 16 B
leaked indirectly, held by those: 2 objects, 32 B
END
fails_with $file, 'leaks --by moon', 'heapsh: --by moon: not kind, type, site or backtrace', 2;
fails_with $file, 'leaks --suppressions /nonexistent',
    'heapsh: /nonexistent: cannot be read: No such file or directory', 1;
open my $known, '>', "$Sample::directory/known" or die $!;
print $known "leak:^node_\n";
close $known;
is_deeply [Sample::heapsh($file, 'leaks', '--suppressions', "$Sample::directory/known")],
    [<<'END', '', 1], 'leaks --suppressions';
Nothing is leaked.
leaked, but suppressed: 4 objects, 64 B
suppressed by leak:^node_: 4 objects, 64 B
END
done_testing;
