#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Classes by the constructors that code without debug information calls on new blocks. A constructor of
# a base class, or of a first member, is not that of the whole.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;

my $directory = abs_path(tempdir(CLEANUP => 1));
my $blocks = 10;    # of each class; each has a size of its own

# Constructors that are never inlined are in another unit.
my $header = <<'END';
#include <cstddef>
#include <new>
namespace shop {
struct Order { Order(int number); long number, cents, days; };
struct Crate { Crate(); long words[4]; };
struct Label { Label(const char *text); const char *text; long length; long colour = 7; long rest[2]; };
struct Parcel : Crate { long weight; Parcel(long heavy) : weight(heavy) {} };
struct Letter { Label to; long stamps; };
template <typename T> struct Chain { struct Link { Link(const T &t); T item; Link *next; long more[6]; }; };
struct Ticket { Ticket(int a, int b); ~Ticket(); long seat[9]; };
struct Pair { Order first; Crate second; Pair(int i) : first(i), second() {} };
struct Counter { Counter(); static void *operator new(std::size_t size); long count[13]; };
int choose(int);
}
END
Heapsh::write_file("$directory/shop.h", $header);
Heapsh::write_file("$directory/library.cc", <<'END');
#include "shop.h"
namespace shop {
Order::Order(int n) : number(n), cents(n * 100), days(0) {}
Crate::Crate() { for (long &word : words) word = 3; }
Label::Label(const char *t) : text(t), length(5) { rest[0] = rest[1] = 1; }
template <typename T> Chain<T>::Link::Link(const T &t) : item(t), next(nullptr) { more[5] = 4; }
template struct Chain<int>;
Ticket::Ticket(int a, int b) { seat[0] = a; seat[8] = b; }
Ticket::~Ticket() {}
Counter::Counter() { count[12] = 1; }
void *Counter::operator new(std::size_t size) { return ::operator new(size); }
int choose(int i) { return i % 3; }
}
END
Heapsh::write_file("$directory/main.cc", <<"END");
#include "shop.h"
#include <cstdio>
using namespace shop;
static void *kept[16][$blocks];
int main()
{
	for (int i = 0; i < $blocks; i++) {
		kept[0][i] = new Order(i);
		kept[1][i] = new Parcel(i);
		kept[2][i] = new Letter{ "to somebody", 5 };
		kept[3][i] = new Chain<int>::Link(i);
		kept[4][i] = new Ticket(choose(i) ? 4 : choose(5), choose(i + 1));
		kept[5][i] = new Pair(i);
		kept[6][i] = new Counter;
		kept[7][i] = new Order[5]{ 1, 2, 3, 4, 5 };
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
}
END

# By size. A letter has no constructor; where that of a parcel or a pair is inlined, only the part's is called.
my %called = (24 => 'shop::Order', 64 => 'shop::Chain<int>::Link', 72 => 'shop::Ticket', 104 => 'shop::Counter');
my %inlined = (40 => 'shop::Parcel', 56 => 'shop::Pair');
my $letter = 48;
my $orders = 120;

# One of the program's blocks of each size, and how many there are.
sub blocks {
    my ($file) = @_;
    my %answer;
    for my $object (@{ Heapsh::ask_json($file, 'find', 'module', 'program')->{objects} }) {
        my $name = $object->{evidence} =~ /^(?:shape|none)$/ ? '' : $object->{type} =~ s/^(?:class|struct) //r;
        $answer{ $object->{size} }{$name}++;
    }
    return \%answer;
}

my %variants = (
    'g++' => ['-O0', '-O2', '-O2 -fno-plt -fPIE -fcf-protection'],
    'clang++' => ['-O0 -fomit-frame-pointer', '-O2 -fno-plt -fPIE'],
);
for my $compiler (sort keys %variants) {
    for my $flags (@{ $variants{$compiler} }) {
        SKIP: {
            skip "$compiler cannot", 1 if system("cd $directory && $compiler $flags -o program main.cc library.cc 2>errors") != 0;
            my $file = Heapsh->start("$directory/program")->capture;
            my $answer = blocks($file);
            my %wanted = $flags =~ /-O0/ ? (%called, %inlined) : %called;
            # The address of a constructor that is called twice is in a register.
            delete $wanted{24} if "$compiler $flags" =~ /clang.*-fno-plt/;
            is_deeply +{ map { $_ => $answer->{$_} } keys %wanted }, { map { $_ => { $wanted{$_} => $blocks } } keys %wanted },
                "$compiler $flags: classes";
            for my $size ($letter, $orders, $flags =~ /-O0/ ? () : keys %inlined) {
                is_deeply $answer->{$size}, { '' => $blocks }, "$compiler $flags: no name for $size bytes";
            }
        }
    }
}
done_testing;
