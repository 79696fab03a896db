#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# No pass of type inference may cost more than its input times a constant: its loops count their
# steps, and a heap that is four times as large may take four times as many. Steps do not
# depend on the machine; times would.
use strict;
use warnings;
use lib 't/lib';
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;

my $growth = 4;
my $most = 4.5;      # times the steps, for so many times the input
my $limit = 160;     # steps for each object, pointer and type
my $directory = tempdir(CLEANUP => 1);

sub info {
    my ($path, @arguments) = @_;
    my $program = Heapsh->start($path, args => [@arguments], run => [ '--stacks', 0 ]);
    my $file = $program->capture;
    $program->finish;
    return Heapsh::ask_json($file, 'info');
}

sub info_attached {
    my ($path, @arguments) = @_;
    my $file = Heapsh->start($path, args => [@arguments], bare => 1)->attach_and_finish;
    return Heapsh::ask_json($file, 'info');
}

sub check {
    my ($name, $types, $small, $large) = @_;
    my $input = $large->{objects} + $large->{edges} + $types;
    note sprintf '%s: %d steps, %d steps; %.1f an object, pointer and type', $name, $small->{steps},
        $large->{steps}, $large->{steps} / $input;
    is "$small->{late_ns} $large->{late_ns}", '0 0', "$name: all types were looked for";
    cmp_ok $small->{steps}, '>', 0, "$name: steps are counted";
    cmp_ok $large->{steps}, '<=', $most * $small->{steps}, "$name: $growth times the input takes $growth times the steps";
    cmp_ok $large->{steps}, '<=', $limit * $input, "$name: and not too many";
}

my %sizes = (arena => 25_000, behind => 25_000, many => 25_000, chain => 50_000, sizes => 2_000);
for my $shape (sort keys %sizes) {
    check($shape, 0, map { info('steps', $shape, $_) } $sizes{$shape}, $growth * $sizes{$shape});
}

# What was never touched is not looked at, be it thousands of times what was.
{
    my ($small, $large) = map { info('steps', 'sparse', $_) } 256, 1024;
    is "$small->{late_ns} $large->{late_ns}", '0 0', 'sparse: all types were looked for';
    cmp_ok $large->{steps}, '<=', $limit * 512 * $large->{objects}, 'sparse: pages that were never touched take no steps';
}

# Types that blocks may be, as far as the first look tells, so that a comparison of each block with each type would take
# the square of their number: a type, its pointers, and the blocks.
my %family;
BEGIN {
    %family = (
        larger => [
            'struct base { int kind, flags; struct base *rest[]; };',
            'struct t# { struct base base; long number; double values[1 + # % 6]; char *name; } *p#;',
            'long *made = malloc(200); for (int j = 1; j < 25; j++) made[j] = j * 1234567 + i; made[0] = 1; all[i] = (void *)made;',
        ],
        storage => [
            'struct base { long number; char *name; struct base *next; };',
            'struct t# { long numbers[2 + # % 3]; char data[]; } *p#;',
            'struct base *made = (void *)((char *)calloc(1, 56) + 16); made->number = i; made->next = i ? all[i - 1] : 0; all[i] = (void *)made;',
        ],
        lost => [
            "#include <string.h>\nstruct base { long number; };",
            'struct t# { struct t# *next; char *name; long first[# % 5]; struct base *other; long last[5 - # % 5]; } *p#;',
            'long *made = calloc(1, 64); if (i % 1000) { made[0] = (long)all[i - 1]; made[2 + i % 5] = (long)all[i - i % 7 % (i % 1000)]; }'
                . ' made[1] = (long)strdup("a text of it"); all[i] = (void *)made; if (i % 1000 == 999) memset(all, 0, 8 * (i + 1));',
        ],
        groups => [
            'struct base { int kind; struct base *next; };',
            'struct t# { struct base base; double value; long number; } *p#;',
            'long *made = calloc(1, 32); made[0] = i % 40; made[1] = i ? (long)all[i - 1] : 0; made[2] = i; all[i] = (void *)made;',
        ],
    );
}

