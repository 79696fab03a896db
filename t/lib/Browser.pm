# SPDX-License-Identifier: GPL-3.0-or-later
package Browser;

# A page in a headless Chromium, driven through its debugging pipe (the Chrome DevTools Protocol:
# JSON messages that end with a NUL, on descriptors 3 and 4).
#
#	my $page = Browser->open("file:///tmp/page.html", dark => 1);
#	is $page->ask('document.title'), 'The heap of app';
#	$page->click('#suspect-0 a');
#	$page->press('Escape');
#	$page->screenshot('page.png');
#	is_deeply [$page->complaints], [];        # what the console has, and requests to elsewhere
#
# Browser->missing says why there is none, or nothing.

use strict;
use warnings;
use File::Temp qw(tempdir);
use Heapsh;
use IO::Select;
use JSON::PP;
use MIME::Base64;
use POSIX ();
use Time::HiRes qw(time sleep);

our $patience = $Heapsh::patience;
my $json = JSON::PP->new->utf8->allow_nonref;

sub program {
    for my $name (qw(chromium chromium-browser google-chrome chrome)) {
        for my $directory (split /:/, $ENV{PATH}) {
            return "$directory/$name" if -x "$directory/$name";
        }
    }
    return undef;
}

sub missing {
    return program() ? undef : 'there is no Chromium; scripts/install-dependencies --ci installs it';
}

# open(URL, dark => 1, width => 1280, height => 900)
sub open {
    my ($class, $url, %option) = @_;
    my $self = bless { next => 1, complaints => [], requests => [], events => {} }, $class;
    $self->launch(%option);
    my $target = $self->call('Target.createTarget', { url => 'about:blank' });
    $self->{session} = $self->call('Target.attachToTarget',
        { targetId => $target->{targetId}, flatten => JSON::PP::true })->{sessionId};
    $self->call("$_.enable") for qw(Page Runtime Log Network);
    $self->call('Emulation.setDeviceMetricsOverride', { width => 0 + ($option{width} || 1280),
        height => 0 + ($option{height} || 900), deviceScaleFactor => 1, mobile => JSON::PP::false });
    $self->call('Emulation.setEmulatedMedia', { features => [
        { name => 'prefers-color-scheme', value => $option{dark} ? 'dark' : 'light' },
        { name => 'prefers-reduced-motion', value => 'reduce' } ] });
    $self->{loading} = time;
    $self->call('Page.navigate', { url => $url });
    $self->wait_for_event('Page.loadEventFired');
    $self->{loaded} = time;
    return $self;
}

sub launch {
    my ($self) = @_;
    my $home = $self->{home} = tempdir(CLEANUP => 1);
    pipe(my $commands_read, my $commands) or die "pipe: $!";
    pipe(my $answers, my $answers_write) or die "pipe: $!";
    my $pid = fork() // die "fork: $!";
    if (!$pid) {
        # Whatever 3 and 4 are now goes elsewhere first.
        my $in = POSIX::dup(fileno $commands_read);
        my $out = POSIX::dup(fileno $answers_write);
        my @high = map { my $fd = $_; my $high = $fd; $high = POSIX::dup($high) while $high < 10; $high } $in, $out;
        POSIX::dup2($high[0], 3);
        POSIX::dup2($high[1], 4);
        POSIX::close($_) for 5 .. 40;
        CORE::open STDIN, '<', '/dev/null';
        CORE::open STDOUT, '>', "$home/log";
        CORE::open STDERR, '>&', \*STDOUT;
        $ENV{HOME} = $home;
        exec { program() } 'chromium', '--headless=new', '--no-sandbox', '--disable-gpu',
            '--disable-dev-shm-usage', '--disable-extensions', '--disable-background-networking',
            '--disable-sync', '--disable-component-update', '--no-first-run', '--hide-scrollbars',
            "--user-data-dir=$home/profile", '--remote-debugging-pipe', 'about:blank'
            or POSIX::_exit(127);
    }
    close $commands_read;
    close $answers_write;
    $commands->autoflush(1);
    @$self{qw(pid commands answers)} = ($pid, $commands, $answers);
    $self->{buffer} = '';
}

# The next message, or undef at the end.
sub message {
    my ($self) = @_;
    my $until = time + $patience;
    my $select = IO::Select->new($self->{answers});
    while ($self->{buffer} !~ /\0/) {
        my $left = $until - time;
        die "the browser does not answer within $patience s\n" if $left <= 0;
        next unless $select->can_read($left);
        sysread($self->{answers}, $self->{buffer}, 1 << 16, length $self->{buffer})
            or die 'the browser has ended: ' . $self->log . "\n";
    }
    $self->{buffer} =~ s/\A([^\0]*)\0//;
    return $json->decode($1);
}

