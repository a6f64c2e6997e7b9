// SPDX-License-Identifier: Apache-2.0
//
// Transformed blocks on a GPU: y = C x in two launches, with C as those coefficients of
// precision/codecs/transform.h that are not 0, and nothing of it decoded.
//
// First: a block takes a panel of up to 1024 cells, blocks of the mesh that lie apart
// (solvers/operator/transform_stream_core.h); a near field is in single blocks of the mesh, whose
// panels are shared by several. It transforms their x into shared memory, once for all matrices of
// the launch; its warps multiply slices of coefficients with it, and the sums of each block of rows
// are transformed back, which is linear and so may come before panels are summed. Second: four rows
// of a block are summed over the panels. Sums are those of a lane in the order of its entries, of
// the lanes that share a row as a tree, of panels ascending by 64 and then a tree: all of it fixed
// by the storage, whatever ran when. x^ is rounded to the format of products; transforms, sums over
// lanes and panels are in fp64 whatever the format of sums.
//
// Storage. Of a block of rows and a panel, every frequency of the rows has its coefficients in
// chunks of 16 bytes: 8 entries of a cell (10 bits) and a quotient of 6 bits, 4 of 22 bits, or, in
// frequencies that have wider ones, 2 of 32 bits. A slice is 32 lanes with the chunks of some
// frequencies, 1, 2, 4 ... 32 neighbouring lanes each, chunks in the order in which a warp reads
// them.
//
// Why not the packed words of a group of 32: of the response with burls of sim/bench at its
// tolerance 17 % of all coefficients are in groups that are kept, but 2.45 % are not 0. Entries
// take as many bytes (0.57 bits a value of entries and 0.1 of fill and lanes against 0.78 with the
// index) and a seventh of the products.
//
// What it should take for 378 rows in two bands of 9 lines, of 512 x 500 cells, on an H200 (4.3
// TB/s), counted there: 2.37e6 coefficients, 6.1 MB of chunks with their fill, 0.8 MB of slices and
// lanes, x 1.0 MB: 7.9 MB, 1.8 us of reading. 267 panels of 960 cells and 42 blocks that help,
// three on a multiprocessor; 22 slices a panel, 26 in the fullest block. Instructions: 10 an entry,
// 0.9 us. Shared memory: words of x^ at 2.3 cycles a warp, 1.4 us, and 0.9 for transforms of x, all
// of it beside the reading of other blocks. Latency of one product alone: launch 2, where slices
// begin, lanes, chunks 2.3, x 0.8, its transform 0.4, four slices a warp 1.3, rows back 0.3, panels
// 1.2: 8.3 us predicted, 28 found; in a row of products 5 predicted, 22 found
// (docs/lab/performance.md, section 7).
#ifndef BB_SOLVERS_OPERATOR_TRANSFORM_STREAM_H
#define BB_SOLVERS_OPERATOR_TRANSFORM_STREAM_H

#include "core/device/device.h"
#include "precision/codecs/transform.h"
#include "solvers/operator/stream/coded_stream.h"
#include "solvers/operator/transform_stream_core.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BB_TRANSFORM_WARPS = 8,     ///< of a block of the first launch
    BB_TRANSFORM_JOB_BANDS = 8, ///< of a launch
    BB_TRANSFORM_JOBS = 3,
    BB_TRANSFORM_HELPERS = 64, ///< blocks beside a panel's own, at most
    BB_TRANSFORM_SUMS = 2048,  ///< frequencies of rows that a block of threads has at once
    BB_TRANSFORM_BASES = 1024, ///< values of bases that it keeps
};

/// 32 lanes of coefficients.
typedef struct bb_transform_slice {
    uint32_t chunk; ///< its first, in 16 bytes
    uint32_t group; ///< block of rows: band x blocks across + block
} bb_transform_slice;

/// Some rows of one matrix times a vector; addresses are the device's.
typedef struct bb_transform_job {
    const uint32_t *chunks; ///< [][4]
    const bb_transform_slice *slices;
    const uint32_t *lanes;  ///< [slices][32]
    const uint32_t *firsts; ///< [bands][panels + 1] slices of a panel, from the first band touched
    double *parts;          ///< workspace: [blocks][part_pitch]
    double *y;              ///< [rows]
    double step;
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
    uint32_t blocks; ///< of the first launch: one a panel, then those that help a heavy one
    uint32_t helps[BB_TRANSFORM_HELPERS]; ///< the panel of each of the latter
    bb_transform_job jobs[BB_TRANSFORM_JOBS];
} bb_transform_task;

/// Blocks of rows whose sums fit in shared memory at once, of each of the matrices.
BB_DEVICE_FUNCTION
uint32_t bb_transform_stream_groups_at_once(const bb_transform_task *task)
{
    return BB_TRANSFORM_SUMS / ((uint32_t)task->count * task->shape.block_rows);
}

/// A block's panel, and which of its `shares` shares of the slices it takes.
BB_DEVICE_FUNCTION
void bb_transform_stream_share_of(const bb_transform_task *task, uint32_t block, uint32_t *panel,
                                  uint32_t *share, uint32_t *shares)
{
    const uint32_t panels = task->shape.panels;
    *panel = block < panels ? block : task->helps[block - panels];
    *share = 0;
    *shares = 1;
    for (uint32_t h = 0; h < task->blocks - panels; ++h) {
        if (task->helps[h] == *panel) {
            *share = h + panels == block ? *shares : *share;
            ++*shares;
        }
    }
}

/// Where the slices of a panel begin and end for each matrix and band of a task.
typedef struct bb_transform_slices {
    uint32_t first[BB_TRANSFORM_JOBS * BB_TRANSFORM_JOB_BANDS];
    uint32_t past[BB_TRANSFORM_JOBS * BB_TRANSFORM_JOB_BANDS];
} bb_transform_slices;

/// Fills in one of the task's count x bands.
BB_DEVICE_FUNCTION
void bb_transform_stream_find_slices(const bb_transform_task *task, uint32_t panel, uint32_t which,
                                     bb_transform_slices *out)
{
    const uint32_t *firsts = task->jobs[which / task->bands].firsts +
                             (size_t)(which % task->bands) * (task->shape.panels + 1) + panel;
    out->first[which] = firsts[0];
    out->past[which] = firsts[1];
}

/// Slice `index` of all of them; false past the last.
BB_DEVICE_FUNCTION
bool bb_transform_slice_at(const bb_transform_task *task, const bb_transform_slices *slices,
                           uint32_t index, int *job, uint32_t *slice)
{
    const uint32_t all = (uint32_t)task->count * task->bands;
    for (uint32_t which = 0; which < all; ++which) {
        const uint32_t count = slices->past[which] - slices->first[which];
        if (index < count) {
            *job = (int)(which / task->bands);
            *slice = slices->first[which] + index;
            return true;
        }
        index -= count;
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

/// Queues a bb_transform_task on a queue; nothing waits, so that a stream that is being
/// captured takes it. One task at a time uses a matrix's workspace.
bb_status bb_transform_stream_multiply_cuda(bb_queue *queue, bb_index begin, bb_index rows,
                                            void *arguments);

#ifdef __cplusplus
}
#endif

#endif
