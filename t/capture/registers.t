#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A block that only a register of a sleeping thread holds is not leaked; where the registers are
# not known, it is perhaps held, and what is certainly leaked is told apart from it.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
my $directory = tempdir(CLEANUP => 1);
$ENV{XDG_CACHE_HOME} = "$build/t/cache";

sub leaks {
    my ($way, $registers) = @_;
    unlink glob "$directory/*.snap";
    is `cd $directory && env LD_PRELOAD=$build/libheapsnap.so HEAPSNAP_REGISTERS=$registers $build/t/programs/capture-register $way`,
        "done\n", "$way, $registers: it runs";
    my ($file) = glob "$directory/*.snap";
    my $all = Heapsh::ask_json($file, 'leaks --list');
    my %class;
    push @{ $class{ $_->{size} } }, $_->{class} for @{ $all->{leaks} };
    return ($file, $all, \%class);
}

# The block of 777 bytes, and those of 333 that nothing holds.
{
    my ($file, $all, $class) = leaks('poll', '1s');
    is $class->{777}, undef, 'a register of a thread that was held is a root';
    is_deeply $class->{333}, [('direct') x 5], 'what nothing holds is leaked';
    is $all->{threads_with_unknown_registers}, 0, 'all registers are known';
    is $all->{classes}{perhaps}{objects}, 0, 'nothing is in doubt';
    my ($block) = @{ Heapsh::ask_json($file, 'find size=777')->{objects} };
    like join('', Heapsh::ask($file, "path $block->{address}")), qr/\b(rbx|x19)\b/, 'the path names the register';
}

for (['recv', '1s'], ['poll', '0']) {
    my ($file, $all, $class) = leaks(@$_);
    is_deeply $class->{777}, ['perhaps'], 'a register that is not known may hold it';
    is_deeply $class->{333}, [('direct') x 5], 'one thread does not hold five of a kind';
    is $all->{threads_with_unknown_registers}, 1, 'it is known of how many threads registers are not';
    is $all->{classes}{direct}{objects}, 5, 'the sum of what is leaked is without it';
    like `$build/heapsh -q $file leaks`, qr/^perhaps held by a register of thread \d+: 1 object, 777 B$/m,
        'leaks shows it apart';
    like `$build/heapsh -q $file info`, qr/^  1 of which not all registers are known$/m, 'info says how many';
    unlike `$build/heapsh -q $file leaks`, qr/^ +\d+ +777 /m, 'no group has it';
    like `$build/heapsh -q $file reachability`, qr/^ +1 +777.* perhaps a register that is not known$/m,
        'reachability agrees';
}
done_testing;
