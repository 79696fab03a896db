#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Debug information that is fetched by build id: from elfutils' debuginfod on the loopback, which serves
# the debug files of programs that were stripped.
use strict;
use warnings;
use lib 't/lib';
use Forms;
use File::Temp qw(tempdir);
use Heapsh;
use IO::Socket::INET;
use Test::More;
use Time::HiRes qw(sleep time);
use Tools;

plan skip_all => 'debuginfod is not here; scripts/install-dependencies --ci installs it'
    unless has('debuginfod');
plan skip_all => 'libdebuginfod.so.1 is not here' if !glob '/usr/lib/*/libdebuginfod.so.1 /usr/lib*/libdebuginfod.so.1';

my $served = tempdir(CLEANUP => 1);
my $server;

# A port that nobody listens on.
sub free_port {
    my $socket = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') or die "a socket: $!";
    return $socket->sockport;
}

sub start_server {
    my $port = free_port();
    $server = fork() // die $!;
    if (!$server) {
        open STDOUT, '>', "$served/.log";
        open STDERR, '>&', \*STDOUT;
        delete $ENV{DEBUGINFOD_URLS};
        exec 'debuginfod', '-p', $port, '-F', '-t', 1, '-d', "$served/.database", $served or POSIX::_exit(127);
    }
    return $port;
}

END { if ($server) { my $status = $?; kill 'TERM', $server; waitpid $server, 0; $? = $status } }

# A build id that the server knows. @return false if it does not come to know it
sub await {
    my ($port, $id) = @_;
    for (1 .. 300) {
        my $socket = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port");
        if ($socket) {
            print $socket "GET /buildid/$id/debuginfo HTTP/1.0\r\n\r\n";
            return 1 if (readline($socket) // '') =~ / 200 /;
        }
        sleep 0.1;
    }
    return 0;
}

my $separate = "for f in app liblibrary.so; do objcopy --only-keep-debug \$f \$f.debug && strip \$f && "
    . "mv \$f.debug $served/; done";
my $id = '';
my $await = sub {
    my ($port) = @_;
    for my $name (qw(app liblibrary.so)) {
        ($id) = `readelf -n $Forms::directory/$name 2>/dev/null` =~ /Build ID: (\w+)/;
        ok await($port, $id), "the server knows $name";
    }
};
my $port = start_server();
my $urls = "http://127.0.0.1:$port";

delete $ENV{HEAPSNAP_DEBUGINFOD};
delete $ENV{DEBUGINFOD_CACHE_PATH};
{
    local $ENV{DEBUGINFOD_URLS} = $urls;
    form('fetched from debuginfod', compiler => 'gcc', link => '-Wl,--build-id', after => $separate, before => sub { $await->($port) });
}
# As distributions serve it: what several files have in common is a file of its own, which dwz made.
if (has('dwz')) {
    local $ENV{DEBUGINFOD_URLS} = $urls;
    form('fetched, with the alternate file of dwz', compiler => 'gcc', flags => '-g -DALTERNATE', link => '-Wl,--build-id',
        after => "dwz -m common.debug app liblibrary.so && mv common.debug $served/ && $separate",
        before => sub {
            $await->($port);
            ($id) = `readelf -n $served/common.debug 2>/dev/null` =~ /Build ID: (\w+)/;
            ok await($port, $id), 'the server knows the alternate file';
        });
}
my $missing = sub {
    my ($pattern) = @_;
    return sub { like note_of($_[0], 'app'), $pattern, 'why there is none' };
};
form('without DEBUGINFOD_URLS', compiler => 'gcc', link => '-Wl,--build-id', after => $separate, check => $missing->(qr/^no debug information$/));
{
    local $ENV{DEBUGINFOD_URLS} = $urls;
    local $ENV{HEAPSNAP_DEBUGINFOD} = 0;
    form('turned off', compiler => 'gcc', link => '-Wl,--build-id', after => $separate, check => $missing->(qr/^no debug information$/));
    delete $ENV{HEAPSNAP_DEBUGINFOD};
    form('of which the server has none', compiler => 'gcc', flags => '-g -DANOTHER_BUILD', link => '-Wl,--build-id',
        after => "for f in app liblibrary.so; do strip \$f; done; objcopy --remove-section=.note.gnu.build-id app; true",
        check => sub { like note_of($_[0], 'liblibrary.so') // '', qr/^(?:no debug information: debuginfod has none)?$/, 'why there is none' });
}
{
    local $ENV{DEBUGINFOD_URLS} = 'http://127.0.0.1:' . free_port();
    form('where no server is', compiler => 'gcc', link => '-Wl,--build-id', after => $separate,
        check => $missing->(qr/^no debug information: debuginfod (?:cannot be reached|has none)$/));
}

# A server that takes connections and never answers: the snapshot is late by the time that is given, no more.
{
    my $silent = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1') or die $!;
    local $ENV{DEBUGINFOD_URLS} = 'http://127.0.0.1:' . $silent->sockport;
    local $ENV{HEAPSNAP_DEBUGINFOD} = '2s';
    my $begun = time;
    form('from a server that never answers', compiler => 'gcc', link => '-Wl,--build-id', after => $separate,
        check => $missing->(qr/^no debug information: the time for debuginfod is over$/));
    cmp_ok time - $begun, '<', 50, 'the time is bounded';
}
done_testing;
