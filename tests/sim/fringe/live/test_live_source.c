// SPDX-License-Identifier: Apache-2.0
//
// Frames of each source, also with incomplete or damaged input.
#include "core/log.h"
#include "core/memory.h"
#include "sim/fringe/live/live_source.h"
#include "sim/input/hdf5_library.h"
#include "tests/sim/fixture.h"
#include "tests/sim/fringe/live/streams.h"

#include <pthread.h>
#include <sys/stat.h>

#ifdef BB_HAVE_CFITSIO
#include <fitsio.h>
#endif

enum { COUNT = 4 };

static char segment_name[64];

// An open source and its last frames.
typedef struct feed {
    const bb_live_source_kind *kind;
    void *source;
    bb_live_frames frames;
} feed;

static feed open_feed(const bb_live_source_kind *kind, const char *place)
{
    feed opened = {.kind = kind};
    const bb_live_request request = {.place = place, .count = COUNT};
    check_ok(kind->open(&request, &opened.source));
    return opened;
}

static void close_feed(feed *opened)
{
    opened->kind->close(&opened->source);
    assert_null(opened->source);
    bb_live_frames_release(&opened->frames);
}

static bb_status open_status(const bb_live_source_kind *kind, const char *place)
{
    void *source = NULL;
    const bb_live_request request = {.place = place, .count = COUNT};
    const bb_status status = kind->open(&request, &source);
    assert_true((source == NULL) == (status != BB_OK));
    kind->close(&source);
    return status;
}

// Checks the next event; frames start at `first`.
static void expect_frames(feed *opened, int first, bb_index columns, bb_index rows)
{
    const bb_live_frames *frames = &opened->frames;
    bb_live_event event = BB_LIVE_NOTHING;
    check_ok(opened->kind->read(opened->source, &opened->frames, &event));
    assert_int_equal(event, BB_LIVE_READ);
    assert_int_equal(frames->count, COUNT);
    assert_int_equal(frames->columns, columns);
    assert_int_equal(frames->rows, rows);
    for (bb_index i = 0; i < COUNT * columns * rows; ++i) {
        assert_int_equal(frames->counts[i],
                         stream_pixel(first + (int)(i / (columns * rows)), (int)(i % columns),
                                      (int)(i / columns % rows)));
    }
}

static void expect_event(feed *opened, bb_live_event expected)
{
    bb_live_event event = BB_LIVE_READ;
    check_ok(opened->kind->read(opened->source, &opened->frames, &event));
    assert_int_equal(event, expected);
}

// Nothing is read, and the message has a text.
static void expect_left_out(feed *opened, const char *text)
{
    expect_event(opened, BB_LIVE_NOTHING);
    assert_non_null(strstr(bb_status_message(), text));
}

static void put_file(const char *path, int first, int frames, int columns, int rows, double bits)
{
    autofree int32_t *counts = stream_frames(first, frames, columns, rows);
    stream_write_file(path, counts, frames, columns, rows, bits);
}

static void put_pgm(const char *path, int first, int frames, int columns, int rows, int largest)
{
    autofree int32_t *counts = stream_frames(first, frames, columns, rows);
    stream_write_pgm(path, counts, frames, columns, rows, largest);
}

static void put_segment(const stream_segment *segment, int first, int frames)
{
    const int columns = (int)segment->header->columns, rows = (int)segment->header->rows;
    autofree int32_t *counts = stream_frames(first, frames, columns, rows);
    for (int k = 0; k < frames; ++k) {
        stream_segment_put(segment, counts + k * columns * rows);
    }
}

