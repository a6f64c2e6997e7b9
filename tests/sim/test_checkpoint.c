// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints read back to the same bytes; what is not whole, not a checkpoint, or another's is
// refused with a sentence.
#include "core/clock.h"
#include "sim/output/checkpoint.h"
#include "tests/sim/fixture.h"

#include <sys/stat.h>

enum { VALUES = 40000 };

static const char SUBJECT[] = "mesh:\n  step_ms: 1.0\nprobes: []\n";
static double numbers[VALUES];

static void write_one(const char *path)
{
    fill_array(numbers, VALUES, i, sin(0.1 * i));
    const bb_index place = 17;
    const bb_checkpoint_piece pieces[] = {
        {&place, sizeof place}, {NULL, 0}, {numbers, sizeof numbers}};
    check_ok(bb_checkpoint_write(path, SUBJECT, pieces, 3));
}

static bb_status open_one(const char *path)
{
    autoclose(bb_checkpoint) checkpoint = NULL;
    bb_status status = bb_checkpoint_open(path, SUBJECT, &checkpoint);
    return status;
}

TEST(pieces_read_back)
{
    static double got[VALUES];
    bb_index place = 0;
    autoclose(bb_checkpoint) checkpoint = NULL;
    write_one("a");
    write_one("a"); // in place of the first
    check_ok(bb_checkpoint_open("a", SUBJECT, &checkpoint));
    check_ok(bb_checkpoint_take(checkpoint, &place, sizeof place));
    check_ok(bb_checkpoint_take(checkpoint, got, 0));
    check_ok(bb_checkpoint_take(checkpoint, got, sizeof got));
    assert_int_equal(place, 17);
    assert_memory_equal(got, numbers, sizeof got);
    check_fails(bb_checkpoint_take(checkpoint, got, 8), BB_IO, "expected 8");
    bb_checkpoint_close(&checkpoint);
    check_ok(bb_checkpoint_open("a", SUBJECT, &checkpoint));
    check_fails(bb_checkpoint_take(checkpoint, got, 16), BB_IO, "piece of 8 bytes, expected 16");
}

TEST(others_are_refused)
{
    bb_checkpoint *checkpoint = NULL;
    write_one("a");
    check_fails(bb_checkpoint_open("a", "mesh:\n  step_ms: 2.0\nprobes: []\n", &checkpoint),
                BB_INVALID,
                "'a' belongs to another configuration: mesh ('step_ms: 1.0' there, 'step_ms: 2.0' "
                "here)");
    assert_null(checkpoint);
    check_ok(bb_checkpoint_write("a", "experiment: wafer\nseed: 1\n", NULL, 0));
    check_fails(bb_checkpoint_open("a", "experiment: wafers\nseed: 1\n", &checkpoint), BB_INVALID,
                "'a' is of experiment wafer, this study is of wafers");
    check_fails(bb_checkpoint_open("a", "experiment: wafer\nseed: 2\n", &checkpoint), BB_INVALID,
                "'a' belongs to another configuration: seed (");
    check_fails(open_one("nothing"), BB_IO, "cannot read 'nothing': No such");
    write_text("text", "BBSTATUS quo");
    check_fails(open_one("text"), BB_IO, "no checkpoint of bitbudget");
    write_text("empty", "");
    check_fails(open_one("empty"), BB_IO, "no checkpoint of bitbudget");
}

static long size_of(const char *path)
{
    FILE *file = fopen(path, "rb");
    (void)fseek(file, 0, SEEK_END);
    long size = ftell(file);
    (void)fclose(file);
    return size;
}

TEST(a_part_is_refused)
{
    write_one("a");
    const long multiple = size_of("a");
    const long kept[] = {8,     60,    111,           112,           119,         160,
                         65536, 65552, multiple - 17, multiple - 16, multiple - 1};
    for (size_t k = 0; k < sizeof kept / sizeof *kept; ++k) {
        write_one("a");
        assert_int_equal(truncate("a", kept[k]), 0);
        check_fails(open_one("a"), BB_IO, "truncated or corrupted");
    }
    write_one("a");
    FILE *file = fopen("a", "ab");
    (void)fputc(0, file);
    (void)fclose(file);
    check_fails(open_one("a"), BB_IO, "truncated or corrupted");
}

TEST(a_flipped_bit_is_refused)
{
    write_one("a");
    const long multiple = size_of("a");
    for (long index = 8; index < multiple; index += index < 200 ? 1 : 7919) {
        write_one("b");
        FILE *file = fopen("b", "r+b");
        (void)fseek(file, index, SEEK_SET);
        int byte = fgetc(file);
        (void)fseek(file, index, SEEK_SET);
        (void)fputc(byte ^ 1 << index % 8, file);
        (void)fclose(file);
        assert_int_equal(open_one("b"), BB_IO);
    }
}

TEST(a_fifo_is_refused_at_once)
{
    assert_int_equal(mkfifo("fifo", 0666), 0);
    check_fails(open_one("fifo"), BB_IO, "it is a FIFO, expected a regular file");
}

TEST(what_stood_there_stays_where_it_cannot_be_replaced)
{
    const bb_checkpoint_piece piece = {numbers, sizeof numbers};
    check_fails(bb_checkpoint_write("missing/a", SUBJECT, &piece, 1), BB_IO, "missing/a");
    check_fails(bb_checkpoint_write(".", SUBJECT, &piece, 1), BB_IO, "no regular file");
}

// A clock that goes on by a second whenever it is read: a save takes one.
static int64_t seconds;

static int64_t count_seconds(void)
{
    return ++seconds * 1000000000;
}

// Without a word on it, or with seconds, a save waits for nine times what the last one took.
TEST(dear_saves_are_put_off)
{
    static const bb_clock counting = {count_seconds, NULL};
    static const struct {
        double every_s;
        int64_t wait; // seconds from one save to the next that is due
    } cases[] = {
        {NAN, 9},
        {0.0, 1},
        {2.0, 9},
        {40., 40},
    };
    bb_clock_set(&counting);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        const bb_run_options options = {.checkpoint = "dear",
                                        .checkpoint_every_s = cases[c].every_s};
        autorelease(bb_restart) restart;
        bb_text subject = {0};
        int64_t begin = 0;
        check_ok(bb_restart_open(&options, 0.0, &subject, &restart));
        check_ok(bb_restart_write(&restart, NULL, 0));
        begin = seconds;
        while (!bb_restart_is_due(&restart, false)) {
            assert_true(seconds < begin + 100);
        }
        // Where always one is due the clock need not be read.
        assert_true(seconds - begin == cases[c].wait || (cases[c].wait == 1 && seconds == begin));
        check_ok(bb_restart_write(&restart, NULL, 0));
        assert_true(bb_restart_is_due(&restart, true));
    }
    bb_clock_set(NULL);
}

TEST_GROUP(.has_folder = true);
