#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Debug information after the fact: heapsh --debug, for snapshots of programs that had none.
use strict;
use warnings;
use lib 't/lib';
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;

my $build = $Heapsh::build;
my $directory = tempdir(CLEANUP => 1);

# Compiles a program, and puts its debug information into a file of its own.
# @return the stripped program, the whole one, the debug information
sub build_apart {
    my ($name, @flags) = @_;
    my ($source) = glob "t/programs/$name.c*";
    my $compiler = $source =~ /\.cc$/ ? 'g++' : 'gcc';
    my $path = "$directory/$name";
    system("$compiler -g @flags -pthread -iquote . -Wl,--build-id -o $path.whole $source"
            . " && objcopy --only-keep-debug $path.whole $path.debug"
            . " && strip -o $path $path.whole") == 0 or die "$source does not compile";
    return ($path, "$path.whole", "$path.debug");
}

sub snapshot_of {
    my ($path) = @_;
    my $program = Heapsh->start($path);
    my $file = $program->capture;
    my $kept = "$directory/" . ($path =~ s{.*/}{}r) . '.snap';
    rename $file, $kept or die "$kept: $!";
    $program->finish;
    return $kept;
}

# Objects and bytes of each type. Casts are found in code, of which a snapshot keeps nothing: what they alone tell counts as
# untyped.
sub types_of {
    my ($file, @option) = @_;
    my %count;
    for (@{ Heapsh::ask_json($file, @option, 'find')->{objects} }) {
        my $type = $_->{evidence} eq 'cast' ? "block($_->{size})" : $_->{type};
        $count{$type}[0]++;
        $count{$type}[1] += $_->{size};
    }
    return \%count;
}

# The names of variables that hold something; and of functions of the program.
sub variables_of {
    my ($file, @option) = @_;
    return [sort map { "$_->{root}{kind} $_->{root}{name}" }
            grep { $_->{root} && $_->{root}{kind} =~ /^(?:global|local)$/ && $_->{root}{module} !~ /\.so/ }
            @{ Heapsh::ask_json($file, @option, 'roots', '--all') }];
}

sub sites_of {
    my ($file, @option) = @_;
    return { map { ($_->{site} =~ s/ \(.*//r) => $_->{objects} } @{ Heapsh::ask_json($file, @option, 'sites') } };
}

for my $optimised ('-O0', '-O2') {
    my ($stripped, $whole, $debug) = build_apart('shapes', $optimised);
    my $without = snapshot_of($stripped);
    my $with = snapshot_of($whole);
    my $expected = types_of($with);
    for my $file ($debug, $whole) {
        my $what = "$optimised, --debug " . ($file =~ s{.*/}{}r);
        my $types = types_of($without, "--debug=$file");
        is $types->{'struct node'}[0], 109, "$what: a list's nodes have their type";
        is_deeply $types, $expected, "$what: so has all else";
        is_deeply sites_of($without, "--debug=$file"), sites_of($with), "$what: sites have names";
    }
    my $globals = sub { return [grep { /^global/ } @{ $_[0] }] };
    is_deeply $globals->(variables_of($without, "--debug=$debug")), $globals->(variables_of($with)),
        "$optimised: global variables have names";
    is_deeply variables_of($without, "--debug=$debug"), variables_of($with), "$optimised: local ones, too"
        if $optimised eq '-O0';
    unlike join(' ', keys %{ types_of($without) }), qr/struct node/, "$optimised: without it there is none of that";
    is Heapsh::ask($without, "--debug=$debug", 'show', 'popular') =~ /^struct table at/, 1, "$optimised: a variable leads on";
    my ($value) = grep { /value = / } Heapsh::ask($without, "--debug=$debug", 'show', '&greeting');
    like $value, qr/char\[13\] "hello, world"/, "$optimised: a variable's pointer is known";
    my $before = Heapsh::ask($without, 'find', '--count', 'leaked');
    is Heapsh::ask($without, "--debug=$debug", 'find', '--count', 'leaked'), $before, "$optimised: leaks stay leaks";
}

# --- without the library, and without types -----------------------------------------------------

SKIP: {
    my ($stripped, $whole, $debug) = build_apart('shapes', '-O0');
    my @snapshots;
    for my $path ($stripped, $whole) {
        my $program = Heapsh->start($path, bare => 1);
        my $file = "$directory/attached-" . @snapshots . '.snap';
        my $said = `$build/heapsnap attach --file $file @{[$program->pid]} 2>&1`;
        $program->finish;
        skip "attaching failed: $said", 1 unless -s $file;
        push @snapshots, $file;
    }
    is_deeply types_of($snapshots[0], "--debug=$debug"), types_of($snapshots[1]),
        'a process that was attached to: sizes are those of its allocator';
    like join("\n", Heapsh::ask($snapshots[0], "--debug=$debug", 'roots', '--all')), qr/the thread-local variable mine \(shapes\.c/,
        'thread-local variables have names';
}
{
    my ($stripped, $whole, $debug) = build_apart('shapes', '-O0');
    my $program = Heapsh->start($stripped, run => ['--types', 'none']);
    my $file = $program->capture;
    is Heapsh::ask_json($file, "--debug=$debug", 'find', '--count', 'type', 'struct node')->{count}, 109,
        'a snapshot that was written without types';
    $program->finish;
}

# Callbacks tell what the void pointers beside them lead to.
SKIP: {
    my ($stripped, $whole, $debug) = build_apart('alarms', '-O2');
    my $program = Heapsh->start($stripped, bare => 1);
    my $file = "$directory/alarms.snap";
    my $said = `$build/heapsnap attach --file $file @{[$program->pid]} 2>&1`;
    $program->finish;
    skip "attaching failed: $said", 2 unless -s $file;
    is Heapsh::ask_json($file, "--debug=$debug", 'find', '--count', 'type', "struct $_")->{count}, 40,
        "attached to, callbacks tell each $_" for qw(lamp bell);
}

# Only a file of the library's name is the library: the variables of others hold what they hold.
{
    my ($stripped, $whole, $debug) = build_apart('shapes', '-O0');
    my $with = variables_of(snapshot_of($whole));
    mkdir "$directory/libheapsnap-demo";
    rename $stripped, "$directory/libheapsnap-demo/shapes" or die "$stripped: $!";
    is_deeply variables_of(snapshot_of("$directory/libheapsnap-demo/shapes"), "--debug=$debug"), $with,
        'a program in a directory with a name like the library';
}

# --- what is refused ------------------------------------------------------------------------

my ($stripped, $whole, $debug) = build_apart('shapes', '-O1');
my $other = "$directory/shapes.snap";
my $size = -s $other;
Heapsh::ask($other, "--debug=$debug", 'info');
like $Heapsh::complaint, qr/^heapsh: \Q$debug\E: its build id is that of no module of \Q$other\E$/, 'another build';
is $Heapsh::status, 2, 'is refused';
Heapsh::ask($other, "--debug=$stripped", 'info');
like $Heapsh::complaint, qr/shapes: (?:no debug information|its build id is that of no module)/, 'a file without debug information';
Heapsh::ask($other, "--debug=$directory/none", 'info');
like $Heapsh::complaint, qr/^heapsh: \S+none: No such file/, 'a file that is not there';
is -s $other, $size, 'the snapshot stays as it was';
done_testing;