TEST(sources_are_named)
{
    const bb_live_source_kind *kind = NULL;
    const char *place = NULL;
    check_ok(bb_live_source_find(NULL, &kind, &place));
    assert_ptr_equal(kind, &bb_live_synthetic);
    assert_null(place);
    check_ok(bb_live_source_find("file:a:b.h5", &kind, &place));
    assert_ptr_equal(kind, &bb_live_file);
    assert_string_equal(place, "a:b.h5");
    check_fails(bb_live_source_find("fil:a", &kind, &place), BB_INVALID,
                "--source fil:a, expected one of synthetic, file:FRAMES.h5, loop:FRAMES.h5, "
                "directory:FOLDER, shm:NAME");
    check_fails(bb_live_source_find("file", &kind, &place), BB_INVALID, "--source file, expected");
    check_fails(bb_live_source_find("file:", &kind, &place), BB_INVALID, "expected one of");
    check_fails(bb_live_source_find("synthetic:2", &kind, &place), BB_INVALID, "expected one of");
}

TEST(a_file_is_played_once_or_in_a_loop)
{
    put_file("a.h5", 0, 10, 7, 5, 12.0); // the last two frames form no phase
    autocall(close_feed) feed opened = open_feed(&bb_live_file, "a.h5");
    expect_frames(&opened, 0, 7, 5);
    assert_int_equal(opened.frames.bits, 12);
    assert_int_equal(opened.frames.draw, -1);
    expect_frames(&opened, 4, 7, 5);
    expect_event(&opened, BB_LIVE_ENDED);
    expect_event(&opened, BB_LIVE_ENDED);
    autocall(close_feed) feed endless = open_feed(&bb_live_loop, "a.h5");
    for (int k = 0; k < 5; ++k) {
        expect_frames(&endless, k % 2 * 4, 7, 5);
    }
}

TEST(files_that_are_no_frames_are_refused)
{
    bb_live_event event = BB_LIVE_NOTHING;
    check_fails(open_status(&bb_live_file, "nowhere.h5"), BB_IO, "nowhere.h5");
    put_file("few.h5", 0, 3, 7, 5, 0.0);
    check_fails(open_status(&bb_live_file, "few.h5"), BB_INVALID,
                "'few.h5' has 3 frames, expected at least 4 for a phase");
    put_file("narrow.h5", 0, 4, 7, 5, 5.0); // pixels up to 250
    check_fails(open_status(&bb_live_file, "narrow.h5"), BB_INVALID,
                "expected 0..31 for a camera of 5 bits");
    put_file("odd.h5", 0, 4, 7, 5, 17.0);
    check_fails(open_status(&bb_live_file, "odd.h5"), BB_INVALID,
                "attribute bits of /frames is 17, expected 1..16");
    put_file("late.h5", 0, 8, 7, 5, 0.0);
    autocall(close_feed) feed opened = open_feed(&bb_live_file, "late.h5");
    expect_frames(&opened, 0, 7, 5);
    assert_int_equal(opened.frames.bits, 16);
    close_feed(&opened);
    autofree int32_t *counts = stream_frames(0, 8, 7, 5);
    counts[200] = 300; // in the second phase: found when it is read
    stream_write_file("late.h5", counts, 8, 7, 5, 8.0);
    opened = open_feed(&bb_live_file, "late.h5");
    expect_frames(&opened, 0, 7, 5);
    check_fails(bb_live_file.read(opened.source, &opened.frames, &event), BB_INVALID,
                "frame 5 has a pixel of 300, expected 0..255");
}

TEST(a_folder_is_read_by_name)
{
    assert_int_equal(mkdir("in", 0777), 0);
    autocall(close_feed) feed opened = open_feed(&bb_live_directory, "in");
    expect_event(&opened, BB_LIVE_NOTHING);
    put_pgm("in/b.pgm", 2, 2, 6, 4, 255); // second half of a phase
    put_file("in/a.h5", 0, 2, 6, 4, 8.0);
    put_pgm("in/c.pgm.part", 0, 4, 6, 4, 255); // not written yet
    expect_frames(&opened, 0, 6, 4);
    assert_int_equal(opened.frames.bits, 8);
    expect_event(&opened, BB_LIVE_NOTHING);
    put_pgm("in/d.pgm", 8, 9, 6, 4, 1000); // two phases and a frame
    expect_frames(&opened, 8, 6, 4);
    assert_int_equal(opened.frames.bits, 10);
    expect_frames(&opened, 12, 6, 4);
    put_pgm("in/e.pgm", 20, 4, 3, 8, 255); // another size: drops the frame before it
    expect_frames(&opened, 20, 3, 8);
    put_pgm("in/a2.pgm", 0, 4, 3, 8, 255); // sorted before the last name
    write_text("in/end", "");
    expect_event(&opened, BB_LIVE_ENDED);
    check_fails(open_status(&bb_live_directory, "away"), BB_IO, "cannot open folder 'away'");
}

