#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Programs whose malloc is not ours, and those that sanitizers watch: they run as without the library,
# and one line says what is missing.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
my $library = "$build/libheapsnap.so";
my $directory = tempdir(CLEANUP => 1);
$ENV{XDG_CACHE_HOME} = "$build/t/cache";
delete $ENV{HEAPSNAP_RUN};

# @return what it printed, its wait status, what was said on standard error
sub run {
    my ($environment, @words) = @_;
    my $output = `cd $directory && ulimit -c 0 && exec env $environment @words 2>.stderr`;
    my $status = $?;
    open my $errors, '<', "$directory/.stderr" or die $!;
    return ($output, $status, join '', <$errors>);
}

sub compile {
    my ($compiler, $name, $flags, $text) = @_;
    open my $source, '>', "$directory/$name.c" or die $!;
    print $source $text;
    close $source;
    return system("$compiler -g -o $directory/$name $flags $directory/$name.c 2>$directory/.compiler") == 0;
}

# Ends with 0 if all went well, after a snapshot.
my $uses_all = <<'END';
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *thread(void *a) { free(malloc(100)); return a; }
int main(void)
{
    int (*dump)(const char *) = dlsym(RTLD_DEFAULT, "heapsnap_dump");
    int (*wait)(void) = dlsym(RTLD_DEFAULT, "heapsnap_wait");
    pthread_t other;
    char *block = malloc(10);
    void *page;
    pthread_create(&other, 0, thread, 0);
    pthread_join(other, 0);
    block = realloc(block, 100);
    block = reallocarray(block, 1000, 10);
    memset(block, 1, 10000);
    if (posix_memalign(&page, 4096, 100)) return 1;
    free(page);
    free(block);
    free(calloc(10, 10));
    if (dump) printf("dump: %d\n", dump(0));
    if (wait) wait();
    puts("done");
    return 0;
}
END

# --- a malloc that comes first ------------------------------------------------------

ok compile('cc', 'plain', '-pthread -ldl', $uses_all), 'a program';
is system("cc -shared -fPIC -fno-builtin -DLIBRARY -o $directory/libown.so t/programs/own-malloc.c"), 0,
    'and an allocator that lacks functions';

