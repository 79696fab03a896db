#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# find and its filters.
use strict;
use warnings;
use lib 't/lib';
use Sample;
use Test::More;

my $file = Sample::make();
is_text $file, 'find', <<'END';
struct date at 0x5f00100
struct utility at 0x5f00200
struct slot[14] at 0x5f00300
struct table at 0x5f00400
char[17] "hello, world" at 0x5f00500
char[13] "\x1b[31mred\n\"\xff\\" at 0x5f00600
struct node at 0x5f01000
struct node at 0x5f01020
struct node at 0x5f01040
struct node at 0x5f01100
struct node at 0x5f01120
struct node at 0x5f01200
struct node at 0x5f01220
struct node at 0x5f01240
struct node at 0x5f01260
struct all at 0x5f02000
class Circle at 0x5f02100
struct message at 0x5f02200
block(48) at 0x5f02300
struct node *[512] at 0x5f03000
END
is_text $file, 'find --limit 2', <<'END';
struct date at 0x5f00100
struct utility at 0x5f00200
END
is_text $file, 'find --count', <<'END';
Total: 20 objects, 4.7 KiB
END
is_text $file, 'find --count --limit 2', <<'END';
Total: 20 objects, 4.7 KiB
END

# Types: exact, a glob, without struct, without quotes, as arrays print.
is_text $file, q{find type 'struct table'}, <<'END';
struct table at 0x5f00400
END
is_text $file, 'find type table', <<'END';
struct table at 0x5f00400
END
is_text $file, 'find type struct slot', <<'END';
struct slot[14] at 0x5f00300
END
is_text $file, q{find type 'struct slot[14]'}, <<'END';
struct slot[14] at 0x5f00300
END
is_text $file, 'find type struct node *', <<'END';
struct node *[512] at 0x5f03000
END
is_text $file, q{find type 'struct node *[512]'}, <<'END';
struct node *[512] at 0x5f03000
END
is_text $file, 'find type char[]', <<'END';
char[17] "hello, world" at 0x5f00500
char[13] "\x1b[31mred\n\"\xff\\" at 0x5f00600
END
is_text $file, 'find type char[13]', <<'END';
char[13] "\x1b[31mred\n\"\xff\\" at 0x5f00600
END
is_text $file, 'find type C*', <<'END';
class Circle at 0x5f02100
END
is_text $file, q{find --count type '*'}, <<'END';
Total: 19 objects, 4.7 KiB
END
is_text $file, 'find untyped', <<'END';
block(48) at 0x5f02300
END

# Sizes, with and without space and quotes: > is no redirection here.
is_text $file, 'find size 48', <<'END';
block(48) at 0x5f02300
END
is_text $file, 'find size >1K', <<'END';
struct node *[512] at 0x5f03000
END
is_text $file, 'find size > 1K', <<'END';
struct node *[512] at 0x5f03000
END
is_text $file, 'find size>=4K', <<'END';
struct node *[512] at 0x5f03000
END
is_text $file, q{find size '<13'}, <<'END';
struct date at 0x5f00100
END
is_text $file, 'find size<13', <<'END';
struct date at 0x5f00100
END
is_text $file, 'find size <= 12', <<'END';
struct date at 0x5f00100
END
is_text $file, 'find --count size =16', <<'END';
Total: 9 objects, 144 B
END

# Where it comes from.
is_text $file, 'find site cache_insert', <<'END';
struct date at 0x5f00100
struct utility at 0x5f00200
struct table at 0x5f00400
END
is_text $file, 'find site cache.c', <<'END';
struct date at 0x5f00100
struct utility at 0x5f00200
struct table at 0x5f00400
END
is_text $file, 'find site text.c:7 size >100', <<'END';
struct all at 0x5f02000
END
# Places without a line, as `sites` prints them.
is_text $file, 'find --count site grow+0x10', "Total: 1 object, 224 B\n";
is_text $file, 'find --count site 0x12345678', "Total: 1 object, 48 B\n";
is_text $file, 'find --count frame grow+0x10', "Total: 1 object, 224 B\n";
fails_with $file, 'find --count site grow+0x11',
    "Total: 0 objects, 0 B\nheapsh: site grow+0x11: nothing was allocated in a function or file of that name; `sites` lists them", 1;
is_text $file, q{find --count site 'node_*'}, <<'END';
Total: 10 objects, 4.1 KiB
END
is_text $file, 'find module libutility.so', <<'END';
struct date at 0x5f00100
struct utility at 0x5f00200
struct slot[14] at 0x5f00300
struct table at 0x5f00400
END
is_text $file, 'find --count module /opt/demo/app', <<'END';
Total: 15 objects, 4.4 KiB
END