sub log {
    my ($self) = @_;
    CORE::open my $in, '<', "$self->{home}/log" or return '';
    local $/;
    return scalar(<$in>) // '';
}

sub take_event {
    my ($self, $event) = @_;
    my ($method, $told) = @$event{qw(method params)};
    $self->{events}{$method}++;
    push @{ $self->{complaints} }, $told->{exceptionDetails}{exception}{description} // $told->{exceptionDetails}{text}
        if $method eq 'Runtime.exceptionThrown';
    push @{ $self->{complaints} }, map { $_->{value} // $_->{description} // '' } @{ $told->{args} }
        if $method eq 'Runtime.consoleAPICalled' && $told->{type} =~ /error|warning|assert/;
    push @{ $self->{complaints} }, "$told->{entry}{level}: $told->{entry}{text}"
        if $method eq 'Log.entryAdded';
    push @{ $self->{requests} }, $told->{request}{url} if $method eq 'Network.requestWillBeSent';
}

sub call {
    my ($self, $method, $parameters) = @_;
    my $id = $self->{next}++;
    my %message = (id => $id, method => $method, params => $parameters || {});
    $message{sessionId} = $self->{session} if $self->{session};
    print { $self->{commands} } $json->encode(\%message) . "\0";
    for (;;) {
        my $answer = $self->message;
        if (!$answer->{id}) {
            $self->take_event($answer);
        } elsif ($answer->{id} == $id) {
            die "$method: $answer->{error}{message}\n" if $answer->{error};
            return $answer->{result};
        }
    }
}

sub wait_for_event {
    my ($self, $event) = @_;
    while (!$self->{events}{$event}) {
        my $message = $self->message;
        $self->take_event($message) if !$message->{id};
    }
}

# The value of an expression.
sub ask {
    my ($self, $expression) = @_;
    my $result = $self->call('Runtime.evaluate',
        { expression => $expression, returnByValue => JSON::PP::true, awaitPromise => JSON::PP::true });
    die "$expression: " . ($result->{exceptionDetails}{exception}{description} // 'failed') . "\n"
        if $result->{exceptionDetails};
    return $result->{result}{value};
}

sub quoted { return JSON::PP->new->allow_nonref->encode($_[0]) }

# Waits until an expression is true.
sub wait_until {
    my ($self, $expression) = @_;
    my $until = time + $patience;
    while (time < $until) {
        return 1 if $self->ask("Boolean($expression)");
        sleep 0.02;
    }
    die "not within $patience s: $expression\n";
}

sub text {
    my ($self, $selector) = @_;
    return $self->ask('document.querySelector(' . quoted($selector) . ')?.textContent');
}

# With the mouse, in the middle of the first that fits.
sub click {
    my ($self, $selector) = @_;
    my $box = $self->ask('(() => { const found = document.querySelector(' . quoted($selector) . ');'
        . 'if (!found) return null; found.scrollIntoView({ block: "center", behavior: "instant" });'
        . 'const box = found.getClientRects()[0]; return { x: box.x + box.width / 2, y: box.y + box.height / 2 }; })()')
        or die "nothing to click: $selector\n";
    for my $type (qw(mouseMoved mousePressed mouseReleased)) {
        $self->call('Input.dispatchMouseEvent', { type => $type, %$box,
            $type eq 'mouseMoved' ? () : (button => 'left', clickCount => 1) });
    }
}

sub press {
    my ($self, $key) = @_;
    my %of = (Enter => "\r", ' ' => ' ');
    my $text = length $key == 1 ? $key : $of{$key};
    $self->call('Input.dispatchKeyEvent', { type => 'keyDown', key => $key, defined $text ? (text => $text) : () });
    $self->call('Input.dispatchKeyEvent', { type => 'keyUp', key => $key });
}

sub type {
    my ($self, $text) = @_;
    $self->call('Input.insertText', { text => $text });
}

sub screenshot {
    my ($self, $file, %option) = @_;
    my $picture = $self->call('Page.captureScreenshot', { format => 'png',
        $option{whole} ? (captureBeyondViewport => JSON::PP::true, clip => { x => 0, y => 0, scale => 1,
            width => $self->ask('innerWidth'), height => $self->ask('document.documentElement.scrollHeight') }) : () });
    CORE::open my $out, '>:raw', $file or die "$file: $!";
    print $out decode_base64($picture->{data});
    close $out;
}

sub pdf {
    my ($self) = @_;
    return decode_base64($self->call('Page.printToPDF', { printBackground => JSON::PP::true })->{data});
}

sub complaints { return @{ $_[0]{complaints} } }
sub requests { return @{ $_[0]{requests} } }

sub DESTROY {
    my ($self) = @_;
    local ($?, $@);
    return unless $self->{pid};
    eval { delete $self->{session}; $self->call('Browser.close') };
    kill 'TERM', $self->{pid};
    waitpid $self->{pid}, 0;
}

1;
