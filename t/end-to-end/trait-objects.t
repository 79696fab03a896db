#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Trait objects of Rust have the types that their tables tell.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;

my $directory = tempdir(CLEANUP => 1);
my ($version) = `rustc --version 2>/dev/null` =~ /^rustc 1\.(\d+)/;
plan skip_all => 'no rustc of 1.95 or later' unless defined $version && $version >= 95;

Heapsh::write_file("$directory/shapes.rs", <<'END');
use std::io::Write;
trait Shape { fn area(&self) -> f64; }
struct Circle { radius: f64, name: String }
struct Square { side: f64, label: String } // of the size of a circle
struct Group<T> { parts: Vec<T>, number: u64, scale: f64 }
impl Shape for Circle { fn area(&self) -> f64 { self.radius + self.name.len() as f64 } }
impl Shape for Square { fn area(&self) -> f64 { self.side * self.label.len() as f64 } }
impl Shape for Group<u16> {
    fn area(&self) -> f64 { self.scale * (self.parts.len() as u64 + self.number) as f64 }
}
fn circle(i: u32) -> Circle { Circle { radius: i as f64, name: format!("circle number {i}") } }
fn make(i: u32) -> Box<dyn Shape> {
    match i % 3 {
        0 => Box::new(circle(i)),
        1 => Box::new(Square { side: 2.0, label: format!("square number {i}") }),
        _ => Box::new(Group { parts: vec![7u16; 20], number: 1, scale: 0.5 }),
    }
}
fn main() {
    let shapes: Vec<Box<dyn Shape>> = (0..32).map(make).collect();
    let mut jobs: Vec<Box<dyn Fn(f64) -> f64>> = Vec::new();
    for i in 0..7u64 {
        let title = format!("job number {i}");
        jobs.push(Box::new(move |x| x + title.len() as f64));
    }
    println!("ready");
    std::io::stdout().flush().unwrap();
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let sum: f64 = shapes.iter().map(|s| s.area()).sum();
    println!("{}", jobs.iter().fold(sum, |x, job| job(x)));
}
END
my $refusal = Heapsh::attach_refusal();
for my $level (0, 3) {
    my $program = "$directory/shapes$level";
    system("rustc -g -C opt-level=$level -o $program $directory/shapes.rs 2>/dev/null") == 0 or die;
    my %file = (run => Heapsh->start($program)->capture);
    $file{attach} = Heapsh->start($program, bare => 1)->attach_and_finish unless $refusal;
    for my $how (sort keys %file) {
        my %expected = ('shapes::Circle' => 11, 'shapes::Square' => 11, 'shapes::Group<u16>' => 10, 'shapes::main::{closure_env#0}' => 7);
        for my $type (sort keys %expected) {
            my @found = grep { ($_->{elements} // 1) == 1 && $_->{type} =~ /^struct \Q$type\E$/ }
                @{ Heapsh::ask_json($file{$how}, 'find', '--all')->{objects} };
            is scalar(@found), $expected{$type}, "-O$level, $how: $type";
        }
        is Heapsh::ask_json($file{$how}, 'find', '--count', 'type', 'shapes::Square', 'field', 'side=2')->{count}, 11,
            'and their fields';
    }
}
done_testing;
