#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Types in runtimes that have their own headers and tags: CPython, judged by the type that each object says that it
# has; perl, QuickJS and redis, judged by what they were made to hold. `make check-real`.
use strict;
use warnings;
no warnings 'portable';    # addresses have 64 bits
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Heapsh;
use IO::Socket::INET;
use Test::More;

my $scratch = tempdir(CLEANUP => 1);

# The per cent of blocks that have a type.
sub share_typed {
    my ($file) = @_;
    my $info = Heapsh::ask_json($file, 'info');
    my $share = 100 * $info->{typed_objects} / $info->{objects};
    diag sprintf '%s: %d objects, %.2f %% typed, stop %.2f ms, written in %.1f s, %d steps an object', $info->{program},
        $info->{objects}, $share, $info->{stop_ns} / 1e6, $info->{writer_ns} / 1e9, $info->{steps} / $info->{objects};
    return $share;
}

sub wait_until_ready {
    my ($program) = @_;
    my $line;
    do { $line = $program->line } until !defined $line || $line eq 'ready';
    $program->await_sleep;
    return;
}

# Runs a program until it is ready. @return its snapshot, and its output from then on
sub run_and_capture {
    my ($path, %option) = @_;
    my $program = Heapsh->start($path, %option, no_wait => 1);
    wait_until_ready($program);
    my $file = $program->capture;
    return ($file, ($program->finish)[0], $program);
}

sub is_count {
    my ($file, $type, $count) = @_;
    return is(Heapsh::ask_json($file, 'find', '--count', 'type', $type)->{count}, $count, "$count are $type");
}

# The structs of CPython's built-in types.
my %struct = (
    int => '_longobject', bool => '_longobject', float => 'PyFloatObject', complex => 'PyComplexObject',
    str => 'PyASCIIObject|PyCompactUnicodeObject|PyUnicodeObject', bytes => 'PyBytesObject', bytearray => 'PyByteArrayObject',
    list => 'PyListObject', tuple => 'PyTupleObject', dict => 'PyDictObject', set => 'PySetObject', frozenset => 'PySetObject',
    type => '_heaptypeobject|PyHeapTypeObject', object => '_object', function => 'PyFunctionObject', code => 'PyCodeObject',
    cell => 'PyCellObject', builtin_function_or_method => 'PyCFunctionObject', method => 'PyMethodObject',
    module => 'PyModuleObject', getset_descriptor => 'PyGetSetDescrObject', member_descriptor => 'PyMemberDescrObject',
    method_descriptor => 'PyMethodDescrObject', classmethod_descriptor => 'PyMethodDescrObject',
    wrapper_descriptor => 'PyWrapperDescrObject', classmethod => 'classmethod', staticmethod => 'staticmethod',
    property => 'propertyobject', generator => 'PyGenObject', slice => 'PySliceObject', range => 'rangeobject',
    OrderedDict => '_odictobject', BaseException => 'PyBaseExceptionObject', Exception => 'PyBaseExceptionObject',
    mappingproxy => 'mappingproxyobject', frame => '_frame', 'collections.deque' => 'dequeobject', deque => 'dequeobject',
    ReferenceType => '_PyWeakReference', weakref => '_PyWeakReference',
);