# So many types of a family, and ten times as many blocks that may be any of them.
sub make_family {
    my ($family, $count) = @_;
    my ($base, $type, $make) = @{ $family{$family} };
    my $path = "$directory/$family-$count";
    open my $out, '>', "$path.c" or die "$path.c: $!";
    print $out "#include <stdio.h>\n#include <stdlib.h>\n$base\n", map { ($type =~ s/#/$_/gr) . "\n" } 1 .. $count;
    print $out "struct base **all;\nint main(void)\n{\nall = calloc(10 * $count, sizeof(*all));\n",
        "for (long i = 0; i < 10 * $count; i++) { $make }\n",
        "puts(\"ready\"); fflush(stdout); getchar(); return 0;\n}\n";
    close $out;
    system(($ENV{CC} || 'cc'), '-g', '-O0', '-o', $path, "$path.c") == 0 or die 'no compiler';
    return $path;
}

# Without sites, blocks of one size are of any type, so that nodes get their names one by one. A look at
# all of them for each one would take the square of their number.
SKIP: {
    my $why = Heapsh::attach_refusal();
    skip $why, 24 if $why;
    for my $shape (qw(chain links)) {
        check("attached: $shape", 0, map { info_attached('steps', $shape, $_) } 5_000, 20_000);
    }
    for my $family (sort keys %family) {
        check("attached: $family", 2_000, map { info_attached(make_family($family, $_)) } 500, 2_000);
    }
}

# So many types that begin alike, each with a pointer to its beginning.
sub make_types {
    my ($count) = @_;
    my $path = "$directory/types-$count";
    open my $out, '>', "$path.c" or die "$path.c: $!";
    print $out "#include <stdio.h>\n#include <stdlib.h>\nstruct base { int kind; int flags; };\n";
    for my $i (1 .. $count) {
        my $words = 1 + $i % 40;
        print $out "struct t$i { int kind; int flags; long m$i; struct base *next; long rest[$words]; };\n",
            "struct t$i *p$i;\n";
    }
    print $out "struct base *all[$count][2];\nint main(void)\n{\n";
    print $out "p$_ = calloc(1, sizeof(*p$_)); all[$_ - 1][0] = (void *)p$_; all[$_ - 1][1] = calloc(1, sizeof(*p$_)); ",
        "p$_\->next = all[$_ - 1][1]; p$_\->kind = $_; all[$_ - 1][1]->kind = $_;", $_ % 2 ? " p$_ = 0;\n" : "\n"
        for 1 .. $count;
    print $out "puts(\"ready\"); fflush(stdout); getchar(); return 0;\n}\n";
    close $out;
    system(($ENV{CC} || 'cc'), '-g', '-O0', '-o', $path, "$path.c") == 0 or die 'no compiler';
    return $path;
}

# Unions of three unions each, so many levels deep, with a string in 59,049 places of one address.
sub make_unions {
    my ($levels) = @_;
    my $path = "$directory/unions-$levels";
    my $inner = '.a' x $levels;
    open my $out, '>', "$path.cc" or die "$path.cc: $!";
    print $out "#include <cstdio>\n#include <string>\nunion u0 { std::string text; char bytes[32]; u0() { new (&text) std::string; } ~u0() {} };\n";
    print $out "union u$_ { u@{[$_ - 1]} a, b, c; u$_() { new (&a) u@{[$_ - 1]}; } ~u$_() {} };\n" for 1 .. $levels;
    print $out "struct node { node *next; u$levels value; };\nnode *all;\nint main()\n{\nfor (int i = 0; i < 100; i++) {\n",
        "node *made = new node; made->next = all; made->value$inner.text = \"a text that is long enough for the heap\"; all = made; }\n",
        "puts(\"ready\"); fflush(stdout); getchar(); return 0;\n}\n";
    close $out;
    system(($ENV{CXX} || 'c++'), '-g', '-O0', '-o', $path, "$path.cc") == 0 or die 'no compiler';
    return $path;
}

check('types', 4_000, map { info(make_types($_)) } 1_000, 4_000);

my $unions = info(make_unions(10));
is $unions->{late_ns}, 0, 'unions in unions: all types were looked for';
cmp_ok $unions->{steps}, '<=', 3_000_000, 'unions in unions: not each place of each is looked at';
done_testing;
