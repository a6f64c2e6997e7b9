// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/live/live_segment.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "sim/fringe/live/live_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(sizeof(bb_live_segment_header) <= BB_LIVE_SEGMENT_START, "the header fits before "
                                                                        "the frames");

enum { NAME_BYTES = 256, BYTE_BITS = 8, MOST_BITS = 16 };

typedef struct segment {
    char name[NAME_BYTES];
    bb_index count; // frames of a phase
    int file;
    bb_live_segment_header *header; // mapped header; NULL if unmapped
    size_t length;                  // bytes of the segment
    ino_t inode;
    unsigned char *narrow; // one frame with one byte a pixel
    bb_index room;         // capacity of `narrow` in pixels
    bool ended;            // `ended` as last read from the header
    // Copies of header fields, since any process can change the shared ones.
    bb_index columns, rows, bits, slots;
    uint64_t next; // number of the next frame
} segment;

static void unmap(segment *source)
{
    if (source->header != NULL) {
        (void)munmap(source->header, sizeof *source->header);
        source->header = NULL;
    }
    if (source->file >= 0) {
        (void)close(source->file);
        source->file = -1;
    }
}

static void close_segment(void **state)
{
    segment *source = *state;
    if (source != NULL) {
        unmap(source);
        BB_RELEASE(&source->narrow);
        bb_memory_release(state);
    }
}

// Reads bytes of the segment; false if it ends earlier. Uses pread, because access to a mapping of
// a truncated segment raises a bus error.
static bool read_bytes(const segment *source, size_t first, size_t length, void *out)
{
    size_t done = 0;
    ssize_t count = 1;
    while (done < length && (count > 0 || (count < 0 && errno == EINTR))) {
        count = pread(source->file, (char *)out + done, length - done, (off_t)(first + done));
        done += count > 0 ? (size_t)count : 0;
    }
    return done == length;
}

static size_t frame_bytes(const segment *source)
{
    return (size_t)source->columns * (size_t)source->rows * (source->bits > BYTE_BITS ? 2U : 1U);
}

static bb_status check_header(segment *source)
{
    bb_status status = BB_OK;
    bb_live_segment_header copy;
    const bb_live_segment_header *header = &copy;
    BB_REQUIRE(read_bytes(source, 0, sizeof copy, &copy) &&
                   memcmp(header->magic, BB_LIVE_SEGMENT_MAGIC, sizeof header->magic) == 0 &&
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
    const size_t frame = frame_bytes(source);
    BB_REQUIRE(source->slots >= 2 * source->count &&
                   (size_t)source->slots <= (source->length - BB_LIVE_SEGMENT_START) / frame,
               BB_INVALID,
               "shared memory '%s' of %zu bytes has %td slots, expected at least %td (two phases) "
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
               BB_INVALID, "shared memory '%s' is too small for a header", source->name);
    source->length = (size_t)about.st_size;
    source->inode = about.st_ino;
    source->next = 0;
    source->ended = false;
    BB_TRY(check_header(source));
    void *header = mmap(NULL, sizeof *source->header, PROT_READ, MAP_SHARED, source->file, 0);
    BB_REQUIRE(header != MAP_FAILED, BB_IO, "cannot map shared memory '%s': %s", source->name,
               strerror(errno));
    source->header = header;
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

// Opens the segment that currently has the name; false while it is not readable, since a writer may
// still write its header.
static bool switch_segment(segment *source)
{
    segment fresh = *source;
    struct stat about;
    bool taken = false;
    fresh.header = NULL;
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

// Reads the number of written frames; false if the segment was truncated. The mapped header page
// raises a bus error if the segment is empty, so its size is checked just before.
static bool read_sequence(segment *source, uint64_t *out)
{
    struct stat about;
    const bool is_whole =
        fstat(source->file, &about) == 0 && (size_t)about.st_size >= source->length;
    if (is_whole) {
        source->ended = atomic_load_explicit(&source->header->ended, memory_order_acquire) != 0;
        *out = atomic_load_explicit(&source->header->sequence, memory_order_acquire);
    }
    return is_whole;
}

static bb_status make_room(segment *source, bb_index points)
{
    bb_status status = BB_OK;
    if (source->bits <= BYTE_BITS && source->room < points) {
        BB_RELEASE(&source->narrow);
        source->room = 0;
        BB_TRY(BB_ALLOCATE(points, &source->narrow));
        source->room = points;
    }
done:
    return status;
}

// Copies one frame, widening one-byte pixels; false if the segment was truncated meanwhile.
static bool copy_frame(const segment *source, uint64_t slot, uint16_t *counts)
{
    const bb_index points = source->columns * source->rows;
    const size_t bytes = frame_bytes(source), first = BB_LIVE_SEGMENT_START + (size_t)slot * bytes;
    const uint16_t limit = (uint16_t)((1 << source->bits) - 1);
    const bool is_wide = source->bits > BYTE_BITS;
    const bool is_whole =
        read_bytes(source, first, bytes, is_wide ? (void *)counts : source->narrow);
    for (bb_index p = 0; p < points && is_whole && !is_wide; ++p) {
        counts[p] = source->narrow[p];
    }
    for (bb_index p = 0; p < points && is_whole; ++p) {
        counts[p] = counts[p] < limit ? counts[p] : limit;
    }
    return is_whole;
}

// Copies the frames of a phase; `*is_whole` is false if the segment was truncated meanwhile.
static bb_status copy_frames(segment *source, uint64_t first, uint16_t *counts, bool *is_whole)
{
    bb_status status = BB_OK;
    const bb_index points = source->columns * source->rows;
    *is_whole = true;
    BB_TRY(make_room(source, points));
    for (bb_index n = 0; n < source->count && *is_whole; ++n) {
        const uint64_t slot = (first + (uint64_t)n) % (uint64_t)source->slots;
        *is_whole = copy_frame(source, slot, counts + n * points);
    }
done:
    return status;
}

// First frame of the newest complete phase, not before the next expected one.
static uint64_t find_newest(const segment *source, uint64_t sequence)
{
    const uint64_t count = (uint64_t)source->count;
    const uint64_t phases = sequence / count;
    return phases * count > source->next ? (phases - 1) * count : UINT64_MAX;
}

// Detects a writer that restarted its count in the same segment.
static void detect_restart(segment *source, uint64_t sequence)
{
    if (sequence < source->next) {
        bb_log_info("the writer of shared memory '%s' restarted its count", source->name);
        source->next = 0;
    }
}

static bb_status read_segment(void *state, bb_live_frames *frames, bb_live_event *event)
{
    bb_status status = BB_OK;
    segment *source = state;
    uint64_t sequence = 0, written = 0, first = UINT64_MAX;
    bool is_whole = read_sequence(source, &sequence);
    *event = BB_LIVE_NOTHING;
    if (is_whole) {
        detect_restart(source, sequence);
        first = find_newest(source, sequence);
    }
    if (first == UINT64_MAX) {
        const bool ended = source->ended;
        *event = !switch_segment(source) && ended ? BB_LIVE_ENDED : BB_LIVE_NOTHING;
        goto done;
    }
    const int64_t arrived = bb_clock_ns();
    BB_TRY(bb_live_frames_shape(frames, source->count, source->columns, source->rows));
    BB_TRY(copy_frames(source, first, frames->counts, &is_whole));
    atomic_thread_fence(memory_order_acquire);
    // The writer may be filling frame `written` in the slot of frame written - slots; a restarted
    // writer may be in any slot.
    if (is_whole && read_sequence(source, &written) && written >= sequence &&
        first + (uint64_t)source->slots > written) {
        frames->lost = (bb_index)((first - source->next) / (uint64_t)source->count);
        source->next = first + (uint64_t)source->count;
        frames->bits = source->bits;
        frames->draw = -1;
        frames->arrival_ns = arrived;
        *event = BB_LIVE_READ;
    }
done:
    return status;
}

const bb_live_source_kind bb_live_segment = {
    .name = "shm",
    .form = "shm:NAME",
    .meaning = "POSIX shared memory written by a camera program",
    .has_place = true,
    .poll_s = 0.0002,
    .open = open_segment,
    .close = close_segment,
    .read = read_segment,
};
