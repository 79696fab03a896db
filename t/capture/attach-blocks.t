#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# heapsnap attach: the blocks of a process that nobody has prepared, exactly, by the structures of its
# allocator.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Heapsh;
use IPC::Open2;
use LiveBlocks;
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
if (my $why = Heapsh::attach_refusal()) { plan skip_all => $why }

# @param most  bytes that a block may be larger than it was asked for
sub blocks_are_exact {
    my ($name, $most, %option) = @_;
    LiveBlocks::are_exact(Heapsh->start($option{program} || 'live-blocks', bare => 1, %option), $name, $most, %option);
    return;
}

blocks_are_exact('one thread', 64, args => ['live', 1, 2000]);
blocks_are_exact('8 threads', 64, args => ['live', 8, 5000]);
blocks_are_exact('sbrk in between', 64, args => ['live', 2, 3000, 'foreign']);
blocks_are_exact('freed by other threads', 64, args => ['live', 4, 3000, 'crossed']);
blocks_are_exact('little blocks', 64, args => ['live', 3, 3000, 'small']);
blocks_are_exact('no caches', 64, args => ['live', 3, 3000], env => { GLIBC_TUNABLES => 'glibc.malloc.tcache_count=0' });
blocks_are_exact('one arena', 64, args => ['live', 4, 3000], env => { GLIBC_TUNABLES => 'glibc.malloc.arena_max=1' });
blocks_are_exact('no fast bins', 64, args => ['live', 2, 3000], env => { GLIBC_TUNABLES => 'glibc.malloc.mxfast=0' });
blocks_are_exact('mapped early', 64, args => ['live', 2, 3000], env => { GLIBC_TUNABLES => 'glibc.malloc.mmap_threshold=4096' });

# An arena with several heaps, one next to the other.
{
    my $program = Heapsh->start('grow', bare => 1, args => [ 150, 1 ]);
    print { $program->{in} } "\n";
    is $program->line, 'grown', 'several heaps of an arena';
    my $file = $program->attach_and_finish('--content', 'none');
    is Heapsh::ask_json($file, 'find', 'type', 'struct piece')->{count}, 150 * 256, '... have all blocks';
    is Heapsh::ask_json($file, 'info')->{doubts}, '', '... and the sums agree';
}

# Classes of sizes, four between two powers of 2.
SKIP: {
    my ($library) = glob '/usr/lib/*/libjemalloc.so.2 /usr/lib64/libjemalloc.so.2';
    skip 'no jemalloc', 1 unless $library;
    blocks_are_exact("jemalloc, $_ threads", 5000, program => 'live-blocks-explicit', args => [ 'live', split ' ' ],
        env => { LD_PRELOAD => $library }, own => 8)
        for '1 4000', '5 4000', '4 4000 crossed', '3 4000 apart';
    # Profiles have records of their own in the heap.
    blocks_are_exact("jemalloc, $_", 5000, program => 'live-blocks-explicit', args => [qw(live 4 2000 crossed)],
        env => { LD_PRELOAD => $library, MALLOC_CONF => $_ }, own => /prof/ ? 60 : 8)
        for 'narenas:1,background_thread:true', 'narenas:64,lg_tcache_max:22', 'tcache:false', 'percpu_arena:percpu', 'hpa:true',
        'san_guard_small:4,san_guard_large:4,lg_san_uaf_align:12', 'cache_oblivious:false,dirty_decay_ms:0,muzzy_decay_ms:0',
        'prof:true,lg_prof_sample:10';
}

SKIP: {
    my $directory = tempdir(CLEANUP => 1);
    my $made = system("musl-gcc -O1 -D_GNU_SOURCE -iquote . -o $directory/live-musl t/programs/live-blocks.c 2>/dev/null") == 0;
    skip 'no musl-gcc', 1 unless $made;
    blocks_are_exact("musl, $_ threads", 0, program => "$directory/live-musl", args => [ 'live', $_, 4000 ]) for @{ [ 1, 4 ] };
    system("musl-gcc -O1 -static -D_GNU_SOURCE -iquote . -o $directory/live-static t/programs/live-blocks.c") == 0 or die;
    blocks_are_exact('musl, linked statically', 0, program => "$directory/live-static", args => [ 'live', 2, 4000 ]);
}

SKIP: {
    my $directory = tempdir(CLEANUP => 1);
    my $made = system("cc -O1 -pthread -static -D_GNU_SOURCE -iquote . -o $directory/live-static t/programs/live-blocks-explicit.c 2>/dev/null") == 0;
    skip 'no static glibc', 1 unless $made;
    blocks_are_exact('glibc, linked statically', 64, program => "$directory/live-static", args => [ 'live', 3, 4000 ], own => 40);
}

SKIP: {
    my ($library) = glob '/usr/lib/*/libmimalloc.so.2*';
    skip 'no mimalloc', 1 unless $library;
    blocks_are_exact("mimalloc, $_ threads", 5000, program => 'live-blocks-explicit', args => [ 'live', split ' ' ],
        env => { LD_PRELOAD => $library }, own => 8, around => 1)
        for '1 4000', '5 4000', '3 3000 small', '4 8000 crossed';
}

