#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Debug information in files of its own, put together, optimized, or missing: t/lib/Forms.pm.
use strict;
use warnings;
use lib 't/lib';
use Forms;
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;

# --- in files of its own ---------------------------------------------------------------------

my $each = 'for f in app liblibrary.so; do';
my $separate = "$each objcopy --only-keep-debug \$f \$f.debug";
form('a separate file, by its name', compiler => 'gcc',
    after => "$separate && strip \$f && objcopy --add-gnu-debuglink=\$f.debug \$f; done");
form('a separate file, in .debug/', compiler => 'clang',
    after => "mkdir .debug; $separate && mv \$f.debug .debug && strip \$f && "
        . "objcopy --add-gnu-debuglink=.debug/\$f.debug \$f; done");
my $fetched = 'd=cache/debuginfod_client/$(readelf -n %s | sed -n "s/.*Build ID: //p") && mkdir -p $d && '
    . 'mv %s $d/debuginfo';
form('fetched by a client of debuginfod', compiler => 'gcc', link => '-Wl,--build-id',
    after => "$separate && strip \$f && " . sprintf($fetched, '$f', '$f.debug') . '; done');
form('fetched, but of another build', compiler => 'gcc', link => '-Wl,--build-id',
    after => "$separate && strip \$f; done; " . sprintf($fetched, 'app', 'liblibrary.so.debug'),
    check => sub {
        like note_of($_[0], 'app'), qr{^/\S+/debuginfo is of another build$}, 'is not believed';
    });
form('a separate file, compressed', compiler => 'gcc',
    after => "$separate && objcopy --compress-debug-sections=zlib \$f.debug && "
        . "strip \$f && objcopy --add-gnu-debuglink=\$f.debug \$f; done");
for my $split ('', ' -gsplit-dwarf') {
    form("compressed with zstd, by objcopy$split", compiler => 'gcc', flags => "-g$split",
        after => "$each objcopy --compress-debug-sections=zstd \$f; done") if `objcopy --help` =~ /zstd/;
}
form('compressed with zstd, by mold', compiler => 'gcc', needs => ['mold'], flags => '-g',
    link => '-fuse-ld=mold -Wl,--compress-debug-sections=zstd');
form('a separate file and split units', compiler => 'gcc', flags => '-g -gsplit-dwarf',
    after => "$separate && strip \$f && objcopy --add-gnu-debuglink=\$f.debug \$f; done");
form('a separate file and a package', compiler => 'clang', flags => '-g -gdwarf-5 -gsplit-dwarf',
    needs => ['llvm-dwp-14'],
    after => "$separate && llvm-dwp-14 -e \$f -o \$f.dwp && "
        . "strip \$f && objcopy --add-gnu-debuglink=\$f.debug \$f; done; rm *.dwo");
form('in objects, which have both', compiler => 'clang', flags => '-g -gdwarf-5 -gsplit-dwarf=single');
form('a separate file that is of another build', compiler => 'gcc',
    after => "$separate && strip \$f && objcopy --add-gnu-debuglink=\$f.debug \$f && "
        . "echo >>\$f.debug; done",
    check => sub { is note_of($_[0], 'app'), 'no debug information', 'is not believed' });

# --- what several units have in common, put together by dwz -----------------------------------

for my $version (4, 5) {
    my @common = (compiler => 'gcc', flags => "-g -gdwarf-$version", needs => ['dwz']);
    form("dwz, DWARF $version", @common, after => 'dwz app && dwz liblibrary.so');
    form("dwz -m, DWARF $version", @common, after => 'dwz -m common.debug app liblibrary.so');
    form("dwz -m, DWARF $version, clang", @common, compiler => 'clang',
        after => 'dwz -m common.debug app liblibrary.so') if $version == 4;
    form("dwz -m, DWARF $version, relative name", @common,
        after => 'dwz -r -m common.debug app liblibrary.so');
}
form('dwz --dwarf-5 -m', compiler => 'gcc', flags => '-g -gdwarf-5', needs => ['dwz'],
    after => 'dwz --dwarf-5 -m common.debug app liblibrary.so');

# As Debian packages it: what is common to all in a file of its own, and the rest apart.
form('dwz -m, in separate files', compiler => 'gcc', flags => '-g', needs => ['dwz'],
    after => "dwz -m common.debug app liblibrary.so && $separate && strip \$f && "
        . "objcopy --add-gnu-debuglink=\$f.debug \$f; done");

# --- optimized by the linker --------------------------------------------------------------------

form('gcc -flto', compiler => 'gcc', flags => '-g -flto', link => '-O2');
form('gcc -flto, DWARF 4', compiler => 'gcc', flags => '-g -gdwarf-4 -flto');
form('clang -flto', compiler => 'clang', needs => ['ld.lld'], flags => '-g -flto',
    link => '-fuse-ld=lld');
form('clang -flto=thin', compiler => 'clang', needs => ['ld.lld'], flags => '-g -flto=thin',
    link => '-fuse-ld=lld');

# --- less than all -------------------------------------------------------------------------------

sub check_lines {
    my ($file) = @_;
    check_sites($file);
    check_frames($file);
    is note_of($file, $_), 'lines only (no types)', "what is missing of $_" for qw(app liblibrary.so);
}

