// SPDX-License-Identifier: Apache-2.0
//
// Transformed blocks on a GPU: y = C x in two launches, with C as those coefficients of
// precision/transform.h that are not 0, and nothing of it decoded.
//
// First: a block takes a panel of up to 1024 cells, blocks of the mesh that lie apart
// (solvers/transform_stream_core.h). It transforms their x into shared memory, once for all
// matrices of the launch; its warps multiply slices of coefficients with it, and the sums of each
// block of rows are transformed back, which is linear and so may come before panels are summed.
// Second: four rows of a block are summed over the panels. Sums are those of a lane in the order of
// its entries, of the lanes that share a row as a tree, of panels ascending by 64 and then a tree:
// all of it fixed by the storage, whatever ran when. x^ is rounded to the format of products;
// transforms, sums over lanes and panels are in fp64 whatever the format of sums.
//
// Storage. Of a block of rows and a panel, every frequency of the rows has its coefficients in
// chunks of 16 bytes: 8 entries of a cell (10 bits) and a quotient of 6 bits, 4 of 22 bits, or, in
// frequencies that have wider ones, 2 of 32 bits. A slice is 32 lanes with the chunks of some
// frequencies, 1, 2, 4 ... 32 neighbouring lanes each, chunks in the order in which a warp reads
// them; every panel has as many slices of a band as the one that has most.
//
// Why not the packed words of a group of 32: of the response with burls of sim/bench at its
// tolerance 17 % of all coefficients are in groups that are kept, but 2.45 % are not 0. Entries
// take as many bytes (0.57 bits a value of entries and 0.1 of fill and lanes against 0.78 with the
// index) and a seventh of the products.
//
// What it should take for 378 rows in two bands of 9 lines, of 512 x 500 cells, on an H200 (4.3
// TB/s), counted there: 2.37e6 coefficients, 5.2 MB of entries; with fill, lanes and x 7.9 MB, 1.8
// us of reading. Instructions: 10 an entry, 0.9 us; words of x^ from shared memory with 3.5 lanes
// in one bank, 1.2 us, both beside the reading of other blocks. Latency of one product alone:
// launch 2, lanes and then chunks 1.6, x 0.8, its transform 0.4, products 0.6, rows back 0.3,
// panels 1.2: 7 us; in a row of products all before x is covered by the one before: 5 us.
#ifndef BB_SOLVERS_TRANSFORM_STREAM_H
#define BB_SOLVERS_TRANSFORM_STREAM_H

#include "core/device.h"
#include "precision/transform.h"
#include "solvers/coded_stream.h"
#include "solvers/transform_stream_core.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BB_TRANSFORM_WARPS = 12, ///< of a block of the first launch
    BB_TRANSFORM_JOB_BANDS = 8,
    BB_TRANSFORM_JOBS = 3,
    BB_TRANSFORM_SUMS = 2048,  ///< frequencies of rows that a block of threads has at once
    BB_TRANSFORM_BASES = 1024, ///< values of bases that it keeps
};

/// 32 lanes of coefficients.
typedef struct bb_transform_slice {
    uint32_t chunk; ///< its first, in 16 bytes
    uint32_t group; ///< block of rows: band x blocks across + block
} bb_transform_slice;

/// Slices of a band: those of panel p are the `pitch` from first + p pitch on.
typedef struct bb_transform_band_place {
    uint32_t first, pitch;
} bb_transform_band_place;

/// Some rows of one matrix times a vector; addresses are the device's.
typedef struct bb_transform_job {
    const uint32_t *chunks; ///< [][4]
    const bb_transform_slice *slices;
    const uint32_t *lanes; ///< [slices][32]
    double *parts;         ///< workspace: [panels][part_pitch]
    double *y;             ///< [rows]
    double step;
    bb_transform_band_place bands[BB_TRANSFORM_JOB_BANDS];
} bb_transform_job;

/// What is launched together: matrices of one shape, the same rows of each.
typedef struct bb_transform_task {
    bb_stream_sums sums; ///< runs are a chunk's products
    int count;
    bb_transform_shape shape;
    bb_transform_bases bases;
    const double *basis; ///< all of them
    const double *x;     ///< [columns], or NULL
    const float *x_f32;  ///< the same, rounded, where `x` is NULL
    uint64_t row;        ///< the first of the matrix
    uint32_t rows;
    uint32_t band, bands; ///< touched
    uint32_t part_pitch;
    bb_transform_job jobs[BB_TRANSFORM_JOBS];
} bb_transform_task;

/// Blocks of rows whose sums fit in shared memory at once, of each of the matrices.
BB_DEVICE_FUNCTION
uint32_t bb_transform_groups_at_once(const bb_transform_task *task)
{
    return BB_TRANSFORM_SUMS / ((uint32_t)task->count * task->shape.block_rows);
}

/// Slice `index` of a panel over the matrices and bands of a task; false past the last.
BB_DEVICE_FUNCTION
bool bb_transform_slice_at(const bb_transform_task *task, uint32_t panel, uint32_t index, int *job,
                           uint32_t *slice)
{
    for (int j = 0; j < task->count; ++j) {
        for (uint32_t b = 0; b < task->bands; ++b) {
            const bb_transform_band_place place = task->jobs[j].bands[b];
            if (index < place.pitch) {
                *job = j;
                *slice = place.first + panel * place.pitch + index;
                return true;
            }
            index -= place.pitch;
        }
    }
    return false;
}

typedef struct bb_transform_stream bb_transform_stream;

/// Copies a transform matrix to a device, with room for its sums. Errors: BB_MEMORY, BB_DEVICE,
/// BB_UNSUPPORTED (more than 2^32 rows, columns or chunks).
BB_CHECKED bb_status bb_transform_stream_create(bb_device *device, const bb_coded_matrix *matrix,
                                                bb_transform_stream **out);
void bb_transform_stream_destroy(bb_transform_stream **stream);

/// Bytes of matrix that a product of all rows reads.
size_t bb_transform_stream_bytes(const bb_transform_stream *stream);

/// Whether a task may have both.
bool bb_transform_stream_alike(const bb_transform_stream *one, const bb_transform_stream *other);

/// Rows from `row` on, as many of `rows` as a task has bands for, of `count` matrices that are
/// alike; sums, x, x_f32 and every y are the caller's to fill in. Returns how many.
bb_index bb_transform_stream_task(const bb_transform_stream *const *streams, int count,
                                  bb_index row, bb_index rows, bb_transform_task *out);

/// Queues a bb_transform_task on a cudaStream_t; nothing waits, so that a stream that is being
/// captured takes it. One task at a time uses a matrix's workspace.
bb_status bb_transform_multiply_cuda(void *queue, bb_index rows, void *arguments);

#ifdef __cplusplus
}
#endif

#endif
