# SPDX-License-Identifier: GPL-3.0-or-later
# Control groups that limit memory or can be frozen, in which programs are run; of either version, below the one
# that this process is in or else at the top. They take root, or a part of the tree that has been
# delegated.
#
#   my $group = Cgroup->create(512 << 20);    # or nothing: Cgroup::reason() says why
#   system($group->enter, 'program', 'argument');
#   print $group->peak;
#
#   my $group = Cgroup->freezer(2);           # or nothing: of version 1 or 2
#   system($group->enter, 'program');
#   $group->freeze;
#   $group->thaw;
package Cgroup;
use strict;
use warnings;

my @names = (
    { limit => 'memory.limit_in_bytes', peak => 'memory.max_usage_in_bytes', root => '/sys/fs/cgroup/memory' },
    { limit => 'memory.max', peak => 'memory.peak', root => '/sys/fs/cgroup' },
);
my $reason = '';
my $number = 0;

sub reason { return $reason }

# @return the directories that a group may be made in, each with its names
sub places {
    open my $groups, '<', '/proc/self/cgroup' or return;
    my @own;
    for (<$groups>) {
        my ($controllers, $path) = /^\d+:(.*?):(.*)$/ or next;
        push @own, [$names[0], $path] if $controllers =~ /\bmemory\b/;
        push @own, [$names[1], $path] if $controllers eq '';
    }
    return map { my ($names, $path) = @$_; map { [$names, $names->{root} . $_] } $path, '' } @own;
}

sub put {
    my ($path, $text) = @_;
    open my $out, '>', $path or return 0;
    print $out $text;
    return close $out;
}

# @param $bytes  of memory that all in it may have, pages of files included
sub create {
    my ($class, $bytes) = @_;
    $reason = 'no control groups for memory';
    for (places()) {
        my ($names, $above) = @$_;
        my $path = "$above/heapsh-$$-" . ++$number;
        next unless -e "$above/cgroup.procs";
        if (!mkdir $path) {
            $reason = "$path: $!";
            next;
        }
        my $self = bless { path => $path, peak => "$path/$names->{peak}" }, $class;
        return $self if -e "$path/$names->{limit}" && put("$path/$names->{limit}", $bytes);
        $reason = "$path/$names->{limit}: not to be had";
    }
    return;
}

my %freezer = (
    1 => { file => 'freezer.state', on => 'FROZEN', off => 'THAWED', said => 'freezer.state', done => qr/^FROZEN$/m,
        roots => ['/sys/fs/cgroup/freezer'] },
    2 => { file => 'cgroup.freeze', on => '1', off => '0', said => 'cgroup.events', done => qr/^frozen 1$/m,
        roots => [ '/sys/fs/cgroup', '/sys/fs/cgroup/unified' ] },
);

# @param $version  1 or 2
sub freezer {
    my ($class, $version) = @_;
    my $names = $freezer{$version};
    for my $root (@{ $names->{roots} }) {
        my $path = "$root/heapsh-$$-" . ++$number;
        next unless -e "$root/cgroup.procs" && mkdir $path;
        my $self = bless { path => $path, freezer => $names }, $class;
        return $self if -e "$path/$names->{file}";
    }
    $reason = "no freezer of version $version";
    return;
}

# Waits until all processes in it are frozen. @return false: it did not work
sub freeze {
    my ($self) = @_;
    my $names = $self->{freezer};
    return 0 unless put("$self->{path}/$names->{file}", $names->{on});
    for (1 .. 600) {
        open my $in, '<', "$self->{path}/$names->{said}" or return 0;
        return 1 if join('', <$in>) =~ $names->{done};
        select undef, undef, undef, 0.05;
    }
    return 0;
}

sub thaw {
    my ($self) = @_;
    return put("$self->{path}/$self->{freezer}{file}", $self->{freezer}{off});
}

# The words to put before a command.
sub enter {
    my ($self) = @_;
    return ('sh', '-c', 'echo $$ >"$0" && exec "$@"', "$self->{path}/cgroup.procs");
}

# The most memory that it has had, in bytes; 0 if the kernel does not say.
sub peak {
    my ($self) = @_;
    open my $in, '<', $self->{peak} or return 0;
    my ($peak) = <$in> =~ /(\d+)/;
    return $peak;
}

sub DESTROY {
    my ($self) = @_;
    local ($?, $!);
    $self->thaw if $self->{freezer};    # else nothing in it can be ended
    for (1 .. 50) {    # what was in it may be on its way out
        last if rmdir $self->{path} or !-d $self->{path};
        select undef, undef, undef, 0.1;
    }
}

1;
