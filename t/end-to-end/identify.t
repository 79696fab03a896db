#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# identify on the shapes in which programs hold objects: each answer ends at roots, and fits a screen.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

my $program = Heapsh->start('holders', no_wait => 1);
my %address;
while ((my $line = $program->line) ne 'ready') {
    my ($name, $address) = split ' ', $line;
    $address{$name} = $address;
}
my $file = $program->await_sleep->capture;
$program->finish;

# An answer without what differs from run to run.
sub answer {
    my $text = Heapsh::ask($file, @_);
    $text =~ s/0x[0-9a-f]{6,}/0x…/g;
    $text =~ s/holders\.c:\d+/holders.c/g;
    # libc's debug information, where it is, has another struct of that name.
    $text =~ s/struct entry \(holders\.c\)/struct entry/g;
    $text =~ s/thread \d+/thread N/g;
    return $text;
}

sub is_answer {
    my ($name, $expected) = @_;
    is answer('identify', $address{$name}), $expected, $name;
    cmp_ok scalar(() = $expected =~ /\n/g), '<', 24, "$name: fits a screen";
}

is_answer 'session', <<'END';
struct session at 0x… is:
├─.next of struct session at 0x…, which is:
│ └─… 498 more by .next, the last of them struct session at 0x…, which is:
│   └─the global variable sessions (holders.c, holders)
└─.previous of struct session at 0x…, which it holds itself (a cycle)
END
is_answer 'peer', <<'END';
char[24] "10.0.0.220" at 0x… is:
└─.peer of struct session at 0x…, which is:
  └─… 499 more by .next, the last of them struct session at 0x…, which is:
    └─the global variable sessions (holders.c, holders)
END
is_answer 'leaf', <<'END';
struct tree at 0x… is:
├─the local variable leaf of main (holders.c), thread N
└─.right of struct tree at 0x…, which is:
  └─… 11 more by .left, .right, the last of them struct tree at 0x…, which is:
    └─the global variable tree (holders.c, holders)
END
is_answer 'value', <<'END';
struct value at 0x… is:
├─.value of struct entry at 0x…, which is:
│ └─.next of struct entry at 0x…, which is:
│   └─.next of struct entry at 0x…, which is:
│     └─.slots[36] of struct cache at 0x…, which is:
│       └─the global variable cache (holders.c, holders)
├─.newer of struct value at 0x…, which is:
│ └─.value of struct entry at 0x…, which is:
│   └─.next of struct entry at 0x…, which is:
│     └─.next of struct entry at 0x…, which is:
│       └─.slots[35] of struct cache at 0x…, already shown
└─.older of struct value at 0x…, which is:
  └─.value of struct entry at 0x…, which is:
    └─.next of struct entry at 0x…, which is:
      └─.next of struct entry at 0x…, which is:
        └─.slots[37] of struct cache at 0x…, already shown
END
is_answer 'directory', <<'END';
struct directory at 0x… is:
└─.directory of struct item at 0x…, which is:
  └─… 39 more by .items, .directory, the last of them struct directory at 0x…, which is:
    └─the global variable disk (holders.c, holders)
END
is_answer 'leaked', <<'END';
struct ring at 0x… is:
└─.next of struct ring at 0x…, which is:
  └─… 3 more by .next, the last of them struct ring at 0x…, which is:
    └─.next of struct ring at 0x…, itself (a cycle)
no root reaches it: leaked
END
like answer('identify', $address{local}), qr/\A\Qstruct ring at 0x… is:
└─.next of struct ring at 0x…, which is:
  └─the local variable local of wait_with (holders.c), thread N
\E/, 'what only a frame holds';

# Everything, on request.
my @lines = Heapsh::ask($file, 'identify', '--all', $address{session});
is scalar(grep { /\.next of struct session/ } @lines), 499, '--all: every step of the list';
unlike join('', @lines), qr/… /, '--all: no run';
# ... of one that is not longer than people, or readers of JSON, could bear.
@lines = Heapsh::ask($file, 'identify', '--all', $address{link});
is scalar(@lines), 502, '--all: 500 levels of a long list';
like $lines[-1], qr/^ +└─\.next of struct link at 0x\w+, 49498 steps below the global variable chain \(holders\.c:\d+, holders\)$/,
    '... and how much further it is to the root';
my $level = Heapsh::ask_json($file, 'identify', '--all', $address{link});
my $levels = 0;
$levels++ while $level->{held_by} && ($level = $level->{held_by}[0]);
is $levels, 101, 'JSON: 100 levels, which each reader takes';
like $level->{end}, qr/^49898 steps below the global variable chain /, '... and the rest of the way';
@lines = Heapsh::ask($file, 'identify', '--depth', 1, $address{session});
like $lines[2], qr/, which is held further up$/, '--depth: a branch that ends for it says so';

# As JSON, a run does not nest.
my $json = Heapsh::ask_json($file, 'identify', $address{session});
my $holder = $json->{held_by}[0];
is_deeply [ @{ $holder->{run} }{qw(objects fields)} ], [ 498, '.next' ], 'JSON: a run';
is $holder->{held_by}[0]{root}{name}, 'sessions', 'JSON: and what holds its last object';
done_testing;
