#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs of one program have the same sites, though wrappers are recognised while it runs, and its
# addresses and samples are others each time. And its types stand in the same order.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;

# Strings of many lengths by many callers: Perl_sv_grow() is recognised by its use alone.
my $script = 'my %h; $h{$_} = [1 .. 10] for 1 .. 20000; syswrite STDOUT, "ready\n"; sleep 60 while 1';

sub sites {
    my $program = Heapsh->start(
        $^X,
        args => [ '-e', $script ],
        run => [qw(--types none)],
        env => { PERL_HASH_SEED => 0, PERL_PERTURB_KEYS => 0 },
    );
    my $file = $program->capture;
    # A process has its number in its environment, which has as many digits as it may.
    my @sites = map { s/0x[0-9a-f]+//gr =~ s/\d+ B (?= Perl_my_setenv)//r } Heapsh::ask($file, qw(count --by site --all));
    return join "\n", sort @sites;
}

my $first = sites();
like $first, qr/perl/, 'there are sites';
is sites(), $first, "run $_ has those of the first" for 2 .. 6;

# Libraries that lie in another order. Types are listed by their numbers, which break ties.
my $directory = tempdir(CLEANUP => 1);
for my $name (qw(one other)) {
    Heapsh::write_file("$directory/$name.c", <<~"C");
        #include <stdlib.h>
        struct ${name}_node { struct ${name}_node *next; long ${name}[3]; } *${name}_list;
        void make(void) { ${name}_list = calloc(1, sizeof(*${name}_list)); }
        C
    system("cc -g -shared -fPIC -Wl,--build-id -o $directory/$name.so $directory/$name.c") == 0 or die 'cc failed';
}
Heapsh::write_file("$directory/load.c", <<~'C');
    #include <dlfcn.h>
    #include <stdio.h>
    int main(int count, char **names)
    {
        for (int i = 1; i < count; i++)
            ((void (*)(void))dlsym(dlopen(names[i], RTLD_NOW), "make"))();
        puts("ready");
        fflush(stdout);
        while (getchar() != EOF)
            ;
        return 0;
    }
    C
system("cc -g -o $directory/load $directory/load.c -ldl") == 0 or die 'cc failed';

# The types of the libraries' objects and variables, in their order.
sub types {
    my $program = Heapsh->start("$directory/load", args => [ map { "$directory/$_.so" } @_ ]);
    my $answer = Heapsh::ask($program->capture, 'types', '*_node', '--all');
    $program->finish;
    return $answer;
}

my $types = types(qw(one other));
like $types, qr/one_node.*other_node/s, 'there are types';
is types(qw(other one)), $types, 'types have one order, whatever the order in which libraries are loaded';

done_testing;
