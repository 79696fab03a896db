// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A library of codecs: a context's private data is as large as the codec's table says, and begins with the class of its options, which
 * are set by offset. Buffers are counted by references with an opaque pointer; packets queue in lists, and options in dictionaries.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum option_type {
	OPTION_INT,
	OPTION_STRING,
	OPTION_DOUBLE
};

struct option {
	const char *name, *help;
	int offset;
	enum option_type type;
	double default_value;
	const char *default_text;
};

struct av_class {
	const char *class_name;
	const char *(*item_name)(void *context);
	const struct option *option;
	int version;
};

struct buffer {
	uint8_t *data;
	size_t size;
	unsigned refcount;
	void (*free)(void *opaque, uint8_t *data);
	void *opaque;
	int flags;
};

struct buffer_ref {
	struct buffer *buffer;
	uint8_t *data;
	size_t size;
};

struct dictionary_entry {
	char *key, *value;
};

struct dictionary {
	int count;
	struct dictionary_entry *elems;
};

struct side_data {
	uint8_t *data;
	size_t size;
	int type;
};

struct packet {
	struct buffer_ref *buf;
	int64_t pts, dts;
	uint8_t *data;
	int size, stream_index, flags;
	struct side_data *side_data;
	int side_data_elems;
	int64_t duration;
	void *opaque;
};

struct packet_list {
	struct packet_list *next;
	struct packet pkt;
};

struct frame {
	uint8_t *data[4];
	int linesize[4];
	uint8_t **extended_data;
	int width, height, format;
	int64_t pts;
	struct buffer_ref *buf[4];
	struct dictionary *metadata;
};

struct codec_internal {
	struct frame *buffer_frame;
	struct packet *in_pkt;
	void *pool, *hwaccel_priv;
	int draining;
};

struct codec_context;

struct codec {
	const char *name;
	int type, id, capabilities, priv_data_size;
	const struct av_class *priv_class;
	int (*init)(struct codec_context *);
	int (*decode)(struct codec_context *, struct frame *, struct packet *);
	int (*close)(struct codec_context *);
};

struct codec_context {
	const struct av_class *av_class;
	int log_level_offset, codec_type;
	const struct codec *codec;
	void *priv_data;
	struct codec_internal *internal;
	void *opaque;
	int64_t bit_rate;
	uint8_t *extradata;
	int extradata_size, width, height;
};

struct stream {
	const struct av_class *av_class;
	int index, id;
	struct codec_context *avctx;
	void *priv_data;
	int64_t duration;
	struct dictionary *metadata;
};

struct format_context;

struct input_format {
	const char *name;
	int priv_data_size;
	const struct av_class *priv_class;
	int (*read_header)(struct format_context *);
};

struct io_context {
	const struct av_class *av_class;
	unsigned char *buffer;
	int buffer_size;
	unsigned char *buf_ptr, *buf_end;
	void *opaque;
	int (*read_packet)(void *opaque, uint8_t *bytes, int size);
};

struct format_context {
	const struct av_class *av_class;
	const struct input_format *iformat;
	void *priv_data;
	struct io_context *pb;
	unsigned nb_streams;
	struct stream **streams;
	char *url;
	struct packet_list *packets, *packets_end;
	struct dictionary *metadata;
};

// These are known to the functions below alone.
struct file_context {
	const struct av_class *class;
	int fd, trunc;
	char *path;
};

struct mov_index {
	int64_t pos, timestamp;
	int size, flags;
};

struct mov_stream {
	struct mov_index *entries;
	unsigned entry_count;
	int time_scale;
	int *stts;
	unsigned stts_count;
	char *handler;
};

struct mov_context {
	const struct av_class *class;
	char *brand;
	int fragments, ignore_editlist;
	double speed;
	struct format_context *fc;
};

struct wav_context {
	const struct av_class *class;
	int64_t data_end;
	int max_size;
};

struct h264_sps {
	int profile, level, width, height;
	uint8_t scaling[32];
};

struct h264_picture {
	struct frame *f;
	int poc, reference;
	struct buffer_ref *motion_buf;
	int16_t (*motion_val)[2];
};

struct h264_context {
	const struct av_class *class;
	struct codec_context *avctx;
	int is_avc, flags;
	struct h264_picture pictures[3];
	struct buffer_ref *sps_list[4];
	uint8_t *rbsp;
	unsigned rbsp_size;
	char *x264_build;
};

