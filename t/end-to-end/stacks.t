#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Stacks that are hard to walk (t/programs/stacks.c), as gcc and clang compile them.
use strict;
use warnings;
use lib 't/lib';
use File::Temp qw(tempdir);
use Heapsh;
use POSIX ();
use Test::More;
use Tools;

my $machine = (POSIX::uname())[4];
my $scratch = tempdir(CLEANUP => 1);
my @forms = ('-O0', '-O1', '-O2', '-O2 -gdwarf-4', '-O2 -fomit-frame-pointer', '-O0 -gdwarf-4', "-O2, the handler's own stack");
# Return addresses are signed where the processor can: CPU=max in t/foreign/machine.
push @forms, map { "$_ -mbranch-protection=standard" } qw(-O0 -O2) if $machine eq 'aarch64';

sub functions {
    my ($thread) = @_;
    return map { $_->{function} } @{ $thread->{frames} };
}

for my $compiler (qw(gcc clang)) {
    next unless has($compiler);
    for my $form (@forms) {
        my ($flags, $own_stack) = split /,/, $form;

        subtest "$compiler $form" => sub {
            my $path = "$scratch/stacks";
            unlink $path;
            is system("$compiler -g $flags -pthread -o $path t/programs/stacks.c 2>/dev/null"), 0, 'compiles';
            my $program = Heapsh->start($path, args => [$own_stack // ()]);
            my $file = $program->capture;
            is(($program->finish)[0], "done 1\n", 'the program goes on');

            my ($main, $sleeper, $spinner) = @{ Heapsh::ask_json($file, 'callstack') };
            my @functions = functions($main);
            my $text = join ' ', @functions;
            like $text, qr/\bwait_for_input handle .*\bcompare\b.* (msort|qsort|__GI___qsort)\S* .*sort (recurse ){11}main .*_start$/,
                'through a signal, libc, recursion, to the start';
            # Those of x86-64 return to libc's, whose symbol not every machine has.
            like $text, qr/handle __kernel_rt_sigreturn /, "by the kernel's trampoline" if $machine eq 'aarch64';
            like $text, qr/compare_inlined compare/, 'the inlined function has a frame' unless $flags =~ /-O0/;
            # libc's start_thread is in its debug information alone, which not every machine has.
            like join(' ', functions($sleeper)), qr/nap sleep_for_ever (?:start_thread| )/, 'a thread that sleeps';
            cmp_ok scalar(functions($sleeper)), '>=', 5, 'up to where the thread began';
            like join(' ', functions($spinner)), qr/^spin spin_for_ever (?:start_thread| )/, 'a thread in a leaf function';

            for my $block ([qw(main main)], [qw(handler handle)], [qw(sleeper nap|sleep_for_ever)], [qw(spinner spin_for_ever)]) {
                my ($name, $function) = @$block;
                my $found = Heapsh::ask_json($file, 'find', 'type', "struct ${name}_block");
                is $found->{count}, 1, "the block of $name has its type";
                next unless $found->{count};
                my $path = Heapsh::ask_json($file, 'path', $found->{objects}[0]{address});
                like $path->[0]{root}{description}, qr/^the local variable \w+ of ($function) \(/,
                    'and its variable';
            }
            is(Heapsh::ask_json($file, 'find', 'type', 'struct recursion_block')->{count}, 11,
                'one block per level of the recursion');
            is(Heapsh::ask_json($file, 'find', 'leaked')->{count}, 0, 'nothing is lost');
        };
    }
}
done_testing;