sub check_symbols {
    my ($file) = @_;
    my %found;
    for my $site (@{ Heapsh::ask_json($file, 'sites') }) {
        like $site->{site}, qr/^\w+\+0x[0-9a-f]+ \((app|liblibrary\.so)\)$/, 'function and offset';
        $found{ $site->{site} =~ s/\+.*//r } += $site->{objects};
    }
    is_deeply \%found, { session_new => 14, engine_new => 14, main => 22, other_fill => 7,
        other_wait => 1, wait_for_the_end => 1 }, 'sites by symbol';
    is note_of($file, $_), 'no debug information', "what is missing of $_" for qw(app liblibrary.so);
}

form('gcc -g1', compiler => 'gcc', flags => '-g1', check => \&check_lines);
form('gcc -g1, DWARF 4', compiler => 'gcc', flags => '-gdwarf-4 -g1', check => \&check_lines);
form('clang -gline-tables-only', compiler => 'clang', flags => '-gline-tables-only',
    check => \&check_lines);
form('clang -g1, DWARF 4', compiler => 'clang', flags => '-gdwarf-4 -g1', check => \&check_lines);
form('none', compiler => 'gcc', flags => '-g0', check => \&check_symbols);
form('stripped of it', compiler => 'gcc', after => 'strip -g app liblibrary.so',
    check => \&check_symbols);
form('dynamic symbols alone', compiler => 'gcc', flags => '-g0', link => '-rdynamic',
    after => 'strip app liblibrary.so', check => sub {
        my ($file) = @_;
        my %found = map { $_->{site} =~ s/\+.*//r => 1 } @{ Heapsh::ask_json($file, 'sites') };
        ok $found{session_new} && $found{engine_new}, 'sites by symbol';
        is note_of($file, 'app'), 'no debug information', 'what is missing';
    });
form('symbols that are packed', compiler => 'gcc', flags => '-g0', needs => ['xz'],
    after => "$each objcopy --only-keep-debug \$f packed && objcopy -S --remove-section .comment "
        . "--keep-symbols=\$(nm \$f | sed -n 's/.* [Tt] //p' >names; echo names) packed && xz packed && "
        . "strip \$f && objcopy --add-section .gnu_debugdata=packed.xz \$f && rm packed.xz; done",
    check => \&check_symbols);
form('packed symbols that are damaged', compiler => 'gcc', flags => '-g0',
    after => 'echo >packed && strip app && objcopy --add-section .gnu_debugdata=packed app',
    check => sub {
        is note_of($_[0], 'app'), 'no debug information; .gnu_debugdata is damaged', 'are said';
        like $_->{site}, qr/^(engine_new\+0x|app\+0x|liblibrary)/, 'sites by module'
            for @{ Heapsh::ask_json($_[0], 'sites') };
    });
form('of one unit of several', compiler => 'gcc', flags_of => { app => '-g0' }, check => sub {
    my ($file) = @_;
    my %found = map { $_->{type} => $_->{objects} } @{ Heapsh::ask_json($file, 'count') };
    my $options = "struct options ($line{'other options'})";
    is $found{$options} // $found{'struct options'}, 4, 'types of the others';
    ok scalar(grep { $_->{site} =~ /^main\+0x/ } @{ Heapsh::ask_json($file, 'sites') }),
        'sites by symbol and by line';
    is note_of($file, 'app'), '', 'nothing is missing of what was written';
});

sub check_note {
    my ($expected) = @_;
    return sub {
        my ($file) = @_;
        is note_of($file, 'app'), $expected, 'what is missing';
        check_frames($file);
    };
}

form('split units that are not there', compiler => 'gcc', flags => '-g -gdwarf-5 -gsplit-dwarf',
    after => 'rm other.dwo',
    check => sub {
        is note_of($_[0], 'app'), 'split debug information: other.dwo not found', 'is said';
        my %found = map { $_->{type} => $_->{objects} } @{ Heapsh::ask_json($_[0], 'count') };
        is $found{'struct node'}, 20, 'types of the others';
    });
form('split units that are of another build', compiler => 'clang',
    flags => '-g -gdwarf-4 -gsplit-dwarf', after => 'cp other.dwo app.dwo; rm other.dwo',
    check => sub {
        is note_of($_[0], 'app'), 'split debug information: app.dwo and 1 more not found',
            'are not believed';
    });
form('an alternate file that is not there', compiler => 'gcc', needs => ['dwz'],
    after => 'dwz -m common.debug app liblibrary.so && rm common.debug',
    check => sub {
        like note_of($_[0], 'app'), qr/^alternate file \S*common\.debug not found$/, 'is said';
    });

# A section that says so and is not.
sub claim_zstd {
    my ($path) = @_;
    open my $file, '+<:raw', $path or die "$path: $!";
    local $/;
    my $bytes = <$file>;
    my ($headers, $size, $count) = unpack 'x40 Q x10 S S', $bytes;
    for my $i (0 .. $count - 1) {
        my ($flags, $offset) = unpack 'x8 Q x8 Q', substr $bytes, $headers + $i * $size, $size;
        substr($bytes, $offset, 4) = pack 'L', 2 if $flags & 0x800;
    }
    seek $file, 0, 0;
    print $file $bytes;
}

subtest 'said to be compressed with zstd' => sub {
    $directory = tempdir(CLEANUP => 1);
    ok build(compiler => 'gcc', flags => '-g -gz=zlib', link => '-gz=zlib'), 'is built' or return;
    claim_zstd("$directory/app");
    my $file = capture();
    is note_of($file, 'app'), 'zstd-compressed sections cannot be read', 'is said';
    my %found = map { $_->{site} =~ s/\+.*//r => 1 } @{ Heapsh::ask_json($file, 'sites') };
    ok $found{session_new}, 'sites by symbol';
};
done_testing;
