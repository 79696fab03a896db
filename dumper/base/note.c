// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/base/note.h"

#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number

#ifdef HEAPSNAP_UNTRACKED
#define TAKES_SNAPSHOTS 0
#else
#define TAKES_SNAPSHOTS 1
#endif

// In assembly, because the distance between two symbols is no constant expression of C.
// clang-format off
__asm__(".pushsection .note.heapsnap, \"a\", %note\n"
	".balign 4\n"
	".long 2f - 1f\n"
	".long 4f - 3f\n"
	".long " TEXT(HEAPSNAP_NOTE_TYPE) "\n"
	"1: .asciz \"" HEAPSNAP_NOTE_OWNER "\"\n"
	"2: .balign 4\n"
	"3: .long " TEXT(HEAPSNAP_NOTE_VERSION) "\n"
	".long " TEXT(TAKES_SNAPSHOTS) "\n"
	".quad heapsnap_announcement_here - .\n"
	"4: .popsection\n");
// clang-format on
