# heapsh: heap snapshots of native programs
#
#   make                             build everything, into build/
#   make demo                        run a sample program, capture it, show what the shell says
#   make check                       all tests; T='t/shell/find.t build/t/unit/types.t' for some
#   make check SANITIZE=address,undefined    the same, in a build directory of its own
#   make check SHORT=1               without t/truth, a tenth of the random graphs, some programs in
#                                    one form of build instead of two
#   make check BUDGET=600            no test file is begun after that many seconds
#   make readers                     fetches tools, from npm and Debian, that exports are tested with, too
#   make bare                        make demo and make check in a bare Debian, in a chroot; takes
#                                    root and debootstrap; SHORT, T and BUDGET as above
#   make check-real                  tests on real programs, fetched and built from Debian's sources
#   make truth                       how good the inference of types is, which make check asks, too;
#                                    V=1 says what is wrong
#   make bench                       timings, as ratios to a bare run in the same invocation
#   make soak                        real servers under load, captured; TIME=120 SERVERS='redis nginx'
#   make aarch64                     builds for aarch64, tests units under qemu-user, and all in a
#                                    virtual machine; T='t/capture/labels.t' for some, SHORT=1
#   make fuzz                        runs the fuzz targets, with clang; F=file TIME=60
#   make lint                        formatting, static analysis, scripts, manual pages
#   make install                     PREFIX=/usr/local DESTDIR=
#   V=1                              show the commands
#   WERROR=1                         warnings are errors
#   BUILD=dir                        build there
#
# One Makefile for the whole tree. A new .c file in a room is picked up by itself.

VERSION  := 0.1

PREFIX   ?= /usr/local
BINDIR   ?= $(PREFIX)/bin
LIBDIR   ?= $(PREFIX)/lib
MANDIR   ?= $(PREFIX)/share/man
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions
comma    := ,
BUILD    ?= build$(if $(SANITIZE),/$(subst $(comma),+,$(SANITIZE)))

# Tests start thousands of sanitized programs: what is smaller starts sooner.
CFLAGS   ?= $(if $(SANITIZE),-O1 -g1,-O2 -g)
CXX      ?= g++
PKGS     := libelf zlib readline
WARNINGS := -Wall -Wextra -Wshadow -Wvla -Wpointer-arith -Wwrite-strings -Wmissing-prototypes \
            $(if $(findstring clang,$(CC)),-Wmissing-variable-declarations)
FLAGS    := -std=gnu11 -D_GNU_SOURCE -DHEAPSH_VERSION='"$(VERSION)"' -iquote . $(WARNINGS) \
            $(if $(WERROR),-Werror)
SANITIZERS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)
# Of programs, not of shared libraries: AddressSanitizer's descriptions of variables are many thousand relocations.
LINKED_AS := $(if $(findstring address,$(SANITIZE)),-no-pie)
# libdwarf has had a file for pkg-config since 2022 only; Debian 12's is older.
DWARF_LIBS := $(or $(shell pkg-config --libs libdwarf 2>/dev/null),-ldwarf)
FLAGS      += $(shell pkg-config --cflags libdwarf 2>/dev/null)
# gcc's functions for atomics on aarch64 need glibc's __getauxval, which musl-gcc does not link.
FLAGS      += $(if $(findstring musl-gcc,$(CC)),$(if $(filter aarch64%,$(shell $(CC) -dumpmachine)),-mno-outline-atomics))
# libiberty is gcc's own demangler.
LIBS      = $(DWARF_LIBS) $(shell pkg-config --libs $(PKGS)) -liberty -ldl -lm -pthread
# For heapsh and the batch tools alone.
SHELL_LIBS = $(shell pkg-config --libs sqlite3) $(DEFLATE_LIBS)
# Only weak symbols refer to it (lib/file/file_inflate.c).
DEFLATE_LIBS := $(addprefix -Wl$(comma)--no-as-needed ,$(shell pkg-config --libs libdeflate 2>/dev/null))
UNIT_LIBS ?= -lcmocka

Q := $(if $(V),,@)
say = $(if $(V),@:,@printf '  %-5s %s\n' $(1) $(2))

# The sources of a part of the program. Its rooms are folders; a new one is picked up by itself.
sources = $(wildcard $(1:%=%/*.c))
objects = $(patsubst %.c,$(BUILD)/%.o,$(call sources,$(1)))
rooms_of = $(filter-out $(2:%=$(1)/%/%),$(sort $(dir $(wildcard $(1)/*.c $(1)/*/*.c $(1)/*/*/*.c))))

DUMPER_ROOMS := $(patsubst %/,%,$(call rooms_of,dumper,writer command))
WRITER_ROOMS := $(patsubst %/,%,$(call rooms_of,dumper/writer,))
LIB_ROOMS := $(patsubst %/,%,$(call rooms_of,lib,))
SHELL_ROOMS := $(patsubst %/,%,$(call rooms_of,shell,batch))

DUMPER := $(filter-out %/untracked.o,$(call objects,$(DUMPER_ROOMS)))
# The same for traces alone, without headers: dumper/alloc/untracked.h.
TRACER := $(patsubst $(BUILD)/dumper/%,$(BUILD)/untracked/%,\
            $(filter-out %/blocks.o,$(call objects,$(DUMPER_ROOMS))))
