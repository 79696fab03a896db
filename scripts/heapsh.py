# SPDX-License-Identifier: GPL-3.0-or-later
"""heapsh at gdb's prompt: the heap of the stopped process, or of the core file.

    (gdb) source /usr/local/share/heapsh/heapsh.py
    (gdb) heapsh find --limit 3 type session
    (gdb) heapsh identify $rdi
    (gdb) heapsh show list->first
    (gdb) print *$heap1

A snapshot is taken at the first command, by way of a core file, so that no code of the program runs;
it serves until the program goes on. Words that are expressions of gdb become addresses. Each object
of an answer is $heap1, $heap2... in gdb, a pointer of its type if gdb knows that.
"""

import atexit
import os
import re
import shutil
import subprocess
import tempfile

import gdb

# Only while the script is sourced does gdb say which file it is.
HERE = os.path.dirname(os.path.realpath(globals().get("__file__") or (lambda: 0).__code__.co_filename))

# Commands of which words may be addresses.
OF_OBJECTS = ("identify", "show", "path", "inrefs", "outrefs", "retained", "dominators", "sizes", "istype", "suggest", "history")

# "struct session at 0x5f0010", "struct slot[12] at 0x5f0010", "block(48) at 0x5f0010"
OBJECT = re.compile(r"((?:(?:struct|class|union|enum) )?[A-Za-z_][\w:]*(?:<[^\n]*>)?(?: \*+)?)"
                    r"(?:\[\d+\]|\(\d+\))?(?: \"[^\n]*?\"…?)? at (0x[0-9a-f]+)")


Trouble = gdb.GdbError  # what the user is told, without a traceback


def find_program(name):
    """Finds a program beside this script, as installed and as built; else by PATH."""
    for place in (os.environ.get("HEAPSH_BIN"), os.path.join(HERE, "../../bin"), os.path.join(HERE, "../build")):
        path = os.path.join(place, name) if place else ""
        if path and os.access(path, os.X_OK):
            return os.path.realpath(path)
    path = shutil.which(name)
    if not path:
        raise Trouble("heapsh: there is no %s; HEAPSH_BIN names the directory that it is in" % name)
    return path


def clean_environment():
    """The environment without what would have our own programs captured."""
    return {name: value for name, value in os.environ.items() if name != "LD_PRELOAD" and not name.startswith("HEAPSNAP_")}


class Snapshots:
    """The snapshot of each inferior, until that goes on."""

    def __init__(self):
        self.directory = None
        self.of = {}  # number of the inferior: path
        gdb.events.cont.connect(lambda event: self.forget())
        gdb.events.exited.connect(lambda event: self.forget())
        if hasattr(gdb.events, "memory_changed"):
            gdb.events.memory_changed.connect(lambda event: self.forget())
        atexit.register(self.remove)

    def remove(self):
        if self.directory:
            shutil.rmtree(self.directory, ignore_errors=True)

    def forget(self):
        for path in self.of.values():
            if self.directory and path.startswith(self.directory):
                try:
                    os.unlink(path)
                except OSError:
                    pass
        self.of.clear()

    def current(self):
        number = gdb.selected_inferior().num
        if number not in self.of:
            self.of[number] = self.take(None)
        return self.of[number]

    def use(self, path):
        self.of[gdb.selected_inferior().num] = path

    def take(self, path):
        """Takes a snapshot. Returns its path."""
        if not self.directory:
            self.directory = tempfile.mkdtemp(prefix="heapsh-gdb-")
        core = core_file()
        made = None
        if not core:
            if not gdb.selected_inferior().pid:
                raise Trouble("heapsh: there is no process and no core file")
            core = made = os.path.join(self.directory, "core")
            gdb.execute("generate-core-file " + core, to_string=True)
        pattern = os.path.abspath(path).replace("%", "%%") if path else os.path.join(self.directory, "gdb-%N.snap").replace(
            self.directory, self.directory.replace("%", "%%"))
        command = [find_program("heapsnap"), "core", "--file", pattern, "--content", "all"]
        program = gdb.current_progspace().filename
        if program:
            command += ["--exe", program]
        try:
            done = subprocess.run(command + ["--", core], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment(),
                                  universal_newlines=True)
        finally:
            if made and os.path.exists(made):
                os.unlink(made)
        lines = done.stdout.splitlines()
        if done.returncode != 0 or not lines:
            raise Trouble("heapsh: no snapshot: " + (done.stderr.strip() or "heapsnap core has failed"))
        return lines[-1]