# "struct PyListObject behind 16 bytes" begins at +16. @return the struct's name, and where it begins
sub split_type {
    my ($type) = @_;
    my ($name, $bytes) = $type =~ /^(?:struct )?(.*?)(?: behind (\d+) bytes)?$/;
    return ($name, $bytes // 0);
}

# Compares types with what objects say of themselves. @return how many blocks of objects have a type, per cent, and
# how many of these the right one
sub judge_objects {
    my ($file, $log) = @_;
    my (%base, %seen, %wrong);
    open my $in, '<', $log or die "$log: $!";
    while (<$in>) { my ($address, $name) = split; $base{ hex $address } = $name }
    close $in;
    my ($objects, $typed, $judged, $right) = (0) x 4;
    for my $row (@{ Heapsh::ask_json($file, 'sql', 'select address, size, type from objects') }) {
        my $start = $row->{address} =~ /^0x/ ? hex $row->{address} : $row->{address};
        my ($offset) = grep { $_ < $row->{size} && exists $base{ $start + $_ } } 0, 16, 32;
        next unless defined $offset;
        $objects++;
        next unless defined $row->{type};
        $typed++;
        my $wanted = $struct{ $base{ $start + $offset } } // next;
        my ($name, $behind) = split_type($row->{type});
        $judged++;
        if ($name =~ /^(?:$wanted)$/ && $behind == $offset) { $right++ }
        else { $wrong{"$base{ $start + $offset } at +$offset: $row->{type}"}++ }
    }
    diag sprintf '%d blocks of objects, %d judged', $objects, $judged;
    diag "  $wrong{$_} $_" for (sort { $wrong{$b} <=> $wrong{$a} || $a cmp $b } keys %wrong)[0 .. (keys %wrong > 8 ? 7 : keys(%wrong) - 1)];
    return (100 * $typed / $objects, 100 * $right / $judged);
}

subtest 'CPython, objects of many kinds' => sub {
    my ($file, $output) = run_and_capture(abs_path(Heapsh::fetch_real('python')), args => [abs_path('t/real/objects.py'), 10, "$scratch/objects"],
        env => { PYTHONHOME => '/usr', PYTHONHASHSEED => 0, PYTHONMALLOC => 'malloc' });
    is $output, "24\n", 'its output is as ever';
    cmp_ok share_typed($file), '>=', 97, 'its blocks are typed';
    my ($typed, $right) = judge_objects($file, "$scratch/objects");
    diag sprintf '%.3f %% of the objects typed, %.3f %% of these right', $typed, $right;
    cmp_ok $typed, '>=', 99, 'its objects are typed';
    cmp_ok $right, '>=', 99, 'as they say themselves';
};

# Each object takes nine heads in turn from the slabs, and the array leads to one of them.
subtest 'perl, an array of objects, attached to' => sub {
    Heapsh::write_file("$scratch/objects.pl", <<'END');
$| = 1;
my @objects = map { bless { name => "object $_", number => $_, list => [1, 2, 3] }, 'Thing' } 1 .. 20_000;
print "ready\n";
<STDIN>;
print scalar(@objects), "\n";
END
    my $program = Heapsh->start(abs_path(Heapsh::fetch_real('perl')), args => ["$scratch/objects.pl"], bare => 1);
    my $file = "$scratch/perl.snap";
    is system("$Heapsh::build/heapsnap attach --file $file @{[$program->pid]} >$scratch/perl.out"), 0, 'attached';
    is +($program->finish)[0], "20000\n", 'its output is as ever';
    cmp_ok share_typed($file), '>=', 98, 'its blocks are typed';
    cmp_ok abs(Heapsh::ask_json($file, 'find', 'type', 'HE *')->{count} - 20_010), '<=', 100, 'tables of hashes';
};

subtest 'QuickJS, objects of many kinds' => sub {
    my ($file, $output) = run_and_capture(abs_path(Heapsh::fetch_real('quickjs')), args => ['-m', abs_path('t/real/objects.js')]);
    is $output, "20011\n", 'its output is as ever';
    cmp_ok share_typed($file), '>=', 95, 'its blocks are typed';
    is_count($file, 'struct JSMapRecord', 21000);
    is_count($file, "struct $_", 1000) for qw(JSBoundFunction JSTypedArray JSArrayBuffer JSGeneratorData);
};

# Sends commands to a server of redis, and reads the answers, of one line each.
sub ask_redis {
    my ($socket, @commands) = @_;
    my @answers;
    for my $command (@commands) {
        print $socket '*' . @$command . "\r\n" . join '', map { '$' . length($_) . "\r\n$_\r\n" } @$command;
        push @answers, scalar <$socket>;
    }
    return @answers;
}

sub start_redis {
    my $free = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') or die "port: $!";
    my $port = $free->sockport;
    close $free;
    my $program = Heapsh->start(abs_path(Heapsh::fetch_real('redis')), args => ['--port', $port, '--save', ''], no_wait => 1);
    my $socket;
    for (1 .. 600) {
        $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) and last;
        select undef, undef, undef, 0.1;
    }
    BAIL_OUT('redis does not answer') unless $socket;
    return ($program, $socket);
}

subtest 'redis, keys of all kinds' => sub {
    my ($program, $socket) = start_redis();
    for my $i (1 .. 500) {
        ask_redis($socket, ['SET', "long:$i", "value $i " . 'x' x 100], ['SET', "short:$i", "value $i"], ['SET', "number:$i", $i],
            ['RPUSH', "list:$i", map { "item $_" } 1 .. 5], ['SADD', "set:$i", map { "member $i $_" } 1 .. 5],
            ['SADD', "numbers:$i", map { $i * $_ } 1 .. 9], ['HSET', "hash:$i", map { ("field$_", "value $_") } 1 .. 5],
            ['HSET', "table:$i", map { ("field$_", 'v' x 100) } 1 .. 5], ['ZADD', "small:$i", map { ($_ / 7, "member$_") } 1 .. 5]);
    }
    ask_redis($socket, ['ZADD', "large:$_", map { ($_ / 7, "member$_") } 1 .. 200]) for 1 .. 50;
    my $file = $program->capture;
    is((ask_redis($socket, ['DBSIZE']))[0], ":4550\r\n", 'it answers as ever');
    is_count($file, 'struct zskiplistNode', 50 * 201);
    is_count($file, "struct $_", 500) for qw(quicklist quicklistNode intset);
    my $share = share_typed($file);
    cmp_ok $share, '>=', 99, 'its blocks are typed';
    TODO: {
        local $TODO = 'closures and strings of its interpreter of Lua';
        cmp_ok $share, '>=', 99.5, 'nearly all of them';
    }
};
done_testing;
