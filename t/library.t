#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# libheapgraph as its users have it: installed, found by pkg-config, with an ABI that stays, and
# with the examples' answers about heaps that are known.
use strict;
use warnings;
use lib 't/lib';
use File::Temp qw(tempdir);
use Heapsh;
use Sample;
use Test::More;
use Tools;

my $build = $Heapsh::build;
my $place = tempdir(CLEANUP => 1);
my $cc = $ENV{CC} || 'cc';
my $sanitizer = $ENV{SANITIZE} ? "-fsanitize=$ENV{SANITIZE}" : '';
delete @ENV{qw(MAKEFLAGS MAKELEVEL MFLAGS)};
$ENV{XDG_CACHE_HOME} = "$place/cache";
$ENV{ASAN_OPTIONS} = 'detect_leaks=0';    # the examples leave theirs to exit()

# --- installed ---------------------------------------------------------------

my $sanitize = $ENV{SANITIZE} // '';
# Nothing is built: other tests run what is there.
my $said = `make install -o all BUILD='$build' CC='$cc' SANITIZE='$sanitize' PREFIX=$place/usr 2>&1`;
is $?, 0, 'make install' or diag $said;
$ENV{PKG_CONFIG_PATH} = "$place/usr/lib/pkgconfig";
chomp(my $flags = `pkg-config --cflags --libs heapgraph`);
is $?, 0, 'pkg-config knows heapgraph';
is readlink("$place/usr/lib/libheapgraph.so"), 'libheapgraph.so.0', 'the name for linking';
$ENV{LD_LIBRARY_PATH} = "$place/usr/lib";

my ($version) = `grep '^VERSION' Makefile` =~ /(\d\S*)/;
is `pkg-config --modversion heapgraph`, "$version\n", 'its version';

# A package is built, and may be tried, where DESTDIR says.
for my $directories ('PREFIX=/usr', 'PREFIX=/opt/heapsh LIBDIR=/opt/heapsh/lib64/here') {
    system("make install -o all BUILD='$build' CC='$cc' SANITIZE='$sanitize' DESTDIR=$place/staged $directories >/dev/null 2>&1");
    is `find $place/staged -xtype l`, '', "no link of a staged installation leads out of it ($directories)";
}

ok -s "$place/usr/share/heapsh/examples/half-empty.c", 'the examples';
ok -x "$place/usr/share/heapsh/clickhouse/load", 'and what loads snapshots into ClickHouse';

sub compile {
    my ($source, $name, $compiler) = @_;
    my $errors = `$compiler -g $sanitizer -Wall -Wextra -Werror -o $place/$name $source $flags 2>&1`;
    is $errors, '', "$source compiles without a warning ($compiler)";
    return "$place/$name";
}

# --- the ABI -----------------------------------------------------------------

