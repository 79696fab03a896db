# SPDX-License-Identifier: GPL-3.0-or-later
package Heapsh;

# Runs a program under heapsnap, signals it, and asks heapsh: for end-to-end tests.
#
#	my $program = Heapsh->start('shapes');      # waits until it prints "ready"
#	my $file    = $program->capture;            # kill -QUIT, waits for the file
#	my $file    = $program->capture_and_hold;   # the same of threads that take all processors
#	my @lines   = Heapsh::ask($file, 'find', '--count', 'type', 'struct node');
#	my $answer  = Heapsh::ask_json($file, 'count');
#	my @texts   = Heapsh::ask_lines($file, 'show list', 'find leaked');    # in one process
#	my $file    = $bare->attach_and_finish;     # heapsnap attach to one that was started with bare => 1
#	my ($output, $status) = $program->finish;   # writes a line to it, collects the rest
#	Heapsh::await(sub { -s $path }) or die;     # waits for a state, never for a time

use strict;
use warnings;
use Cwd qw(abs_path);
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use IO::Handle;
use IPC::Open3;
use Symbol;
use JSON::PP;
use POSIX qw(:sys_wait_h);
use Time::HiRes qw(sleep time);

our $build = abs_path($ENV{BUILD} || 'build');
# Seconds that a test waits for something: a loaded machine under a sanitizer is slow, an emulated one slower.
our $patience = $ENV{HEAPSH_PATIENCE} || 60;

# On a busy machine 250 ms are not enough for every thread to stop; t/capture/stop.t tests the limit.
$ENV{HEAPSNAP_STOP} //= '20s';

# A writer that crashes begins anew without types, and few tests would tell. This one is meant to crash.
our $crashes;

# @return a snapshot's path, if its writer has not crashed
sub check {
    my ($file) = @_;
    my ($crash) = `"$build/heapsh" --quiet "$file" info 2>&1` =~ /(heapsnap-writer crashed.*)/;
    die "$file: $crash\n" if $crash && !$crashes;
    return $file;
}

# Copies of what is captured with, where every user may run it: what is built may lie in a
# directory of root's. @return its path
my $public;

sub public_build {
    return $public if $public;
    $public = tempdir(CLEANUP => 1);
    for my $name (qw(libheapsnap.so heapsnap-writer heapsnap)) {
        copy("$build/$name", "$public/$name") or die "$name: $!";
        chmod 0755, "$public/$name";
    }
    chmod 0755, $public;
    return $public;
}

sub program_path { return "$build/t/programs/$_[0]" }

