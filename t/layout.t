#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Arrows go one way: shell -> lib, writer -> lib, dumper -> libc alone; and between their rooms.
use strict;
use warnings;
use Test::More;

# The rooms that each room may include. Everybody may include dumper/heapsnap.h, which is public.
my $base = 'lib/base';
my @lib = qw(lib/api lib/base lib/dwarf lib/file lib/graph lib/query lib/series lib/snapshot lib/trace lib/types);
my @writer_base = qw(dumper/base lib/base dumper/writer/base);
my @scan_own = (@writer_base, qw(lib/dwarf lib/graph lib/snapshot lib/types), 'dumper/writer/scan');
my @scan = (@scan_own, map { "dumper/writer/scan/$_" } qw(blocks image modules threads));
# The engine of the inference runs each kind of evidence, which is a room and knows the engine.
my @infer = (@scan, 'dumper/code', 'dumper/writer/casts', 'dumper/writer/infer');
my @infer_rooms = map { "dumper/writer/infer/$_" } qw(arrays classes parts prefixes sites sizes symbols tags texts void_pointers);
my @pages = qw(shell/print shell/series shell/tables shell/web);
my %may_include = (
    'lib/base' => [],
    'lib/file' => [$base],
    'lib/types' => [$base],
    'lib/dwarf' => [$base, 'lib/file', 'lib/types'],
    'lib/snapshot' => [$base, 'lib/file', 'lib/types'],
    'lib/graph' => [$base, 'lib/types', 'lib/snapshot'],
    'lib/query' => [$base, 'lib/types', 'lib/snapshot', 'lib/graph'],
    'lib/series' => [$base, 'lib/snapshot'],
    'lib/trace' => [$base, 'lib/dwarf'],
    'lib/api' => [$base, 'lib/types', 'lib/snapshot', 'lib/graph', 'lib/query'],
    'dumper/base' => [],
    'dumper/host' => ['dumper/base'],
    'dumper/trace' => ['dumper/base', 'dumper/host'],
    'dumper/code' => [],
    'dumper/stacks' => ['dumper/base', 'dumper/host', 'dumper/trace', 'dumper/code'],
    'dumper/alloc' => ['dumper/base', 'dumper/host', 'dumper/trace', 'dumper/stacks'],
    'dumper/capture' => ['dumper/base', 'dumper/host', 'dumper/trace', 'dumper/alloc'],
    'dumper' => [map { "dumper/$_" } qw(base host trace stacks alloc capture)],
    'dumper/command' => ['dumper/base', 'dumper/host', $base],
    'dumper/writer/base' => \@writer_base,
    'dumper/writer/scan' => \@scan,
    'dumper/writer/scan/image' => \@scan_own,
    'dumper/writer/scan/blocks' => [@scan_own, 'dumper/writer/scan/image'],
    'dumper/writer/scan/modules' => [@scan_own, 'dumper/writer/scan/image'],
    'dumper/writer/scan/threads' => [@scan_own, map { "dumper/writer/scan/$_" } qw(image modules)],
    'dumper/writer/casts' => [@scan, 'dumper/code'],
    'dumper/writer/infer' => [@infer, @infer_rooms],
    'dumper/writer/infer/prefixes' => \@infer,
    'dumper/writer/infer/sites' => \@infer,
    'dumper/writer/infer/sizes' => \@infer,
    'dumper/writer/infer/symbols' => [@infer, 'dumper/writer/infer/sites'],
    'dumper/writer/infer/texts' => [@infer, 'dumper/writer/infer/symbols'],
    'dumper/writer/infer/classes' => [@infer, map { "dumper/writer/infer/$_" } qw(prefixes sites)],
    'dumper/writer/infer/void_pointers' => [@infer, 'dumper/writer/infer/classes'],
    'dumper/writer/infer/parts' => [@infer, map { "dumper/writer/infer/$_" } qw(sizes void_pointers)],
    'dumper/writer/infer/arrays' => [@infer, 'dumper/writer/infer/parts'],
    'dumper/writer/infer/tags' => [@infer, 'dumper/writer/infer/arrays'],
    'dumper/writer' => [@scan, 'dumper/writer/infer', @infer_rooms],
    'shell' => ['shell/base', 'shell/words', 'shell/export', @pages, @lib],
    'shell/base' => [@lib],
    'shell/web' => [$base],
    'shell/print' => ['shell/base', @lib],
    'shell/tables' => ['shell/base', 'shell/print', @lib],
    'shell/words' => ['shell/base', 'shell/print', @lib],
    'shell/series' => ['shell/base', 'shell/words', @pages, @lib],
    'shell/export' => ['shell/base', 'shell/words', 'shell/print', 'shell/tables', @lib],
    'shell/report' => ['shell', 'shell/base', @pages, @lib],
    'shell/sql' => ['shell/base', 'shell/series', 'shell/print', @lib],
    'shell/check' => ['shell/base', 'shell/series', 'shell/print', 'shell/tables', @lib],
    'shell/trace' => ['shell/base', 'shell/export', @pages, @lib],
    'shell/commands' => ['shell', 'shell/base', 'shell/words', 'shell/sql', 'shell/export', 'shell/report', 'shell/trace', @pages, @lib],
    'shell/batch' => ['shell', 'shell/base', 'shell/words', 'shell/check', 'shell/export', 'shell/report', 'shell/trace', @pages, @lib],
);