# An allocator inside another file, as that of a program in Rust: its blocks are not known, but it is.
{
    my $program = Heapsh->start('embedded', bare => 1);
    my $file = "$program->{directory}/embedded.snap";
    my $said = `$build/heapsnap attach --types none --file $file @{[$program->pid]} 2>&1`;
    my $info = Heapsh::ask_json($file, 'info');
    is $info->{doubts}, 'blocks of mimalloc are not known: start it by heapsnap run', 'part of another file: by name' or diag $said;
    cmp_ok $info->{objects}, '>=', 100, 'part of another file: the other blocks';
    is(($program->finish)[1], 0, 'part of another file: exit status');
}

# Memory that a program maps and divides itself: how much may be missing.
# Pages of a file are its own, too, once it has written to them.
for ([ 6 << 10, 6 ], [ 500, 0 ], [ '6144 file', 6 ], [ '500 file', 0 ], [ '6144 behind', 6 ], [ '500 behind', 0 ]) {
    my ($used, $size) = @$_;
    my $doubts = $size ? "$size MiB of anonymous memory hold no block of a known allocator" : '';
    my $program = Heapsh->start('mapped-pools', bare => 1, args => [ split ' ', $used ]);
    my $file = "$program->{directory}/pools.snap";
    my $said = `$build/heapsnap attach --types none --file $file @{[$program->pid]} 2>&1`;
    is Heapsh::ask_json($file, 'info')->{doubts}, $doubts, "pools of its own, $used KiB: what is said" or diag $said;
    is Heapsh::ask_json($file, qw(find --count size 104))->{count}, 100, "pools of its own, $used KiB: the other blocks";
    is(($program->finish)[1], 0, "pools of its own, $used KiB: exit status");
}

# An allocator that is known by name only, linked statically.
SKIP: {
    my $directory = tempdir(CLEANUP => 1);
    my ($library) = glob '/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.scudo_standalone-x86_64.a';
    my $made = $library && system("clang -O1 -pthread -D_GNU_SOURCE -iquote . -o $directory/scudo t/programs/live-blocks-explicit.c"
            . " -Wl,--whole-archive $library -Wl,--no-whole-archive -lstdc++ 2>/dev/null") == 0;
    skip 'no scudo', 1 unless $made;
    my $program = Heapsh->start("$directory/scudo", bare => 1, args => [qw(live 1 1000)]);
    my $said = `$build/heapsnap attach --types none --file $directory/a.snap @{[$program->pid]} 2>&1`;
    is $said, "heapsnap: $directory/a.snap: blocks of scudo are not known: start it by heapsnap run\n", 'scudo: by name';
    is(($program->finish)[1], 0, 'scudo: it goes on');
}

SKIP: {
    my ($library) = glob '/usr/lib/*/libtcmalloc_minimal.so.4';
    skip 'no tcmalloc', 1 unless $library;
    blocks_are_exact("tcmalloc, $_ threads", 5000, program => 'live-blocks-explicit', args => [ 'live', split ' ' ],
        env => { LD_PRELOAD => $library }, own => 12)
        for '1 4000', '5 4000', '3 3000 small', '4 8000 crossed';
    $library =~ s/\.so/_debug.so/;
    skip 'no variant for debugging', 1 unless -e $library;
    my $program = Heapsh->start('live-blocks-explicit', bare => 1, args => [ 'live', 1, 1000 ], env => { LD_PRELOAD => $library });
    my $file = "$program->{directory}/unknown.snap";
    my $said = `$build/heapsnap attach --types none --file $file @{[$program->pid]} 2>&1`;
    $said = Heapsh::ask_json($file, 'info')->{doubts} if -e $file;
    like $said, qr/blocks of tcmalloc are not known: start it by heapsnap run/, 'tcmalloc for debugging: by name';
    like scalar `$build/heapsnap list --all`, qr/^ *@{[$program->pid]} \S+ +[\d.]+ [KM]iB tcmalloc /m, 'tcmalloc for debugging: list --all';
    is(($program->finish)[1], 0, 'tcmalloc for debugging: it goes on');
}

# A thread's arena behind a file that is mapped writable: once it was taken for the first arena.
SKIP: {
    my $program = eval { Heapsh->start('beside-arena', bare => 1) } or skip 'nothing can be mapped before the arena', 3;
    my $file = "$program->{directory}/beside.snap";
    my $said = `$build/heapsnap attach --types none --file $file @{[$program->pid]} 2>&1`;
    is $said, "$file\n", 'beside a file: taken';
    is Heapsh::ask_json($file, 'info')->{doubts}, '', 'beside a file: the sums agree';
    is Heapsh::ask_json($file, qw(find --count size 200))->{count}, 200, 'beside a file: the blocks of both arenas';
    $program->finish;
}

# A malloc that no snapshot is taken of, with or without heapsnap run.
for my $compiler (qw(gcc clang)) {
  SKIP: {
        my $name = "$compiler -fsanitize=address";
        my $directory = tempdir(CLEANUP => 1);
        skip "no $name", 2 if system("$compiler -fsanitize=address -o $directory/program t/programs/steady.c 2>/dev/null -pthread") != 0;
        my $pid = open2(my $out, my $in, "exec env ASAN_OPTIONS=detect_leaks=0 $directory/program 0 alone");
        is scalar <$out>, "ready\n", "$name: it runs";
        for my $by ('', "$build/t/helper/without_call PAGEMAP_SCAN") {
            like scalar `$by $build/heapsnap attach --types none --file $directory/a.snap $pid 2>&1`,
                qr/: the program has AddressSanitizer in it, which has a malloc of its own: start one without$/, "$name: why there is no snapshot";
        }
        close $in;
        waitpid $pid, 0;
    }
}

done_testing;
