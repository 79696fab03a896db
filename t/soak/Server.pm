# SPDX-License-Identifier: GPL-3.0-or-later
package Server;

# Real servers: how each is started, loaded by its own client, and asked by a client of ours
# that knows what the answer must be.
#
#	my $server = Server->start('redis', $seconds, captured => 1);
#	$server->capture for 1 .. 3;
#	my $outcome = $server->finish;    # { errors, requests, wrong, median_ms, ..., status }

use strict;
use warnings;
use Cwd qw(abs_path);
use Fcntl;
use Heapsh;
use File::Temp qw(tempdir);
use IO::Handle;
use IO::Socket::INET;
use IPC::Open2;
use POSIX qw(:sys_wait_h);
use Time::HiRes qw(sleep time);

our $build = abs_path($ENV{BUILD} || 'build');
our $patience = $Heapsh::patience;

$ENV{PATH} = join ':', $ENV{PATH}, '/usr/sbin', '/sbin', glob '/usr/lib/postgresql/*/bin';

sub free_port {
    my $socket = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') or die "port: $!";
    return $socket->sockport;
}

# PostgreSQL refuses to run as root.
my @as_user = $> == 0 ? qw(setpriv --reuid postgres --regid postgres --clear-groups) : ();

sub connect_to {
    my ($port) = @_;
    return IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port, Timeout => 10);
}

