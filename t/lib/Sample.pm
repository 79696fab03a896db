# SPDX-License-Identifier: GPL-3.0-or-later
package Sample;

# A snapshot that is known to the last byte (t/helper/sample_snapshot.c), and heapsh on it.
#
#	my $file = Sample::make();                 # or make('series', 2), make('empty')
#	my ($out, $err, $status) = Sample::heapsh($file, 'count');
#	is_text($file, 'count', <<'END');          # what a line of commands prints, exactly

use strict;
use warnings;
use Cwd qw(abs_path);
use Exporter qw(import);
use File::Temp qw(tempdir);
use JSON::PP;
use Test::More;

our @EXPORT = qw(is_text fails_with);
our $build = abs_path($ENV{BUILD} || 'build');
our $directory = tempdir(CLEANUP => 1);

$ENV{TZ} = 'UTC';
$ENV{LC_ALL} = 'C.UTF-8';
delete $ENV{NO_COLOR};

my $made = 0;

sub make {
    my (@kind) = @_;
    my $file = "$directory/sample-" . $made++ . '.snap';
    system("$build/t/helper/sample_snapshot", $file, @kind) == 0 or die 'sample_snapshot failed';
    return $file;
}

# Runs a program with its arguments, and standard input from text.
sub run {
    my ($input, $program, @arguments) = @_;
    write_file('in', $input);
    my $pid = fork() // die $!;
    if (!$pid) {
        open STDIN, '<', "$directory/in";
        open STDOUT, '>', "$directory/out";
        open STDERR, '>', "$directory/err";
        exec { $program } $program, @arguments or exit 127;
    }
    waitpid $pid, 0;
    my $status = $? & 127 ? 'signal ' . ($? & 127) : $? >> 8;
    return (content("$directory/out"), content("$directory/err"), $status);
}

sub content {
    my ($path) = @_;
    open my $in, '<', $path or return undef;
    local $/;
    return scalar(<$in>) // '';
}

# Writes a file of the directory. @return its path
sub write_file {
    my ($name, $text) = @_;
    open my $out, '>', "$directory/$name" or die "$name: $!";
    print $out $text;
    close $out or die "$name: $!";
    return "$directory/$name";
}

sub heapsh { return run('', "$build/heapsh", '--quiet', @_) }

sub json {
    my ($out, $err) = run('', "$build/heapsh", '--quiet', '--json', @_);
    return JSON::PP->new->utf8->decode($out);
}

# The output of a line of commands, which must succeed.
sub is_text {
    my ($file, $line, $expected) = @_;
    my ($out, $err, $status) = run("$line\n", "$build/heapsh", '--quiet', $file);
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    is "$out$err", $expected, $line;
    is $status, 0, "$line: status";
}

# Tests that a line prints one line of complaint and nothing else.
sub fails_with {
    my ($file, $line, $expected, $wanted) = @_;
    my ($out, $err, $status) = run("$line\n", "$build/heapsh", '--quiet', $file);
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    is "$status: $out$err", "$wanted: $expected\n", $line;
}

# The objects of a snapshot, and then the parts of its pools, which have their bytes.
sub objects_and_parts {
    my ($snapshot) = @_;
    my @objects = @{ json($snapshot, 'find')->{objects} };
    my @parts;
    for my $pool (grep { $_->{evidence} eq 'pool' } @objects) {
        my @own = map { { %{ $_->{part} }, size => $_->{own} } }
            @{ json($snapshot, 'dominators', '--all', $pool->{address})->{dominates} };
        $pool->{size} -= $_->{size} for @own;
        push @parts, sort { $a->{address} cmp $b->{address} } @own;
    }
    push @objects, @parts;
    $_->{retained} = json($snapshot, 'retained', $_->{address})->{retained} for @objects;
    return \@objects;
}

1;
