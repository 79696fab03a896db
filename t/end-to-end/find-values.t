#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# `find … field` finds each value by what `show` displays, for numbers of every size and structures of libraries.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Tools;
use File::Temp qw(tempdir);
use Test::More;

my $source = <<'END';
#include <atomic>
#include <chrono>
#include <complex>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
namespace app {
enum class Colour : signed char { Red = -1, Green = 0, Blue = 100 };
enum Flags { A = 1, B = 2, C = 4 };
struct Pair { int x, y; };
}
struct Item {
	std::atomic<int> at;
	std::atomic<bool> on;
	std::filesystem::path path;
	std::chrono::milliseconds delay;
	std::string_view view;
	__int128 wide;
	unsigned __int128 unsigned_wide;
	app::Flags flags;
	app::Colour colour;
	std::complex<double> z;
	std::complex<float> z4;
	_Complex float plain;
	std::optional<int> maybe;
	std::mutex lock;
	std::unique_ptr<int> owner;
	std::string name;
	float tenth;
	long double extended;
	__float128 quad;
	app::Pair pair;
	int app::Pair::*member;
} *items[10];
int main()
{
	for (int i = 0; i < 10; i++) {
		Item *item = items[i] = new Item{};
		item->at = i;
		item->on = i % 2 == 0;
		item->path = i < 3 ? "/var/spool/worker/of/some/length" : "/tmp/x";
		item->delay = std::chrono::milliseconds(1500 + i);
		item->view = std::string_view("view text and more").substr(0, 9);
		item->wide = -((__int128)i << 100);
		item->unsigned_wide = ((unsigned __int128)1 << 64) + i;
		item->flags = app::Flags(i % 8);
		item->colour = i % 2 ? app::Colour::Red : app::Colour::Blue;
		item->z = { 1.5 * i, -2 };
		item->z4 = { 1, 2 };
		item->plain = i;
		if (i < 4)
			item->maybe = i * 7;
		if (i == 5)
			item->lock.lock();
		if (i < 6)
			item->owner = std::make_unique<int>(i);
		item->name = i ? "a name that is longer than fifteen" : "short";
		item->tenth = 0.1f;
		item->extended = 1.25L + i;
		item->quad = -2.5 * i;
		item->member = &app::Pair::y;
	}
	puts("ready");
	fflush(stdout);
	return getchar();
}
END

my %expected = (
    'at=3' => 1,
    'at>7' => 2,
    'at!=3' => 9,
    'on=true' => 5,
    'path=/tmp/x' => 7,
    'path=/var/spool/worker/of/some/length' => 3,
    'path!=/tmp/*' => 3,
    'delay=1503' => 1,
    'delay=1503 ms' => 1,
    'delay>1507' => 2,
    'delay!=1503 ms' => 9,
    'view=view text' => 10,
    'view=view' => 0,
    'wide=-1267650600228229401496703205376' => 1,
    'wide<-8872999999999999999999999999999' => 3,
    'wide=0' => 1,
    'unsigned_wide=18446744073709551621' => 1,
    'unsigned_wide>=18446744073709551621' => 5,
    'unsigned_wide=5' => 0,
    'flags=A|B' => 1,
    'flags=A' => 2,
    'flags!=A|B' => 9,
    'colour=Blue' => 5,
    'colour=Colour::Red' => 5,
    'colour=app::Colour::Red' => 5,
    'z=3 - 2i' => 1,
    'z=3-2i' => 1,
    'z4=1 + 2i' => 10,
    'plain=3 + 0i' => 1,
    'plain=3' => 1,
    'maybe=14' => 1,
    'maybe>7' => 2,
    'lock=unlocked' => 9,
    'lock=locked*' => 1,
    'owner=NULL' => 4,
    'owner!=NULL' => 6,
    'name=short' => 1,
    'name=a name*' => 9,
    'tenth=0.1' => 10,
    'tenth<0.2' => 10,
    'extended=4.25' => 1,
    'quad=-5' => 1,
    'quad<-4' => 8,
    'member=4' => 10,
);
my %shown = (
    at => 2,
    on => 'true',
    path => '"/var/spool/worker/of/some/length"',
    delay => '1502 ms',
    view => '"view text"',
    wide => '-2535301200456458802993406410752',
    unsigned_wide => '18446744073709551618',
    flags => 'B',
    colour => 'Blue',
    z => '3 - 2i',
    z4 => '1 + 2i',
    plain => '2 + 0i',
    maybe => 14,
    lock => 'unlocked',
    name => '"a name that is longer than fifteen"',
    tenth => 0.1,
    extended => 3.25,
    quad => -5,
    member => 4,
);
my @wrong = (
    ['nothing=1', qr/^heapsh: field nothing: struct Item has no such member; it has /],
    ['pair=1', qr/^heapsh: field pair: it is struct app::Pair, no single value; ask for a member, as pair\.x$/],
    ['colour=Shape::Red', qr/^heapsh: field colour: enum app::Colour has no value Shape::Red; it has Red, Green, Blue$/],
);

sub check {
    my ($compiler) = @_;
    my $directory = tempdir(CLEANUP => 1);
    Heapsh::write_file("$directory/items.cc", $source);
    system("$compiler -std=c++17 -g -pthread -o $directory/items $directory/items.cc") == 0 or die $compiler;
    my $program = Heapsh->start("$directory/items", run => [ '--content', 1000 ]);
    my $file = $program->capture;
    $program->finish;
    my @names = sort keys %expected;
    my @found = Heapsh::ask_lines($file, map { "find --count type Item field '$_'" } grep { $expected{$_} } @names);
    my $shown = Heapsh::ask($file, 'show', 'items[2]');
    for my $name (grep { $expected{$_} } @names) {
        my ($count) = shift(@found) =~ /^Total: (\d+) object/;
        is $count, $expected{$name}, "$compiler: $name";
    }
    for my $name (grep { !$expected{$_} } @names) {
        is Heapsh::ask($file, 'find', '--count', 'type', 'Item', 'field', $name), "Total: 0 objects, 0 B\n", "$compiler: $name";
    }
    like $shown, qr/^  $_ = \Q$shown{$_}\E$/m, "$compiler: $_ is shown" for sort keys %shown;
    for my $case (@wrong) {
        is Heapsh::ask($file, 'find', '--count', 'type', 'Item', 'field', $case->[0]), '', "$compiler: $case->[0]";
        like $Heapsh::complaint, $case->[1], 'is refused';
        is $Heapsh::status, 1, 'as an error';
    }
    return;
}

for my $compiler ('g++', 'clang++', 'clang++ -stdlib=libc++') {
    my ($program, @flags) = split ' ', $compiler;

  SKIP: {
        skip "no $compiler", 1
            unless has($program) && compiles($program, "@flags -x c++ -std=c++17", '#include <filesystem>');
        check($compiler);
    }
}
done_testing;
