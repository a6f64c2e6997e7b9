// SPDX-License-Identifier: Apache-2.0
//
// Arrays and streams of more than 2^32 bytes on a GPU, all of their values against libzfp by
// memcmp: values beyond the 2^32nd, bits beyond the 2^35th. libzfp encodes and decodes one period,
// which is repeated along the slowest axis: blocks are independent, so that concatenated streams of
// whole blocks are the stream of the concatenated arrays. No power of two is a multiple of a
// period's parts: a wrong address gives other values. Skipped if memory does not suffice. "few" as
// argument: three periods, for slow tools.
#include "tests/device_pair.h"
#include "tests/precision/codecs/zfp/zfp_arrays.h"

#include <inttypes.h>

// A period is eight times the same part: the bits of one need not be whole bytes, those of eight
// are.
enum { PARTS = 8, GUARD_BYTES = 64 };

typedef struct problem {
    bb_type type;
    bb_zfp_shape part;
    double tolerance; // 0: at a fixed rate of `rate` bits a value
    double rate;
    bb_index run_blocks;
    uint64_t values, value_bytes, stream_bits; // to exceed: a 16th beyond 2^32 or 2^35
} problem;

// One period, and `copies` of it.
typedef struct repeated {
    bb_zfp_stream period, whole;
    bb_zfp_index index, whole_index;
    unsigned char *room, *bytes; // streams
    unsigned char *theirs;       // [value_bytes] a period decoded by libzfp
    size_t value_bytes;
    bb_index copies;
} repeated;

static int skipped;

static bb_index *slowest(bb_zfp_shape *shape)
{
    bb_index *extents[] = {&shape->nx, &shape->ny, &shape->nz, &shape->nw};
    return extents[shape->dimensions - 1];
}

// End of a stream, without libzfp's padding of the last word.
static uint64_t bits_of(const bb_zfp_stream *stream, const bb_zfp_index *index)
{
    if (index->lengths == NULL) {
        return (uint64_t)bb_zfp_stream_blocks(stream) * stream->settings.maximum_bits;
    }
    const bb_index group = bb_zfp_stream_run_groups(index->runs) - 1;
    uint64_t end = index->bases[group];
    for (bb_index run = group * BB_ZFP_GROUP_RUNS; run < index->runs; ++run) {
        end += index->lengths[run];
    }
    return end;
}

static void code_period(const problem *task, repeated *out)
{
    const bool is_double = task->type == BB_F64;
    random_bits random = {5};
    out->period = (bb_zfp_stream){.type = task->type, .shape = task->part};
    const bb_index count = bb_zfp_stream_values(&out->period);
    const size_t part_bytes = (size_t)count * bb_type_bytes(task->type);
    assert_int_equal(*slowest(&out->period.shape) % 4, 0);
    *slowest(&out->period.shape) *= PARTS;
    out->value_bytes = PARTS * part_bytes;
    const bb_index room = 2 * (bb_index)out->value_bytes + 4096;
    check_ok(BB_ALLOCATE((bb_index)out->value_bytes, &out->theirs));
    check_ok(BB_ALLOCATE(room, &out->room));
    draw_values(&random, 0, is_double, count, out->theirs);
    for (size_t part = 1; part < PARTS; ++part) {
        memcpy(out->theirs + part * part_bytes, out->theirs, part_bytes);
    }
    bitstream *bits = stream_open(out->room, (size_t)room);
    zfp_stream *zfp = zfp_stream_open(bits);
    zfp_field *field = field_of(&out->period.shape, is_double, out->theirs);
    if (task->tolerance > 0.0) {
        (void)zfp_stream_set_accuracy(zfp, task->tolerance);
    } else {
        (void)zfp_stream_set_rate(zfp, task->rate, zfp_field_type(field),
                                  (unsigned)task->part.dimensions, zfp_false);
    }
    out->period.bytes = out->room;
    out->period.settings = (bb_zfp_settings){zfp->minbits, zfp->maxbits, zfp->maxprec, zfp->minexp};
    out->period.size = zfp_compress(zfp, field);
    out->period.bits = 8 * (uint64_t)out->period.size;
    memset(out->theirs, 0x5a, out->value_bytes);
    zfp_stream_rewind(zfp);
    assert_true(zfp_decompress(zfp, field) > 0);
    zfp_field_free(field);
    zfp_stream_close(zfp);
    stream_close(bits);
    check_ok(bb_zfp_index_create(&out->period, task->run_blocks, &out->index));
    assert_int_equal(out->index.run_blocks, task->run_blocks);
    out->period.bits = bits_of(&out->period, &out->index);
    assert_int_equal(out->period.bits % 8, 0);
    out->period.size = (size_t)out->period.bits / 8;
}

