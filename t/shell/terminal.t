#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The shell on a real terminal's screen, under tmux: pager, width, colours, aliases, the start-up
# file, names of the last answer.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Sample;
use Test::More;
use Time::HiRes qw(sleep time);
use Tools;

plan skip_all => 'no tmux' unless has('tmux');
plan skip_all => 'no less' unless has('less');

my $file = Sample::make();
my $heapsh = "$Sample::build/heapsh";
my $directory = $Sample::directory;
my $patience = $Heapsh::patience;
my $socket = "$directory/tmux";
delete @ENV{qw(TMUX PAGER LESS HEAPSH_PAGER NO_COLOR)};
$ENV{INPUTRC} = '/dev/null';
$ENV{XDG_STATE_HOME} = "$directory/state";
$ENV{XDG_CONFIG_HOME} = "$directory/config";
mkdir "$directory/config";
mkdir "$directory/config/heapsh";
Sample::write_file("config/heapsh/heapshrc", <<'END');
# comments and empty lines are fine

alias all 'find'
alias big 'find size >=64'
alias text 'find string hello | cat'
END

sub tmux {
    my (@command) = @_;
    open my $in, '-|', 'tmux', '-f', '/dev/null', '-S', $socket, @command or die "tmux: $!";
    local $/;
    return scalar(<$in>) // '';
}

# The screen, without the empty lines at its end; with its colours if asked for.
sub screen {
    my (@option) = @_;
    return tmux('capture-pane', '-p', @option, '-t', 'heapsh') =~ s/\s+\z/\n/r;
}

# Waits until the screen matches, and gives it.
sub await {
    my ($pattern) = @_;
    my $until = time + $patience;
    my $text = screen();
    while ($text !~ $pattern && time < $until) {
        return 'the shell has died' if $text eq '';
        sleep 0.05;
        $text = screen();
    }
    return $text;
}

sub type { tmux('send-keys', '-t', 'heapsh', @_) }

# A fresh shell on a clean screen of 80 by 12.
sub begin {
    my ($command) = @_;
    tmux('kill-server') if -e $socket;
    system('tmux', '-f', '/dev/null', '-S', $socket, 'new-session', '-d', '-s', 'heapsh', '-x', '80', '-y',
        '12', $command) == 0 or die 'tmux failed';
    return await(qr/heapsh> ?$/m);
}

END { tmux('kill-server') if -e ($socket // '') }

# A command, on a screen of its own, and what is there when the prompt is back.
sub answer {
    my (@keys) = @_;
    type('C-l');
    await(qr/\Aheapsh> ?\n\z/);
    type(@keys, 'Enter');
    return await(qr/\n.*heapsh> ?\n\z/s);
}

is begin("$heapsh --color=auto $file"), <<'END' =~ s/\n\z/\n/r, 'the banner and a prompt';
Heap snapshot of app (pid 4242), 2026-11-20 19:00:01, from heapsnap 0.1
Heap contains 20 objects, 4.7 KiB; 95.0 % of them typed
heapsh>
END

# An answer that fits on the screen just appears.
is answer('find untyped'), "heapsh> find untyped\nblock(48) at 0x5f02300 (\$1)\nTotal: 1 object, 48 B\nheapsh>\n",
    'a short answer';
like screen('-e'), qr/^\e\[36mblock\(48\)\e\[39m at \e\[33m0x5f02300\e\[39m \(\$1\)$/m, 'in colours';

# A longer one goes to less, which shows its beginning; q leaves it.
type('C-l');
await(qr/\Aheapsh> ?\n\z/);
type('find', 'Enter');
my $shown = await(qr/^:$/m);
like $shown, qr/^struct date at 0x5f00100 \(\$1\)\n(?:.*\n){9}.*\n?:$/m, 'a long answer is paged';
is scalar(split /\n/, $shown), 12, 'a screen at a time';
type('G');
like await(qr/Total: 20 objects.*\(END\)/s), qr/Total: 20 objects, 4\.7 KiB\n\(END\)/, 'up to its end';
type('q');
await(qr/heapsh> ?\n\z/);
is answer('find --count untyped'), "heapsh> find --count untyped\nTotal: 1 object, 48 B\nheapsh>\n",
    'the prompt is back';
type('C-l');
await(qr/\Aheapsh> ?\n\z/);
type('find', 'Enter');
await(qr/^:$/m);
type('q');
like await(qr/heapsh> ?\n\z/), qr/heapsh>\n\z/, 'less may be left early';
is answer('find | head -n 2'), <<'END', 'a line with a program of its own is not paged';
heapsh> find | head -n 2
struct date at 0x5f00100
struct utility at 0x5f00200
heapsh>
END

# Tables leave out columns before a name goes on in a line of its own.
tmux('resize-window', '-t', 'heapsh', '-x', '75', '-y', '40');
is answer('roots --limit 2'), <<'END', 'names are whole';
heapsh> roots --limit 2
  retained  reachable      %  root
   4.0 KiB    4.0 KiB   85.2  the global variable vector (app.c:7, app)
     284 B      301 B    5.9  the global variable popular (cache.c:50,
                              libutility.so)
     294 B               6.1  11 more
      72 B       72 B    1.5  words of stacks, registers and mappings
                              alone (2; see roots --stack)
      64 B               1.3  leaked: no root leads to it
heapsh>
END
tmux('resize-window', '-t', 'heapsh', '-x', '80', '-y', '24');

# The start-up file's aliases; names of the last answer; completion of both.
is answer('big'), <<'END', 'an alias';
heapsh> big
struct slot[14] at 0x5f00300 ($1)
struct all at 0x5f02000 ($2)
struct node *[512] at 0x5f03000 ($3)
Total: 3 objects, 4.4 KiB
heapsh>
END
is answer('big type slot'), <<'END', 'with more behind it';
heapsh> big type slot
struct slot[14] at 0x5f00300 ($1)
Total: 1 object, 224 B
heapsh>
END
is answer('text'), <<'END', 'with a pipe in it';
heapsh> text
char[17] "hello, world" at 0x5f00500
Total: 1 object, 17 B
heapsh>
END
is answer('all untyped or type table'), <<'END', 'two objects';
heapsh> all untyped or type table
struct table at 0x5f00400 ($1)
block(48) at 0x5f02300 ($2)
Total: 2 objects, 72 B
heapsh>
END
is answer('last'), <<'END', 'have names';
heapsh> last
$1    struct table at 0x5f00400
$2    block(48) at 0x5f02300
heapsh>
END
done_testing;
