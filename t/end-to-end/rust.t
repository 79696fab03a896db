#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A known heap of Rust (t/programs/rust-sample.rs), as its compiler describes it.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use File::Temp qw(tempdir);
use Test::More;

my $directory = tempdir(CLEANUP => 1);

# Its library's types have other members and names in earlier versions, such as 1.63 of Debian 12.
my ($version) = `rustc --version 2>/dev/null` =~ /^rustc 1\.(\d+)/;
plan skip_all => 'no rustc of 1.95 or later' unless defined $version && $version >= 95;

sub show_without_addresses { return Heapsh::ask(@_) =~ s/0x[0-9a-f]+/X/gr }

my $shop = <<'END';
  items = Vec of 5 (capacity 8) {
    [0] = {
      name = "an item of the shop"
      price = 0
      number = 0
    }
    [1] = {
      name = "an item of the shop"
      price = 1.5
      number = 1
    }
    [2] = {
      name = "an item of the shop"
      price = 3
      number = 2
    }
    [3] = {
      name = "an item of the shop"
      price = 4.5
      number = 3
    }
    [4] = {
      name = "an item of the shop"
      price = 6
      number = 4
    }
  }
  shapes = Vec of 4 {
    [0] = Circle {
      radius = 1.5
    }
    [1] = Square(2.5)
    [2] = Named {
      __0 = "a named shape"
      __1 = struct rust_sample::Item at X
    }
    [3] = Empty
  }
  numbers = Vec of 10 (capacity 16) {
    [0] = 0
    [1] = 1
    [2] = 4
    [3] = 9
    [4] = 16
    [5] = 25
    [6] = 36
    [7] = 49
    [8] = 64
    [9] = 81
  }
  texts = Vec of 3 {
    [0] = "one"
    [1] = "two"
    [2] = ""
  }
END

# By type, and by elements where there are several in a block.
my %objects = (
    'struct rust_sample::Shop' => 1,
    'struct rust_sample::Item' => 2,       # Box<Item>: a field, and in an enum
    'struct rust_sample::Item[8]' => 1,    # the buffer of Vec<Item>
    'struct rust_sample::Shape[4]' => 1,
    'struct rust_sample::Node' => 4,
    'u32[16]' => 1, 'u16[3]' => 1, 'u64[6]' => 1,
    'struct alloc::string::String[3]' => 1,
    'struct alloc::rc::RcInner<rust_sample::Item>' => 1,
    'struct alloc::sync::ArcInner<rust_sample::Item>' => 1,
);

for my $level (0, 2) {
    my $program = "$directory/rust-$level";
    is system("rustc -g -C opt-level=$level --crate-name rust_sample -o $program "
            . "t/programs/rust-sample.rs 2>$directory/errors"), 0, "it builds, opt-level=$level";
    my $file = Heapsh->start($program)->capture;
    my %count;
    $count{ $_->{type} }++ for @{ Heapsh::ask_json($file, 'find', 'size', '>', '0')->{objects} };
    is $count{$_}, $objects{$_}, "opt-level=$level: $_" for sort keys %objects;
    my ($object) =
        @{ Heapsh::ask_json($file, 'find', 'type', 'rust_sample::Shop')->{objects} };
    my $shown = show_without_addresses($file, 'show', '--all', $object->{address});
    like $shown, qr/^  name = "The corner shop"$/m, 'a String by its text';
    is join('', $shown =~ /^(  items = .*?^  \}\n)(  shapes = .*?^  \}\n)(  numbers = .*?^  \}\n)(  texts = .*?^  \}\n)/ms),
        $shop, 'Vecs by their elements, enums by the variant that they are';
    like $shown, qr/^  first = struct rust_sample::Item at X$/m, 'a Box';
    like $shown, qr/^  shared = struct alloc::rc::RcInner<rust_sample::Item> at X \(strong count 2, weak count 0\)$/m,
        'an Rc';
    like $shown, qr/^  atomically = struct alloc::sync::ArcInner<.*> at X \(strong count 1, weak count 0\)$/m,
        'an Arc';
    like $shown, qr/^  queue = VecDeque of 6 \{\n    \[0\] = 0\n/m, 'a VecDeque';
    like $shown, qr/^  list = Some\(struct rust_sample::Node at X\)$/m, 'an Option that has something';
    my @nodes = @{ Heapsh::ask_json($file, 'find', 'type', 'rust_sample::Node')->{objects} };
    my %next;
    $next{ Heapsh::ask_json($file, 'show', $_->{address})->{fields}{next}{variant} }++ for @nodes;
    is_deeply \%next, { Some => 3, None => 1 }, 'JSON: variants';
    my $json = Heapsh::ask_json($file, 'show', $object->{address})->{fields};
    is_deeply $json->{texts}, { container => 'Vec', length => 3, capacity => 3,
        elements => ['one', 'two', ''] }, 'JSON: a Vec of Strings';
    is_deeply $json->{shapes}{elements}[0], { variant => 'Circle', radius => 1.5 }, 'JSON: an enum';
    is typed_keys($file), 5, 'the keys of a HashMap, which lie before what it points to';
}

# Maps and sets (t/programs/rust-maps.rs). Each owns one block, but for the ten maps without variables.
my %in_maps = (
    'struct rust_maps::Session' => 60, 'struct rust_maps::Point[3]' => 60,
    'struct alloc::sync::ArcInner<rust_maps::Point>' => 70,
    'struct alloc::rc::RcInner<rust_maps::Point>' => 100,
    'entries and bytes' => 4 + 20 + 50,
);
for my $level (0, 2) {
    my $program = "$directory/maps-$level";
    is system("rustc -g -C opt-level=$level --crate-name rust_maps -o $program "
            . "t/programs/rust-maps.rs 2>$directory/errors"), 0, "it builds, opt-level=$level";
    my $file = Heapsh->start($program)->capture;
    my %count;
    $count{ $_->{type} =~ /^struct \(.*\)(?:\[\d+\])? and \d+ bytes$/ ? 'entries and bytes' : $_->{type} }++ for @{ Heapsh::ask_json($file, 'find', 'size', '>', '0')->{objects} };
    is $count{$_}, $in_maps{$_}, "maps, opt-level=$level: $_" for sort keys %in_maps;
    for my $text ('the user of', 'variable ', 'its value ', 'point ', 'the word ', 'nested point ') {
        my @blocks = @{ Heapsh::ask_json($file, 'find', 'string', $text)->{objects} };
        is scalar(grep { $_->{elements} == 0 } @blocks), 0, "maps, opt-level=$level: texts with '$text' have a type";
    }
}

# The number of blocks that hold the text of a key and have a type.
sub typed_keys {
    my ($file) = @_;
    return scalar grep { $_->{elements} > 0 }
        @{ Heapsh::ask_json($file, 'find', 'string', 'key ')->{objects} };
}
done_testing;
