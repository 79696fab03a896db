#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Types and fields of a real program (t/programs/typed.c), exactly as heapsh prints them.
use strict;
use warnings;
use lib 't/lib';
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;

my $program = Heapsh->start('typed');
my $file = $program->capture;
is(($program->finish)[0], "done 1\n", 'the program goes on');

# Addresses and ages differ from run to run.
sub plain {
    my ($text) = @_;
    $text =~ s/\b0x[0-9a-f]{4,}/0x…/g;
    $text =~ s/at most [\d.]+ s/at most … s/g;
    $text =~ s/ = \S*puts \(.*/ = puts/g;    # in libc, whose own names and files may be known
    return $text;
}

sub is_answer {
    my ($command, $expected) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    is plain(scalar Heapsh::ask($file, ref $command ? @$command : split / /, $command)), $expected,
        ref $command ? "@$command" : $command;
}

# As C, with offsets, holes, padding, and how many there are.
is_answer 'types point_t', <<'END';
typedef struct {
	int x; /* 0, 4 */
	/* a hole of 4 bytes */
	double y; /* 8, 8 */
} point_t; /* 16 bytes, typed.c:8; 1 object, 80 B */
END
is_answer ['types', 'struct window'], <<'END';
struct window {
	char title[12]; /* 0, 12 */
	/* a hole of 4 bytes */
	struct link order; /* 16, 16 */
	struct {
		unsigned int shown : 1; /* 32:0, 4 */
		unsigned int layer : 7; /* 32:1, 4 */
		/* 3 bytes of padding */
	}; /* 32, 4 */
	/* a hole of 4 bytes */
	union {
		point_t *corner; /* 40, 8 */
		void *anything; /* 40, 8 */
	} at; /* 40, 8 */
	int (*draw)(...); /* 48, 8 */
	int (*print)(...); /* 56, 8 */
	void (*nowhere)(...); /* 64, 8 */
}; /* 72 bytes, typed.c:18; 2 objects, 360 B */
END
is_answer 'types unused', <<'END';
struct unused {
	char letter; /* 0, 1 */
	/* a hole of 7 bytes */
	struct unused *next; /* 8, 8 */
	char rest[3]; /* 16, 3 */
	/* 5 bytes of padding */
}; /* 24 bytes, typed.c:35; 0 objects, 0 B */
END
my ($type) = @{ Heapsh::ask_json($file, 'types', 'point_t') };
is_deeply [@$type{qw(type size objects bytes)}], ['point_t', 16, 1, 80], 'the same in JSON';
is_deeply [map { "$_->{type} $_->{name} $_->{offset}" } @{ $type->{members} }],
    ['int x 0', 'double y 8'], 'with its members';
is(Heapsh::ask($file, 'find', '--count', 'type', 'point_t'), "Total: 1 object, 80 B\n",
    'a type without a name is found by its typedef');
is(Heapsh::ask($file, 'find', '--count', 'type', 'point_t[5]'), "Total: 1 object, 80 B\n",
    'as is an array of it');
# Pointers into parts, to functions, and into nothing that is known.
is_answer 'show &height', <<'END';
the global variable height (typed.c:42, typed), double * at 0x…, 8 B
  value = &point_t[2].y in point_t[5] at 0x…
END
is_answer 'show &points', <<'END';
the global variable points (typed.c:41, typed), point_t * at 0x…, 8 B
  value = point_t[5] at 0x…
END
is_answer 'show window', <<'END';
struct window at 0x…, 72 B
  allocated by window_new (typed.c:58), at most … s ago; type by pointer
  backtrace of the first of that site and size:
    #0   window_new (typed.c:58)
    #1   make_windows (typed.c:84)
    #2   main (typed.c:99)
  title = "layer 3"
  order = {
    next = &struct window.order in struct window at 0x…
    previous = &main_order
  }
  (struct) = {
    shown = 1
    layer = 3
  }
  at = {
    corner = &point_t[3] in point_t[5] at 0x…
    anything = &point_t[3] in point_t[5] at 0x…
  }
  draw = draw_window (typed.c:52)
  print = puts
  nowhere = draw_window+0x1 (typed.c:52)
END
is_answer 'show &second', <<'END';
the global variable second (typed.c:45, typed), struct link * at 0x…, 8 B
  value = &struct window[1].order in struct window[4] at 0x…
END
like plain(scalar Heapsh::ask($file, 'show', 'windows')),
    qr/^    order = \{\n      next = &struct window\[2\]\.order in struct window\[4\] at 0x…$/m,
    'an array shows its elements';
is_answer 'identify points', <<'END';
point_t[5] at 0x… is:
├─the global variable points (typed.c:41, typed)
├─the global variable height (typed.c:42, typed) (points to [2].y)
└─.at.corner of struct window at 0x… (points to [3]), which is:
  └─the global variable window (typed.c:43, typed)
END
# How blocks came to be; a function that is always inlined has its frame.
is((plain(scalar Heapsh::ask($file, 'show', 'points')) =~ /\A(.*?)  \[0\]/s)[0], <<'END', 'show points, its beginning');
point_t[5] at 0x…, 80 B
  allocated by points_new (typed.c:71), at most … s ago; type by pointer
  backtrace of the first of that site and size:
    #0   points_new (typed.c:71), inlined
    #1   make_points (typed.c:76)
    #2   main (typed.c:98)
END
my $points = "point_t[5] at 0x…\n";
is_answer 'find site points_new', $points;
is_answer 'find frame make_points', $points;
is_answer 'find frame typed.c:76', $points;
is_answer 'find site make_points', '';
is_answer 'find frame main not frame make_windows type point_t', $points;
is_answer 'find --count evidence pointer frame main not type char', "Total: 3 objects, 440 B\n";
is_answer 'find conflict', '';
is_answer 'find under-typed', '';
# A program as small as this one has hardly any samples, unless each block is one.
my $sampled = Heapsh->start('typed', env => { HEAPSNAP_STACKS => 1 })->capture;
my $sites = plain(scalar Heapsh::ask($sampled, 'sites', '--tree', '--min', '1'));
like $sites, qr/^ +2 +360 B +[\d.]+ {9}main \(typed\.c:99\)$/m, 'the tree of calls: from main';
like $sites, qr/^ +1 +72 B +[\d.]+ {9}└─make_windows \(typed\.c:84\)\n +1 +72 B +[\d.]+ {9}  └─window_new \(typed\.c:58\)$/m,
    'down to where it was allocated';
like $sites, qr/^ +1 +80 B +[\d.]+ {9}  └─points_new \(typed\.c:71\), inlined$/m, 'inlined or not';
is_answer 'identify windows', <<'END';
struct window[4] at 0x… is:
├─the global variable windows (typed.c:44, typed)
├─the global variable second (typed.c:45, typed) (points to [1].order)
└─[1].order.next and 1 more field of struct window[4] at 0x… (points to [2].order), itself (a cycle)
END
is_answer 'show &main_order', <<'END';
the global variable main_order (typed.c:49, typed), struct link at 0x…, 16 B
  next = NULL
  previous = NULL
END

# Without debug information: where blocks come from, by symbol, and of which size.
{
    my $scratch = tempdir(CLEANUP => 1);
    is system('gcc', '-g0', '-O0', '-o', "$scratch/bare", 't/programs/typed.c'), 0, 'compiles without -g';
    my $program = Heapsh->start("$scratch/bare");
    $file = $program->capture;
    $program->finish;
}
(my $count = plain(scalar Heapsh::ask($file, 'count'))) =~ s/^.* char \(.*\n//m;
$count =~ s/\+0x[0-9a-f]+/+0x…/g;
is $count, <<'END', 'blocks without a type, in count';
   objects        bytes  type (evidence)
         3        440 B  (untyped)
         1        288 B    block(288) from make_windows+0x… (bare)
         1         80 B    block(80) from make_points+0x… (bare)
         1         72 B    block(72) from window_new+0x… (bare)
END
like plain(scalar Heapsh::ask($file, 'show', 'window')),
    qr/\Ablock\(72\) at 0x…, 72 B\n  allocated by window_new\+0x[0-9a-f]+ \(bare\), at most … s ago; type unknown
  backtrace of the first of that site and size:
    #0   window_new\+0x[0-9a-f]+ \(bare\)\n/,
    'and in show';
is plain(scalar Heapsh::ask($file, 'find', 'site', 'window_new')), "block(72) at 0x…\n", 'found by its site';
my ($module) = grep { $_->{path} =~ m{/bare$} } @{ Heapsh::ask_json($file, 'info')->{modules} };
is "$module->{debug}: $module->{note}", ': no debug information', 'info says what is missing';
# libc's own blocks have types where libc has no debug information, and no text is in them.
{
    my $program = Heapsh->start('libc-blocks');
    my $file = $program->capture;
    $program->finish;
    for ([ 8 => 'strndup' ], [ 120 => 'getdelim' ], [ 4096 => 'a stream' ]) {
        my ($size, $what) = @$_;
        my $found = Heapsh::ask_json($file, 'find', 'size', $size);
        is_deeply { map { $_->{type} => 1 } @{ $found->{objects} } }, { "char[$size]" => 1 }, "the block of $what";
    }
}
done_testing;
