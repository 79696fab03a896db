#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Headers: each compiles by itself, and all that may meet in one file compile together, in any order.
use strict;
use warnings;
use File::Temp 'tempdir';
use Test::More;

my $directory = tempdir(CLEANUP => 1);
my @compiler = (split(' ', $ENV{CC} || 'cc'), qw(-std=gnu11 -D_GNU_SOURCE -iquote . -Wall -Wextra -Wshadow -Werror -fsyntax-only));

sub compiles {
    my ($name, @headers) = @_;
    my $file = "$directory/" . ($name =~ tr/a-z//cdr) . '.c';
    open my $out, '>', $file or die "$file: $!";
    print $out map { "#include \"$_\"\n" } @headers;
    close $out or die "$file: $!";
    open my $in, '-|', "@compiler '$file' 2>&1" or die "@compiler: $!";
    my @errors = grep { /error:/ } <$in>;
    close $in;
    is join('', @errors), '', $name;
}

my @all = grep { !m{/vendor/} } glob '{lib,dumper,shell}{,/*,/*/*}/*.h';
# Parts of another header: untracked.h takes the place of functions of blocks.h, and machine.h includes the
# one of its parts that is for this processor. Two of them define the same names.
my $part = qr{^dumper/(?:alloc/untracked|stacks/machine_(?:x86_64|aarch64))\.h$};
my @dumper = grep { m{^dumper/(?!writer/)} && !/$part/ } @all;
my @lib = grep { m{^lib/} } @all;
my @writer = grep { m{^dumper/writer/} } @all;
my @shell = grep { m{^shell/} } @all;

# Each function of lib and the shell says what it does, gives and needs. Functions without an empty line between them
# share a comment; what ends a thing needs none.
my @undocumented;
for my $header (@lib, @shell) {
    open my $in, '<', $header or die "$header: $!";
    my ($is_documented, $in_comment) = (0, 0);
    while (<$in>) {
        $in_comment = 1 if m{^\s*/\*};
        $is_documented = 1 if $in_comment;
        push @undocumented, "$header:$.: $_"
            if !$in_comment && !$is_documented && /^(?!typedef\b|static\b|struct \w+ HEAP_ARRAY)[a-z][\w *]*\b(\w+)\([^)]/ && $1 !~ /_(?:deinit|destroy|close|end)$/;
        $is_documented = 0 if /^$/;
        $in_comment = 0 if m{\*/};
    }
}
is join('', @undocumented), '', 'each function has a comment';

# Included first, a header gets nothing from others.
my @alone;
for my $header (grep { !/$part/ } @all) {
    open my $in, '-|', "@compiler -x c -Wno-unused '$header' 2>&1" or die "@compiler: $!";
    push @alone, grep { /error:/ && !/pragma once/ } <$in>;
    close $in;
}
is join('', @alone), '', 'each header includes what it needs';

compiles('all headers of lib', @lib);
compiles('all headers of lib, last first', reverse @lib);
compiles('all headers of the library in programs', @dumper);
compiles('all headers of the library in programs, last first', reverse @dumper);
compiles('all headers of the writer and lib', @writer, @lib);
compiles('all headers of the writer and lib, last first', reverse(@writer, @lib));
compiles('all headers of the shell and lib', @shell, @lib);
compiles('all headers of the shell and lib, last first', reverse(@shell, @lib));
done_testing;