static bb_index copies_beyond(uint64_t all, uint64_t of_one)
{
    return (bb_index)(all / of_one) + 1;
}

// Total sizes, with enough periods to exceed the requested ones.
static void size_whole(const problem *task, repeated *out)
{
    const bb_index wanted[] = {
        copies_beyond(task->values, (uint64_t)bb_zfp_stream_values(&out->period)),
        copies_beyond(task->value_bytes, out->value_bytes),
        copies_beyond(task->stream_bits, out->period.bits),
    };
    for (int i = 0; i < 3; ++i) {
        out->copies = wanted[i] > out->copies ? wanted[i] : out->copies;
    }
    out->copies = few ? 3 : out->copies;
    out->whole = out->period;
    *slowest(&out->whole.shape) *= out->copies;
    out->whole.size *= (size_t)out->copies;
    out->whole.bits *= (uint64_t)out->copies;
    out->whole_index = (bb_zfp_index){.run_blocks = task->run_blocks};
    out->whole_index.runs =
        (bb_zfp_stream_blocks(&out->whole) + task->run_blocks - 1) / task->run_blocks;
}

static size_t available_bytes(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    char line[128];
    uint64_t kilobytes = 0;
    while (file != NULL && kilobytes == 0 && fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "MemAvailable: %" SCNu64, &kilobytes);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return 1024 * (size_t)kilobytes;
}

// With a margin of an eighth.
static bool has_room(const repeated *rounds)
{
    const size_t values = rounds->value_bytes * (size_t)rounds->copies;
    const size_t index = 3 * (size_t)rounds->whole_index.runs; // 18 bits a run, 24 at most
    const size_t on_host = (rounds->whole.size + 2 * index) / 8 * 9;
    const size_t on_device = (rounds->whole.size + index + values) / 8 * 9;
    bb_device_report report;
    check_ok(bb_device_describe(gpu, &report));
    if (report.free_memory_bytes < on_device || available_bytes() < on_host) {
        print_message("skipped: %zu bytes of the GPU's memory wanted, %zu free; %zu of the host's, "
                      "%zu free\n",
                      on_device, report.free_memory_bytes, on_host, available_bytes());
        return false;
    }
    return true;
}

static void repeat_stream(repeated *rounds)
{
    check_ok(BB_ALLOCATE((bb_index)rounds->whole.size, &rounds->bytes));
    for (bb_index copy = 0; copy < rounds->copies; ++copy) {
        memcpy(rounds->bytes + (size_t)copy * rounds->period.size, rounds->room,
               rounds->period.size);
    }
    rounds->whole.bytes = rounds->bytes;
    if (rounds->index.lengths == NULL) {
        return;
    }
    const bb_index runs = rounds->index.runs;
    const bb_index groups = bb_zfp_stream_run_groups(runs);
    assert_int_equal(runs % BB_ZFP_GROUP_RUNS, 0);
    assert_int_equal(rounds->whole_index.runs, rounds->copies * runs);
    check_ok(BB_ALLOCATE(rounds->copies * runs, &rounds->whole_index.lengths));
    check_ok(BB_ALLOCATE(rounds->copies * groups, &rounds->whole_index.bases));
    for (bb_index copy = 0; copy < rounds->copies; ++copy) {
        memcpy(rounds->whole_index.lengths + copy * runs, rounds->index.lengths,
               (size_t)runs * sizeof *rounds->index.lengths);
        for (bb_index group = 0; group < groups; ++group) {
            rounds->whole_index.bases[copy * groups + group] =
                (uint64_t)copy * rounds->period.bits + rounds->index.bases[group];
        }
    }
}

