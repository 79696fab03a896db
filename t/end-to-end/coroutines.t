#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Frames of C++ coroutines: objects on the heap that hold a function's parameters and variables.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;
use Tools;

my $source = <<'END';
#include "dumper/heapsnap.h"
#include <coroutine>
#include <string>
#include <vector>

struct task {
	struct promise_type {
		task get_return_object() { return { std::coroutine_handle<promise_type>::from_promise(*this) }; }
		std::suspend_never initial_suspend() { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() {}
		int step = 7;
	};
	std::coroutine_handle<promise_type> handle;
};

namespace server {
task answer(std::string question, int size)
{
	std::vector<int> numbers(size);
	co_await std::suspend_always{};
	numbers.push_back(question.size());
}
}

task listen(int port)
{
	long accepted = port;
	co_await std::suspend_always{};
	accepted++;
}

std::vector<task> tasks;

int main(int, char **argv)
{
	for (int i = 0; i < 100; i++)
		tasks.push_back(server::answer("a question that is too long for the object", 10));
	tasks.push_back(listen(8080));
	return heapsnap_dump(argv[1]) || heapsnap_wait();
}
END

my $directory = tempdir(CLEANUP => 1);
my $file = Heapsh::capture_source("$directory/coroutines.cc", 'g++ -std=c++20 -O1', text => $source);

like scalar(Heapsh::ask($file, 'find', '--count', 'type', 'answer.Frame')), qr/^Total: 100 objects,/,
    'frames have the name of their function';
like scalar(Heapsh::ask($file, 'find', '--count', 'type', 'listen.Frame')), qr/^Total: 1 object,/, 'each its own';
my $shown = Heapsh::ask($file, 'show', 'tasks[3].handle._M_fr_ptr');
like $shown, qr/^  question = "a question that is too long for the object"$/m, 'parameters are members';
like $shown, qr/^  numbers\w* = std::vector of 10 /m, 'and so are variables';
like $shown, qr/^  _Coro_resume_fn = answer \(coroutines\.cc:19\)$/m, 'and its code';
like scalar(Heapsh::ask($file, 'find', '--count', 'untyped')), qr/^Total: [01] objects?,/,
    'what frames hold is typed'; # libstdc++ has one block

# Nothing but a handle without a type leads to these frames: their own functions tell what they are. One waits for
# another, so that its handle is in a promise; one of each has come to its end.
$source = <<'END';
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>
struct Note { std::string text; long number; };
struct Task {
	struct promise_type {
		std::coroutine_handle<> waiting;
		std::unique_ptr<Note> result;
		Task get_return_object() { return { std::coroutine_handle<promise_type>::from_promise(*this) }; }
		std::suspend_never initial_suspend() { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		void return_value(std::unique_ptr<Note> note) { result = std::move(note); }
		void unhandled_exception() {}
	};
	std::coroutine_handle<promise_type> handle;
	bool await_ready() { return handle.done(); }
	void await_suspend(std::coroutine_handle<> by) { handle.promise().waiting = by; }
	std::unique_ptr<Note> await_resume() { return std::move(handle.promise().result); }
};
static std::vector<std::coroutine_handle<>> sleepers, callers;
struct Sleep {
	bool await_ready() { return false; }
	void await_suspend(std::coroutine_handle<> by) { sleepers.push_back(by); }
	void await_resume() {}
};
// Its frames have room for a byte of its allocator behind them, as those of Asio have.
struct Job {
	struct promise_type {
		static void *operator new(std::size_t size) { return std::malloc(size + 1); }
		static void operator delete(void *frame) { std::free(frame); }
		Job get_return_object() { return { std::coroutine_handle<promise_type>::from_promise(*this) }; }
		std::suspend_never initial_suspend() { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() {}
	};
	std::coroutine_handle<promise_type> handle;
};
static Job rest(std::unique_ptr<Note> note)
{
	co_await Sleep();
	note->number++;
}
static Task fetch(long number)
{
	std::unique_ptr<Note> note(new Note{ "a text that is long enough for a block", number });
	if (number < 20)
		co_await Sleep();
	co_return std::move(note);
}
static Task serve(long number)
{
	std::map<int, std::string> names{ { 1, "a name that is long enough for a block" } };
	auto note = co_await fetch(number);
	note->text = names[1];
	co_return std::move(note);
}
int main()
{
	for (long i = 0; i < 21; i++)
		callers.push_back(serve(i).handle);
	for (long i = 0; i < 5; i++)
		callers.push_back(rest(std::unique_ptr<Note>(new Note{ "another text that is long enough", i })).handle);
	puts("ready");
	fflush(stdout);
	return getchar();
}
END
Heapsh::write_file("$directory/erased.cc", $source);
my $refusal = Heapsh::attach_refusal();
for my $way ('g++ -O0', 'g++ -O2', 'clang++ -O0', 'clang++ -O2') {
    my ($compiler) = split ' ', $way;
  SKIP: {
        skip "$way has no coroutines here", 1 unless compiles($compiler, '-std=c++20 -x c++', '#include <coroutine>');
        my $program = "$directory/erased" . $way =~ s/\W//gr;
        system("$way -std=c++20 -g -o $program $directory/erased.cc") == 0 or die;
        my %file = (run => Heapsh->start($program)->capture);
        $file{attach} = Heapsh->start($program, bare => 1)->attach_and_finish unless $refusal;
        for my $how (sort keys %file) {
            my %types;
            $types{ $_->{type} =~ s/^struct //r } += $_->{objects} for @{ Heapsh::ask_json($file{$how}, 'count', '--all') };
            my @frames = grep { /Frame$/ } keys %types;
            is_deeply +{ map { $_ => $types{$_} } @frames }, { 'serve.Frame' => 21, 'fetch.Frame' => 20 + 1, 'rest.Frame' => 5 },
                "$way, $how: every frame has its own type";
            is $types{Note}, 21 + 5, 'so has what they hold';
            is $types{'std::_Rb_tree_node<std::pair<int const, std::string>>'} // $types{'std::_Rb_tree_node<std::pair<const int, std::string>>'},
                20, 'and no header of a map in them passes for a node';
        }
    }
}

# The variables of a coroutine that has come to its end are gone, but their words are still in its frame: where their blocks
# were, texts are now.
$source = <<'END';
#include <coroutine>
#include <cstdio>
#include <string>
#include <vector>
struct Task {
	struct promise_type {
		Task get_return_object() { return { std::coroutine_handle<promise_type>::from_promise(*this) }; }
		std::suspend_never initial_suspend() { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() {}
	};
	std::coroutine_handle<promise_type> handle;
};
struct Packet { std::string body; long number; };
std::vector<Task> tasks;
std::vector<Packet *> packets;
static Task pump(int limit)
{
	std::vector<int> seen;
	for (int i = 0; i < limit; i++) {
		seen.push_back(i);
		co_await std::suspend_always{};
	}
}
int main()
{
	for (int i = 0; i < 50; i++)
		tasks.push_back(pump(8));
	for (int i = 0; i < 8; i++) {
		for (Task &task : tasks)
			task.handle.resume();
	}
	for (int i = 0; i < 50; i++)
		packets.push_back(new Packet{ "the body of a packet, number " + std::to_string(i), i });
	puts("ready");
	fflush(stdout);
	return getchar();
}
END
Heapsh::write_file("$directory/ended.cc", $source);
system("g++ -std=c++20 -g -O2 -o $directory/ended $directory/ended.cc") == 0 or die;
my %ended = (run => Heapsh->start("$directory/ended")->capture);
$ended{attach} = Heapsh->start("$directory/ended", bare => 1)->attach_and_finish unless $refusal;
for my $how (sort keys %ended) {
    is scalar(grep { $_->{type} =~ /^int\b/ } @{ Heapsh::ask_json($ended{$how}, 'count', '--all') }), 0,
        "$how: variables that are gone name no blocks";
    like scalar(Heapsh::ask($ended{$how}, 'find', '--count', 'type', 'pump.Frame')), qr/^Total: 50 objects,/, 'frames have their names';
    like scalar(Heapsh::ask($ended{$how}, 'find', '--count', 'string', 'the body of a packet')), qr/^Total: 50 objects,/, 'texts are texts';
}
done_testing;
