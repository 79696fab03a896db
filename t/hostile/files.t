#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Snapshots and the files of others: nothing is overwritten,
# followed, or readable by others; set-user-id programs and the writer trust no environment.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use Heapsh;
use Hostile;
use Test::More;
use Time::HiRes qw(sleep);
use Tools;

my $build = $Heapsh::build;

# Copies of what is built, in a place that all may read. @return its path
sub public_copy {
    my ($writer) = @_;
    my $directory = tempdir(CLEANUP => 1);
    chmod 0755, $directory;
    copy("$build/libheapsnap.so", $directory) or die $!;
    if (defined $writer) {
        open my $out, '>', "$directory/heapsnap-writer" or die $!;
        print $out "#!/bin/sh\n$writer\n";
        close $out;
    } else {
        copy("$build/heapsnap-writer", $directory) or die $!;
    }
    chmod 0755, "$directory/libheapsnap.so", "$directory/heapsnap-writer";
    return $directory;
}

subtest 'a name that is taken' => sub {
    my $directory = tempdir(CLEANUP => 1);
    symlink "$directory/elsewhere", "$directory/capture-failure-00.snap" or die;
    mkdir "$directory/capture-failure-01.snap" or die;
    open my $out, '>', "$directory/capture-failure-02.snap" or die;
    print $out "mine\n";
    close $out;
    my ($output, $status, $said) =
        run_way("$build/libheapsnap.so", 'capture-failure', '', directory => $directory);
    is "$output$said", "went on: 0\n", 'the snapshot is written';
    is sprintf('%o', (stat "$directory/capture-failure-03.snap")[2] // 0), '100600',
        'under the first free number, for its owner alone';
    is -s "$directory/capture-failure-02.snap", 5, 'a file is as it was';
    is readlink("$directory/capture-failure-00.snap"), "$directory/elsewhere", 'so is a link';
    ok !-e "$directory/elsewhere", 'which was not followed';
    rmdir "$directory/capture-failure-01.snap";
};

# Seen by the writer's own eyes: this one looks, then fails.
subtest 'a file while it is written' => sub {
    my $library = public_copy(<<"END");
$build/heapsnap-writer "\$\@" >/dev/null & writer=\$!
while kill -0 \$writer 2>/dev/null; do
	stat -c '%a %n' .*.snap.* 2>/dev/null | head -n 1 >>.seen
done
echo 'failed on purpose'
exit 1
END
    my (undef, undef, undef, $directory) =
        run_way("$library/libheapsnap.so", 'capture-failure', '', before => 'umask 0');
    open my $in, '<', "$directory/.seen" or die $!;
    my %seen = map { s/[0-9a-f]{16}\n/RANDOM/r => 1 } <$in>;
    is_deeply [keys %seen], ['600 .capture-failure-00.snap.RANDOM'],
        'has a name that nobody can foresee, and is for its owner alone';
};

subtest 'the environment of the writer' => sub {
    my $library = public_copy('env >&2; cat /proc/$$/environ | tr "\0" "\n" >' . "$build/t/environment"
            . '; echo "failed on purpose"; exit 1');
    my (undef, undef, $said) = run_way("$library/libheapsnap.so", 'capture-failure', '',
        env => { PATH => "/tmp/evil:$ENV{PATH}", LD_LIBRARY_PATH => '/tmp/evil', TMPDIR => '/tmp/evil',
            DEBUGINFOD_URLS => 'http://evil', IFS => 'x', HOME => '/home' });
    is $said, "heapsnap: on purpose; the program goes on\n", 'the writer has been asked';
    open my $in, '<', "$build/t/environment" or die $!;
    my @names = sort map { /^(\w+)=/ ? $1 : () } <$in>;
    # It may fetch debug information, as gdb does, unless the program is more privileged than its user.
    is_deeply [grep { !/^(DEBUGINFOD_URLS|GLIBC_TUNABLES|MALLOC_ARENA_MAX|HOME|XDG_CACHE_HOME|PWD|SHLVL|_)$/ } @names], [],
        'has what it needs, and nothing else';
    unlink "$build/t/environment";
};

SKIP: {
    skip 'a set-user-id program takes root', 1
        if $> != 0 || !has('setpriv');
    subtest 'a set-user-id program' => sub {
        my $library = public_copy();
        my $cc = $ENV{CC} || 'cc';
        is system("$cc -g -D_GNU_SOURCE -pthread -iquote . -o $library/program t/programs/hostile-processes.c "
                . "-L$library -Wl,-rpath,$library -lheapsnap"), 0, 'is linked with the library';
        symlink 'libheapsnap.so', "$library/libheapsnap.so.0";
        for my $mode (0755, 04755) {
            chmod $mode, "$library/program";
            my ($output, $status, $said, $directory) = run_way('', "$library/program", 'plain',
                env => { HEAPSNAP_FILE => '/tmp/../tmp/evil-%N' },
                wrap => 'setpriv --reuid 65534 --regid 65534 --clear-groups');
            my @evil = glob '/tmp/evil-*';
            unlink @evil;
            if ($mode == 0755) {
                is "$output$said", "done\n", 'takes snapshots without that bit';
                is scalar @evil, 1, 'where the environment says';
            } else {
                is $status & 127, 3, 'leaves SIGQUIT to the kernel with it';
                is_deeply [@evil, glob "$directory/*"], [], 'and writes nothing';
            }
        }
    };
}

subtest 'an executable that is removed, or replaced' => sub {
    for my $way ('rm copy', "cp -f $build/t/programs/capture-failure copy.new && mv copy.new copy") {
        my $directory = tempdir(CLEANUP => 1);
        system("cp -f $build/t/programs/hostile-memory $directory/copy");
        my ($output, $status, $said) = run_way("$build/libheapsnap.so", "$directory/copy", 'replaced',
            directory => $directory, env => { REPLACE => $way });
        is "$output$said", "done\n", "$way: goes on";
        my ($module) = grep { $_->{path} =~ m{/copy} }
            @{ Heapsh::ask_json("$directory/copy-00.snap", 'info')->{modules} };
        is $module->{note}, '', 'nothing is missing of it';
        is $module->{debug}, "$directory/copy (deleted)", 'whose file is known to the kernel alone';
    }
};
# Names that a program's debug information gives, or that its files had, lead to what does things when it is opened.
subtest 'special files in the place of symbols' => sub {
    my $directory = tempdir(CLEANUP => 1);
    my ($special, $opens) = special_file($directory);
    open my $source, '>', "$directory/main.c" or die $!;
    print $source "#include <stdio.h>\n#include <stdlib.h>\n",
        "int main(void) { char *kept = malloc(100); puts(\"ready\"); fflush(stdout); return getchar() + *kept; }\n";
    close $source;
    my $compile = $ENV{CC} || 'cc';
    for (
        [ 'split', "$compile -g -gsplit-dwarf -c main.c && $compile -o split main.o", 'main.dwo' ],
        [ 'linked', "$compile -g -o linked main.c && cp linked linked.debug && objcopy -S --add-gnu-debuglink=linked.debug linked", 'linked.debug' ],
        [ 'replaced', "$compile -g -o replaced main.c", 'replaced' ])
    {
        my ($name, $make, $file) = @$_;
        is system("cd $directory && $make"), 0, "$name: is built";
        my $program = Heapsh->start("$directory/$name", bare => 1);
        rename "$directory/$file", "$directory/$file.gone" or die $!;
        symlink $special, "$directory/$file" or die $!;
        like `$build/heapsnap attach --file $directory/$name.snap ${\$program->pid} 2>&1`, qr/^\S+\.snap$/, "$name: a snapshot";
        is $opens->(), 0, "$name: the special file is not opened";
        $program->finish;
    }
};
done_testing;
