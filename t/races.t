#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Where threads meet in the libraries, ThreadSanitizer sees no race.
use strict;
use warnings;
use Test::More;

my $build = $ENV{BUILD} || 'build';
my $program = "$build/t/races";
my $cc = $ENV{CC} || 'cc';
my @flags = qw(-std=gnu11 -D_GNU_SOURCE -DHEAPSNAP_BUILD -iquote . -g -O1 -fno-builtin-malloc
    -fno-stack-protector -fno-omit-frame-pointer -w -pthread);

plan skip_all => '`make check` runs it' if $ENV{SHORT};
mkdir "$build/t";
plan skip_all => 'no ThreadSanitizer'
    if system("echo 'int main(void) { return 0; }' | $cc -fsanitize=thread -x c - -o $program 2>/dev/null") != 0;

# On some kernels it cannot bear where addresses are put at random.
my $runner = system("setarch -R $program >/dev/null 2>&1") == 0 ? 'setarch -R' : '';
plan skip_all => 'ThreadSanitizer does not run here' if system("$runner $program >/dev/null 2>&1") != 0;

$ENV{TSAN_OPTIONS} = 'suppressions=t/races/suppressions history_size=7';
for ([tables => 'untracked'], [untracked => 'blocks', '-DHEAPSNAP_UNTRACKED']) {
    my ($name, $other, @options) = @$_;
    my @sources = grep { !m{/(interpose|load|$other)\.c$} } glob 'dumper/*.c dumper/{alloc,base,capture,code,host,stacks,trace}/*.c';
    is system("$cc @flags @options -fsanitize=thread -o $program t/races/$name.c @sources -ldl"), 0,
        "$name: it is built";
    my $output = `$runner $program 2>&1`;
    is $?, 0, "$name: it ends well";
    is $output, "done\n", "$name: and there is no race";
}
done_testing;
