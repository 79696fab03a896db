// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Arrays of objects with destructors, behind their number, many of which have one element. Beside them, objects behind a count
 * of references, that is 1 for most.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

struct Track {
	char *name;
	long length;
	double gain;
	~Track()
	{
		free(name);
	}
};

struct Cover {
	char *path;
	unsigned width, height;
};

struct SharedCover {
	long references;
	Cover cover;
};

struct Playlist {
	Track *tracks;
	unsigned count;
	Cover *cover;
	Playlist *next;
};

static Playlist *playlists;

static char *make_text(const char *format, unsigned number)
{
	char text[64];

	snprintf(text, sizeof(text), format, number);
	return TEXT(strdup(text));
}

static Track *make_tracks(unsigned count)
{
	Track *tracks = new Track[count];

	truth_log(reinterpret_cast<uint64_t *>(tracks) - 1, TRUTH_ARRAY, "Track", count);
	for (unsigned i = 0; i < count; i++) {
		tracks[i].name = make_text("the track of %u", (unsigned)(next() % 10000));
		tracks[i].length = (long)(next() % 300);
		tracks[i].gain = 0.5;
	}
	return tracks;
}

static Cover *make_cover(unsigned number)
{
	SharedCover *shared = NEW(SharedCover);

	shared->references = number % 4 == 0 ? 2 : 1;
	shared->cover.path = make_text("covers/%u.png", number);
	shared->cover.width = shared->cover.height = 300;
	return &shared->cover;
}

int main()
{
	for (unsigned i = 0; i < 300; i++) {
		Playlist *playlist = NEW(Playlist);

		playlist->count = i % 2 == 0 ? 1 : 1 + i % 5;
		playlist->tracks = make_tracks(playlist->count);
		playlist->cover = make_cover(i);
		playlist->next = playlists;
		playlists = playlist;
	}
	truth_capture();
	while (playlists) {
		delete[] playlists->tracks;
		playlists = playlists->next;
	}
	return 0;
}
