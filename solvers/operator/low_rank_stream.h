// SPDX-License-Identifier: Apache-2.0
//
// Low-rank tiles on a GPU: y = C x in two launches. The second one reads its U while the first
// still runs (programmatic dependent launch, sm_90).
//
// First launch: a warp processes up to four rows of V of one tile, or two in fp32
// (bb_low_rank_item): 16-byte loads of V, x of the tile through shared memory, t = scale (V x).
// Second launch: a warp computes a row of y from its row of U, in 16-byte loads, and the band's t.
// Each lane sums its products, then a tree adds the lanes; t is rounded to the format of products.
//
// Predicted time on an H200 (4.3 TB/s) for 378 rows in three bands of 12 lines, 512 x 500 cells,
// the response with burls of bench/gemv/factor_bench.c at its tolerance. V, U and items have 4.8 MB
// (0.2 bits per value; half of U is not read), x has 2.05 MB: 1.6 us to read. The rest is latency:
// a launch of 2 us, two dependent cold reads (an item, then its V and x) of 0.8 us each, sums 0.4
// us, t through the L2 cache 0.7 us, sums 0.3 us. Predicted 5 to 6 us, measured 8.6 us within a
// sequence of products (docs/lab/performance.md, section 7).
#ifndef BB_SOLVERS_OPERATOR_LOW_RANK_STREAM_H
#define BB_SOLVERS_OPERATOR_LOW_RANK_STREAM_H

#include "core/device/device.h"
#include "precision/codecs/low_rank.h"
#include "solvers/operator/stream/coded_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BB_LOW_RANK_WARPS = 4, ///< warps per thread block of either launch
    BB_LOW_RANK_JOB_BANDS = 8,
    BB_LOW_RANK_JOBS = 4,
};

/// Offsets of a band in device memory.
typedef struct bb_low_rank_band_place {
    size_t u_narrow, u_wide;                  ///< values, relative to the start of the matrix
    uint32_t term;                            ///< first term, relative to the matrix, a multiple of
                                              ///< 8
    uint32_t narrow, wide, dense_tiles, rows; ///< numbers as in bb_low_rank_band
} bb_low_rank_band_place;

/// Some rows of one matrix times one vector; all addresses are device addresses.
typedef struct bb_low_rank_job {
    const unsigned char *v;
    const uint16_t *u_narrow;
    const float *u_wide;
    const float *scale;
    const bb_low_rank_item *items; ///< items of the first band used, followed by the next ones
    void *terms;                   ///< workspace: doubles for products in fp64, else floats
    const double *x;               ///< [columns], or NULL
    const float *x_f32;            ///< x rounded to fp32, used if `x` is NULL
    double *y;                     ///< [rows]
    uint32_t mesh_columns;
    uint32_t item_count;
    uint32_t row, rows; ///< relative to the first row of the first band
    uint32_t band_rows;
    bb_low_rank_band_place bands[BB_LOW_RANK_JOB_BANDS];
} bb_low_rank_job;

/// Jobs of one launch: all have the same kind of sums, and none writes data that another reads.
typedef struct bb_low_rank_task {
    bb_stream_sums sums; ///< a run has 8 products
    int count;
    int cells; ///< cells of the largest tile
    /// Thread blocks of the preceding jobs, set by the launch.
    uint32_t first_items[BB_LOW_RANK_JOBS + 1];
    uint32_t first_rows[BB_LOW_RANK_JOBS + 1];
    bb_low_rank_job jobs[BB_LOW_RANK_JOBS];
} bb_low_rank_task;

typedef struct bb_low_rank_stream bb_low_rank_stream;

/// Copies a low_rank matrix to a device and allocates its terms. Errors: BB_MEMORY, BB_DEVICE,
/// BB_UNSUPPORTED (more than 2^32 terms or 64 GiB of V).
BB_CHECKED bb_status bb_low_rank_stream_create(bb_device *device, const bb_coded_matrix *matrix,
                                               bb_low_rank_stream **out);
void bb_low_rank_stream_destroy(bb_low_rank_stream **stream);

/// True if two matrices of one shape can be in one task.
bool bb_low_rank_stream_alike(const bb_low_rank_stream *one, const bb_low_rank_stream *other);

/// Bytes of the matrix read by a product of all rows.
size_t bb_low_rank_stream_bytes(const bb_low_rank_stream *stream);

/// Job for rows from `row` on, as many of `rows` as a job has bands for; the caller sets x, x_f32
/// and y. Returns the number of rows.
bb_index bb_low_rank_stream_job(const bb_low_rank_stream *stream, bb_index row, bb_index rows,
                                bb_low_rank_job *out);

/// Cells of the largest tile, for tasks.
int bb_low_rank_stream_cells(const bb_low_rank_stream *stream);

/// Queues a bb_low_rank_task; nothing waits, so a stream under capture can record it. A matrix's
/// workspace serves one task at a time.
bb_status bb_low_rank_stream_multiply_cuda(bb_queue *queue, bb_index begin, bb_index rows,
                                           void *arguments);

#ifdef __cplusplus
}
#endif

#endif
