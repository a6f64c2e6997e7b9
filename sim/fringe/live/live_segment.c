// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/live/live_segment.h"

#include "core/clock.h"
#include "core/memory.h"
#include "sim/fringe/live/live_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(sizeof(bb_live_segment_header) <= BB_LIVE_SEGMENT_START, "the header has its room");

enum { NAME_BYTES = 256, BYTE_BITS = 8, MOST_BITS = 16 };

typedef struct segment {
    char name[NAME_BYTES];
    bb_index count; // frames of a phase
    int file;
    void *bytes; // NULL: none is mapped
    size_t length;
    ino_t inode;
    // Copies: what is shared may be changed by anybody.
    bb_index columns, rows, bits, slots;
    uint64_t next; // frame that comes next
} segment;

static void unmap(segment *source)
{
    if (source->bytes != NULL) {
        (void)munmap(source->bytes, source->length);
        source->bytes = NULL;
    }
    if (source->file >= 0) {
        (void)close(source->file);
        source->file = -1;
    }
}

static void close_segment(void **state)
{
    if (*state != NULL) {
        unmap(*state);
        bb_memory_release(state);
    }
}

static bb_status hold_header(segment *source)
{
    bb_status status = BB_OK;
    const bb_live_segment_header *header = source->bytes;
    BB_REQUIRE(memcmp(header->magic, BB_LIVE_SEGMENT_MAGIC, sizeof header->magic) == 0 &&
                   header->version == BB_LIVE_SEGMENT_VERSION,
               BB_INVALID, "shared memory '%s' does not begin with %s, version %d", source->name,
               BB_LIVE_SEGMENT_MAGIC, BB_LIVE_SEGMENT_VERSION);
    source->columns = (bb_index)header->columns;
    source->rows = (bb_index)header->rows;
    source->bits = (bb_index)header->bits;
    source->slots = (bb_index)header->slots;
    BB_REQUIRE(source->columns >= 1 && source->columns <= BB_LIVE_EDGE && source->rows >= 1 &&
                   source->rows <= BB_LIVE_EDGE && source->bits >= 1 && source->bits <= MOST_BITS,
               BB_INVALID,
               "shared memory '%s' has frames of %td x %td pixels of %td bits, expected 1..%d a "
               "side and 1..%d bits",
               source->name, source->columns, source->rows, source->bits, BB_LIVE_EDGE, MOST_BITS);
    const size_t frame =
        (size_t)source->columns * (size_t)source->rows * (source->bits > BYTE_BITS ? 2U : 1U);
    BB_REQUIRE(source->slots >= 2 * source->count &&
                   (size_t)source->slots <= (source->length - BB_LIVE_SEGMENT_START) / frame,
               BB_INVALID,
               "shared memory '%s' of %zu bytes has %td slots, expected at least %td, two phases, "
               "of %zu bytes",
               source->name, source->length, source->slots, 2 * source->count, frame);
done:
    return status;
}

static bb_status map(segment *source)
{
    bb_status status = BB_OK;
    struct stat about;
    source->file = shm_open(source->name, O_RDONLY, 0);
    BB_REQUIRE(source->file >= 0, BB_IO, "cannot open shared memory '%s': %s", source->name,
               strerror(errno));
    BB_REQUIRE(fstat(source->file, &about) == 0 && about.st_size > BB_LIVE_SEGMENT_START,
               BB_INVALID, "shared memory '%s' has no room for a header", source->name);
    source->length = (size_t)about.st_size;
    source->inode = about.st_ino;
    void *bytes = mmap(NULL, source->length, PROT_READ, MAP_SHARED, source->file, 0);
    BB_REQUIRE(bytes != MAP_FAILED, BB_IO, "cannot map shared memory '%s': %s", source->name,
               strerror(errno));
    source->bytes = bytes;
    source->next = 0;
    BB_TRY(hold_header(source));
done:
    if (status != BB_OK) {
        unmap(source);
    }
    return status;
}

static bb_status open_segment(const bb_live_request *request, void **state)
{
    bb_status status = BB_OK;
    void *made = NULL;
    BB_TRY(bb_memory_zeroed(1, sizeof(segment), &made));
    segment *source = made;
    *source = (segment){.count = request->count, .file = -1};
    BB_REQUIRE(strlen(request->place) + 2 < NAME_BYTES, BB_INVALID, "--source shm:%s is too long",
               request->place);
    (void)snprintf(source->name, sizeof source->name, "%s%s", request->place[0] == '/' ? "" : "/",
                   request->place);
    BB_TRY(map(source));
    *state = made;
    made = NULL;
done:
    close_segment(&made);
    return status;
}

// Takes the segment that has the name by now, once it can be read: a writer may be at its header.
static bool take_new_segment(segment *source)
{
    segment fresh = *source;
    struct stat about;
    bool taken = false;
    fresh.bytes = NULL;
    fresh.file = shm_open(source->name, O_RDONLY, 0);
    const bool changed =
        fresh.file >= 0 && fstat(fresh.file, &about) == 0 && about.st_ino != source->inode;
    if (fresh.file >= 0) {
        (void)close(fresh.file);
        fresh.file = -1;
    }
    if (changed && map(&fresh) == BB_OK) {
        unmap(source);
        *source = fresh;
        taken = true;
    }
    return taken;
}

// A map beyond the end of a segment that was cut is a bus error: its size is asked for each time.
static bool is_cut(const segment *source)
{
    struct stat about;
    return fstat(source->file, &about) != 0 || (size_t)about.st_size < source->length;
}

static void copy_frames(const segment *source, uint64_t first, int32_t *counts)
{
    const bb_index points = source->columns * source->rows;
    const unsigned char *slots = (const unsigned char *)source->bytes + BB_LIVE_SEGMENT_START;
    const int32_t limit = (int32_t)((1 << source->bits) - 1);
    for (bb_index n = 0; n < source->count; ++n) {
        const bb_index slot = (bb_index)((first + (uint64_t)n) % (uint64_t)source->slots);
        const unsigned char *bytes = slots + slot * points * (source->bits > BYTE_BITS ? 2 : 1);
        const uint16_t *words = (const void *)bytes;
        for (bb_index p = 0; p < points; ++p) {
            const int32_t value = source->bits > BYTE_BITS ? words[p] : bytes[p];
            counts[n * points + p] = value < limit ? value : limit;
        }
    }
}

// The newest whole phase, but none before the next one.
static uint64_t find_newest(const segment *source, uint64_t sequence)
{
    const uint64_t count = (uint64_t)source->count;
    const uint64_t phases = sequence / count;
    return phases * count > source->next ? (phases - 1) * count : UINT64_MAX;
}

static bb_status take_segment(void *state, bb_live_frames *frames, bb_live_event *event)
{
    bb_status status = BB_OK;
    segment *source = state;
    const bb_live_segment_header *header = source->bytes;
    *event = BB_LIVE_NOTHING;
    const bool ended = atomic_load_explicit(&header->ended, memory_order_acquire) != 0;
    const uint64_t sequence = atomic_load_explicit(&header->sequence, memory_order_acquire);
    const uint64_t first = find_newest(source, sequence);
    if (first == UINT64_MAX || is_cut(source)) {
        *event = take_new_segment(source) ? BB_LIVE_NOTHING
                 : ended                  ? BB_LIVE_ENDED
                                          : BB_LIVE_NOTHING;
        goto done;
    }
    const int64_t arrived = bb_clock_ns();
    BB_TRY(bb_live_frames_shape(frames, source->count, source->columns, source->rows));
    copy_frames(source, first, frames->counts);
    atomic_thread_fence(memory_order_acquire);
    const uint64_t written = atomic_load_explicit(&header->sequence, memory_order_relaxed);
    // The writer may be at frame `written`, which stands where frame written - slots stood.
    if (first + (uint64_t)source->slots > written) {
        frames->passed = (bb_index)((first - source->next) / (uint64_t)source->count);
        source->next = first + (uint64_t)source->count;
        frames->bits = source->bits;
        frames->draw = -1;
        frames->taken_ns = arrived;
        *event = BB_LIVE_TAKEN;
    }
done:
    return status;
}

const bb_live_source_kind bb_live_segment = {
    .name = "shm",
    .form = "shm:NAME",
    .meaning = "POSIX shared memory that a camera's program writes",
    .has_place = true,
    .poll_s = 0.0002,
    .open = open_segment,
    .close = close_segment,
    .take = take_segment,
};