// Writes frames of stream_pixel to a FITS file with `bytes` per pixel; `cards` go before the END
// card.
static void put_fits(const char *path, int first, int frames, int columns, int rows, int bytes,
                     const char *const cards[])
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    int count = 6;
    (void)fprintf(file, "%-80s%-10s%20d%-50s%-10s%20d%-50s", "SIMPLE  =                    T",
                  "BITPIX  =", 8 * bytes, "", "NAXIS   =", frames > 1 ? 3 : 2, " / axes");
    (void)fprintf(file, "%-10s%20d%-50s%-10s%20d%-50s%-10s%20d%-50s", "NAXIS1  =", columns, "",
                  "NAXIS2  =", rows, "", "NAXIS3  =", frames, "");
    for (; cards[count - 6] != NULL; ++count) {
        (void)fprintf(file, "%-80s", cards[count - 6]);
    }
    (void)fprintf(file, "%-80s", "END");
    for (++count; count % 36 != 0; ++count) {
        (void)fprintf(file, "%-80s", "");
    }
    for (int i = 0; i < frames * columns * rows; ++i) {
        const int value =
            stream_pixel(first + i / (columns * rows), i % columns, i / columns % rows) -
            (bytes == 2 ? 32768 : 0);
        for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
            (void)fputc((int)((unsigned)value >> shift & 255U), file);
        }
    }
    assert_int_equal(fclose(file), 0);
}

TEST(fits_files_are_frames_too)
{
    static const char *const zero[] = {"BZERO   =                32768", NULL};
    static const char *const bits[] = {"COMMENT BITS    = 3", "BITS    =                   12",
                                       NULL};
    static const char *const half[] = {"BZERO   =                  0.5", NULL};
    static const char *const scale[] = {"BSCALE  =                  2.0", NULL};
    static const char *const few[] = {"BITS    =                    4", NULL};
    static const char *const wide[] = {"NAXIS1  =              1000000", NULL};
    static const char *const more[] = {"NAXIS2  =                   50", NULL};
    static const char *const none[] = {NULL};
    assert_int_equal(mkdir("fits", 0777), 0);
    autocall(close_feed) feed opened = open_feed(&bb_live_directory, "fits");
    put_fits("fits/a.fits", 3, 4, 7, 5, 2, zero);
    expect_frames(&opened, 3, 7, 5);
    assert_int_equal(opened.frames.bits, 16);
    put_fits("fits/b.fits", 5, 4, 40, 90, 4, bits); // more than one block
    expect_frames(&opened, 5, 40, 90);
    assert_int_equal(opened.frames.bits, 12);
    for (int k = 0; k < 4; ++k) {
        char path[32];
        // FITS is identified by its first bytes, whatever the name.
        (void)snprintf(path, sizeof path, "fits/c%d.%s", k,
                       k == 0   ? "h5"
                       : k == 1 ? "pgm"
                                : "fits");
        put_fits(path, 9 + k, 1, 6, 4, 1, none);
    }
    expect_frames(&opened, 9, 6, 4);
    assert_int_equal(opened.frames.bits, 8);
    const struct {
        const char *path, *const *cards, *said;
        int bytes;
    } wrong[] = {{"fits/d.fits", half, "has a pixel of", 4},
                 {"fits/e.fits", scale, "BSCALE 2", 1},
                 {"fits/f.fits", few, "expected 0..15 for a camera of 4 bits", 1},
                 {"fits/g.fits", wide, "expected columns and rows of 1..16384", 1},
                 {"fits/h.fits", more, "ends after", 1},
                 {"fits/i.fits", none, "has a pixel of -", 2}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        put_fits(wrong[i].path, 0, 4, 6, 4, wrong[i].bytes, wrong[i].cards);
        expect_left_out(&opened, wrong[i].said);
    }
}