struct band {
	float *window;
	int count;
	float energy[4];
};

struct aac_context {
	const struct av_class *class;
	struct codec_context *avctx;
	struct band *bands;
	int band_count, force_dmono;
	double gain;
	float *overlap[2];
};

struct pcm_context {
	int table[16];
	int16_t last;
};

static const struct option mov_options[] = {
	{ "brand", "", offsetof(struct mov_context, brand), OPTION_STRING, 0, "isom" },
	{ "speed", "", offsetof(struct mov_context, speed), OPTION_DOUBLE, 1.5, NULL },
	{ 0 }
};
static const struct option h264_options[] = {
	{ "is_avc", "", offsetof(struct h264_context, is_avc), OPTION_INT, 1, NULL },
	{ "build", "", offsetof(struct h264_context, x264_build), OPTION_STRING, 0,
	  "x264 core 164" },
	{ 0 }
};
static const struct option aac_options[] = {
	{ "gain", "", offsetof(struct aac_context, gain), OPTION_DOUBLE, 0.7, NULL }, { 0 }
};
static const struct option file_options[] = { { "path", "", offsetof(struct file_context, path),
						OPTION_STRING, 0, "/srv/movie.mov" },
					      { 0 } };
static const struct option wav_options[] = {
	{ "max", "", offsetof(struct wav_context, max_size), OPTION_INT, 4096, NULL }, { 0 }
};

static const char *item_name(void *context)
{
	return (*(const struct av_class **)context)->class_name;
}

static const struct av_class context_class = { "context", item_name, NULL, 1 },
			     format_class = { "format", item_name, NULL, 1 },
			     mov_class = { "mov", item_name, mov_options, 1 },
			     h264_class = { "h264", item_name, h264_options, 1 },
			     aac_class = { "aac", item_name, aac_options, 1 },
			     file_class = { "file", item_name, file_options, 1 },
			     wav_class = { "wav", item_name, wav_options, 1 };

static void *mallocz(size_t size)
{
	void *block = malloc(size);

	if (block)
		memset(block, 0, size);
	return block;
}

static void *malloc_array(size_t count, size_t size)
{
	return mallocz(count * size);
}

#define AV_NEW(T) OF(T, mallocz(sizeof(T)))
#define AV_NEW_ARRAY(T, n) ARRAY_OF(T, n, malloc_array(n, sizeof(T)))

static void set_defaults(void *object)
{
	const struct option *option = (*(const struct av_class **)object)->option;

	for (; option && option->name; option++) {
		void *member = (char *)object + option->offset;

		if (option->type == OPTION_INT)
			*(int *)member = (int)option->default_value;
		else if (option->type == OPTION_DOUBLE)
			*(double *)member = option->default_value;
		else
			*(char **)member = TEXT(strdup(option->default_text));
	}
}

static void default_free(void *opaque, uint8_t *data)
{
	(void)opaque;
	free(data);
}

static struct buffer_ref *buffer_create(uint8_t *data, size_t size,
					void (*release)(void *, uint8_t *), void *opaque)
{
	struct buffer *buffer = AV_NEW(struct buffer);
	struct buffer_ref *ref = AV_NEW(struct buffer_ref);

	*buffer = (struct buffer){ data, size, 1, release, opaque, 0 };
	*ref = (struct buffer_ref){ buffer, data, size };
	return ref;
}

static struct buffer_ref *buffer_alloc(size_t size)
{
	uint8_t *data = AV_NEW_ARRAY(uint8_t, size);

	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)next();
	return buffer_create(data, size, default_free, NULL);
}

static struct buffer_ref *buffer_ref(struct buffer_ref *from)
{
	struct buffer_ref *ref = AV_NEW(struct buffer_ref);

	*ref = *from;
	from->buffer->refcount++;
	return ref;
}

static void dictionary_set(struct dictionary **dictionary, const char *key, const char *value)
{
	struct dictionary *it = *dictionary;

	if (!it)
		it = *dictionary = AV_NEW(struct dictionary);
	it->elems = RENEW_ARRAY(struct dictionary_entry, it->elems, (size_t)it->count + 1);
	it->elems[it->count].key = TEXT(strdup(key));
	it->elems[it->count++].value = TEXT(strdup(value));
}

static struct frame *frame_alloc(int width, int height)
{
	struct frame *frame = AV_NEW(struct frame);