# Each gives a function that asks once, the number of the request being its argument, and
# returns whether the answer is what it must be.
sub ask_redis {
    my ($self) = @_;
    my $socket = connect_to($self->{port}) or die "redis: $!";
    return sub {
        print $socket "INCR faithful\r\n";
        return (<$socket> // '') eq ":$_[0]\r\n";
    };
}

sub ask_memcached {
    my ($self) = @_;
    my $socket = connect_to($self->{port}) or die "memcached: $!";
    return sub {
        my ($number) = @_;
        my $key = 'key' . $number % 1000;
        my $value = "value $number" . 'x' x ($number % 700);
        printf $socket "set %s 0 0 %d\r\n%s\r\nget %s\r\n", $key, length $value, $value, $key;
        my $answer = join '', map { scalar(<$socket>) // '' } 1 .. 4;
        return $answer eq sprintf "STORED\r\nVALUE %s 0 %d\r\n%s\r\nEND\r\n", $key, length $value, $value;
    };
}

sub ask_nginx {
    my ($self) = @_;
    my $socket;
    return sub {
        my ($number) = @_;
        my $file = $number % 10;
        $socket = connect_to($self->{port}) or return 0 if $number % 50 == 1;
        print $socket "GET /$file HTTP/1.1\r\nHost: x\r\n\r\n";
        my ($status, $length) = (scalar(<$socket>) // '', -1);
        while (defined(my $line = <$socket>)) {
            $length = $1 if $line =~ /^Content-Length: (\d+)/i;
            last if $line eq "\r\n";
        }
        return 0 if $length < 0;
        my $body = '';
        read $socket, $body, $length;
        return $status =~ /^HTTP\S+ 200/ && $body eq $file x 10_000;
    };
}

sub ask_postgres {
    my ($self) = @_;
    my $pid = open2(my $out, my $in, qw(psql -XAtq -h), $self->{directory}, '-p', $self->{port},
        qw(-U postgres postgres));
    $in->autoflush(1);
    return sub {
        print $in "UPDATE faithful SET n = n + 1 RETURNING n;\n";
        return (<$out> // '') eq "$_[0]\n";
    };
}

# Memcached brings no client: eight of ours.
sub load_memcached {
    my ($self, $seconds) = @_;
    my @children;
    for my $child (1 .. 4) {
        my $pid = fork() // die "fork: $!";
        if (!$pid) {
            my $socket = connect_to($self->{port}) or POSIX::_exit(1);
            my $until = time + $seconds;
            my $n = 0;
            while (time < $until) {
                my $value = 'y' x (++$n % 2000);
                printf $socket "set c%d-%d 0 0 %d\r\n%s\r\n", $child, $n % 5000, length $value, $value;
                POSIX::_exit(2) unless (<$socket> // '') eq "STORED\r\n";
            }
            print "$n requests\n";
            STDOUT->flush;
            POSIX::_exit(0);
        }
        push @children, $pid;
    }
    my $failed = 0;
    for (@children) { waitpid $_, 0; $failed ||= $? }
    return $failed >> 8;
}

our %servers = (
    redis => {
        programs => [qw(redis-server redis-benchmark)],
        signal   => 'QUIT',
        command  => sub {
            my ($self) = @_;
            return ('redis-server', '--port', $self->{port}, '--save', '', '--dir', $self->{directory},
                '--bind', '127.0.0.1', '--enable-debug-command', 'yes');
        },
        ask  => \&ask_redis,
        load => sub {
            my ($self, $seconds) = @_;
            return ('redis-benchmark', '-p', $self->{port}, '-c', 10, '-r', 100_000, '-n', 2_000_000,
                '-t', 'set,get,lpush,hset', '-d', 100, '-l', '--csv', '-q');
        },
        endless => 1,
        wrong => qr/error|closed/i,
    },
    memcached => {
        programs => ['memcached'],
        signal   => 'QUIT',
        command  => sub {
            my ($self) = @_;
            my @user = $> == 0 ? qw(-u nobody) : ();
            return ('memcached', '-p', $self->{port}, '-l', '127.0.0.1', '-t', 4, '-m', 256, @user);
        },
        ask   => \&ask_memcached,
        load  => \&load_memcached,
        wrong => qr/error/i,
    },
    nginx => {
        programs => [qw(nginx wrk)],
        signal   => 'PROF',
        prepare  => sub {
            my ($self) = @_;
            my $directory = $self->{directory};
            for my $file (0 .. 9) {
                open my $out, '>', "$directory/$file" or die $!;
                print $out $file x 10_000;
            }
            open my $out, '>', "$directory/nginx.conf" or die $!;
            print $out <<"END";
daemon off; worker_processes 2; pid $directory/pid; error_log $directory/log warn;
events { worker_connections 512; }
http { access_log off; keepalive_requests 1000000;
  client_body_temp_path $directory/a; proxy_temp_path $directory/b; fastcgi_temp_path $directory/c;
  uwsgi_temp_path $directory/d; scgi_temp_path $directory/e;
  server { listen 127.0.0.1:$self->{port}; root $directory; gzip on; gzip_types *; } }
END
        },
        command => sub {
            my ($self) = @_;
            return ('nginx', '-e', "$self->{directory}/log", '-p', $self->{directory}, '-c',
                "$self->{directory}/nginx.conf");
        },
        captured => sub { return ($_[0]{pid}, children_of($_[0]{pid})) },
        ask      => \&ask_nginx,
        load     => sub {
            my ($self, $seconds) = @_;
            return ('wrk', '-t', 1, '-c', 20, '-d', int($seconds) . 's', '-H', 'Accept-Encoding: gzip',
                "http://127.0.0.1:$self->{port}/3");
        },
        wrong => qr/Socket errors|Non-2xx/,
    },
    postgres => {
        programs => [qw(postgres initdb pgbench psql)],
        signal   => 'PROF',
        prepare  => sub {
            my ($self) = @_;
            my $directory = $self->{directory};
            chown +(getpwnam 'postgres')[2, 3], $directory if @as_user;
            system("@as_user initdb -D $directory/db -U postgres -A trust --no-sync >/dev/null 2>&1") == 0
                or die 'initdb failed';
        },
        command => sub {
            my ($self) = @_;
            return ('postgres', '-D', "$self->{directory}/db", '-p', $self->{port}, '-k',
                $self->{directory}, '-c', 'fsync=off', '-c', 'listen_addresses=127.0.0.1');
        },
        user   => \@as_user,
        filled => sub {
            my ($self) = @_;
            my $to = "-h $self->{directory} -p $self->{port} -U postgres";
            for (1 .. 100) {
                last if system("psql $to -XAtqc 'CREATE TABLE faithful AS SELECT 0 AS n' postgres "
                        . '>/dev/null 2>&1') == 0;
                sleep 0.1;
            }
            system("pgbench $to -i -q -s 2 postgres >/dev/null 2>&1") == 0 or die 'pgbench -i failed';
        },
        # The postmaster, and those that serve a client.
        captured => sub {
            my ($self) = @_;
            my @backends = grep { command_of($_) =~ /127\.0\.0\.1|\[local\]/ } children_of($self->{pid});
            return ($self->{pid}, @backends[0 .. (@backends > 1 ? 1 : $#backends)]);
        },
        ask  => \&ask_postgres,
        load => sub {
            my ($self, $seconds) = @_;
            return (qw(pgbench -h), $self->{directory}, '-p', $self->{port}, qw(-U postgres -n -c 4 -T),
                int $seconds, 'postgres');
        },
        wrong => qr/error|abort|failed transactions: [1-9]/i,
        stop  => 'INT',
    },
);

sub slurp {
    my ($path) = @_;
    open my $in, '<', $path or return '';
    local $/;
    return scalar(<$in>) // '';
}

sub children_of { return split ' ', slurp("/proc/$_[0]/task/$_[0]/children") }
sub command_of { return slurp("/proc/$_[0]/cmdline") =~ tr/\0/ /r }

# Which of a server's programs are missing.
sub missing {
    my ($name) = @_;
    return grep { my $program = $_; !grep { -x "$_/$program" } split /:/, $ENV{PATH} }
        @{ $servers{$name}{programs} };
}

sub start {
    my ($class, $name, %option) = @_;
    my $self = bless { %{ $servers{$name} }, name => $name, %option }, $class;
    $self->{directory} = tempdir(CLEANUP => 1);
    $self->{snapshots} = tempdir(CLEANUP => 1);
    chmod 0777, $self->{directory}, $self->{snapshots};
    $self->{port} = free_port();
    $self->{prepare}->($self) if $self->{prepare};
    my @command = ($self->{command}->($self));
    unshift @command, Heapsh::public_build() . '/heapsnap', 'run', '--signal', $self->{signal}, '--file',
        "$self->{snapshots}/%e-%p-%N.snap", '--'
        if $self->{captured_too};
    unshift @command, @{ $self->{user} || [] };
    $self->{mark} = "soak-$$-" . time;
    $self->{pid} = fork() // die "fork: $!";
    if (!$self->{pid}) {
        $ENV{SOAK_MARK} = $self->{mark};
        $ENV{XDG_CACHE_HOME} = "$build/t/cache";
        $ENV{HEAPSNAP_WRITER_NICE} = 1;
        open STDIN, '<', '/dev/null';
        open STDOUT, '>', "$self->{directory}/output";
        open STDERR, '>&', \*STDOUT;
        exec @command or POSIX::_exit(127);
    }
    for (1 .. 200) {
        last if connect_to($self->{port});
        die "$name ended: " . slurp("$self->{directory}/output")
            if waitpid($self->{pid}, WNOHANG) == $self->{pid};
        sleep 0.05;
    }
    $self->{filled}->($self) if $self->{filled};
    return $self;
}

# A process beside, whose output is kept.
sub beside {
    my ($self, $what, $function) = @_;
    my $pid = fork() // die "fork: $!";
    if (!$pid) {
        open STDOUT, '>', "$self->{directory}/$what";
        open STDERR, '>&', \*STDOUT;
        my $result = $function->();
        STDOUT->flush;
        POSIX::_exit($result);
    }
    return $pid;
}

# Asks until the time is over, and notes what was wrong and how long each answer took.
sub be_faithful {
    my ($self, $seconds) = @_;
    my $ask = $self->{ask}->($self);
    my ($number, $wrong, @took) = (0, 0);
    my $until = time + $seconds;
    local $SIG{ALRM} = sub { print "no answer\n"; STDOUT->flush; POSIX::_exit(9) };
    for (my $now = time; $now < $until;) {
        alarm 30;
        $wrong++ unless $ask->(++$number);
        my $then = time;
        push @took, $then - $now;
        $now = $then;
    }
    @took = map { 1e3 * $_ } sort { $a <=> $b } @took;
    print "$number $wrong @took[@took * 0.5, @took * 0.99, -1]\n";
    return 0;
}

# Load and questions, for so many seconds.
sub begin {
    my ($self, $seconds) = @_;
    $self->{faithful} = $self->beside('faithful', sub { $self->be_faithful($seconds) });
    $self->{loader} = $self->beside('load', sub {
        my @command = $self->{load}->($self, $seconds);
        return $command[0] if @command == 1;
        exec @command;
    });
    return;
}

# The server's own threads and descriptors, by process.
sub state {
    my ($self) = @_;
    my %state;
    my @processes = $self->{captured} ? $self->{captured}->($self) : ($self->{pid});
    for my $pid (@processes[0 .. ($self->{name} eq 'postgres' ? 0 : $#processes)]) {
        my @threads = glob "/proc/$pid/task/*";
        my @files = glob "/proc/$pid/fd/*";
        $state{$pid} = { threads => scalar @threads, files => scalar @files };
    }
    return \%state;
}

# Bytes of its memory that are there.
sub resident {
    my ($self) = @_;
    return slurp("/proc/$self->{pid}/status") =~ /^VmRSS:\s+(\d+) kB/m ? $1 * 1024 : 0;
}

# One snapshot of each process. @return the files
sub capture {
    my ($self) = @_;
    my @new;
    for my $pid ($self->{captured} ? $self->{captured}->($self) : ($self->{pid})) {
        my %before = map { $_ => 1 } glob "$self->{snapshots}/*-$pid-*.snap";
        kill $self->{signal}, $pid or next;
        my @files;
        for (my $until = time + $patience; time < $until && !@files && kill 0, $pid;) {
            sleep 0.01;
            @files = grep { !$before{$_} } glob "$self->{snapshots}/*-$pid-*.snap";
        }
        # A client's server may end with its client.
        push @new, $files[0] // "none of $pid" if @files || kill 0, $pid;
    }
    return @new;
}

# Lets the load end. @return what came of it
sub await {
    my ($self) = @_;
    my %outcome;
    waitpid $self->{faithful}, 0;
    if ($self->{endless}) { kill 'TERM', $self->{loader} }
    waitpid $self->{loader}, 0;
    my $load = slurp("$self->{directory}/load");
    $outcome{errors} = $self->{endless} || $? == 0 ? '' : "status $?; ";
    $outcome{errors} .= $load if $load =~ $self->{wrong};
    my $line = slurp("$self->{directory}/faithful");
    @outcome{qw(requests wrong median_ms late_ms longest_ms)} = split ' ', $line;
    $outcome{wrong} = $line unless $line =~ /^\d+ \d+ /;
    return \%outcome;
}

# Processes that have the server's mark in their environment.
sub left_over {
    my ($self) = @_;
    return grep { slurp("/proc/$_/environ") =~ /SOAK_MARK=\Q$self->{mark}\E\0/ }
        map { /(\d+)/ ? $1 : () } glob '/proc/[0-9]*';
}

# Ends the server. @return its status, what it said of us, processes and files that are left
sub finish {
    my ($self) = @_;
    kill $self->{stop} || 'TERM', $self->{pid};
    waitpid $self->{pid}, 0;
    my $status = $?;
    my @left;
    for (1 .. 100) {
        @left = $self->left_over or last;
        sleep 0.05;
    }
    my @files = grep { !m{\.snap$|/\.{1,2}$} } glob "$self->{snapshots}/* $self->{snapshots}/.*";
    return {
        status => $status,
        said   => join('', grep { /heapsnap/ } split /^/, slurp("$self->{directory}/output")),
        left   => "@left@files",
    };
}

1;