// FITS checksum by division: bytes weighted with powers of 256 modulo 2^32 - 1.
static uint64_t sum_of(const char *path, long first, long last)
{
    uint64_t sum = 0;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    (void)fseek(file, first, SEEK_SET);
    for (long i = first; i < last; ++i) {
        const int byte = fgetc(file);
        sum += (uint64_t)(byte == EOF ? 0 : byte) << (24 - 8 * (i % 4));
    }
    (void)fclose(file);
    return sum % UINT32_MAX;
}

TEST(fits_files_are_held_to_blank_and_checksums)
{
    enum { HEAD = 2880 };
    char sum[81], blank[81], check[81];
    const char *const sums[] = {sum, check, NULL}, *const blanks[] = {
                                                       "BZERO   =                32768", blank,
                                                       NULL};
    assert_int_equal(mkdir("held", 0777), 0);
    autocall(close_feed) feed opened = open_feed(&bb_live_directory, "held");
    for (int bytes = 1; bytes <= 2; ++bytes) { // BLANK is compared with stored numbers
        (void)snprintf(blank, sizeof blank, "BLANK   = %20d",
                       stream_pixel(2, 3, 1) - (bytes == 2 ? 32768 : 0));
        put_fits(bytes == 1 ? "held/a.fits" : "held/a2.fits", 2, 4, 6, 4, bytes,
                 blanks + 2 - bytes);
        expect_left_out(&opened, "is undefined");
        assert_non_null(strstr(bb_status_message(), " is undefined: it has the BLANK value"));
    }
    put_fits("held/b.fits", 0, 4, 6, 4, 1, (const char *const[]){NULL});
    const uint64_t data = sum_of("held/b.fits", HEAD, 2L * HEAD);
    expect_frames(&opened, 0, 6, 4);
    (void)snprintf(sum, sizeof sum, "DATASUM = '%llu'", (unsigned long long)data);
    (void)snprintf(check, sizeof check, "COMMENT");
    put_fits("held/c.fits", 0, 4, 6, 4, 1, sums);
    expect_frames(&opened, 0, 6, 4);
    (void)snprintf(sum, sizeof sum, "DATASUM = '        '"); // undefined
    (void)snprintf(check, sizeof check, "CHECKSUM= '        '");
    put_fits("held/c2.fits", 0, 4, 6, 4, 1, sums);
    expect_frames(&opened, 0, 6, 4);
    (void)snprintf(check, sizeof check, "COMMENT");
    (void)snprintf(sum, sizeof sum, "DATASUM = '%llu'", (unsigned long long)data + 1);
    put_fits("held/d.fits", 0, 4, 6, 4, 1, sums);
    expect_left_out(&opened, "damaged: its data do not match its DATASUM");
    (void)snprintf(sum, sizeof sum, "COMMENT");
    (void)snprintf(check, sizeof check, "CHECKSUM= '0000000000000000'");
    put_fits("held/e.fits", 0, 4, 6, 4, 1, sums);
    expect_left_out(&opened, "header and data do not match its CHECKSUM");
#ifdef BB_HAVE_CFITSIO
    fitsfile *file = NULL; // checksums from another program
    int code = 0;
    put_fits("f.fits", 0, 4, 6, 4, 1, (const char *const[]){NULL});
    assert_int_equal(truncate("f.fits", 2L * HEAD), 0);
    (void)fits_open_diskfile(&file, "f.fits", READWRITE, &code);
    (void)fits_write_chksum(file, &code);
    (void)fits_close_file(file, &code);
    assert_int_equal(code + rename("f.fits", "held/f.fits"), 0);
    expect_frames(&opened, 0, 6, 4);
#endif
}

TEST(what_cannot_be_read_is_left_out)
{
    static const char *const texts[] = {"P6\n2 2\n255\n123412341234",
                                        "P5\n2 2\n255\n123",
                                        "P5\n2 -2\n255\n1234",
                                        "P5\n2 2\n99999\n12341234",
                                        "P5\n20000 2\n255\n1",
                                        "P5\n2 2\n40\nzzzz",
                                        "",
                                        "P5\n2 2\n255"};
    char path[32];
    assert_int_equal(mkdir("bad", 0777), 0);
    autocall(close_feed) feed opened = open_feed(&bb_live_directory, "bad");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        (void)snprintf(path, sizeof path, "bad/%zu.pgm", i);
        write_text(path, texts[i]);
        expect_left_out(&opened, path);
    }
    write_text("bad/s.fits", "SIMPLE  =                    T");
    expect_left_out(&opened, "its header has no END");
    write_text("bad/t.h5", "no HDF5");
    expect_event(&opened, BB_LIVE_NOTHING);
    put_pgm("bad/u.pgm", 0, 1, 6, 4, 255);
    put_pgm("bad/u.pgm", 0, 1, 4, 6, 255); // two shapes in one file
    expect_event(&opened, BB_LIVE_NOTHING);
    put_pgm("bad/v.pgm", 4, 4, 6, 4, 255);
    expect_frames(&opened, 4, 6, 4);
}

// Files with any number of frames, also with blanks at their end.
TEST(long_files_are_taken_phase_after_phase)
{
    static const char *const none[] = {NULL};
    assert_int_equal(mkdir("long", 0777), 0);
    put_file("long/a.h5", 0, 22, 6, 4, 8.0);
    put_pgm("long/b.pgm", 22, 21, 6, 4, 255);
    FILE *file = fopen("long/b.pgm", "ab");
    (void)fputs(" \n\n", file);
    (void)fclose(file);
    put_fits("long/c.fits", 43, 21, 6, 4, 1, none);
    autocall(close_feed) feed opened = open_feed(&bb_live_directory, "long");
    for (int first = 0; first < 64; first += 4) {
        expect_frames(&opened, first, 6, 4);
    }
    expect_event(&opened, BB_LIVE_NOTHING);
    close_feed(&opened);
    assert_int_equal(bb_memory_blocks(), 0);
}

// A FIFO without a writer does not block, and a small file with a large declared size allocates no
// memory.
TEST(what_declares_or_waits_is_left_out)
{
    static const char *const fifos[] = {"wait/a.pgm", "wait/b.fits", "wait/c.h5"};
    assert_int_equal(mkdir("wait", 0777), 0);
    autocall(close_feed) feed opened = open_feed(&bb_live_directory, "wait");
    for (size_t i = 0; i < sizeof fifos / sizeof fifos[0]; ++i) {
        assert_int_equal(mkfifo(fifos[i], 0600), 0);
        (void)alarm(10);
        expect_event(&opened, BB_LIVE_NOTHING);
        (void)alarm(0);
        assert_non_null(strstr(bb_status_message(), fifos[i]));
    }
    autofree int32_t *counts = stream_frames(0, 24, 6, 4);
    counts[23 * 24] = 300; // sorted before names already read
    stream_write_file("wait/c2.h5", counts, 24, 6, 4, 8.0);
    counts[15 * 24] = 300;
    stream_write_file("wait/c3.h5", counts, 24, 6, 4, 8.0);
    for (int first = 0; first < 20; first += 4) {
        expect_frames(&opened, first, 6, 4);
    }
    expect_event(&opened, BB_LIVE_NOTHING); // nor any frame of c3
    assert_non_null(strstr(bb_status_message(), "frame 15 has a pixel of 300"));
    stream_write_as(H5T_STD_U8LE, "wait/d.h5", NULL, 16, 16384, 16384, 0.0);
    expect_left_out(&opened, "declares 4294967296 bytes");
    write_text("wait/e.pgm", "P5\n16384 16384\n255\n1");
    bb_memory_fail_at(1); // no memory is allocated
    expect_event(&opened, BB_LIVE_NOTHING);
    bb_memory_fail_at(0);
    assert_non_null(strstr(bb_status_message(), "ends after 1 of 268435456 bytes"));
    check_fails(open_status(&bb_live_file, "wait/c.h5"), BB_IO, "wait/c.h5");
}

static void *take_wrong_file(void *context)
{
    bb_live_event *event = context;
    autocall(close_feed) feed opened = open_feed(&bb_live_directory, "quiet");
    check_ok(bb_live_directory.read(opened.source, &opened.frames, event));
    return NULL;
}

// HDF5 prints each thread's errors unless that thread turns it off.
TEST(hdf5_says_nothing_of_its_own)
{
    bb_live_event event = BB_LIVE_READ;
    pthread_t thread;
    struct stat about;
    assert_int_equal(mkdir("quiet", 0777), 0);
    write_text("quiet/a.h5", "no HDF5");
    (void)fflush(stderr);
    const int kept = dup(STDERR_FILENO);
    const int file = open("said", O_RDWR | O_CREAT, 0600);
    assert_true(dup2(file, STDERR_FILENO) >= 0);
    const int failed = pthread_create(&thread, NULL, take_wrong_file, &event);
    (void)pthread_join(thread, NULL);
    (void)dup2(kept, STDERR_FILENO);
    (void)close(kept);
    assert_int_equal(failed, 0);
    assert_int_equal(event, BB_LIVE_NOTHING);
    assert_int_equal(fstat(file, &about), 0);
    assert_int_equal(about.st_size, 0);
    (void)close(file);
}

TEST(shared_memory_gives_the_newest_phase)
{
    autocall(stream_segment_remove) stream_segment camera =
        stream_segment_make(segment_name, 6, 5, 12, 9);
    autocall(close_feed) feed opened =
        open_feed(&bb_live_segment, segment_name + 1); // with or without the slash
    expect_event(&opened, BB_LIVE_NOTHING);
    put_segment(&camera, 0, 3);
    expect_event(&opened, BB_LIVE_NOTHING);
    put_segment(&camera, 3, 2);
    expect_frames(&opened, 0, 6, 5);
    assert_int_equal(opened.frames.bits, 12);
    assert_int_equal(opened.frames.lost, 0);
    expect_event(&opened, BB_LIVE_NOTHING);
    put_segment(&camera, 5, 12); // up to frame 16: phases 4 and 8 are overwritten
    expect_frames(&opened, 12, 6, 5);
    assert_int_equal(opened.frames.lost, 2);
    // Frame 21 is being written to the slot of 12, so phases 12 to 15 and 16 to 19 are intact.
    put_segment(&camera, 17, 3);
    expect_frames(&opened, 16, 6, 5);
    atomic_store(&camera.header->ended, 1);
    expect_event(&opened, BB_LIVE_ENDED);
}

TEST(a_writer_may_count_from_the_start_again)
{
    autocall(stream_segment_remove) stream_segment camera =
        stream_segment_make(segment_name, 6, 5, 8, 9);
    autocall(close_feed) feed opened = open_feed(&bb_live_segment, segment_name);
    put_segment(&camera, 0, 8);
    expect_frames(&opened, 4, 6, 5);
    atomic_store(&camera.header->sequence, 0);
    put_segment(&camera, 40, 3);
    expect_event(&opened, BB_LIVE_NOTHING);
    put_segment(&camera, 43, 1);
    expect_frames(&opened, 40, 6, 5);
    assert_int_equal(opened.frames.lost, 0);
    expect_event(&opened, BB_LIVE_NOTHING);
}

TEST(a_camera_may_change_its_size)
{
    stream_segment old = stream_segment_make(segment_name, 6, 5, 8, 8);
    autocall(close_feed) feed opened = open_feed(&bb_live_segment, segment_name);
    put_segment(&old, 0, 4);
    autocall(stream_segment_remove) stream_segment fresh =
        stream_segment_make(segment_name, 3, 9, 16, 8);
    put_segment(&fresh, 30, 4);
    expect_frames(&opened, 0, 6, 5);
    assert_int_equal(opened.frames.bits, 8);
    expect_event(&opened, BB_LIVE_NOTHING); // switches to the new segment
    expect_frames(&opened, 30, 3, 9);
    assert_int_equal(opened.frames.bits, 16);
    (void)munmap(old.header, old.length);
}

TEST(hostile_segments_are_refused)
{
    check_fails(open_status(&bb_live_segment, "/bb-nobody-has-this"), BB_IO, "cannot open shared");
    autocall(stream_segment_remove) stream_segment camera =
        stream_segment_make(segment_name, 6, 5, 8, 8);
    camera.header->slots = 9; // more slots than fit
    check_fails(open_status(&bb_live_segment, segment_name), BB_INVALID, "has 9 slots");
    camera.header->slots = 7;
    check_fails(open_status(&bb_live_segment, segment_name), BB_INVALID,
                "has 7 slots, expected at least 8 (two phases)");
    camera.header->slots = 8;
    camera.header->columns = 0x80000000U;
    check_fails(open_status(&bb_live_segment, segment_name), BB_INVALID, "expected 1..16384");
    camera.header->columns = 6;
    camera.header->version = 2;
    check_fails(open_status(&bb_live_segment, segment_name), BB_INVALID, "BBFRAMES, version 1");
    camera.header->version = 1;
    autocall(close_feed) feed opened = open_feed(&bb_live_segment, segment_name);
    put_segment(&camera, 0, 4);
    camera.header->columns = 4000; // after opening: the reader uses its copy
    expect_frames(&opened, 0, 6, 5);
    camera.header->columns = 6;
    put_segment(&camera, 4, 4);
    const int file = shm_open(segment_name, O_RDWR, 0);
    for (off_t length = 80; length >= 0; length -= 80) { // nothing truncated is read
        assert_int_equal(ftruncate(file, length), 0);
        expect_event(&opened, BB_LIVE_NOTHING);
        check_fails(open_status(&bb_live_segment, segment_name), BB_INVALID, "shared memory");
    }
    (void)close(file);
}

TEST(shapes_are_held)
{
    bb_live_frames frames = {0};
    check_fails(bb_live_frames_shape(&frames, 4, 16385, 2), BB_INVALID, "expected 1..16384 a side");
    check_fails(bb_live_frames_shape(&frames, 0, 2, 2), BB_INVALID, "0 frames");
    check_fails(bb_live_frames_shape(&frames, PTRDIFF_MAX, 2, 2), BB_INVALID, "fit in memory");
    check_ok(bb_live_frames_shape(&frames, 4, 8, 8));
    const uint16_t *counts = frames.counts;
    check_ok(bb_live_frames_shape(&frames, 1, 16, 16)); // they fit
    assert_ptr_equal(frames.counts, counts);
    bb_memory_fail_at(1);
    assert_int_equal(bb_live_frames_shape(&frames, 4, 100, 100), BB_MEMORY);
    bb_memory_fail_at(0);
    assert_null(frames.counts);
    bb_live_frames others = {0};
    check_ok(bb_live_frames_shape(&others, 4, 8, 8));
    check_ok(bb_live_frames_shape(&frames, 4, 8, 8));
    bb_live_frames_share(&frames, &others);
    assert_ptr_equal(frames.counts, others.counts);
    assert_int_equal(frames.columns, 8);
    check_ok(bb_live_frames_shape(&frames, 1, 2, 2)); // in its own memory
    assert_ptr_not_equal(frames.counts, others.counts);
    bb_live_frames_share(&frames, &others);
    bb_live_frames_release(&frames);
    others.counts[4 * 8 * 8 - 1] = 1; // still mapped
    bb_live_frames_release(&others);
    assert_int_equal(bb_memory_blocks(), 0);
}

static int begin(void)
{
    bb_log_set_level(BB_LOG_SILENT);
    (void)snprintf(segment_name, sizeof segment_name, "/bb-live-%ld", (long)getpid());
    return fixture_start_hdf5(); // before the first file of this test
}

TEST_GROUP(.begin = begin, .has_folder = true);
