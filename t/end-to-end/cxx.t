#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# C++ as its compilers and libraries make it: classes by their vtables, containers by what
# they hold (t/programs/cxx-classes.cc, cxx-containers.cc), in each way that they can be built.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use File::Temp qw(tempdir);
use Test::More;

my $directory = tempdir(CLEANUP => 1);

# Builds a program, and captures it. @return undef if that compiler is not there
sub capture {
    my ($source, @command) = @_;
    my $program = "$directory/$source-" . join '', map { s/\W//gr } @command;
    system("@command -pthread -o $program t/programs/$source.cc 2>$directory/errors") == 0
        or return undef;
    return Heapsh->start($program)->capture;
}

# The types of objects, and how many there are: elements too where it is not one each.
sub counts {
    my ($file, @filter) = @_;
    my %count;
    $count{ $_->{type} }++ for @{ Heapsh::ask_json($file, 'find', @filter)->{objects} };
    return \%count;
}

sub classes {
    my ($file, $what, $expected) = @_;
    is_deeply counts($file, 'evidence', 'vtable'), $expected, "$what: classes by vtable";
}

my @compilers = grep { system("command -v $_ >$directory/errors 2>&1") == 0 } qw(g++ clang++);
ok @compilers > 0, "compilers: @compilers";

my %common = ('struct zoo::pet' => 3, 'struct zoo::aquarium' => 2, 'struct zoo::dog' => 5,
    'struct zoo::steel' => 1, 'struct zoo::(anonymous namespace)::hidden' => 1, 'struct local' => 1);
my %painted = (
    'g++' => ['struct zoo::painted<char const*, (zoo::colour)1, (zoo::size)1, 2>',
        'struct zoo::painted<long unsigned int, (zoo::colour)0, (zoo::size)0, 4>'],
    'clang++' => ['struct zoo::painted<const char *, zoo::GREEN, zoo::size::LARGE, 2UL>',
        'struct zoo::painted<unsigned long, zoo::RED, zoo::size::SMALL, 4UL>'],
);
for my $compiler (@compilers) {
    for my $level ('-O0', '-O2') {
        my $what = "$compiler $level";
        my $file = capture('cxx-classes', $compiler, '-g', $level);
        classes($file, $what, { %common, map { $_ => 1 } @{ $painted{$compiler} } });
        my $guest = Heapsh::ask($file, 'show', 'guest');
        like $guest, qr/looks_at = struct zoo::pet at 0x\w+ \+ 16 \(base struct zoo::named\)\n/,
            "$what: a pointer to the second base";
        like $guest,
            qr/through = struct zoo::aquarium at 0x\w+ \+ 16 \(base struct zoo::glass\)\n/,
            "$what: and in a diamond";
        like Heapsh::ask($file, 'show', 'cages'),
            qr/\[0\] = struct zoo::aquarium at 0x\w+ \+ 40 \(base struct zoo::cage\)\n/,
            "$what: a pointer to the virtual base";
        my ($pet) = @{ Heapsh::ask_json($file, 'find', 'type', 'zoo::pet')->{objects} };
        like Heapsh::ask($file, 'identify', $pet->{address}),
            qr/\.looks_at of struct visitor at 0x\w+ \(base struct zoo::named\), which is:/,
            "$what: who holds an object by its second base";
        my $pack = Heapsh::ask($file, 'show', 'pack');
      TODO: {
            local $TODO = 'inference has no arrays behind a count';
            like $pack, qr/^struct zoo::dog\[6\]/, "$what: new[] of a class with a destructor";
        }
    }
    for my $flags ('-g0', '-g0 -s') {
        my $file = capture('cxx-classes', $compiler, $flags);
        classes($file, "$compiler $flags", {
            'class zoo::pet' => 3, 'class zoo::aquarium' => 2, 'class zoo::dog' => 5,
            'class zoo::steel' => 1, 'class zoo::(anonymous namespace)::hidden' => 1,
            'class fill()::local' => 1,
            'class zoo::painted<char const*, (zoo::colour)1, (zoo::size)1, 2ul>' => 1,
            'class zoo::painted<unsigned long, (zoo::colour)0, (zoo::size)0, 4ul>' => 1 });
        my ($steel) = @{ Heapsh::ask_json($file, 'find', 'type', 'zoo::steel')->{objects} };
        like Heapsh::ask($file, 'show', $steel->{address}),
            qr/^class zoo::steel at .*\n.*type by vtable\n  0000  .*\n  0010  /,
            "$compiler $flags: a class of which only the name is known, by its bytes";
    }
}
done_testing;
