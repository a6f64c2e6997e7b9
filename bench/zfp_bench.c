// SPDX-License-Identifier: Apache-2.0
//
// Decoding of variable-rate zfp: a wafer's response of 378 rows on a mesh of 512 x 500 in fp32,
// fixed accuracy at the tolerance of Bamakhrama et al., 6.7e-5 of the range, in two dimensions. The
// rows' meshes follow one another in one stream; 500 is a multiple of 4, so no block crosses rows.
// The rate refers to decoded bytes; the index is not counted, its bits are in the detail. The peer
// is libzfp's decoder on one core, and all values are compared with its values.
#include "bench/gemv/gemv_bench.h"
#include "core/clock.h"
#include "core/memory.h"
#include "core/thread.h"
#include "precision/codecs/zfp/zfp_decoder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <zfp.h>

enum {
    MESH_COLUMNS = 512,
    MESH_LINES = 500,
    CUDA_ROWS = 378,
    CPU_ROWS = 21,
    ROUNDS = 10,
    RUN_BLOCKS = 2 // blocks per entry of the index
};

static const double cuda_bar = 300e9; // bar of the decoding rate, bytes per second

typedef struct contest {
    bb_index lines; // lines of all meshes in total
    float *values, *theirs;
    unsigned char *words;
    bb_zfp_stream stream;
    double libzfp_s;
} contest;

static bb_status fill_mesh(void *context, bb_index row)
{
    bb_status status = BB_OK;
    const contest *task = context;
    const bb_index points = (bb_index)MESH_LINES * MESH_COLUMNS;
    const bb_gemv_sizes sizes = {CUDA_ROWS, points, MESH_COLUMNS};
    double *wide = NULL;
    BB_TRY(BB_ALLOCATE(points, &wide));
    bb_gemv_sizes_fill(&sizes, row, wide);
    for (bb_index j = 0; j < points; ++j) {
        task->values[row * points + j] = (float)wide[j];
    }
done:
    BB_RELEASE(&wide);
    return status;
}

static bb_index count_values(const contest *task)
{
    return task->lines * MESH_COLUMNS;
}

static double range_of(const contest *task)
{
    float minimum = task->values[0];
    float maximum = task->values[0];
    for (bb_index i = 1; i < count_values(task); ++i) {
        minimum = fminf(minimum, task->values[i]);
        maximum = fmaxf(maximum, task->values[i]);
    }
    return (double)(maximum - minimum);
}

static bb_status decode_theirs(contest *task, zfp_stream *zfp, zfp_field *field)
{
    bb_status status = BB_OK;
    zfp_field_set_pointer(field, task->theirs);
    zfp_stream_rewind(zfp);
    const double start = bb_clock_seconds();
    BB_REQUIRE(zfp_decompress(zfp, field) > 0, BB_INTERNAL, "libzfp did not decode its stream");
    const double seconds = bb_clock_seconds() - start;
    task->libzfp_s = fmin(task->libzfp_s, seconds);
done:
    return status;
}

// Encodes a stream with libzfp and decodes it again with libzfp.
static bb_status encode(contest *task, int rounds)
{
    bb_status status = BB_OK;
    zfp_stream *zfp = zfp_stream_open(NULL);
    zfp_field *field =
        zfp_field_2d(task->values, zfp_type_float, MESH_COLUMNS, (size_t)task->lines);
    bitstream *bits = NULL;
    BB_REQUIRE(zfp != NULL && field != NULL, BB_MEMORY, "host memory exhausted by libzfp");
    (void)zfp_stream_set_accuracy(zfp, 6.7e-5 * range_of(task));
    const size_t room = zfp_stream_maximum_size(zfp, field);
    BB_TRY(BB_ALLOCATE((bb_index)room, &task->words));
    bits = stream_open(task->words, room);
    BB_REQUIRE(bits != NULL, BB_MEMORY, "host memory exhausted by libzfp");
    zfp_stream_set_bit_stream(zfp, bits);
    zfp_stream_rewind(zfp);
    const size_t size = zfp_compress(zfp, field);
    BB_REQUIRE(size > 0, BB_INTERNAL, "libzfp did not encode");
    task->stream =
        (bb_zfp_stream){.bytes = task->words,
                        .size = size,
                        .bits = 8 * (uint64_t)size,
                        .type = BB_F32,
                        .shape = {2, MESH_COLUMNS, task->lines, 1, 1},
                        .settings = {zfp->minbits, zfp->maxbits, zfp->maxprec, zfp->minexp}};
    task->libzfp_s = INFINITY;
    for (int round = 0; round < rounds; ++round) {
        BB_TRY(decode_theirs(task, zfp, field));
    }
done:
    zfp_field_free(field);
    zfp_stream_close(zfp);
    if (bits != NULL) {
        stream_close(bits);
    }
    return status;
}