my @sources = grep { !m{/vendor/} } glob '{lib,dumper,shell}{,/*,/*/*,/*/*/*}/*.[ch]';
my %includes;
for my $file (@sources) {
    open my $in, '<', $file or die "$file: $!";
    while (<$in>) {
        push @{ $includes{ $file =~ s{/[^/]+$}{}r } }, "$file:$.: $1" if /^#include "([^"]+)"/;
    }
}
is_deeply [sort keys %includes], [sort keys %may_include], 'every room says what it may include';
for my $room (sort keys %may_include) {
    my %may = map { $_ => 1 } $room, @{ $may_include{$room} };
    my @wrong = grep { m{: ((?:lib|dumper|shell)\b.*)/[^/]+$} && !$may{$1} && !m{: dumper/heapsnap\.h$} } @{ $includes{$room} };
    is join("\n", @wrong), '', "$room includes only its own and what it may";
}

# --- cycles ---
# The strongly connected components of a graph that have several nodes (Tarjan).
sub cycles {
    my ($edges) = @_;
    my ($count, @stack, %number, %low, %is_open, @found, $visit) = (0);
    no warnings 'recursion';
    $visit = sub {
        my ($node) = @_;
        $number{$node} = $low{$node} = ++$count;
        push @stack, $node;
        $is_open{$node} = 1;
        for my $next (sort keys %{ $edges->{$node} || {} }) {
            $visit->($next) if !$number{$next};
            $low{$node} = $low{$next} if $is_open{$next} && $low{$next} < $low{$node};
        }
        return if $low{$node} != $number{$node};
        my @members;
        do { push @members, pop @stack; $is_open{ $members[-1] } = 0 } while $members[-1] ne $node;
        push @found, [sort @members] if @members > 1;
    };
    for my $node (sort keys %$edges) { $visit->($node) if !$number{$node} }
    return @found;
}

# The rooms of lib, and those of the shell, build on each other in one order.
my %arrows = map { my $room = $_; ($room => { map { $_ => 1 } @{ $may_include{$room} } }) } grep { m{^(?:lib|shell)\b} } keys %may_include;
is join("\n", map { "@$_" } cycles(\%arrows)), '', 'the rooms of lib and of the shell have an order';

