# SPDX-License-Identifier: GPL-3.0-or-later
package Terminal;

# A shell on a terminal of its own, under tmux, that is typed at as people do.
#
#	my $terminal = Terminal->new($directory);          # bash in a clean directory
#	my $answer = $terminal->answer('ls');              # types a line, gives what it prints
#	$terminal->type('heapsh x.snap', 'Enter');         # keys, as tmux names them
#	my $screen = $terminal->await(qr/heapsh> ?\n\z/);  # waits for what is on the screen
#
# Terminal::is_possible() tells if tmux is there.

use strict;
use warnings;
use Encode qw(decode_utf8);
use Heapsh;
use File::Temp qw(tempdir);
use Time::HiRes qw(sleep time);
use Tools;

my $patience = $Heapsh::patience;
my $prompt = qr/^(?:\$|heapsh(?: \[\d+\] \S+)?>) ?\n\z/m;

# A test that is interrupted leaves no server of tmux behind.
$SIG{$_} ||= sub { exit 1 } for qw(HUP INT PIPE TERM);

sub is_possible { return has('tmux') }

# new(DIRECTORY, columns => 80, rows => 100, env => {...})
sub new {
    my ($class, $directory, %option) = @_;
    my $home = tempdir();
    my $self = bless { home => $home, socket => "$home/tmux" }, $class;
    open my $rc, '>', "$home/bashrc" or die "$home/bashrc: $!";
    print $rc "PS1='\$ ' PS2='> '\n";
    close $rc or die $!;
    local %ENV = (%ENV, HOME => $home, INPUTRC => '/dev/null', %{ $option{env} || {} });
    delete @ENV{qw(TMUX PAGER LESS HEAPSH_PAGER COLUMNS LINES NO_COLOR XDG_CONFIG_HOME XDG_STATE_HOME)};
    system('tmux', '-f', '/dev/null', '-S', $self->{socket}, 'new-session', '-d', '-s', 'main',
        '-x', $option{columns} || 80, '-y', $option{rows} || 100, '-c', $directory, "bash --noprofile --rcfile $home/bashrc") == 0
        or die 'tmux failed';
    $self->await(qr/^\$ ?\n\z/m);
    return $self;
}

sub tmux {
    my ($self, @command) = @_;
    open my $in, '-|', 'tmux', '-f', '/dev/null', '-S', $self->{socket}, @command or die "tmux: $!";
    local $/;
    return decode_utf8(scalar(<$in>) // '');
}

# The screen, without the empty lines at its end; lines that were too long for it are whole.
sub screen {
    my ($self, @option) = @_;
    return $self->tmux('capture-pane', '-p', '-J', @option, '-t', 'main') =~ s/[ \t]+$//mgr =~ s/\s+\z/\n/r;
}

sub type { my ($self, @keys) = @_; $self->tmux('send-keys', '-t', 'main', @keys); return }

# Waits until the screen matches, and gives it.
sub await {
    my ($self, $pattern) = @_;
    my $until = time + $patience;
    my $screen = $self->screen;
    while ($screen !~ $pattern && time < $until) {
        sleep 0.05;
        $screen = $self->screen;
    }
    return $screen;
}

# Types a line on a clean screen. @return what it prints before the next prompt
sub answer {
    my ($self, $line) = @_;
    $self->type('C-l');
    $self->await(qr/\A[^\n]*[>\$] ?\n\z/);
    $self->type('-l', $line);
    $self->type('Enter');
    my $screen = $self->await(qr/\A[^\n]*\n(?:.*\n)?(?:\$|heapsh(?: \[\d+\] \S+)?>) ?\n\z/s);
    $screen =~ s/\A[^\n]*\n//;
    $screen =~ s/$prompt//;
    return $screen;
}

sub DESTROY {
    my ($self) = @_;
    local $?;
    system("tmux -S '$self->{socket}' kill-server 2>/dev/null") if -e $self->{socket};
    # A program that ran there may still write its history.
    for (1 .. 20) {
        last if system("rm -rf '$self->{home}' 2>/dev/null") == 0;
        sleep 0.1;
    }
    return;
}

1;
