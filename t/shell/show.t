#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The output of show for each kind of value.
use strict;
use warnings;
use lib 't/lib';
use Sample;
use Test::More;

my $file = Sample::make();

# One of each kind of member; a variable's name is the object that it points to.
is_text $file, 'show sample', <<'END';
struct all at 0x5f02000, 152 B
  allocated by copy_text (text.c:7), at most 10.0 s ago; type by declared
  next = struct node at 0x5f01000
  middle = char[17] "hello, world" at 0x5f00500 + 7
  nothing = NULL
  call = 0x401000 (app+0x1000)
  wild = 0xdead0000
  count = 18446744073709551615
  colour = BLUE
  mode = MODE_READ|MODE_EXECUTE
  odd = 3
  ratio = 0.5
  balance = -2.25
  yes = true
  letter = 10 '\n'
  red = 1
  depth = -3
  label = "label"
  scores = {
    [0] = 1
    [1] = 2
    [2] = -3
  }
  size = {
    width = 640
    height = 480
  }
  either = {
    node = struct node at 0x5f01020
    number = 99618848
  }
  points = {
    [0] = {
      x = 1
      y = 2
    }
    [1] = {
      x = 3
      y = 4
    }
  }
  (struct) = {
    width = 11
    height = 22
  }
END

# A class with its base and vtable; a flexible array; a string; bytes.
is_text $file, 'show 5f02100', <<'END';
class Circle at 0x5f02100, 24 B
  allocated by copy_text (text.c:7), at most 10.0 s ago; type by vtable
  class Shape = {
    _vptr.Shape = 0x403010 (app+0x3010)
    id = 17
  }
  radius = 1.5
END
is_text $file, 'show 5f02200', <<'END';
struct message at 0x5f02200, 32 B
  allocated by copy_text (text.c:7), at most 10.0 s ago; type by site
  author = char[17] "hello, world" at 0x5f00500
  length = 2
  path = {
    [0] = {
      x = 1
      y = -1
    }
    [1] = {
      x = 2
      y = -2
    }
  }
END
is_text $file, 'show 5f00500', <<'END';
char[17] "hello, world" at 0x5f00500, 17 B
  allocated by copy_text (text.c:7), at most 1.0 h ago; type by pointer
  value = "hello, world"
END
is_text $file, 'show 5f00600', <<'END';
char[13] "\x1b[31mred\n\"\xff\\" at 0x5f00600, 13 B
  allocated by copy_text (text.c:7), at most 1.0 h ago; type by pointer
  value = "\x1b[31mred\n\"\xff\\"
END
is_text $file, 'show 5f02300', <<'END';
block(48) at 0x5f02300, 48 B
  allocated by 0x12345678, at most 10.0 s ago; type unknown
  0000  72 61 77 20 62 79 74 65 73 00 00 00 00 00 00 00  raw bytes.......
  0010  00 00 00 00 00 00 00 00 08 11 f0 05 00 00 00 00  ................
  0020  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  ................
  +0x18 = &struct node.value in struct node at 0x5f01100
END

# An address inside an object is that object.
is_text $file, 'show 0x5f00104', <<'END';
struct date at 0x5f00100, 12 B
  allocated by cache_insert (cache.c:88), at most 1.0 h ago; type by pointer
  year = 2026
  month = 11
  day = 20
END

# Arrays are cut short; of what was not kept the pointers are known all the same.
is_text $file, 'show 5f00300', <<'END';
struct slot[14] at 0x5f00300, 224 B
  allocated by grow+0x10 (libutility.so), at most 1.0 h ago; type by pointer
  [0] = {
    hash = 0
    value = NULL
  }
  [1] = {
    hash = 0
    value = NULL
  }
  [2] = {
    hash = 0
    value = NULL
  }
  [3] = {
    hash = 65261
    value = struct utility at 0x5f00200
  }
  [4] = {
    hash = 0
    value = NULL
  }
  [5] = {
    hash = 0
    value = NULL
  }
  [6] = {
    hash = 0
    value = NULL
  }
  [7] = {
    hash = 0
    value = NULL
  }
  [8] = {
    hash = 0
    value = NULL
  }
  [9] = {
    hash = 0
    value = NULL
  }
  [10] = {
    hash = 0
    value = NULL
  }
  [11] = {
    hash = 0
    value = NULL
  }
  [12] = {
    hash = 0
    value = NULL
  }
  [13] = {
    hash = 0
    value = NULL
  }
END
is_text $file, 'show --all 5f03000 | tail -3', <<'END';
  [509] = (not kept)
  [510] = (not kept)
  [511] = struct node at 0x5f01040
END

# Variables themselves: a structure, a pointer, one that points nowhere.
is_text $file, 'show first', <<'END';
the global variable first (app.c:9, app), struct node at 0x404040, 16 B
  next = struct node at 0x5f01020
  value = 5
END
is_text $file, 'show &popular', <<'END';
the global variable popular (cache.c:50, libutility.so), struct table * at 0x7f0000004010, 8 B
  value = struct table at 0x5f00400
END
is_text $file, 'show nobody', <<'END';
the global variable nobody (app.c:8, app), struct node * at 0x404030, 8 B
  value = NULL
END
done_testing;
