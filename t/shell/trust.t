#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Files that others could have written: what they say is neither believed nor run.
use strict;
use warnings;
use lib 't/lib';
use Sample;
use File::Path qw(make_path);
use Test::More;

my $heapsh = "$Sample::build/heapsh";
my $directory = $Sample::directory;
my $nobody = 65534;
my $is_root = $> == 0;
my $file = Sample::make();
my $types = "$file.types";

sub put {
    my ($path, $text, $mode, $owner) = @_;
    unlink $path;
    open my $out, '>', $path or die "$path: $!";
    print $out $text;
    close $out;
    chmod $mode, $path;
    chown $owner, $owner, $path if defined $owner;
}

# --- declarations ----------------------------------------------------------------------------

my $declared = "heapsh types 1 00112233445566778899aabbccddeeff\n0x5f02300 struct date\n";
my $ignored = qr/^heapsh: \Q$types\E is ignored: it is a link, or somebody who could not write the snapshot could write it\n/m;

sub type_of_block { return Sample::run('', $heapsh, '-q', $file, 'show', '5f02300') }

put($types, $declared, 0644);
my ($out, $err) = type_of_block();
like $out, qr/^struct date/, 'a declaration of our own holds';
is $err, '', '... without a word';
for my $mode (0666, 0620) {
    put($types, $declared, $mode);
    ($out, $err) = type_of_block();
    like $out, qr/^block\(48\)/, sprintf 'not one that others can write: %o', $mode;
    like $err, $ignored, '... which is said';
}
chmod 0660, $file;
put($types, $declared, 0660);
like +(type_of_block())[0], qr/^struct date/, 'those who can write the snapshot may declare';
chmod 0600, $file;
put("$directory/elsewhere", $declared, 0600);
unlink $types;
symlink "$directory/elsewhere", $types;
($out, $err) = type_of_block();
like $out, qr/^block\(48\)/, 'nor is a symbolic link followed';
like $err, $ignored, '... which is said';
SKIP: {
    skip 'only root can give files away', 4 if !$is_root;
    put($types, $declared, 0644, $nobody);
    ($out, $err) = type_of_block();
    like $out, qr/^block\(48\)/, "not somebody else's";
    like $err, $ignored, '... which is said';
    chown $nobody, $nobody, $file;
    like +(type_of_block())[0], qr/^struct date/, 'but that of whoever made the snapshot';
    chown 0, 0, $file;
    put($types, $declared, 0644);
    chmod 0755, $directory;
    chmod 0644, $file;
    my $as_nobody = `setpriv --reuid=$nobody --regid=$nobody --clear-groups $heapsh -q $file show 5f02300 2>&1`;
    like $as_nobody, qr/^struct date/, "root's holds for all";
    chmod 0600, $file;
}
unlink $types;

# --- the start-up file, and the history ------------------------------------------------------

sub shell {
    my (%env) = @_;
    local @ENV{qw(HOME XDG_CONFIG_HOME XDG_STATE_HOME TERM INPUTRC)} = ("$directory/home", '', '', 'dumb', '/dev/null');
    local @ENV{keys %env} = values %env;
    open my $in, '|-', "$Sample::build/t/helper/terminal --after 'heapsh> ' $heapsh -q $file > $directory/said 2>&1" or die $!;
    print $in "count --limit 1\nquit\n";
    close $in;
    return Sample::content("$directory/said");
}

my $config = "$directory/home/.config/heapsh";
make_path($config);
put("$config/heapshrc", "info > $directory/ran\n", 0600);
my $said = shell();
unlike $said, qr/not run/, 'a start-up file of our own';
ok -e "$directory/ran", '... is run';
ok -s "$directory/home/.local/state/heapsh/history", 'and there is a history';
unlink "$directory/ran";
for (['that others can write', 0622, undef], $is_root ? ["of somebody else's", 0644, $nobody] : ()) {
    my ($what, $mode, $owner) = @$_;
    put("$config/heapshrc", "info > $directory/ran\n", $mode, $owner);
    like shell(), qr{not run: \S*/heapshrc is not trusted}, "a start-up file $what: refused";
    ok !-e "$directory/ran", '... and not run';
}
SKIP: {
    skip 'only root can give files away', 11 if !$is_root;
    # Root, by sudo, with the home directory of a user.
    my $home = "$directory/user";
    make_path("$home/.config/heapsh");
    put("$home/.config/heapsh/heapshrc", "info > $directory/ran\n", 0644, $nobody);
    system 'chown', '-R', "$nobody:$nobody", $home;
    like shell(HOME => $home), qr/not run/, "a user's start-up file is not run as root";
    ok !-e "$directory/ran", '... really';
    ok !-e "$home/.local", '... and no history is left there';

    # The same with a cache: nothing is left, and nothing is read.
    my $large = "$directory/large.snap";
    skip 'no t/bench/generate', 8 if !-x "$Sample::build/t/bench/generate";
    system("$Sample::build/t/bench/generate -n 320000 -w -o $large >/dev/null") == 0 or die 'generate failed';
    local @ENV{qw(HOME XDG_CACHE_HOME)} = ($home, '');
    my @question = ('-q', $large, 'largest', '--retained', 3);
    my @answer = Sample::run('', $heapsh, @question);
    ok !-e "$home/.cache", "nothing is left in the user's cache";
    local $ENV{XDG_CACHE_HOME} = "$directory/cache";
    Sample::run('', $heapsh, @question);
    my ($kept) = glob "$directory/cache/heapsh/*.dominators";
    ok $kept, 'our own cache is used';
    for (['others can write there', sub { chmod 0777, "$directory/cache/heapsh" }],
        ["it is somebody else's", sub { chmod 0700, "$directory/cache/heapsh"; chown $nobody, $nobody, "$directory/cache/heapsh" }]) {
        my ($name, $do) = @$_;
        $do->();
        utime 1, 1, $kept;    # what is read is marked as of use
        is_deeply [Sample::run('', $heapsh, @question)], \@answer, "a cache where $name: the same answer";
        is +(stat $kept)[9], 1, '... without it';
    }
    chown 0, 0, "$directory/cache/heapsh";
    chmod 0666, $kept;
    is_deeply [Sample::run('', $heapsh, @question)], \@answer, 'a file that others can write: the same answer';
    is +(stat $kept)[2] & 0777, 0600, '... and another file in its place';
}
done_testing;