static bb_status prepare(bb_index rows, bool quick, contest *task)
{
    bb_status status = BB_OK;
    task->lines = rows * MESH_LINES;
    BB_TRY(BB_ALLOCATE(count_values(task), &task->values));
    BB_TRY(BB_ALLOCATE(count_values(task), &task->theirs));
    BB_TRY(bb_thread_for(rows, fill_mesh, task));
    BB_TRY(encode(task, quick ? 1 : 2));
done:
    return status;
}

static void release(contest *task)
{
    BB_RELEASE(&task->values);
    BB_RELEASE(&task->theirs);
    BB_RELEASE(&task->words);
}

typedef struct repetition {
    bb_zfp_decoder *decoder;
    void *decoded;
} repetition;

static bb_status decode_again(void *context)
{
    const repetition *again = context;
    double seconds = 0.0;
    return bb_zfp_decoder_run(again->decoder, again->decoded, &seconds);
}

static bb_status run_contest(bb_device *device, contest *task, bool quick, bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    bb_zfp_index index = {0};
    repetition again = {0};
    bb_bench_times times = {0};
    const double values = (double)count_values(task);
    const size_t bytes = (size_t)count_values(task) * sizeof *task->values;
    BB_TRY(bb_device_allocate(device, bytes, &again.decoded));
    BB_TRY(bb_zfp_index_create(&task->stream, RUN_BLOCKS, &index));
    BB_TRY(bb_zfp_decoder_create(device, &task->stream, &index, 1, &again.decoder));
    for (int round = 0; round < (quick ? 2 : ROUNDS); ++round) {
        double seconds = 0.0;
        BB_TRY(bb_zfp_decoder_run(again.decoder, again.decoded, &seconds));
        bb_bench_add(&times, seconds);
    }
    BB_TRY(
        bb_bench_measure_energy(bb_device_kind_of(device), decode_again, &again, 1.0, NULL, out));
    // The original values are no longer needed.
    BB_TRY(bb_device_download(device, task->values, again.decoded, bytes));
    BB_REQUIRE(memcmp(task->values, task->theirs, bytes) == 0, BB_INTERNAL,
               "zfp: decoded values differ from libzfp's");
    out->best_s = bb_bench_best(&times);
    out->median_s = bb_bench_median(&times);
    out->bytes = (double)bytes;
    out->peer = 1e-9 * out->bytes / task->libzfp_s;
    out->binds = "instructions";
    (void)snprintf(out->detail, sizeof out->detail,
                   "%d x %td, %.2f bits and %.2f of index, libzfp %.2g GB/s", (int)MESH_COLUMNS,
                   task->lines, 8.0 * (double)task->stream.size / values,
                   8.0 * (double)bb_zfp_index_bytes(&index) / values, out->peer);
done:
    bb_zfp_decoder_destroy(&again.decoder);
    bb_zfp_index_release(&index);
    bb_device_release(device, &again.decoded);
    return status;
}

bb_status bb_bench_zfp(const bb_bench_case *self, const bb_bench_setup *setup,
                       bb_bench_outcome *out)
{
    bb_status status = BB_OK;
    const bool on_cuda = self->device == BB_DEVICE_CUDA;
    contest task = {0};
    BB_TRY(prepare(setup->quick ? 1 : on_cuda ? CUDA_ROWS : CPU_ROWS, setup->quick, &task));
    BB_TRY(run_contest(setup->device, &task, setup->quick, out));
    out->ratio = on_cuda ? out->bytes / out->best_s / cuda_bar : task.libzfp_s / out->best_s;
done:
    release(&task);
    return status;
}