# start(NAME, args => [...], run => [options of heapsnap run], env => {...}, bare => 1)
sub start {
    my ($class, $name, %option) = @_;
    my $directory = $option{directory} || tempdir(CLEANUP => 1);
    my $path = $name =~ m{/} ? $name : program_path($name);
    my @command = ($path, @{ $option{args} || [] });
    unshift @command, "$build/heapsnap", 'run', @{ $option{run} || [] }, '--'
        unless $option{bare};
    unshift @command, @{ $option{by} || [] };
    my $self = bless { directory => $directory, name => $path =~ s{.*/}{}r, seen => {} }, $class;
    local %ENV = (%ENV, %{ $option{env} || {} });
    $ENV{XDG_CACHE_HOME} ||= "$build/t/cache";
    pipe(my $in_read, my $in_write) or die "pipe: $!";
    pipe(my $out_read, my $out_write) or die "pipe: $!";
    open my $errors, '>', "$directory/.stderr" or die "stderr: $!";
    my $pid = fork() // die "fork: $!";
    if (!$pid) {
        chdir $directory or die "$directory: $!";
        open STDIN, '<&', $in_read;
        open STDOUT, '>&', $out_write;
        open STDERR, '>&', $errors;
        close $_ for $in_read, $in_write, $out_read, $out_write;
        exec { $command[0] } @command or POSIX::_exit(127);
    }
    close $in_read;
    close $out_write;
    $in_write->autoflush(1);
    @$self{qw(pid in out)} = ($pid, $in_write, $out_read);
    unless ($option{no_wait}) {
        my $line = $self->line;
        die "$path did not get ready: " . ($line // 'it ended') . $self->errors
            unless defined $line && $line eq 'ready';
    }
    return $self;
}

sub pid { return $_[0]{pid} }

# The next line of its output.
sub line {
    my ($self) = @_;
    my $line = readline $self->{out};
    chomp $line if defined $line;
    return $line;
}

sub content {
    my ($path) = @_;
    open my $in, '<', $path or return '';
    local $/;
    return scalar(<$in>) // '';
}

sub write_file {
    my ($path, $text) = @_;
    open my $out, '>', $path or die "$path: $!";
    print $out $text;
    close $out or die "$path: $!";
    return;
}

sub errors { return content("$_[0]{directory}/.stderr") }

sub snapshots {
    my ($self) = @_;
    return sort glob "$self->{directory}/*.snap";
}

# The path of a real program that t/real/fetch has built from Debian's sources, or builds now.
sub fetch_real {
    my ($name) = @_;
    my $path = `t/real/fetch '$build/real' $name`;
    chomp $path;
    die "$name cannot be fetched or built\n" if $? || !-x $path;
    return $path;
}

# Waits until a condition holds, for as long as a test waits. A wait in vain is told: who ignores the result would
# not see why the test takes a minute. @return what it gave at last
sub await {
    my ($condition) = @_;
    my ($until, $result) = time + $patience;
    sleep 0.005 until ($result = $condition->()) || time > $until;
    printf STDERR "# %s, line %d: waited for %d s in vain\n", (caller)[1, 2], $patience if !$result;
    return $result;
}

# Waits until a process sleeps.
sub await_asleep {
    my ($pid) = @_;
    return await(sub { content("/proc/$pid/status") =~ /^State:\s+S/m });
}

# The same of the program: what it prints arrives before the functions have returned that print it.
sub await_sleep {
    my ($self) = @_;
    await_asleep($self->{pid});
    return $self;
}

# Sends the signal, waits for one more snapshot, and gives its path.
sub capture {
    my ($self, $signal) = @_;
    my $before = () = $self->snapshots;
    kill $signal || 'QUIT', $self->{pid} or die "kill: $!";
    return $self->wait_for($before + 1);
}

# The same for a program that takes all processors: it is stopped once the writer has its copy, which
# opens its file then, until the snapshot is written.
sub capture_and_hold {
    my ($self) = @_;
    my $before = () = $self->snapshots;
    kill 'QUIT', $self->{pid} or die "kill: $!";
    for (my $until = time + $patience; time < $until; sleep 0.002) {
        last if $before < (() = ($self->snapshots, glob "$self->{directory}/.*.snap.*"));
    }
    kill 'STOP', $self->{pid};
    my $file = $self->wait_for($before + 1);
    kill 'CONT', $self->{pid};
    return $file;
}

sub wait_for {
    my ($self, $count) = @_;
    my $until = time + $patience;
    while (time < $until) {
        my @files = $self->snapshots;
        return check($files[$count - 1]) if @files >= $count;
        die "the program ended: " . $self->errors if waitpid($self->{pid}, WNOHANG) == $self->{pid};
        die "no snapshot: " . $self->errors if $self->errors =~ /the program goes on/;
        sleep 0.01;
    }
    die "no snapshot within $patience s: " . $self->errors;
}

# Lets the program end. @return what it printed since, and its wait status
sub finish {
    my ($self) = @_;
    { local $SIG{PIPE} = 'IGNORE'; print { $self->{in} } "\n"; }
    close $self->{in};
    local $/;
    my $rest = readline $self->{out};
    waitpid $self->{pid}, 0;
    return ($rest // '', $?);
}

sub DESTROY {
    my ($self) = @_;
    local $?;
    kill 'KILL', $self->{pid} if $self->{pid} && waitpid($self->{pid}, WNOHANG) == 0;
}

# Makes a cache that has debug information of the system's libraries alone: for programs that differ in
# their files of debug information, and may have one build id. Reading libc's takes longer than all else.
my $seed;

sub make_cache {
    my ($to) = @_;
    if (!$seed) {
        $seed = tempdir(CLEANUP => 1);
        local %ENV = (%ENV, XDG_CACHE_HOME => $seed, LD_PRELOAD => "$build/libheapsnap.so",
            HEAPSNAP_AT_EXIT => 1, HEAPSNAP_FILE => "$seed/true.snap");
        system 'true';
    }
    system('cp', '-rp', $seed, $to) == 0 or die "cp -rp $seed $to";
}

# Keeps what a cache that was made so has learned of those libraries, for those that are made later.
sub keep_cache {
    my ($from) = @_;
    for my $file (glob "$seed/heapsh/*-answers-*") {
        my $name = $file =~ s{.*/}{}r;
        system('cp', '-p', "$from/heapsh/$name", $file) if -e "$from/heapsh/$name";
    }
}

# Builds a program of one file of C or C++, which captures itself to its argument, and runs it.
# capture_source(DIRECTORY/NAME.c, 'COMPILER FLAGS', text => SOURCE, env => {...}). @return the snapshot
sub capture_source {
    my ($source, $compiler, %option) = @_;
    my $name = $source =~ s/\.\w+$//r . $compiler =~ s/[^\w+-]//gr;
    write_file($source, $option{text}) if defined $option{text};
    system("$compiler -g -iquote . -o $name $source") == 0 or die "$compiler: $source does not compile";
    local %ENV = (%ENV, %{ $option{env} || {} }, LD_PRELOAD => "$build/libheapsnap.so");
    system($name, "$name.snap") == 0 or die "$name: no snapshot";
    return "$name.snap";
}

# Runs heapsh. @return its output's lines; in scalar context the whole output
our ($status, $complaint);

sub ask {
    my ($file, @command) = @_;
    my @option;
    push @option, shift @command while @command && $command[0] =~ /^-/;
    my $pid = open3(my $in, my $out, my $err = Symbol::gensym(), "$build/heapsh", '--quiet',
        @option, $file, @command);
    close $in;
    local $/;
    my $text = <$out>;
    $complaint = <$err> // '';
    waitpid $pid, 0;
    $status = $? >> 8;
    die "heapsh died of signal " . ($? & 127) . ": $complaint" if $? & 127;
    return wantarray ? split(/\n/, $text) : $text;
}

sub ask_json {
    my ($file, @command) = @_;
    my $text = ask($file, '--json', @command);
    return JSON::PP->new->utf8->decode($text);
}

# Runs several lines of commands in one heapsh, each of which must succeed. @return their outputs
sub ask_lines {
    my ($file, @lines) = @_;
    my @option;
    push @option, shift @lines while @lines && $lines[0] =~ /^-/;
    my $answers = tempdir(CLEANUP => 1);
    my $number = 0;
    open my $script, '>', "$answers/script" or die $!;
    print $script map { "$_ > $answers/" . $number++ . "\n" } @lines;
    close $script or die $!;
    $complaint = `"$build/heapsh" --quiet @option "$file" <$answers/script 2>&1`;
    $status = $? >> 8;
    die "heapsh died of signal " . ($? & 127) . ": $complaint" if $? & 127;
    die "heapsh: $complaint" if $complaint ne '';
    return map { content("$answers/$_") } 0 .. $#lines;
}

# The same with answers in JSON.
sub ask_lines_json {
    my ($file, @lines) = @_;
    return map { JSON::PP->new->utf8->decode($_) } ask_lines($file, '--json', @lines);
}

# Sets the snapshots of a series a quarter of a second apart. Judgements of growth depend on times,
# and those at which a busy machine captured are any.
sub space_evenly {
    my (@files) = @_;
    system("$build/t/helper/space_series", 250_000_000, @files) == 0 or die 'space_series failed';
    return;
}

# Attaches to a program that runs bare, with options of heapsnap attach, and lets it end. @return the file
sub attach_and_finish {
    my ($self, @options) = @_;
    my $file = "$self->{directory}/attached";
    my $said = `"$build/heapsnap" attach @options --file $file $self->{pid} 2>&1`;
    die "heapsnap attach: $said" if $said ne "$file\n";
    $self->finish;
    return check($file);
}

# Why heapsnap attach cannot be tested here; '' if it can.
sub attach_refusal {
    my $said = `sleep 5 & "$build/heapsnap" attach --types none --file /dev/null/x \$! 2>&1; kill \$!`;
    return $said =~ /may not be/ ? 'processes may not be traced here' : '';
}

# The blocks of a snapshot: { address => size }, addresses as "0x…".
sub blocks_of {
    my ($file) = @_;
    my %blocks;
    system("$build/heapsh-export -q --format csv -o $file.csv $file") == 0 or die 'heapsh-export';
    open my $in, '<', "$file.csv/objects.csv" or die $!;
    my @names = split /,/, <$in> =~ s/\s+$//r;
    my ($address, $size) = map { my $name = $_; grep { $names[$_] eq $name } 0 .. $#names } qw(address size);
    while (my $line = <$in>) {
        my @fields = split /,/, $line;
        $blocks{ sprintf '0x%x', $fields[$address] =~ s/"//gr } = $fields[$size];
    }
    return \%blocks;
}

1;