CODE := $(addprefix $(BUILD)/dumper/code/,code_aarch64.o code_x86_64.o machine_code.o values.o)
WRITER := $(call objects,$(WRITER_ROOMS)) $(addprefix $(BUILD)/dumper/base/,sanitizers.o standard_library.o units.o) $(CODE)
COMMAND := $(call objects,dumper/command)
LIB    := $(call objects,$(LIB_ROOMS))
SHELL_ := $(call objects,$(SHELL_ROOMS))
BATCH  := $(patsubst shell/batch/%.c,$(BUILD)/%,$(wildcard shell/batch/*.c))
UNITS  := $(patsubst %.c,$(BUILD)/%.t,$(wildcard t/unit/*.c))
FUZZED := $(filter-out replay,$(basename $(notdir $(wildcard t/fuzz/*.c))))
SAMPLES := $(patsubst %.c,$(BUILD)/%,$(wildcard t/programs/*.c)) \
           $(patsubst %.cc,$(BUILD)/%,$(wildcard t/programs/*.cc))
# t/truth/NAME-part.c belongs to NAME.c.
TRUTH_C := $(filter-out truth,$(basename $(notdir $(shell ls t/truth/*.c | grep -v -e -))))
TRUTH_CXX := $(basename $(notdir $(wildcard t/truth/*.cc)))
TRUTH_PARTS := $(wildcard t/truth/*.h t/truth/*-*.c)
TRUTHS := $(foreach variant,gcc-O0 gcc-O2 $(if $(shell command -v clang++),clang-O2),\
            $(patsubst %,$(BUILD)/truth/%.$(variant),$(TRUTH_C) $(TRUTH_CXX))) \
          $(patsubst %,$(BUILD)/truth/%.gcc-O1-lto,handles parser twins) $(BUILD)/truth/wards.gcc-O2-fixed \
          $(if $(wildcard $(shell $(CC) -print-file-name=libc.a)),$(BUILD)/truth/playlists.gcc-O2-static)
# Most structs of these have no name without it: no symbol mentions them.
BARE_CXX := $(filter-out agents captions dictionaries headed island levels messages mislaid optimizer orphans parcels playlists portfolios registries repeated ropes rosters signals storage templates thin timelines worlds,$(TRUTH_CXX))
BARE_TRUTHS := $(foreach variant,O0-bare O2-bare O2-stripped,$(BARE_CXX:%=$(BUILD)/truth/%.gcc-$(variant)))
TRUTHS += $(BARE_TRUTHS)
# Judged without debug information alone, by other compilers and libraries too: by `make truth`.
OTHER_BARE := $(basename $(notdir $(wildcard t/truth/bare/*.cc)))
OTHER_TRUTHS := $(foreach compiler,gcc $(if $(shell command -v clang++),clang) $(if $(wildcard /usr/include/c++/v1),libcxx), \
            $(foreach form,O0-bare O2-bare O2-stripped,$(OTHER_BARE:%=$(BUILD)/truth/%.$(compiler)-$(form))))
BENCHES := $(patsubst %.c,$(BUILD)/%,$(wildcard t/bench/*.c))
TOOLS  := $(patsubst %.c,$(BUILD)/%,$(wildcard t/helper/*.c))

PROGRAMS := $(BUILD)/heapsh $(BATCH) $(BUILD)/heapsnap

all: $(BUILD)/libheapsnap.so $(BUILD)/libheapsnap-trace.so $(BUILD)/heapsnap-writer $(BUILD)/libheapgraph.a \
	$(BUILD)/libheapgraph.so $(BUILD)/libheaptrace.so $(PROGRAMS)

# --- rooms -----------------------------------------------------------------

# In somebody's process: nothing but libc, nothing visible but the map's names. Never
# sanitized: AddressSanitizer and we both want to be malloc. No stack protector: its canary
# lives in thread-local storage, which the thread that waits for a writer does not have.
$(DUMPER) $(TRACER): SANITIZERS :=
$(DUMPER) $(TRACER): FLAGS += -fPIC -fvisibility=hidden -DHEAPSNAP_BUILD -ftls-model=initial-exec \
	-fno-stack-protector -fno-builtin-malloc -fno-builtin-calloc

# malloc must jump to its slow paths, whose caller is its own then (dumper/alloc/blocks.h): else they do not know the
# frame, and sites stay in wrappers. Compilers do that neither at -O0 nor, gcc, at -O1.
JUMPS := $(if $(filter-out -O0,$(filter -O%,$(CFLAGS))),,-O1) -foptimize-sibling-calls
$(DUMPER) $(TRACER): override CFLAGS += $(JUMPS)

$(TRACER): FLAGS += -DHEAPSNAP_UNTRACKED

$(BUILD)/untracked/%.o: dumper/%.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(FLAGS) $(SANITIZERS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The name inside is the same, so that the one that is preloaded is that which a program was
# linked with.
$(BUILD)/libheapsnap.so: $(DUMPER)
$(BUILD)/libheapsnap-trace.so: $(TRACER)
$(BUILD)/libheapsnap.so $(BUILD)/libheapsnap-trace.so: dumper/heapsnap.map
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(FLAGS) -shared -Wl,-z,defs,-z,now,--build-id -Wl,-soname,libheapsnap.so.0 \
		-Wl,--version-script=dumper/heapsnap.map -o $@ $(filter %.o,$^) $(LDFLAGS)
	$(Q)ln -sf libheapsnap.so $(BUILD)/libheapsnap.so.0

# Position-independent for the shared library; hidden, so that calls inside stay direct ones.
$(LIB): FLAGS += -fPIC -fvisibility=hidden

$(BUILD)/libheapgraph.a: $(LIB)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# For analyses of one's own: heapgraph.h, and from the archive what that needs, which is how
# snapshots are read, and nothing of debug information.
PUBLIC := $(filter $(BUILD)/lib/api/heapgraph%,$(LIB))
$(BUILD)/libheapgraph.so: $(PUBLIC) $(BUILD)/libheapgraph.a lib/api/heapgraph.map
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(FLAGS) $(SANITIZERS) -shared $(if $(SANITIZE),,-Wl$(comma)-z$(comma)defs) \
		-Wl,-z,now -Wl,-soname,libheapgraph.so.0 -Wl,--version-script=lib/api/heapgraph.map -o $@ \
		$(PUBLIC) $(BUILD)/libheapgraph.a $(LDFLAGS) $(shell pkg-config --libs zlib) -pthread
	$(Q)ln -sf libheapgraph.so $@.0

# The same for traces, which name code, so that it needs what reads debug information.
PUBLIC_TRACE := $(filter $(BUILD)/lib/trace/%,$(LIB))
$(BUILD)/libheaptrace.so: $(PUBLIC_TRACE) $(BUILD)/libheapgraph.a lib/api/heaptrace.map
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(FLAGS) $(SANITIZERS) -shared $(if $(SANITIZE),,-Wl$(comma)-z$(comma)defs) \
		-Wl,-z,now -Wl,-soname,libheaptrace.so.0 -Wl,--version-script=lib/api/heaptrace.map -o $@ \
		$(PUBLIC_TRACE) $(BUILD)/libheapgraph.a $(LDFLAGS) $(DWARF_LIBS) $(shell pkg-config --libs libelf zlib) \
		-liberty -lm -pthread
	$(Q)ln -sf libheaptrace.so $@.0

# Its large arrays are columns: dumper/writer/base/wrapped_malloc.c.
WRITER_WRAPS := $(if $(SANITIZE),,-Wl$(patsubst %,$(comma)--wrap=%,malloc calloc realloc reallocarray free))
WRITER_WRAPS := $(subst $() ,,$(WRITER_WRAPS))

$(BUILD)/heapsnap-writer: $(if $(SANITIZE),$(filter-out %/wrapped_malloc.o,$(WRITER)),$(WRITER)) $(BUILD)/libheapgraph.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(FLAGS) $(SANITIZERS) $(LINKED_AS) $(WRITER_WRAPS) -o $@ $^ $(LDFLAGS) $(LIBS)

$(BUILD)/heapsh: $(SHELL_) $(BUILD)/libheapgraph.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(FLAGS) $(SANITIZERS) $(LINKED_AS) -o $@ $^ $(LDFLAGS) $(LIBS) $(SHELL_LIBS)

# The files of the pages of heapsh-report and heapsh-trace are in the programs.
$(BUILD)/shell/web/parts.o: $(wildcard shell/web/*.* shell/web/*/*.* shell/web/vendor/*/*)

$(BATCH): $(BUILD)/%: $(BUILD)/shell/batch/%.o $(filter-out $(BUILD)/shell/main.o,$(SHELL_)) \
		$(BUILD)/libheapgraph.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(FLAGS) $(SANITIZERS) $(LINKED_AS) -o $@ $^ $(LDFLAGS) $(LIBS) $(SHELL_LIBS)

# It starts in milliseconds: libelf is all that it links.
$(BUILD)/heapsnap: $(COMMAND) $(addprefix $(BUILD)/dumper/base/,headroom.o sanitizers.o signal_names.o system.o units.o vast.o vdso.o) $(BUILD)/libheapgraph.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(FLAGS) $(SANITIZERS) $(LINKED_AS) -o $@ $^ $(LDFLAGS) $(shell pkg-config --libs libelf) -pthread

$(BUILD)/%.o: %.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(FLAGS) $(SANITIZERS) $(CFLAGS) -MMD -MP -c -o $@ $<

-include $(wildcard $(patsubst %,$(BUILD)/%/*.d,$(DUMPER_ROOMS) $(DUMPER_ROOMS:dumper%=untracked%) $(WRITER_ROOMS) \
	dumper/command $(LIB_ROOMS) $(SHELL_ROOMS) shell/batch t/unit t/helper t/fuzz))

# --- tests -----------------------------------------------------------------

$(BUILD)/t/unit/%.t: $(BUILD)/t/unit/%.o $(BUILD)/libheapgraph.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(FLAGS) $(SANITIZERS) $(LINKED_AS) -o $@ $(filter-out %.a,$^) $(filter %.a,$^) \
		$(LDFLAGS) $(UNIT_LIBS) $(LIBS)

# The other tests of files use zlib.
$(BUILD)/t/unit/inflate.t: UNIT_LIBS += $(DEFLATE_LIBS)

# Counts how many DIEs are read.
$(BUILD)/t/unit/dwarf_types.t: UNIT_LIBS += -Wl,--wrap=heap_dwarf_dies_read

# Counts how often contents are read.
$(BUILD)/t/unit/snapshot.t: UNIT_LIBS += -Wl,--wrap=heap_file_read_bytes

# The part of the writer that reads core files, and finds blocks by the structures of allocators.
WALKS := $(patsubst %,dumper/writer/scan/%.c,births object_kinds objects) \
	$(patsubst %,dumper/writer/scan/image/%.c,core_file core_links image image_parts window) \
	$(patsubst %,dumper/writer/scan/blocks/%.c,block_grid blocks blocks_glibc blocks_jemalloc blocks_mimalloc blocks_mimalloc3 \
		blocks_musl blocks_tcmalloc glibc_chunks glibc_damage glibc_free glibc_mapped glibc_recovery glibc_states \
		mimalloc_pages own_heap)

$(BUILD)/t/unit/isolation.t: $(BUILD)/dumper/writer/base/supervisor.o $(BUILD)/dumper/writer/base/bounds.o
$(BUILD)/t/unit/headroom.t: $(addprefix $(BUILD)/dumper/base/,headroom.o system.o vdso.o)
$(BUILD)/t/unit/names.t: $(BUILD)/dumper/command/names.o
$(BUILD)/t/unit/units.t: $(BUILD)/dumper/base/units.o
$(BUILD)/t/unit/blocks.t $(BUILD)/t/unit/mimalloc.t: $(WALKS:%.c=$(BUILD)/%.o)
$(BUILD)/t/unit/memory_use.t: $(WALKS:%.c=$(BUILD)/%.o) \
	$(addprefix $(BUILD)/dumper/writer/scan/,memory_use.o blocks/gaps.o blocks/chunks.o)
$(BUILD)/t/unit/objects.t: $(WALKS:%.c=$(BUILD)/%.o) $(BUILD)/dumper/writer/scan/names.o
$(BUILD)/t/unit/holders.t: $(addprefix $(BUILD)/dumper/writer/,base/progress.o infer/holders.o scan/names.o)
$(BUILD)/t/unit/sparse_column.t: $(BUILD)/dumper/writer/base/sparse_column.o
$(BUILD)/t/unit/claim_queue.t: $(BUILD)/dumper/writer/infer/claim_queue.o
$(BUILD)/t/unit/part_answers.t: $(BUILD)/dumper/writer/infer/part_answers.o
$(BUILD)/t/unit/type_copies.t: $(addprefix $(BUILD)/dumper/writer/,base/progress.o \
	infer/class_names.o $(patsubst %,infer/classes/%.o,argument_index node_links template_nodes type_copies))
$(BUILD)/t/unit/backtraces.t: $(WALKS:%.c=$(BUILD)/%.o) $(BUILD)/dumper/writer/scan/threads/backtraces.o
$(BUILD)/t/unit/thread_pointers.t: $(WALKS:%.c=$(BUILD)/%.o) $(BUILD)/dumper/writer/scan/threads/thread_pointers.o
$(BUILD)/t/unit/arena_owners.t: $(WALKS:%.c=$(BUILD)/%.o) $(BUILD)/dumper/writer/base/progress.o \
	$(addprefix $(BUILD)/dumper/writer/infer/parts/,arena_owners.o arena_targets.o arenas.o)
$(BUILD)/t/unit/standard_library.t: $(BUILD)/dumper/base/standard_library.o
$(BUILD)/t/unit/vast.t: $(addprefix $(BUILD)/dumper/base/,system.o vast.o vdso.o)

$(BUILD)/t/unit/filter.t: $(BUILD)/dumper/host/filter.o
$(BUILD)/t/unit/sandbox.t: $(addprefix $(BUILD)/dumper/,host/filter.o host/sandbox.o base/reserve.o base/system.o base/vdso.o)
$(BUILD)/t/unit/gate.t: $(addprefix $(BUILD)/dumper/,capture/gate.o capture/room.o base/reserve.o base/system.o base/vdso.o)

# The part of the library that can be had alone.
$(BUILD)/t/unit/machine_code.t: $(BUILD)/dumper/code/machine_code.o
$(BUILD)/t/unit/moves.t: $(BUILD)/dumper/writer/casts/moves.o $(CODE)
$(BUILD)/t/unit/passing.t: $(addprefix $(BUILD)/dumper/stacks/,passing.o code_hash.o frame_rules.o effort.o workspace.o) \
	$(CODE)
$(BUILD)/t/unit/steps.t: $(addprefix $(BUILD)/dumper/,stacks/code_hash.o stacks/effort.o stacks/steps.o stacks/unwind.o stacks/frame_rules.o base/reserve.o base/system.o base/vdso.o)
$(BUILD)/t/unit/unwind.t: $(addprefix $(BUILD)/dumper/,stacks/code_hash.o stacks/effort.o stacks/hops.o stacks/unwind.o stacks/frame_rules.o base/system.o base/vdso.o)

$(BUILD)/t/helper/%: $(BUILD)/t/helper/%.o $(BUILD)/libheapgraph.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(FLAGS) $(SANITIZERS) $(LINKED_AS) -o $@ $^ $(LDFLAGS) $(LIBS)

$(BUILD)/t/fuzz/%.replay: $(BUILD)/t/fuzz/%.o $(BUILD)/t/fuzz/replay.o $(BUILD)/libheapgraph.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(FLAGS) $(SANITIZERS) $(LINKED_AS) -o $@ $(FUZZED_TOO) $^ $(LDFLAGS) $(LIBS)

# The library comes last, for the linker.
$(BUILD)/t/fuzz/command.o: $(filter-out $(BUILD)/shell/main.o,$(SHELL_))
$(BUILD)/t/fuzz/command.replay build/fuzz/command: LIBS += $(SHELL_LIBS)
$(BUILD)/t/fuzz/command.replay: FUZZED_TOO := $(filter-out $(BUILD)/shell/main.o,$(SHELL_))

# The part of heapsnap that reads other processes.
READS := $(addprefix dumper/command/,announcement.c library.c maps.c names.c process.c)
$(BUILD)/t/fuzz/announcement.o: $(READS:%.c=$(BUILD)/%.o)
$(BUILD)/t/fuzz/announcement.replay: FUZZED_TOO := $(READS:%.c=$(BUILD)/%.o)
build/fuzz/announcement: $(patsubst %.c,build/fuzz/objects/%.o,$(READS))

# The part of the writer that goes through code.
CASTS := dumper/writer/base/progress.c $(patsubst %,dumper/writer/casts/%.c,cast_calls cast_frame cast_instructions cast_paths cast_places cast_results \
	cast_search cast_values code_casts moves) \
	$(patsubst %,dumper/code/%.c,code_aarch64 code_x86_64 machine_code values)
$(BUILD)/t/fuzz/casts.o: $(CASTS:%.c=$(BUILD)/%.o)
$(BUILD)/t/fuzz/casts.replay: FUZZED_TOO := $(CASTS:%.c=$(BUILD)/%.o)
build/fuzz/casts: $(patsubst %.c,build/fuzz/objects/%.o,$(CASTS))

$(BUILD)/t/fuzz/blocks.o $(BUILD)/t/fuzz/core.o: $(WALKS:%.c=$(BUILD)/%.o)
$(BUILD)/t/fuzz/blocks.replay $(BUILD)/t/fuzz/core.replay: FUZZED_TOO := $(WALKS:%.c=$(BUILD)/%.o)
build/fuzz/blocks build/fuzz/core: $(patsubst %.c,build/fuzz/objects/%.o,$(WALKS))

# Programs to capture are plain programs: unoptimised, so that what a test says of a local
# variable holds; a line "// CFLAGS: ..." in the source changes that for one of them.
$(BUILD)/t/programs/%: t/programs/%.c $(wildcard t/programs/*.h)
	$(call say,PROG,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -g -O0 -pthread -iquote . $$(sed -n 's|^// CFLAGS: ||p' $<) -o $@ $< -ldl

$(BUILD)/t/programs/live-blocks-explicit: t/programs/live-blocks.c

# Those that include the library's headers, wherever these include others.
$(patsubst %.c,$(BUILD)/%,$(shell grep -lE '"(dumper|t/programs)/' t/programs/*.c)): $(wildcard dumper/*.h dumper/*/*.h)

$(BUILD)/t/programs/%: t/programs/%.cc
	$(call say,PROG,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) -g -O0 -pthread -iquote . $$(sed -n 's|^// CFLAGS: ||p' $<) -o $@ $<

# Programs that say what the types of their blocks are. Their log has no debug information.
$(BUILD)/truth/truth.o: t/truth/truth.c t/truth/truth.h
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(FLAGS) -O2 -g0 -c -o $@ $<

# $(call truth,VARIANT,C compiler,C++ compiler,flags)
define truth
$(TRUTH_C:%=$(BUILD)/truth/%.$(1)): $(BUILD)/truth/%.$(1): t/truth/%.c $(TRUTH_PARTS) $(BUILD)/truth/truth.o
	$$(call say,PROG,$$@)
	$$(Q)$(2) -g $(4) -D_GNU_SOURCE -pthread -iquote . -o $$@ $$< $$(wildcard t/truth/$$*-*.c) $(BUILD)/truth/truth.o -lm

$(TRUTH_CXX:%=$(BUILD)/truth/%.$(1)): $(BUILD)/truth/%.$(1): t/truth/%.cc $(TRUTH_PARTS) $(BUILD)/truth/truth.o
	$$(call say,PROG,$$@)
	$$(Q)$(3) -g $(4) -std=c++17 -iquote . -o $$@ $$< $(BUILD)/truth/truth.o
endef
# gcc, which may be a cross compiler.
GCC := $(if $(filter gcc %-gcc,$(firstword $(CC))),$(CC),gcc)
GXX := $(if $(filter g++ %-g++,$(firstword $(CXX))),$(CXX),g++)
$(eval $(call truth,gcc-O0,$(GCC),$(GXX),-O0))
$(eval $(call truth,gcc-O2,$(GCC),$(GXX),-O2))
$(eval $(call truth,gcc-O2-fixed,$(GCC),$(GXX),-O2 -fno-pie -no-pie))
$(eval $(call truth,gcc-O2-static,$(GCC),$(GXX),-O2 -static))
$(eval $(call truth,gcc-O1-lto,$(GCC),$(GXX),-O1 -flto=1))
$(eval $(call truth,clang-O2,clang,clang++,-O2))

# Without debug information, and without symbols: no compiler's code depends on -g.
$(BARE_CXX:%=$(BUILD)/truth/%.gcc-O0-bare) $(BARE_CXX:%=$(BUILD)/truth/%.gcc-O2-bare): %-bare: %
	$(Q)strip --strip-debug -o $@ $<

$(BUILD)/truth/%-stripped: $(BUILD)/truth/%
	$(Q)strip -o $@ $<

# $(call truth-bare,VARIANT,compiler,flags)
define truth-bare
$(OTHER_BARE:%=$(BUILD)/truth/%.$(1)): $(BUILD)/truth/%.$(1): t/truth/bare/%.cc $(TRUTH_PARTS) $(BUILD)/truth/truth.o
	$$(call say,PROG,$$@)
	$$(Q)$(2) $(3) -std=c++17 -iquote . -o $$@ $$< $(BUILD)/truth/truth.o
endef
bare-forms = $(eval $(call truth-bare,$(1)-O0-bare,$(2),-O0)) \
	$(eval $(call truth-bare,$(1)-O2-bare,$(2),-O2)) \
	$(eval $(call truth-bare,$(1)-O2-stripped,$(2),-O2 -s))
$(call bare-forms,gcc,$(GXX))
$(call bare-forms,clang,clang++)
$(call bare-forms,libcxx,clang++ -stdlib=libc++)

# All that t/truth judges.
truths: $(TRUTHS) truth-lua

# Lua, whose objects say what they are, from Debian's source. Without it, its part is skipped.
truth-lua: $(BUILD)/truth/truth.o
	$(Q)t/real/fetch $(BUILD)/real lua >$(BUILD)/truth/lua.fetched 2>&1 || { cat $(BUILD)/truth/lua.fetched; \
		echo '$(if $(filter true,$(CI)),FAILED,SKIP): no source of Lua can be had'; [ '$(CI)' != true ]; }
	$(Q)[ ! -d $(BUILD)/real/lua-source ] || $(MAKE) --no-print-directory $(BUILD)/truth/lua.gcc-O2

LUA_SOURCES := $(filter-out %/lua.c %/luac.c %/onelua.c,$(wildcard $(BUILD)/real/lua-source/src/*.c))
LUA_OBJECTS := $(patsubst $(BUILD)/real/lua-source/src/%.c,$(BUILD)/truth/lua-%.o,$(LUA_SOURCES))

$(LUA_OBJECTS): $(BUILD)/truth/lua-%.o: $(BUILD)/real/lua-source/src/%.c
	$(Q)$(GCC) -g -O2 -DLUA_USE_LINUX -c -o $@ $<

$(BUILD)/truth/lua.gcc-O2: t/truth/lua-host.c $(TRUTH_PARTS) $(LUA_OBJECTS) $(BUILD)/truth/truth.o
	$(call say,PROG,$@)
	$(Q)$(GCC) -g -O2 -D_GNU_SOURCE -iquote . -I$(BUILD)/real/lua-source/src -o $@ $< $(LUA_OBJECTS) \
		$(BUILD)/truth/truth.o -Wl,-E -lm -ldl

$(BUILD)/t/bench/%: t/bench/%.c $(BUILD)/libheapgraph.a
	$(call say,PROG,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(FLAGS) $(SANITIZERS) -g -O2 -fno-builtin-malloc -fno-builtin-free -o $@ $< \
		$(BUILD)/libheapgraph.a $(LIBS)

# How many tests run at a time, but for some (t/testrules.yml): four, since many of them mostly wait.
JOBS ?= 4
T ?= t/*.t t/capture/*.t t/end-to-end/*.t t/hostile/*.t t/shell/*.t $(if $(SHORT),,t/truth/*.t) $(UNITS)
# A job in the background of a script ignores SIGQUIT and SIGINT, which tests are about.
UNIGNORED := perl -e '$$SIG{INT} = $$SIG{QUIT} = "DEFAULT"; exec @ARGV or die' --
# The programs that tests run are built in parallel, unless -j says otherwise.
check: dependencies
	$(Q)$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc)) check-built

# Tests of running out of memory ask malloc for more than AddressSanitizer gives.
check-built: export ASAN_OPTIONS := $(if $(SANITIZE),allocator_may_return_null=1$(ASAN_OPTIONS:%=:%),$(ASAN_OPTIONS))
check-built: programs-for-tests $(if $(findstring truth,$(T)),truths)
	$(Q)BUILD=$(BUILD) CC='$(CC)' SANITIZE='$(SANITIZE)' $(UNIGNORED) t/prove -e '$(if $(BUDGET),t/until $(shell expr $$(date +%s) + $(BUDGET)))' --timer -j$(JOBS) $(if $(V),-v) $$(ls -dU $(T) 2>/dev/null)

# All that tests run, but for t/truth.
programs-for-tests: all $(UNITS) $(SAMPLES) $(TOOLS) $(BUILD)/t/bench/generate $(FUZZED:%=$(BUILD)/t/fuzz/%.replay)

# Those whom exports are for, for t/shell/readers.t and hprof.t: memlab brings a browser along
# that is not wanted.
readers:
	$(Q)mkdir -p $(BUILD)/readers
	$(Q)cp t/readers/package.json $(BUILD)/readers
	$(Q)PUPPETEER_SKIP_DOWNLOAD=1 npm install --silent --no-audit --no-fund --prefix $(BUILD)/readers
	$(Q)cd $(BUILD)/readers && rm -f visualvm_*.deb && apt-get -qq -o APT::Sandbox::User=root download visualvm && \
		dpkg -x visualvm_*.deb visualvm || echo 'No visualvm: heap dumps are not read by it'

bare:
	$(Q)SHORT='$(SHORT)' BUDGET='$(BUDGET)' $(if $(filter-out file,$(origin T)),T='$(T)') t/bare build/bare

check-real: all
	$(Q)BUILD=$(BUILD) prove -v t/real/*.t

soak: all
	$(Q)scripts/install-dependencies --soak
	$(Q)BUILD=$(BUILD) TIME='$(TIME)' SERVERS='$(SERVERS)' prove -v t/soak/soak.t

aarch64: all
	$(Q)scripts/install-dependencies --aarch64 || true
	$(Q)NATIVE=$(BUILD) SHORT='$(SHORT)' t/foreign/aarch64 build/aarch64 \
		$(if $(filter file,$(origin T)),,$(T))

truth: all truths $(OTHER_TRUTHS)
	$(Q)BUILD=$(BUILD) V=$(V) prove -v t/truth/truth.t t/truth/bare.t

bench: all $(BENCHES)
	$(Q)scripts/install-dependencies --bench || true
	$(Q)BUILD=$(BUILD) t/bench/run

demo: dependencies
	$(Q)$(MAKE) --no-print-directory all $(BUILD)/t/programs/demo
	$(Q)BUILD=$(BUILD) scripts/demo

dependencies:
	$(Q)scripts/install-dependencies

# Each target for TIME seconds, as many at a time as there are processors; F=file for one of them. What
# it finds lies in build/fuzz/.
fuzz: $(patsubst %,build/fuzz/%,$(or $(F),$(FUZZED)))
	$(Q)printf '%s\n' $(or $(F),$(FUZZED)) | xargs -P $(shell nproc) -I TARGET sh -c ' \
		echo "  FUZZ  TARGET, $(or $(TIME),60) s"; \
		build/fuzz/TARGET -verbosity=0 -max_total_time=$(or $(TIME),60) -timeout=10 \
			-rss_limit_mb=2048 -artifact_prefix=build/fuzz/TARGET- \
			build/fuzz/TARGET.corpus t/fuzz/corpus/TARGET >build/fuzz/TARGET.log 2>&1 || \
			{ tail -n 60 build/fuzz/TARGET.log; exit 255; }'

# clang counts NULL + 0, for an empty table, as an overflow; the next C defines it.
FUZZ_SANITIZERS := address,undefined -fno-sanitize=pointer-overflow
fuzz_objects = $(patsubst %.c,build/fuzz/objects/%.o,$(1))

build/fuzz/objects/%.o: %.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)clang -g -O1 $(FLAGS) -fsanitize=fuzzer-no-link,$(FUZZ_SANITIZERS) -fno-sanitize-recover=all \
		-MMD -MP -c -o $@ $<

build/fuzz/command: $(call fuzz_objects,$(filter-out shell/main.c,$(call sources,$(SHELL_ROOMS))))

build/fuzz/%: build/fuzz/objects/t/fuzz/%.o $(call fuzz_objects,$(call sources,$(LIB_ROOMS)))
	$(call say,LINK,$@)
	@mkdir -p $@.corpus
	$(Q)clang -fsanitize=fuzzer,$(FUZZ_SANITIZERS) -o $@ $^ $(LIBS)

-include $(wildcard build/fuzz/objects/*/*.d build/fuzz/objects/*/*/*.d build/fuzz/objects/*/*/*/*.d build/fuzz/objects/*/*/*/*/*.d)

# cppcheck knows nothing of clean-up guards (memleak), and is wrong about the conditional
# expressions and out parameters that the other two suppressions are for.
lint:
	clang-format --dry-run --Werror $(filter-out build%,$(wildcard */*.[ch] */*/*.[ch] */*/*/*.[ch] */*/*/*/*.[ch]))
	cppcheck -j$(shell nproc) --quiet --error-exitcode=1 --inline-suppr --enable=warning,portability \
		--suppress=memleak --suppress=identicalInnerCondition --suppress=ctuuninitvar \
		-D__x86_64__ -D_GNU_SOURCE -I. dumper lib shell
	shellcheck scripts/demo scripts/install-dependencies scripts/clickhouse/load .ci/run t/bare t/in-turn t/prove t/until t/real/fetch $(filter-out %.md,$(wildcard t/foreign/*))
	shellcheck -s bash scripts/completion.bash
	mandoc -Tlint -Wwarning man/*.[1-9]

# --- installation ------------------------------------------------------------

$(BUILD)/heapsnap.pc: dumper/heapsnap.pc.in
$(BUILD)/heapgraph.pc: lib/api/heapgraph.pc.in
$(BUILD)/heaptrace.pc: lib/api/heaptrace.pc.in
# Made each time: PREFIX may have changed.
$(BUILD)/%.pc: FORCE
	@mkdir -p $(@D)
	$(Q)sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' \
		$(filter %.in,$^) >$@

# BINDIR from LIBDIR/heapsnap: what is below PREFIX works where DESTDIR has it, and wherever it is moved to.
is_below_prefix = $(filter $(PREFIX)/%,$1)
steps_up = $(subst $() $(),,$(patsubst %,../,$(subst /, ,$1)))
LINK_TO_BINDIR = $(if $(and $(call is_below_prefix,$(LIBDIR)),$(call is_below_prefix,$(BINDIR))),$\
	$(call steps_up,$(LIBDIR:$(PREFIX)/%=%)/heapsnap)$(BINDIR:$(PREFIX)/%=%),$(BINDIR))

install: all $(BUILD)/heapsnap.pc $(BUILD)/heapgraph.pc $(BUILD)/heaptrace.pc
	install -D -m 755 $(BUILD)/libheapsnap.so $(DESTDIR)$(LIBDIR)/libheapsnap.so.0
	ln -sf libheapsnap.so.0 $(DESTDIR)$(LIBDIR)/libheapsnap.so
	install -D -m 755 $(BUILD)/libheapsnap-trace.so $(DESTDIR)$(LIBDIR)/heapsnap/libheapsnap-trace.so
	install -D -m 755 $(BUILD)/heapsnap-writer $(DESTDIR)$(LIBDIR)/heapsnap/heapsnap-writer
	install -D -m 644 dumper/heapsnap.h $(DESTDIR)$(PREFIX)/include/heapsnap.h
	install -D -m 644 $(BUILD)/heapsnap.pc $(DESTDIR)$(LIBDIR)/pkgconfig/heapsnap.pc
	install -D -m 755 $(BUILD)/libheapgraph.so $(DESTDIR)$(LIBDIR)/libheapgraph.so.0
	ln -sf libheapgraph.so.0 $(DESTDIR)$(LIBDIR)/libheapgraph.so
	install -D -m 644 lib/api/heapgraph.h $(DESTDIR)$(PREFIX)/include/heapgraph.h
	install -D -m 755 $(BUILD)/libheaptrace.so $(DESTDIR)$(LIBDIR)/libheaptrace.so.0
	ln -sf libheaptrace.so.0 $(DESTDIR)$(LIBDIR)/libheaptrace.so
	install -d $(DESTDIR)$(PREFIX)/include/heapsnap
	for header in trace/trace base/error; do \
		sed 's|"lib/base/error.h"|<heapsnap/error.h>|' lib/$$header.h \
			>$(DESTDIR)$(PREFIX)/include/heapsnap/$${header##*/}.h || exit 1; \
	done
	install -D -m 644 $(BUILD)/heaptrace.pc $(DESTDIR)$(LIBDIR)/pkgconfig/heaptrace.pc
	install -D -m 644 $(BUILD)/libheapgraph.a $(DESTDIR)$(LIBDIR)/libheapgraph.a
	install -D -m 644 $(BUILD)/heapgraph.pc $(DESTDIR)$(LIBDIR)/pkgconfig/heapgraph.pc
	for program in $(PROGRAMS); do \
		install -D -m 755 $$program $(DESTDIR)$(BINDIR)/$${program##*/} || exit 1; \
	done
	ln -sf $(LINK_TO_BINDIR)/heapsh-unfreed $(DESTDIR)$(LIBDIR)/heapsnap/heapsh-unfreed
	ln -sf $(LINK_TO_BINDIR)/heapsh-check $(DESTDIR)$(LIBDIR)/heapsnap/heapsh-check
	for page in man/*.[1-9]; do \
		install -D -m 644 $$page $(DESTDIR)$(MANDIR)/man$${page##*.}/$${page##*/} || exit 1; \
	done
	install -D -m 755 scripts/clickhouse/load $(DESTDIR)$(PREFIX)/share/heapsh/clickhouse/load
	install -m 644 scripts/clickhouse/*.sql $(DESTDIR)$(PREFIX)/share/heapsh/clickhouse
	install -D -m 644 scripts/heapsh.py $(DESTDIR)$(PREFIX)/share/heapsh/heapsh.py
	install -d $(DESTDIR)$(PREFIX)/share/heapsh/examples
	install -m 644 examples/*.c examples/*.cc t/programs/demo.c t/programs/series.c $(DESTDIR)$(PREFIX)/share/heapsh/examples
	install -D -m 644 scripts/completion.bash $(DESTDIR)$(COMPLETIONDIR)/heapsh
	ln -sf heapsh $(DESTDIR)$(COMPLETIONDIR)/heapsnap
	ln -sf heapsh $(DESTDIR)$(COMPLETIONDIR)/heapsh-leakreport
	ln -sf heapsh $(DESTDIR)$(COMPLETIONDIR)/heapsh-check
	ln -sf heapsh $(DESTDIR)$(COMPLETIONDIR)/heapsh-report
	ln -sf heapsh $(DESTDIR)$(COMPLETIONDIR)/heapsh-diff
	ln -sf heapsh $(DESTDIR)$(COMPLETIONDIR)/heapsh-unfreed
	ln -sf heapsh $(DESTDIR)$(COMPLETIONDIR)/heapsh-trace
	ln -sf heapsh $(DESTDIR)$(COMPLETIONDIR)/heapsh-evolution
	ln -sf heapsh $(DESTDIR)$(COMPLETIONDIR)/heapsh-export

FORCE:

clean:
	rm -rf build

.PHONY: all check check-built programs-for-tests truths bare check-real truth truth-lua bench demo dependencies soak aarch64 fuzz lint install readers clean FORCE
.DELETE_ON_ERROR:
.SECONDARY:
