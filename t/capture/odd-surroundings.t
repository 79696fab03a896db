#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Programs whose names have what would control a terminal, and limits that a program has for itself: neither harms
# who takes a snapshot.
use strict;
use warnings;
use lib 't/lib';
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;

my $directory = tempdir(CLEANUP => 1);
my $harmful = "x\n\e]0;GONE\a\e[31m\x7f\nheapsnap: all is well";

# A copy of a program, in a folder with a newline in its name, under a harmful one.
sub hide {
    my ($program) = @_;
    my $folder = "$directory/a\nb";
    mkdir $folder;
    copy(Heapsh::program_path($program), "$folder/$harmful") or die $!;
    chmod 0755, "$folder/$harmful";
    return "$folder/$harmful";
}

my $path = hide('shop');
my $expected = Heapsh->start('shop')->capture;
my $names = join "\n", map { $_->{type} } @{ Heapsh::ask_json($expected, 'types') };

# --- run -------------------------------------------------------------------------
{
    my $program = Heapsh->start($path, run => ['--verbose']);
    my $file = $program->capture;
    # It is said once the writer has ended, which is after the file is there.
    Heapsh::await(sub { $program->errors =~ /wrote/ });
    $program->finish;
    is join("\n", map { $_->{type} } @{ Heapsh::ask_json($file, 'types') }), $names, 'run: debug information is found behind a newline';
    like $program->errors, qr/^heapsnap: wrote /m, 'run --verbose: it tells';
    unlike $program->errors, qr/[\x00-\x09\x0b-\x1f\x7f]/, '... nothing harmful';
    is scalar(() = $program->errors =~ /\n/g), 1, '... in one line';
}

# --- attach ----------------------------------------------------------------------
SKIP: {
    my $why = Heapsh::attach_refusal();
    skip $why, 4 if $why;
    my $program = Heapsh->start($path, bare => 1);
    my $folder = "$directory/attached";
    mkdir $folder;
    my $said = do {
        my $heapsnap = Heapsh::public_build() . '/heapsnap';
        `cd $folder && "$heapsnap" attach --types all $program->{pid} 2>&1`;
    };
    my ($file) = glob "$folder/*";
    ok $file, 'attach: there is a snapshot' or diag $said;
    unlike $said, qr/[\x00-\x09\x0b-\x1f\x7f]/, '... and nothing harmful is said';
    is scalar(() = $said =~ /\n/g), 1, '... in one line';
    is Heapsh::ask_json($file, 'find', '--count', 'type', $_)->{count}, Heapsh::ask_json($expected, 'find', '--count', 'type', $_)->{count},
        "... and its $_" for $file ? 'Order' : ();
    $program->finish;
}

# --- a long name -----------------------------------------------------------------
{
    my $long = 'n' x 250;
    copy(Heapsh::program_path('shop'), "$directory/$long") or die $!;
    chmod 0755, "$directory/$long";
    my $program = Heapsh->start("$directory/$long");
    my $said = `"@{[ Heapsh::public_build() ]}/heapsnap" capture $program->{pid} 2>&1`;
    is $said =~ s/.*\///r, 'n' x 200 . "-00.snap\n", 'a long name is cut to what fits, and capture finds the file' or diag $said;
    $program->finish;
}

# --- little stack ----------------------------------------------------------------
for my $bytes (65_536, 131_072, 262_144) {
    my $file = Heapsh->start('shop', by => [ 'prlimit', "--stack=$bytes" ])->capture;
    is join("\n", map { $_->{type} } @{ Heapsh::ask_json($file, 'types') }), $names, "a stack of $bytes bytes: all types";
}
# --- few open files --------------------------------------------------------------
# What cannot be opened for want of descriptors must not count as what is not there.
for my $limit ('soft', 'hard') {
    my $program = Heapsh->start('shop', bare => 1);
    my ($file, $nofile) = ("$directory/files-$limit.snap", $limit eq 'soft' ? '--nofile=6:1024' : '--nofile=8:8');
    my $said = `prlimit $nofile $Heapsh::build/heapsnap attach --file $file $program->{pid} 2>&1`;
    if ($limit eq 'soft') {
        is $said, "$file\n", 'attach with few open files: it raises its limit';
        unlike scalar Heapsh::ask($file, 'info'), qr/Too many open files/, '... and so does the writer';
    } else {
        is $said, "heapsnap: too few files may be open at once, 8 (ulimit -n): there must be room for 16 more\n",
            'attach with few open files that it may not raise: why';
        ok !-e $file, '... and no file';
    }
    $program->finish;
}

# A program with many libraries, where the limit is the usual one for its number.
{
    my ($count, $source) = (40, "$directory/library.c");
    open my $out, '>', $source or die $!;
    print $out "struct part { int a; } part;\n";
    close $out;
    my @libraries = map { "$directory/library-$_.so" } 1 .. $count;
    system($ENV{CC} || 'cc', '-g', '-shared', '-fPIC', '-o', $_, $source) == 0 or die 'cc' for @libraries;
    my $program = Heapsh->start('shop', bare => 1, env => { LD_PRELOAD => "@libraries" });
    my $file = "$directory/libraries.snap";
    is `prlimit --nofile=40:1024 $Heapsh::build/heapsnap attach --file $file $program->{pid} 2>&1`, "$file\n", 'attach to a program with many libraries';
    unlike scalar Heapsh::ask($file, 'info'), qr/Too many open files/, '... reads all of them';
    # One for each, and some besides; two would be too many.
    my $hard = "$directory/libraries-hard.snap";
    is `prlimit --nofile=75:75 $Heapsh::build/heapsnap attach --file $hard $program->{pid} 2>&1`, "$hard\n", '... and where the limit cannot be raised';
    unlike scalar Heapsh::ask($hard, 'info'), qr/Too many open files/, '... too';
    $program->finish;
}

# --- no serial number -----------------------------------------------------------------
{
    my $program = Heapsh->start('shop', bare => 1);
    my ($attach, $file) = ("$Heapsh::build/heapsnap attach --types none --file $directory/%%N.snap $program->{pid} 2>&1", "$directory/%N.snap");
    is join('', `$attach`, `$attach`), "$file\nheapsnap: $file: File exists\n", 'a per cent sign and an N are no serial number';
    $program->finish;
}

# --- a directory that is gone ------------------------------------------------------
{
    my $program = Heapsh->start('shop', bare => 1);
    my $said = `mkdir $directory/gone && cd $directory/gone && rmdir $directory/gone && $Heapsh::build/heapsnap attach --file $directory/elsewhere.snap $program->{pid} 2>&1`;
    is $said, "$directory/elsewhere.snap\n", 'attach where the directory is gone: a file elsewhere is written';
    $program->finish;
}
done_testing;
