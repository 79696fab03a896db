#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Debug information of each compiler, version and layout: t/lib/Forms.pm.
use strict;
use warnings;
use lib 't/lib';
use Forms;
use Heapsh;
use Test::More;

# --- DWARF 4 and 5, in the file itself -------------------------------------------------------

my $split = '-gsplit-dwarf';
# `make check` has both with each compiler.
my %versions = $ENV{SHORT} ? (gcc => [5], clang => [4]) : map { $_ => [ 4, 5 ] } qw(gcc clang);
for my $compiler (qw(gcc clang)) {
    for my $version (@{ $versions{$compiler} }) {
        my $g = "-g -gdwarf-$version";
        my $name = "$compiler, DWARF $version";
        my @common = (compiler => $compiler);

        form($name, @common, flags => $g);
        form("$name, type units", @common, flags => "$g -fdebug-types-section");
        form("$name, compressed", @common, flags => "$g -gz=zlib", link => '-gz=zlib');
        form("$name, 64 bits", @common, flags => "$g -gdwarf64") if $compiler eq 'gcc';
        form("$name, split", @common, flags => "$g $split");
        form("$name, split, type units", @common, flags => "$g $split -fdebug-types-section");
        for my $dwp (qw(dwp llvm-dwp-14)) {
            # binutils' dwp knows GNU's extension alone.
            next if $version == 5 && $dwp eq 'dwp';
            for my $types ('', ' -fdebug-types-section') {
                form("$name, packed by $dwp$types", @common,
                    flags => "$g $split$types", needs => [$dwp],
                    after => "$dwp -e app -o app.dwp && "
                        . "$dwp -e liblibrary.so -o liblibrary.so.dwp && rm *.dwo");
            }
        }
    }
}
# --- what else compilers and linkers may do -----------------------------------------------------

form('gcc, with macros', compiler => 'gcc', flags => '-g3');
form('clang, with macros', compiler => 'clang', flags => '-g -fdebug-macro');
form('compressed the old way', compiler => 'gcc', flags => '-g -gdwarf-4',
    after => 'for f in app liblibrary.so; do objcopy --compress-debug-sections=zlib-gnu $f; done');
form('at a fixed address', compiler => 'gcc', flags => '-g -no-pie', link => '');
form('a section for each function', compiler => 'clang', needs => ['ld.lld'],
    flags => '-g -ffunction-sections -fdata-sections',
    link => '-fuse-ld=lld -Wl,--gc-sections,--icf=all');
form('linked by gold, with an index', compiler => 'gcc', needs => ['ld.gold'],
    flags => '-g -ggnu-pubnames', link => '-fuse-ld=gold -Wl,--gdb-index');
form('a frame pointer and no unwind tables', compiler => 'gcc',
    flags => '-g -fno-asynchronous-unwind-tables');
done_testing;