// Some periods at a time.
static void expect_periods(const repeated *rounds, const void *values)
{
    bb_index limit = 1 + (1 << 24) / (bb_index)rounds->value_bytes;
    unsigned char *found = new_array(unsigned char, limit *(bb_index)rounds->value_bytes);
    unsigned char *expected = new_array(unsigned char, limit *(bb_index)rounds->value_bytes);
    for (bb_index copy = 0; copy < limit; ++copy) {
        memcpy(expected + (size_t)copy * rounds->value_bytes, rounds->theirs, rounds->value_bytes);
    }
    for (bb_index copy = 0; copy < rounds->copies; copy += limit) {
        const bb_index count = limit < rounds->copies - copy ? limit : rounds->copies - copy;
        const size_t index = (size_t)copy * rounds->value_bytes;
        const size_t bytes = (size_t)count * rounds->value_bytes;
        check_ok(bb_device_download(gpu, found, (const char *)values + index, bytes));
        if (memcmp(found, expected, bytes) != 0) {
            print_error("values differ between byte %zu and byte %zu\n", index, index + bytes);
            fail();
        }
    }
    unsigned char guard[GUARD_BYTES];
    check_ok(bb_device_download(gpu, guard,
                                (const char *)values + (size_t)rounds->copies * rounds->value_bytes,
                                sizeof guard));
    for (int i = 0; i < GUARD_BYTES; ++i) {
        assert_int_equal(guard[i], 0);
    }
    BB_RELEASE(&found);
    BB_RELEASE(&expected);
}

static void forget(repeated *rounds)
{
    bb_zfp_index_release(&rounds->index);
    bb_zfp_index_release(&rounds->whole_index);
    BB_RELEASE(&rounds->room);
    BB_RELEASE(&rounds->bytes);
    BB_RELEASE(&rounds->theirs);
}

static void check_problem(const problem *task)
{
    autocall(forget) repeated all = {.copies = 0};
    double seconds = 0.0;
    code_period(task, &all);
    size_whole(task, &all);
    if (!has_room(&all)) {
        forget(&all);
        ++skipped;
        skip();
    }
    repeat_stream(&all);
    const size_t bytes = (size_t)all.copies * all.value_bytes;
    bb_zfp_decoder *decoder = new_object(bb_zfp_decoder, gpu, &all.whole, &all.whole_index, 1);
    void *values = allocate_on(gpu, bytes + GUARD_BYTES);
    check_ok(bb_device_zero(gpu, values, bytes + GUARD_BYTES));
    check_ok(bb_zfp_decoder_run(decoder, values, &seconds));
    expect_periods(&all, values);
    print_message("  %td values in %zu bytes, stream of %" PRIu64 " bits, decoded in %.3f s\n",
                  bb_zfp_stream_values(&all.whole), bytes, all.whole.bits, seconds);
    bb_zfp_decoder_destroy(&decoder);
    bb_device_release(gpu, &values);
}

TEST(values_of_a_fixed_rate_have_64_bit_numbers)
{
    check_problem(&(problem){
        .type = BB_F32,
        .part = {1, 4 * 10007, 1, 1, 1},
        .rate = 8.0,
        .run_blocks = 3,
        .values = UINT64_C(17) << 28,
        .stream_bits = UINT64_C(17) << 31,
    });
}

TEST(streams_of_a_variable_rate_have_64_bit_positions)
{
    check_problem(&(problem){
        .type = BB_F32,
        .part = {2, 510, 12, 1, 1},
        .tolerance = 1e-7,
        .run_blocks = 1,
        .value_bytes = UINT64_C(17) << 28,
        .stream_bits = UINT64_C(17) << 31,
    });
}

TEST(doubles_that_a_warp_decodes_have_64_bit_places)
{
    check_problem(&(problem){
        .type = BB_F64,
        .part = {3, 39, 31, 12, 1},
        .tolerance = 1e-16,
        .run_blocks = 2,
        .value_bytes = UINT64_C(17) << 28,
        .stream_bits = UINT64_C(17) << 31,
    });
}

TEST_GROUP(.begin = open_devices, .end = close_devices);