	frame->width = width;
	frame->height = height;
	for (int i = 0; i < 3; i++) {
		frame->linesize[i] = i ? width / 2 : width;
		frame->buf[i] = buffer_alloc((size_t)frame->linesize[i] * (size_t)height);
		frame->data[i] = frame->buf[i]->data;
	}
	frame->extended_data = frame->data;
	return frame;
}

static int h264_init(struct codec_context *avctx)
{
	struct h264_context *h = avctx->priv_data;

	h->avctx = avctx;
	for (int i = 0; i < 3; i++) {
		h->pictures[i].f = frame_alloc(16, 8);
		h->pictures[i].motion_buf = buffer_alloc(64);
		h->pictures[i].motion_val = (void *)(h->pictures[i].motion_buf->data + 8);
	}
	for (int i = 0; i < 2; i++) {
		struct h264_sps *sps = AV_NEW(struct h264_sps);

		sps->width = 1920;
		sps->scaling[3] = 16;
		h->sps_list[i] = buffer_create((uint8_t *)sps, sizeof(*sps), default_free, NULL);
	}
	h->rbsp_size = 100;
	h->rbsp = AV_NEW_ARRAY(uint8_t, 100);
	memset(h->rbsp, 0xf3, 100);
	return 0;
}

static int aac_init(struct codec_context *avctx)
{
	struct aac_context *ac = avctx->priv_data;

	ac->avctx = avctx;
	ac->band_count = 6;
	ac->bands = AV_NEW_ARRAY(struct band, 6);
	for (int i = 0; i < 6; i++) {
		ac->bands[i].count = 8 + i;
		ac->bands[i].window = AV_NEW_ARRAY(float, (size_t)(8 + i));
		for (int j = 0; j < 8 + i; j++)
			ac->bands[i].window[j] = (float)j / 16.0f;
	}
	for (int i = 0; i < 2; i++) {
		ac->overlap[i] = AV_NEW_ARRAY(float, 32);
		for (int j = 0; j < 32; j++)
			ac->overlap[i][j] = 0.25f;
	}
	return 0;
}

static int pcm_init(struct codec_context *avctx)
{
	struct pcm_context *pcm = avctx->priv_data;

	for (int i = 0; i < 16; i++)
		pcm->table[i] = i * i;
	return 0;
}

static int mov_header(struct format_context *fc)
{
	struct mov_context *mov = fc->priv_data;

	mov->fc = fc;
	mov->fragments = 3;
	for (unsigned i = 0; i < fc->nb_streams; i++) {
		struct mov_stream *sc = AV_NEW(struct mov_stream);

		fc->streams[i]->priv_data = sc;
		sc->entry_count = 8 + (unsigned)next() % 8;
		sc->entries = AV_NEW_ARRAY(struct mov_index, sc->entry_count);
		for (unsigned j = 0; j < sc->entry_count; j++)
			sc->entries[j] = (struct mov_index){ j * 1000, j * 40, 900, 1 };
		sc->stts_count = 10;
		sc->stts = AV_NEW_ARRAY(int, 10);
		for (unsigned j = 0; j < 10; j++)
			sc->stts[j] = (int)j;
		sc->handler = TEXT(strdup("VideoHandler"));
	}
	return 0;
}

static int wav_header(struct format_context *fc)
{
	struct wav_context *wav = fc->priv_data;

	wav->data_end = 123456;
	return 0;
}

static int file_read(void *opaque, uint8_t *bytes, int size)
{
	struct file_context *c = opaque;

	(void)bytes;
	return c->fd + size;
}

static const struct codec codecs[] = {
	{ "h264", 0, 27, 0, sizeof(struct h264_context), &h264_class, h264_init, NULL, NULL },
	{ "aac", 1, 86018, 0, sizeof(struct aac_context), &aac_class, aac_init, NULL, NULL },
	{ "pcm", 1, 65536, 0, sizeof(struct pcm_context), NULL, pcm_init, NULL, NULL },
};
static const char *const codec_types[] = { "struct h264_context", "struct aac_context",
					   "struct pcm_context" };
static const struct input_format formats[] = {
	{ "mov", sizeof(struct mov_context), &mov_class, mov_header },
	{ "wav", sizeof(struct wav_context), &wav_class, wav_header }
};
static const char *const format_types[] = { "struct mov_context", "struct wav_context" };

static struct codec_context *open_codec(unsigned which)
{
	const struct codec *codec = &codecs[which];
	struct codec_context *avctx = AV_NEW(struct codec_context);

