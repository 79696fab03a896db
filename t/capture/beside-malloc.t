#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Blocks that a program under heapsnap run has from an allocator's own functions, past malloc.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use Heapsh;
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
my %libraries = map { m{^\s*(lib(?:jemalloc|tcmalloc_minimal|mimalloc))\.so\S* .* => (\S+)$} ? ($1, $2) : () }
    `PATH=\$PATH:/sbin:/usr/sbin ldconfig -p`;
my %functions = (
    libjemalloc => [qw(jemalloc mallocx dallocx)],
    libmimalloc => [qw(mimalloc mi_malloc mi_free)],
    libtcmalloc_minimal => [qw(tcmalloc tc_malloc tc_free)],
);

# Starts a program above a library. heapsnap itself does without.
sub start {
    my ($library, $name, @words) = @_;
    return Heapsh->start('/usr/bin/env', bare => 1,
        args => ["LD_PRELOAD=$library", "$build/heapsnap", 'run', '--', "$build/t/programs/$name", @words]);
}

for my $library (sort keys %functions) {
  SKIP: {
        my ($allocator, @names) = @{ $functions{$library} };
        skip "$library is not installed", 17 unless $libraries{$library};
        my $program = start($libraries{$library}, 'beside-malloc', @names);
        my ($file) = `$build/heapsnap capture @{[ $program->pid ]}` =~ /(.*)/;
        my ($other) = `$build/heapsnap capture @{[ $program->pid ]}` =~ /(.*)/;
        my $attached = "$file.attached";
        is system("$build/heapsnap attach --file $attached @{[ $program->pid ]} >/dev/null"), 0, "$allocator: attach";
        is(($program->finish)[1], 0, "$allocator: the program ends well");
        for my $path ($file, $attached) {
            my $info = Heapsh::ask_json($path, 'info');
            is $info->{allocators}, $allocator, "$allocator: info names it";
            is $info->{doubts}, '', '... and has no doubts';
            is_deeply [Heapsh::ask_lines($path, 'find --count type visit', 'find --count type visit leaked')],
                ["Total: 2000 objects, 187.5 KiB\n", "Total: 0 objects, 0 B\n"], '... all that is not freed is there, and held';
            like scalar(Heapsh::ask($path, 'show visits')), qr/where and when it was allocated is not known/, '... whose site is not known';
            like scalar(Heapsh::ask($path, "find --regex string '^visitor 98'")), qr/^char\[11\]/, '... and those of malloc, with the size that was asked for';
        }
        my $same = `$build/heapsh-diff $file $other 2>&1`;
        like $same, qr/^When blocks were allocated is not known/, "$allocator: births are not known";
        unlike $same, qr/visit/, '... and nothing has changed between two snapshots';

        # Blocks of malloc alone: those of the allocator are those around them.
        $program = start($libraries{$library}, 'shapes');
        my $plain = $program->capture;
        $program->finish;
        is Heapsh::ask_json($plain, 'info')->{allocators}, '', "$allocator: none but those of malloc";
    }
}
done_testing;