# Nor do modules include each other in cycles, which could not be read, tested or replaced one by one. A module is a
# .c file and its header; headers without a .c file of their own are private to a module. These are the
# cycles that there are, with the reason. There is to be no other, nor a module more in one of them.
my @explained = (
    # One fast path, inlined into malloc.
    ['dumper/alloc', qw(blocks epochs next_allocator operators untracked)],
    # All triggers end in the module that freezes, which tells them when it is done.
    ['dumper/capture', qw(before_oom freeze timer trigger)],
    # The inference is one object: inference.h holds the states of these stages, and each of them reads the others'.
    ['dumper/writer/infer', qw(
        apply_claims arrays/flagged_pointers arrays/pointer_tables candidates content explained_pointers
        frontier hints holders inference kinds parts/free_lists parts/pool_arrays parts/pool_hints parts/pools
        prefixes/block_prefixes prefixes/linked_prefixes prefixes/measured_prefixes prefixes/prefix_leads
        prefixes/storage_headers
        sizes/derived_structs sizes/larger_blocks sizes/larger_targets sizes/lone_headers sizes/rounded_sizes
        tags/common_prefixes tags/discriminators tags/enum_tags tags/kin_tags tags/pointer_tags tags/profiles
        tags/tag_groups tags/tag_names tags/tag_places tags/tag_types tags/union_choices tags/union_groups
        tags/union_names tags/union_tags texts/text_ends)],
    # The value of a form depends on the unit of the DIE that it is in.
    ['lib/dwarf', qw(dwarf_dies dwarf_forms)],
    # The groups of objects that a root retains.
    ['lib/graph', qw(group_sets root_sizes)],
    # The session tells its progress, which is set for each session.
    ['shell/base', qw(progress session)],
    # A value is printed as its container, whose elements are values.
    ['shell/print', qw(container container_parts container_text library_value value_print)],
);

my (%includes_of, %has_code);
for my $file (@sources) {
    my $module = $file =~ s/\.[ch]$//r;
    $has_code{$module} ||= $file =~ /\.c$/;
    open my $in, '<', $file or die "$file: $!";
    while (<$in>) {
        $includes_of{$module}{$1} = 1 if /^#include "([^"]+)\.h"/ && $1 ne $module && -e "$1.h";
    }
}
my @cycles;
for my $cycle (cycles(\%includes_of)) {
    push @cycles, "@$cycle" if 1 < grep { $has_code{$_} } @$cycle;
}
my @named = map { my ($room, @modules) = @$_; join ' ', map { "$room/$_" } @modules } @explained;
is_deeply [sort @cycles], [sort @named], 'modules include each other in no cycles but those that are explained';

# A dropped error is a bug, which the compiler sees only where the function says so.
my @silent;
for my $file (grep { m{^(lib|shell|dumper/writer|dumper/command)/} } @sources) {
    my $place = $file =~ /\.h$/ ? qr{^} : qr{^static };
    my $before = '';
    open my $in, '<', $file or die "$file: $!";
    while (<$in>) {
        push @silent, "$file:$.: $_"
            if /${place}struct heap_error \*\w+\(/ && $before !~ /^HEAP_(MUST|MAKES|PRINTF)/;
        $before = $_;
    }
}
is join('', @silent), '', 'every function that returns an error has it checked';

# A file of a fixed name may be a link that another user has made; and code that looks into one run must not stay.
my @fixed;
for my $file (@sources) {
    open my $in, '<', $file or die "$file: $!";
    while (<$in>) {
        push @fixed, "$file:$.: $_" if m{\b(?:fopen|open|openat|creat)\((?:AT_FDCWD, )?"(?!/(?:proc|sys|dev)/)} && !/O_TMPFILE/;
    }
}
my @top = map { chomp; $_ } -d '.git' || -f '.git' ? `git ls-files` : ();
is_deeply [grep { !m{/} && !/^(?:\.clang-format|\.gitignore|BENCHMARKS\.md|COPYING(?:\.LESSER)?|Makefile|README\.md)$/ } @top], [],
    'nothing is left over at the top';
is join('', @fixed), '', 'no file of a fixed name is opened, except in /proc, /sys and /dev';
done_testing;