	avctx->av_class = &context_class;
	avctx->codec = codec;
	avctx->priv_data = truth_log(mallocz((size_t)codec->priv_data_size), TRUTH_ARRAY,
				     codec_types[which], 1);
	if (codec->priv_class) {
		*(const struct av_class **)avctx->priv_data = codec->priv_class;
		set_defaults(avctx->priv_data);
	}
	avctx->internal = AV_NEW(struct codec_internal);
	avctx->internal->in_pkt = AV_NEW(struct packet);
	avctx->internal->buffer_frame = frame_alloc(8, 8);
	avctx->extradata_size = 40;
	avctx->extradata = AV_NEW_ARRAY(uint8_t, 40);
	memset(avctx->extradata, 1, 40);
	codec->init(avctx);
	return avctx;
}

static void add_packet(struct format_context *fc, int stream)
{
	struct packet_list *entry = AV_NEW(struct packet_list);

	entry->pkt.buf = buffer_alloc(20 + next() % 200);
	entry->pkt.data = entry->pkt.buf->data;
	entry->pkt.size = (int)entry->pkt.buf->size;
	entry->pkt.stream_index = stream;
	if (next() % 4 == 0) {
		entry->pkt.side_data = AV_NEW_ARRAY(struct side_data, 1);
		entry->pkt.side_data_elems = 1;
		entry->pkt.side_data->size = 16;
		entry->pkt.side_data->data = AV_NEW_ARRAY(uint8_t, 16);
		memset(entry->pkt.side_data->data, 0x80, 16);
	}
	if (fc->packets_end)
		fc->packets_end->next = entry;
	else
		fc->packets = entry;
	fc->packets_end = entry;
}

static struct format_context *open_input(unsigned which)
{
	struct format_context *fc = AV_NEW(struct format_context);
	struct file_context *file = AV_NEW(struct file_context);

	fc->av_class = &format_class;
	fc->iformat = &formats[which];
	fc->priv_data = truth_log(mallocz((size_t)fc->iformat->priv_data_size), TRUTH_ARRAY,
				  format_types[which], 1);
	*(const struct av_class **)fc->priv_data = fc->iformat->priv_class;
	set_defaults(fc->priv_data);
	file->class = &file_class;
	set_defaults(file);
	fc->pb = AV_NEW(struct io_context);
	fc->pb->opaque = file;
	fc->pb->read_packet = file_read;
	fc->pb->buffer_size = 512;
	fc->pb->buffer = AV_NEW_ARRAY(unsigned char, 512);
	fc->pb->buf_ptr = fc->pb->buffer + 100;
	fc->pb->buf_end = fc->pb->buffer + 512;
	fc->url = TEXT(strdup("file:/srv/movie.mov"));
	dictionary_set(&fc->metadata, "title", "Casablanca");
	dictionary_set(&fc->metadata, "encoder", "Lavf58.76.100");
	for (unsigned i = 0; i < 3; i++) {
		struct stream *stream = AV_NEW(struct stream);

		fc->streams = RENEW_ARRAY(struct stream *, fc->streams, fc->nb_streams + 1);
		stream->index = (int)i;
		stream->avctx = open_codec((which + i) % 3);
		dictionary_set(&stream->metadata, "language", "eng");
		fc->streams[fc->nb_streams++] = stream;
	}
	fc->iformat->read_header(fc);
	for (unsigned i = 0; i < 12; i++)
		add_packet(fc, (int)(i % 3));
	return fc;
}

struct player {
	struct format_context *inputs[24];
	struct frame **queue;
	int queued;
};

static struct player player;

int main(void)
{
	uint8_t bytes[4];

	for (unsigned i = 0; i < 24; i++)
		player.inputs[i] = open_input(i % 2);
	player.queue = AV_NEW_ARRAY(struct frame *, 40);
	for (; player.queued < 40; player.queued++) {
		struct frame *frame = AV_NEW(struct frame);
		struct format_context *fc = player.inputs[player.queued % 24];
		struct frame *from = fc->streams[0]->avctx->internal->buffer_frame;

		*frame = *from;
		for (int i = 0; i < 3; i++)
			frame->buf[i] = buffer_ref(from->buf[i]);
		frame->extended_data = frame->data;
		dictionary_set(&frame->metadata, "qp", "28");
		player.queue[player.queued] = frame;
	}
	truth_capture();
	return player.inputs[0]->pb->read_packet(player.inputs[0]->pb->opaque, bytes, 0);
}
