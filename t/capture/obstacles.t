#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Obstacles that keep the library out of a program: heapsnap run names them in one line, before it starts.
use strict;
use warnings;
use lib 't/lib';
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;

my $build = $Heapsh::build;
my $directory = tempdir(CLEANUP => 1);
chmod 0755, $directory;
$ENV{XDG_CACHE_HOME} = "$build/t/cache";

sub write_file {
    my ($name, $text) = @_;
    open my $out, '>', "$directory/$name" or die $!;
    print $out $text;
    close $out;
    chmod 0755, "$directory/$name";
    return;
}

write_file('program.c', "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { free(malloc(9)); puts(\"ran\"); }\n");
write_file('own.c', <<'END');
#include <stddef.h>
#include <stdio.h>
static char pool[1 << 20];
static size_t used;
void *malloc(size_t size) { return pool + (used += size + 15 & ~15ul) - (size + 15 & ~15ul); }
void free(void *block) { (void)block; }
void *calloc(size_t count, size_t size) { return malloc(count * size); }
void *realloc(void *block, size_t size) { (void)block; return malloc(size); }
int main(void) { return puts("ran") < 0; }
END

# @return output, standard error and status of heapsnap run in the directory
sub run {
    my ($command) = @_;
    my $output = `cd $directory && $command 2>said`;
    my $status = $? >> 8;
    open my $said, '<', "$directory/said" or die $!;
    local $/;
    return ($output, <$said> // '', $status);
}

sub refuses {
    my ($what, $program, $pattern, %option) = @_;
    my ($output, $said, $status) = run(($option{before} || '') . ' ' . ($option{heapsnap} || "$build/heapsnap") . " run -- $program");
    like $said, qr/\Aheapsnap: $pattern\n\z/, "$what: refused by one line";
    is "$status $output", '1 ', '... and the program did not run';
    return;
}

sub runs {
    my ($what, $program, $pattern, %option) = @_;
    my ($output, $said, $status) = run("$build/heapsnap run " . ($option{options} || '') . " -- $program");
    like $said, $pattern ? qr/\Aheapsnap: $pattern\n\z/ : qr/\A\z/, $pattern ? "$what: one line says so" : "$what: nothing is said";
    is "$status $output", "0 ran\n", '... and the program runs';
    return;
}

# Compiles a program. @return false if that cannot be had here
sub compiles {
    my ($name, $command, $source) = @_;
    return system("cd $directory && $command -w -o $name " . ($source || 'program.c') . ' >/dev/null 2>&1') == 0;
}

compiles('program', 'cc') or die 'no compiler';
runs('a plain program', './program');

# --- allocators -------------------------------------------------------------------

my @sanitizers = ([address => 'AddressSanitizer'], [thread => 'ThreadSanitizer'], [leak => 'LeakSanitizer'], [memory => 'MemorySanitizer']);
for my $compiler (qw(gcc clang)) {
    for (@sanitizers) {
        my ($sanitizer, $name) = @$_;
      SKIP: {
            skip "no $compiler -fsanitize=$sanitizer", 2 unless compiles("$compiler-$sanitizer", "$compiler -fsanitize=$sanitizer");
            refuses("$compiler -fsanitize=$sanitizer", "./$compiler-$sanitizer", qr{\./$compiler-$sanitizer: built with $name, .*});
        }
    }
}
SKIP: {
    skip 'no clang -fsanitize=address', 2 unless -e "$directory/clang-address";
    system("cd $directory && strip -o stripped clang-address");
    refuses('without symbols', './stripped', qr{\./stripped: built with AddressSanitizer, .*});
}
SKIP: {
    skip 'no -fsanitize=undefined', 2 unless compiles('undefined', 'cc -fsanitize=undefined');
    runs('-fsanitize=undefined, which has no malloc', './undefined');
}
chomp(my $runtime = `gcc -print-file-name=libasan.so 2>/dev/null`);
SKIP: {
    skip 'no libasan.so', 2 unless $runtime =~ m{^/};
    refuses('a preloaded AddressSanitizer', './program', qr{$runtime in LD_PRELOAD: AddressSanitizer .*}, before => "LD_PRELOAD=$runtime");
}
compiles('own', 'cc -fno-builtin', 'own.c') or die 'no compiler';
runs('a malloc of the program\'s own', './own', qr{malloc: \./own comes before libheapsnap\.so: .*});
SKIP: {
    my ($jemalloc) = map { m{=> (\S*/libjemalloc\.so\S*)} ? $1 : () } `PATH=\$PATH:/sbin:/usr/sbin ldconfig -p`;
    skip 'no libjemalloc', 4 unless $jemalloc && compiles('jemalloc', "cc -Wl,--no-as-needed $jemalloc");
    runs('a linked jemalloc, which lies below ours', './jemalloc');
    skip 'a sanitizer is in heapsnap itself', 2 if $ENV{SANITIZE};
    my ($output, $said) = run("LD_PRELOAD=$jemalloc $build/heapsnap run --at-exit -- ./program");
    is $said, '', 'a preloaded jemalloc: heapsnap run puts ours before it';
    like scalar(Heapsh::ask("$directory/program-00.snap", 'find', '--count')), qr/^Total: [1-9]/m, '... so that blocks are seen';
}

# --- files ------------------------------------------------------------------------

SKIP: {
    skip 'no static libc', 2 unless compiles('static', 'cc -static');
    refuses('a statically linked program', './static', qr{\./static: statically linked, .*; heapsnap attach takes one that runs});
}
SKIP: {
    skip 'no static libc', 2 unless compiles('static-pie', 'cc -static-pie');
    refuses('one that can be moved', './static-pie', qr{\./static-pie: statically linked, .*});
}
SKIP: {
    skip 'no 32-bit libc', 2 unless compiles('narrow', 'cc -m32');
    refuses('a 32-bit program', './narrow', qr{\./narrow: not a 64-bit program});
}
SKIP: {
    skip 'no musl-gcc', 2 unless compiles('musl', 'musl-gcc');
    refuses('another libc', './musl', qr{\./musl: its libc is not the library's \(its dynamic linker is /lib/ld-musl\S*\); heapsnap attach takes one that runs});
}

# The program with other bytes in its ELF header.
sub patch {
    my ($name, $offset, $bytes) = @_;
    copy("$directory/program", "$directory/$name") or die $!;
    open my $file, '+<', "$directory/$name" or die $!;
    seek $file, $offset, 0;
    print $file $bytes;
    close $file;
    chmod 0755, "$directory/$name";
    return;
}
patch('narrow', 4, "\1");
refuses('a 32-bit header', './narrow', qr{\./narrow: not a 64-bit program});
patch('foreign', 18, "\x28\0");
refuses('another processor', './foreign', qr{\./foreign: not a program for this machine's processor});
# The program headers end before 700 bytes on aarch64, and behind them on x86-64.
for my $length (3, 10, 63, 64, 100, 700, 2000) {
    system("cd $directory && head -c $length program >cut && chmod +x cut");
    my ($output, $said, $status) = run("$build/heapsnap run -- ./cut");
    cmp_ok $status, '<=', 127, "a program of $length bytes ends heapsnap in good order";
    is $said, "heapsnap: ./cut: cut short, so it is no whole program\n", '... and is not taken for another kind' if $length >= 64;
}
my ($loader) = glob '/lib64/ld-linux-*.so.* /lib/ld-linux-*.so.*';
SKIP: {
    skip 'no dynamic linker in its usual place', 2 unless $loader;
    runs('the dynamic linker as a program', "$loader ./program");
}

# --- privileges --------------------------------------------------------------------

SKIP: {
    skip 'not root', 6 if $> != 0;
    for my $mode (04755, 02755) {
        copy("$directory/program", "$directory/privileged") or die $!;
        chmod $mode, "$directory/privileged";
        refuses(sprintf('mode %o', $mode), './privileged', qr{\./privileged: a set-user-id program .*});
    }
    skip 'no setcap, or a file system without', 4 if system("cd $directory && cp program capable && "
            . 'chmod 755 capable && PATH=$PATH:/sbin:/usr/sbin setcap cap_net_bind_service=ep capable 2>/dev/null') != 0;
    my $public = Heapsh::public_build();
    refuses('file capabilities', './capable', qr{\./capable: a program with file capabilities .*},
        before => 'setpriv --reuid 65534 --regid 65534 --clear-groups', heapsnap => "$public/heapsnap");
    runs('... which root has anyway', './capable');
}

# --- scripts -----------------------------------------------------------------------

write_file('script', "#!/bin/sh\necho ran\n");
runs('a script', './script');
write_file('no-interpreter', "echo ran\n");
runs('a script without an interpreter', './no-interpreter');
write_file('by-env', "#!/usr/bin/env -S A=1 sh\necho ran\n");
runs('a script by env', './by-env');
write_file('missing', "#! \t/no/such/program -x\n");
refuses('a missing interpreter', './missing', qr{\./missing: its interpreter /no/such/program is no program});
write_file('windows', "#!/bin/sh\r\necho ran\n");
refuses('a line of another system', './windows', qr{\./windows: its interpreter /bin/sh\\r is no program});
write_file('circle', "#!$directory/circle\n");
refuses('an interpreter that is itself', './circle', qr{\./circle: interpreters of scripts are scripts, 5 deep});
chmod 04755, "$directory/script";
runs('a set-user-id script, which the kernel takes for a plain one', './script');
write_file('outer', "#!$directory/inner x\n");
write_file('inner', "#!$directory/foreign\n");
refuses('the interpreter of an interpreter', './outer', qr{\./outer: $directory/foreign: not a program for .*});
write_file('foreign-env', "#!/usr/bin/env foreign\n");
write_file('pipe-env', "#!/usr/bin/env $directory/pipe\n");
system('mkfifo', '-m', '755', "$directory/pipe");
my (undef, undef, $piped) = run("timeout 20 $build/heapsnap run -- ./pipe-env");
is $piped, 126, 'a pipe is no program that env would start, and not waited for';
refuses('a program that env finds', './foreign-env', qr{\./foreign-env: $directory/foreign: not a .*}, before => "PATH=$directory:\$PATH");

# --- wrappers ------------------------------------------------------------------------

mkdir "$directory/bin";
copy('/bin/true', "$directory/bin/snap") or die $!;
chmod 0755, "$directory/bin/snap";
symlink 'bin/snap', "$directory/firefox";
refuses('a snap', './firefox', qr{\./firefox: a snap is started by a set-user-id program, .*});
copy("$directory/program", "$directory/bin/bwrap") or die $!;
chmod 0755, "$directory/bin/bwrap";
runs('a sandbox', './bin/bwrap', qr{\./bin/bwrap: starts its program in a sandbox, .*});
done_testing;