def core_file():
    """The core file that gdb has opened, or None."""
    text = gdb.execute("info files", to_string=True)
    found = re.search(r"Local core dump file:\s*[`']([^\n]*)', file type", text)
    return found.group(1) if found else None


def evaluate(word):
    """A word as an address, if it is an expression of gdb that has one."""
    if re.fullmatch(r"0x[0-9a-fA-F]+|\$?\d+|\$", word) or word.startswith("-"):
        return word
    if word.startswith("&") and re.fullmatch(r"&[A-Za-z_]\w*", word):
        return word  # a variable, which heapsh knows by name
    try:
        value = gdb.parse_and_eval(word)
        kind = value.type.strip_typedefs().code
        if kind == gdb.TYPE_CODE_VOID:
            raise Trouble("heapsh: %s has no value in gdb" % word)
        if kind in (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_INT, gdb.TYPE_CODE_REF):
            return hex(int(value.cast(gdb.lookup_type("unsigned long"))))
        if value.address is not None:
            return hex(int(value.address))
    except gdb.error:
        if word.startswith("$"):
            raise Trouble("heapsh: %s has no value in gdb" % word)
    return word


def split_words(text):
    try:
        return gdb.string_to_argv(text)
    except gdb.error as error:
        raise Trouble("heapsh: %s" % error)


def find_type(name):
    if name in ("block", "pool"):
        return None  # heapsh's words for what has no type
    for spelled in (name, re.sub(r"^(?:struct|class|union|enum) ", "", name)):
        try:
            return gdb.lookup_type(spelled)
        except (gdb.error, RuntimeError):
            pass
    return None


def note_objects(text):
    """Makes $heap1, $heap2... of the objects in an answer. Returns lines that say so."""
    lines, seen = [], set()
    for name, address in OBJECT.findall(re.sub(r"\x1b\[[\d;]*m", "", text)):
        if address in seen or len(seen) >= 20:
            continue
        seen.add(address)
        kind = find_type(name) or gdb.lookup_type("char")
        value = gdb.Value(int(address, 16)).cast(kind.pointer())
        # Not $h1: that is a register of aarch64, as most short names are somewhere.
        gdb.set_convenience_variable("heap%d" % len(seen), value)
        lines.append("$heap%d = (%s *) %s" % (len(seen), kind, address))
    return lines


class Heapsh(gdb.Command):
    """Ask heapsh about the heap of the stopped process, or of the core file.

heapsh COMMAND...      a command of heapsh(1): find, show, identify, path, leaks, sql...
heapsh                 heapsh's own prompt
heapsh snapshot FILE   take a snapshot that stays
heapsh open FILE       ask about that snapshot, until the program goes on

Words that are expressions of gdb become addresses: heapsh identify $rdi. Each object of an answer
is $heap1, $heap2... in gdb: print *$heap1."""

    def __init__(self):
        super().__init__("heapsh", gdb.COMMAND_DATA)
        self.snapshots = Snapshots()

    def invoke(self, argument, from_tty):
        self.dont_repeat()
        words = split_words(argument)
        if words and words[0] in ("snapshot", "open"):
            self.keep(words)
        elif words:
            self.ask(words)
        else:
            subprocess.call([find_program("heapsh"), self.snapshots.current()], env=clean_environment())

    def keep(self, words):
        if len(words) != 2:
            raise Trouble("usage: heapsh %s FILE" % words[0])
        if words[0] == "snapshot":
            path = self.snapshots.take(words[1])
            gdb.write(path + "\n")
        else:
            path = os.path.abspath(words[1])
            if not os.access(path, os.R_OK):
                raise Trouble("heapsh: %s cannot be read" % words[1])
        self.snapshots.use(path)

    def ask(self, words):
        if words[0] in OF_OBJECTS:
            words = words[:1] + [evaluate(word) for word in words[1:]]
        colours = "always" if gdb.parameter("style enabled") else "never"
        done = subprocess.run([find_program("heapsh"), "--quiet", "--color=" + colours, self.snapshots.current()] + words,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment(), encoding="utf-8",
                              errors="replace")
        gdb.write(done.stdout)
        for line in note_objects(done.stdout) if "--json" not in words else ():
            gdb.write(line + "\n")
        if done.stderr:
            raise Trouble(done.stderr.rstrip())

    def complete(self, text, word):
        commands = ("callers callstack count dangling dominators find identify info inrefs largest leaks open outrefs path reachability "
                    "report retained roots shared show sites sizes snapshot sql stack strings suggest summary suspects symbols types waste")
        if " " in text:
            return gdb.COMPLETE_EXPRESSION
        return [name for name in commands.split() if name.startswith(word)]


Heapsh()