my ($jemalloc) = glob '/usr/lib/*/libjemalloc.so.2';
my @allocators = ("$directory/libown.so", $jemalloc // (), glob '/usr/lib/*/libtcmalloc_minimal.so.4 /usr/lib/*/libmimalloc.so.2*');
for my $allocator (@allocators) {
    my ($name) = $allocator =~ m{([^/]+)$};
    my ($output, $status, $said) = run("'LD_PRELOAD=$allocator $library'", "$directory/plain");
    is "$status $output", "0 dump: 0\ndone\n", "$name before the library: the program runs";
    is $said, "heapsnap: malloc: $allocator comes before libheapsnap.so: only what it passes on is tracked\n",
        '... and one line says what is missing';
    my $info = `$build/heapsh $directory/plain-00.snap info 2>&1`;
    like $info, qr/^malloc +is that of \Q$allocator\E, which came before libheapsnap\.so/m, '... and so does info';
    unlike $info, qr/contains 0 objects.*typed/, '... which has no share of nothing';
    unlink "$directory/plain-00.snap";
    ($output, $status, $said) = run("'LD_PRELOAD=$library $allocator'", "$directory/plain");
    is "$status $output$said", "0 dump: 0\ndone\n", "$name below the library: nothing is said";
    $info = `$build/heapsh $directory/plain-00.snap info 2>&1`;
    unlike $info, qr/^malloc /m, '... nor by info';
    unlink "$directory/plain-00.snap";
}

my ($output, $status, $said) = run("LD_PRELOAD=$library", "$build/t/programs/own-malloc");
is "$status $output", "0 own\n", 'a program with a malloc of its own runs';
is $said, "heapsnap: malloc: $build/t/programs/own-malloc comes before libheapsnap.so: only what it passes on is tracked\n",
    '... and one line says that it has';
($output, $status, $said) = run("HEAPSNAP_RUN=1 LD_PRELOAD=$library", "$build/t/programs/own-malloc");
is $said, '', '... but not in the children of a program';

# --- sanitizers -----------------------------------------------------------------------

for my $case (['gcc', 'thread', 'ThreadSanitizer'], ['clang', 'thread', 'ThreadSanitizer'],
    ['clang', 'address', 'AddressSanitizer'], ['clang', 'memory', 'MemorySanitizer'],
    ['gcc', 'address', 'AddressSanitizer', 'libasan.so']) {
    my ($compiler, $kind, $sanitizer, $first) = @$case;
    SKIP: {
        skip "$compiler has no $sanitizer", 2
            unless compile($compiler, "$compiler-$kind", "-fsanitize=$kind -pthread -ldl", $uses_all);
        my (undef, $bare) = run('', "$directory/$compiler-$kind");
        skip "$sanitizer does not work here", 2 if $bare != 0;
        my $before = $first ? `$compiler -print-file-name=$first` =~ s/\n/ /r : '';
        ($output, $status, $said) = run("'LD_PRELOAD=$before$library'", "$directory/$compiler-$kind");
        is "$status $output", "0 dump: -95\ndone\n", "$compiler -fsanitize=$kind: the program runs";
        is $said, "heapsnap: $sanitizer is in the program: the library stays out of it, and takes no snapshots\n",
            '... and one line says why there are no snapshots';
    }
}
# --- modules that look for libc's names first -------------------------------------------

SKIP: {
    skip 'no shared objects', 5 unless compile('gcc', 'module.so', '-shared -fPIC',
        "#include <stdlib.h>\nvoid release(void *block) { free(block); }\nvoid *make(size_t size) { return malloc(size); }\n");
    my $program = "$build/t/programs/deepbind $directory/module.so";
    my ($bare, undef) = run('', $program);
    ($output, $status, $said) = run("LD_PRELOAD=$library", $program);
    is "$status $output$said", "0 $bare", 'RTLD_DEEPBIND, realloc of aligned blocks: as bare';

    # Where a module is looked for depends on who calls dlopen().
    mkdir "$directory/modules";
    rename "$directory/module.so", "$directory/modules/module.so";
    compile('gcc', 'opens', "-Wl,-rpath,'\$ORIGIN/modules'",
        "#include <dlfcn.h>\nint main(void) { return !dlopen(\"module.so\", RTLD_NOW); }\n");
    (undef, $status) = run('', './opens');
    is $status, 0, 'a module in the RUNPATH of its caller';
    (undef, $status, $said) = run("LD_PRELOAD=$library", './opens');
    is "$status $said", '0 ', '... is found with the library, too';
}

# An allocator that has glibc's names besides its own, and allocates while it starts.
SKIP: {
    my ($tcmalloc) = glob '/usr/lib/*/libtcmalloc_minimal.so.4';
    skip 'no tcmalloc', 2 unless $tcmalloc;
    run("LD_PRELOAD=$library:$tcmalloc HEAPSNAP_AT_EXIT=exit HEAPSNAP_FILE=below.snap", 'sort', '/etc/passwd');
    my $info = `$build/heapsh -q $directory/below.snap info`;
    like $info, qr/^heap +[1-9]/m, 'above tcmalloc: blocks are tracked';
    unlike $info, qr/^damage/m, '... and none of its own is damaged';
}

# An executable that takes malloc's address, and lies where it was linked: what it has is no malloc.
SKIP: {
    skip 'no such executables', 2 unless compile('gcc', 'fixed', '-no-pie -fno-pic',
        "#include <stdlib.h>\nvoid *(*volatile make)(size_t) = malloc;\nint main(void) { return !make(10); }\n");
    my (undef, $status, $errors) = run("LD_PRELOAD=$library", './fixed');
    is $status, 0, 'an executable that takes the address of malloc';
    is $errors, '', 'has none of its own, and nothing is said';
}
done_testing;