# How old, how typed.
is_text $file, 'find age >1m', <<'END';
struct date at 0x5f00100
struct utility at 0x5f00200
struct slot[14] at 0x5f00300
struct table at 0x5f00400
char[17] "hello, world" at 0x5f00500
char[13] "\x1b[31mred\n\"\xff\\" at 0x5f00600
END
is_text $file, 'find --count age <30s', <<'END';
Total: 14 objects, 4.4 KiB
END
is_text $file, 'find evidence vtable', <<'END';
class Circle at 0x5f02100
END
is_text $file, 'find --count evidence vote', <<'END';
Total: 4 objects, 64 B
END

# Its contents, its holders.
is_text $file, 'find string hello', <<'END';
char[17] "hello, world" at 0x5f00500
END
is_text $file, q{find string 'raw bytes'}, <<'END';
block(48) at 0x5f02300
END
is_text $file, 'find string label', <<'END';
struct all at 0x5f02000
END
is_text $file, 'find points-to 5f00500', <<'END';
struct utility at 0x5f00200
struct table at 0x5f00400
struct all at 0x5f02000
struct message at 0x5f02200
END
is_text $file, 'find pointed-by popular', <<'END';
struct slot[14] at 0x5f00300
char[17] "hello, world" at 0x5f00500
END
is_text $file, 'find under popular', <<'END';
struct date at 0x5f00100
struct utility at 0x5f00200
struct slot[14] at 0x5f00300
struct table at 0x5f00400
END
is_text $file, 'find retained>=284 or retained = 36', <<'END';
struct utility at 0x5f00200
struct table at 0x5f00400
struct node *[512] at 0x5f03000
END
is_text $file, 'find --count not under popular retained >0 not retained >30', <<'END';
Total: 7 objects, 118 B
END
is_text $file, 'find leaked', <<'END';
struct node at 0x5f01200
struct node at 0x5f01220
struct node at 0x5f01240
struct node at 0x5f01260
END
is_text $file, 'find --count reachable', <<'END';
Total: 16 objects, 4.6 KiB
END

# Together.
is_text $file, 'find --count not type struct node', <<'END';
Total: 11 objects, 4.6 KiB
END
is_text $file, 'find type struct node not leaked size 16 points-to 5f01100', <<'END';
struct node at 0x5f01120
END
is_text $file, 'find type struct date or type struct table', <<'END';
struct date at 0x5f00100
struct table at 0x5f00400
END
is_text $file, 'find untyped or leaked not points-to 5f01260', <<'END';
struct node at 0x5f01200
struct node at 0x5f01220
struct node at 0x5f01260
block(48) at 0x5f02300
END
is_text $file, 'find not not untyped', <<'END';
block(48) at 0x5f02300
END

# Nothing found is status 1, and no error.
is join('|', (Sample::heapsh($file, 'find', 'type', 'mode'))), '||1', 'nothing found';
is join('|', (Sample::heapsh($file, 'find', '--count', 'type', 'mode'))),
    "Total: 0 objects, 0 B\n||1", 'nothing found, counted';

fails_with $file, 'find frob', 'heapsh: frob: no such filter; there are '
    . 'type, untyped, under-typed, conflict, evidence, tag, size, site, frame, module, age, string, field, '
    . 'points-to, pointed-by, local, under, retained, leaked, reachable, new, traced, allocated, gone, not, or', 2;
fails_with $file, 'find --frob', 'heapsh: --frob: find has no such option; it has --count, --all, --limit, --regex, --exact, -i, --ignore-case', 2;
fails_with $file, 'find --limit', 'heapsh: --limit: a number must follow it', 2;
fails_with $file, 'find --limit -1', 'heapsh: --limit -1: not a number', 2;
fails_with $file, 'find type', 'heapsh: filter type: what follows it is missing', 2;
fails_with $file, 'find not', 'heapsh: not: a filter must follow it', 2;
fails_with $file, 'find or untyped', 'heapsh: or: it stands between two filters', 2;
fails_with $file, 'find untyped or', 'heapsh: or: a filter must follow it', 2;
fails_with $file, 'find size big', 'heapsh: size big: not a size such as 64, >4K or <=1M', 2;
fails_with $file, 'find size >', 'heapsh: size >: not a size such as 64, >4K or <=1M', 2;
fails_with $file, 'find age old', 'heapsh: age old: not a duration such as >10s, <5m, >=2h', 2;
fails_with $file, 'find evidence faith',
    'heapsh: evidence faith: not one of none, declared, vtable, pointer, embedding, site, vote,'
    . ' pool, tag, methods, shape, cast', 2;
fails_with $file, q{find string ''}, 'heapsh: string: the text is empty', 2;
fails_with $file, 'find points-to 0x10', 'heapsh: 0x10: no live object at this address', 1;
done_testing;