# The header's declarations, one a line, without comments.
my $header = Sample::content("$place/usr/include/heapgraph.h");
$header =~ s{/\*.*?\*/}{}gs;
$header =~ s{^#.*\n}{}mg;
$header =~ s/\s+/ /g;
my %prototype = map { /(heapgraph_\w+)\(/ ? ($1 => s/^ | (?=\()|(?<=\() | $//gr) : () }
    map { s/HEAPGRAPH_(?:API|MUST_CHECK)\s//gr } $header =~ /(HEAPGRAPH_(?:API|MUST_CHECK) [^;]*);/g;
my %struct = $header =~ /struct (\w+) \{(.*?)\}/g;
my %enum = $header =~ /enum (\w+) \{(.*?)\}/g;

# A program that says how large all is, and where.
my $program = "#include <heapgraph.h>\n#include <stdio.h>\nint main(void)\n{\n";
for my $name (sort keys %struct) {
    $program .= qq{printf("struct $name %zu bytes\\n", sizeof(struct $name));\n};
    for my $member ($struct{$name} =~ /(\w+);/g) {
        $program .= qq{printf("  $member at %zu, %zu bytes\\n", __builtin_offsetof(struct $name, $member),}
            . qq{ sizeof(((struct $name *)0)->$member));\n};
    }
}
for my $name (sort keys %enum) {
    $program .= qq{printf("enum $name %zu bytes\\n", sizeof(enum $name));\n};
    $program .= qq{printf("  $_ %d\\n", $_);\n} for $enum{$name} =~ /(HEAPGRAPH_\w+)/g;
}
open my $out, '>', "$place/layout.c" or die $!;
print $out "$program}\n";
close $out;
my $layout = `$cc -o $place/layout $place/layout.c -I$place/usr/include && $place/layout`;

my %version = map { /[TDBRVW] (\w+)\@\@?(\w+\S*)/ ? ($1 => $2) : () }
    `nm -D --defined-only $place/usr/lib/libheapgraph.so.0`;
delete $version{$_} for grep { !/^heapgraph_/ && $version{$_} eq $_ } keys %version;
my $abi = join '', map { "$version{$_} " . ($prototype{$_} // $_) . "\n" } sort keys %version;
$abi .= join '', map { "$_\n" } $header =~ /(typedef [^;]*);/g;
$abi .= $layout;
my $wanted = Sample::content('t/library/abi-0');
is $abi, $wanted, 'symbols, versions, prototypes, sizes, offsets and values stay as they were'
    or do { open my $new, '>', "$build/abi-0"; print $new $abi; diag "compare with $build/abi-0" };
is_deeply [sort keys %prototype], [sort grep { /^heapgraph_/ } keys %version],
    'the library has what its header says';
SKIP: {
    skip 'sanitizers bring their own', 1 if $sanitizer;
    my @dependencies = map { /NEEDED.*\[([^.]+)/ ? $1 : () }
        `readelf -d $place/usr/lib/libheapgraph.so.0`;
    is "@dependencies", 'libz libc', 'it needs zlib and libc, nothing of debug information';
}

# --- what it answers ---------------------------------------------------------

my $sample = Sample::make();
my $ask = compile('t/library/ask.c', 'ask', "$cc -std=c11");
my ($answer, $errors, $status) = Sample::run('', $ask, $sample, Sample::make('typed'));
$answer =~ s{\Q$place\E/ask}{ask};
$answer =~ s{^version \K\S+}{VERSION}m;
is $answer, Sample::content('t/library/ask.expected'), 'all that can be asked';
is "$errors$status", '0', '... without a complaint';

my $cxx = $cc =~ /clang/ ? 'clang++' : 'g++';
SKIP: {
    skip "no $cxx", 1 unless has($cxx);
    open my $cpp, '>', "$place/empty.cc" or die $!;
    print $cpp "#include <heapgraph.h>\nint main() { return !*heapgraph_version(); }\n";
    close $cpp;
    compile("$place/empty.cc", 'empty', $cxx);
}

# --- traces ------------------------------------------------------------------

{
    my $graph = $flags;
    chomp($flags = `pkg-config --cflags --libs heaptrace`);
    is $?, 0, 'pkg-config knows heaptrace';
    my %shown = map { / T (\w+)\@/ ? ($1 => 1) : () } `nm -D --defined-only $place/usr/lib/libheaptrace.so.0`;
    my $trace_header = Sample::content("$place/usr/include/heapsnap/trace.h");
    delete $shown{"heap_error_$_"} for qw(code message destroy);
    is_deeply [sort keys %shown], [sort $trace_header =~ /^HEAP_\w*PUBLIC\b[^;]*?\b(heap_trace_\w+)\(/mg],
        'the library has what its header says';
    my $queue = compile('examples/queue-lifetimes.c', 'queue-lifetimes', "$cc -std=gnu11");
    {
        local @ENV{qw(HEAPSNAP_TRACE HEAPSNAP_RATE)} = ("$place/queue.trace", 1);
        # Once more, and more slowly, where the program had to wait for a processor.
        for my $pace (map { 2**$_ } 0 .. 6) {
            local $ENV{PACE_MS} = $pace;
            unlink "$place/queue.trace";
            my $said = `$build/heapsnap run -- $build/t/programs/trace-history backlog`;
            is $?, 0, 'a queue: it ends well';
            last if $said !~ /^late_ms (\d+)$/m || $1 < 3 * $pace;
        }
    }
    my ($told, $complaint, $code) = Sample::run('', $queue, "$place/queue.trace", 'make_medium');
    is "$complaint$code", 0, 'queue-lifetimes reads a trace';
    my ($blocks, @lived) = (0);
    $told =~ s{of the time: (\d+) blocks lived ([\d.]+) ms}{$blocks += $1; push @lived, $2}ge;
    is $blocks, 2000, 'all blocks of the queue';
    ok $lived[0] < $lived[1] && $lived[1] < $lived[2], "the later they come the longer they stay: @lived";
    my @line = split /\n/, Sample::content('examples/queue-lifetimes.c');
    cmp_ok scalar @line, '<=', 75, 'in few lines';
    if (has($cxx)) {
        open my $cpp, '>', "$place/trace.cc" or die $!;
        print $cpp "#include <heapsnap/trace.h>\nint main() { return heap_trace_caller(nullptr, 0) != 0; }\n";
        close $cpp;
        compile("$place/trace.cc", 'trace', $cxx);
    }
    $flags = $graph;
}

# --- the examples ------------------------------------------------------------

my $server = Heapsh->start('waste');
my $snapshot = $server->capture;

sub example {
    my ($name, $expected, @arguments) = @_;
    my $path = compile("examples/$name.c", $name, "$cc -std=gnu11");
    my ($text, $complaint, $code) = Sample::run('', $path, $snapshot, @arguments);
    is "$complaint$code\n$text", "0\n$expected", "$name: its answer";
    my @line = split /\n/, Sample::content("examples/$name.c");
    cmp_ok scalar @line, '<=', 60, "$name: at most 60 lines";
    return;
}

# Each of the five requests has these; its path and body are its own.
example('duplicate-strings', <<'END');
5 times, 44 bytes wasted: Connection
5 times, 52 bytes wasted: Content-Type
5 times, 68 bytes wasted: application/json
5 times, 44 bytes wasted: keep-alive
END
example('half-empty', <<'END');
struct record *[64] of struct table: 5 used, 472 bytes wasted
END
# The configuration is shared, the table's records are not its; each has 40 bytes, two headers of
# 24, a path of 8, a body of 1000, and texts of 11, 13, 17 and 11.
example('retained-by', <<'END', 'type "struct request" size 40');
5 found, retaining 45 objects, 5740 bytes
10 struct header, 240 bytes
5 struct request, 200 bytes
30 char, 5300 bytes
END
# One of them: neither the list that it is in nor the table's record of it is its.
example('retained-by', <<'END', 'type "struct request" field path=/item/3');
1 found, retaining 9 objects, 1148 bytes
2 struct header, 48 bytes
1 struct request, 40 bytes
6 char, 1060 bytes
END
done_testing;
