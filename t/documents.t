#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# What READMEs, manual pages and comments refer to exists: files, pages and their sections.
use strict;
use warnings;
use File::Basename;
use File::Find;
use File::Spec;
use lib 't/lib';
use Sample;
use Test::More;

my (%exists, %by_name);
find({ no_chdir => 1, wanted => sub {
    my $path = $File::Find::name =~ s{^\./}{}r;
    $File::Find::prune = 1 if $path =~ m{^(?:build[^/]*|\.git)$};
    $exists{$path} = 1;
    push @{ $by_name{ basename($path) } }, $path if -f $path;
} }, '.');

# The file of a name without all of its directories, below the top-level directory of the document or anywhere.
sub names_file {
    my ($name, $document) = @_;
    my ($top) = $document =~ m{^([^/]+/)};
    return grep { m{(?:^|/)\Q$name\E$} && (!$top || $name =~ m{/} || m{^\Q$top\E}) } @{ $by_name{ basename($name) } || [] };
}

my @documents = grep { /\.md$/ && -f } sort keys %exists;
cmp_ok scalar @documents, '>', 20, 'documents';
for my $document (@documents) {
    my $text = Sample::content($document);
    my @missing;
    while ($text =~ /\]\(([^)#:\s]+)(?:#[^)]*)?\)/g) {
        my $path = File::Spec->canonpath(dirname($document) . "/$1");
        1 while $path =~ s{[^/]+/\.\./}{};
        push @missing, "link $1" if !-e $path;
    }
    # NAME stands for any.
    while ($text =~ m{`([\w./-]+\.(?:[cht]|p[ly]|pm|md|js|css))`}g) {
        push @missing, "file $1" if $1 !~ /NAME/ && !-e dirname($document) . "/$1" && !names_file($1, $document);
    }
    is_deeply \@missing, [], "$document refers to what exists";
}

# Paths from the top in code and comments. Those in quotes may be made up by a test.
my @missing;
for my $file (grep { m{^(?:Makefile$|scripts/|(?:dumper|lib|shell|t)/.*\.(?:[cht]|cc|pm)$)} && !m{/vendor/|^t/fuzz/corpus/} && -f } sort keys %exists) {
    my $text = Sample::content($file);
    while ($text =~ m{(?<![\w/.\$\{\}"'-])((?:dumper|lib|man|scripts|shell|t)/[\w/-]+\.(?:[cht1357]|p[ly]|pm|md))\b}g) {
        push @missing, "$file: $1" if $1 !~ /NAME/ && !$exists{$1};
    }
}
is join("\n", @missing), '', 'comments name files that exist';

# Our pages: heapsnap_dump(3) and the like are functions of heapsnap(3).
my %page = map { basename($_) => Sample::content($_) } glob 'man/*.[1-9]';
cmp_ok scalar keys %page, '>', 10, 'manual pages';
my $functions = join '', map { $page{$_} } grep { /\.3$/ } sort keys %page;
for my $page (sort keys %page) {
    my @missing;
    while ($page{$page} =~ /\bXr (heap\w+(?:-\w+)*) (\d)/g) {
        push @missing, "$1($2)" if !$page{"$1.$2"} && !($2 == 3 && $functions =~ /^\.F[no] \S*\b\Q$1\E\b/m);
    }
    my %section = map { s/"//gr => 1 } $page{$page} =~ /^\.S[hs] (.*)$/mg;
    while ($page{$page} =~ /\bSx (.+?)(?: [.,;:)].*)?$/mg) {
        push @missing, "section $1" if !$section{ $1 =~ s/"//gr };
    }
    is_deeply \@missing, [], "$page refers to pages and sections that exist";
    # "\&" keeps what follows from being a macro; without its backslash it is printed.
    my @printed = $page{$page} =~ /^(.*(?<!\\)&[A-Z].*)$/mg;
    is_deeply \@printed, [], "$page prints no ampersand that should hide a macro";
}
done_testing;
