// SPDX-License-Identifier: Apache-2.0
//
// Transformed blocks on a GPU: y = C x in two launches, with C as the nonzero coefficients of
// precision/codecs/transform.h, never decoded.
//
// First launch: a thread block processes a panel of up to 1024 cells, made of blocks of the mesh
// that are far apart (below); a near field is confined to single blocks of the mesh, and several
// thread blocks share its panels. The thread block transforms x of the panel into shared memory,
// once for all matrices of the launch, and its warps multiply slices of coefficients by it. The
// sums of each block of rows are transformed back, which is linear and may therefore precede the
// sum over panels. Second launch: four rows of a block are summed over the panels. A lane sums its
// entries in order, a tree adds the lanes that share a row, and panels are added ascending by 64
// and then by a tree: the storage alone fixes the order. x^ is rounded to the format of products;
// transforms, sums over lanes and over panels are in fp64 whatever the format of sums.
//
// Storage. For a block of rows and a panel, every row frequency has its coefficients in chunks of
// 16 bytes: 8 entries of a cell (10 bits) and a quotient of 6 bits, 4 of 22 bits, or, in
// frequencies that have wider ones, 2 of 32 bits. A slice is 32 lanes with the chunks of some
// frequencies, 1, 2, 4 ... 32 adjacent lanes each, with chunks in the order in which a warp reads
// them.
//
// The packed words of a group of 32 are not used. For the response with burls of bench/ at its
// tolerance 17 % of all coefficients are in groups that are stored, but only 2.45 % are nonzero.
// Entries need as many bytes (0.57 bits per value of entries and 0.1 of padding and lanes, compared
// with 0.78 with the index) and a seventh of the products.
//
// Predicted time for 378 rows in two bands of 9 lines, of 512 x 500 cells, on an H200 (4.3 TB/s),
// counted there: 2.37e6 coefficients, 6.1 MB of chunks with padding, 0.8 MB of slices and lanes, x
// 1.0 MB: 7.9 MB, 1.8 us of reading. 267 panels of 960 cells and 42 helper blocks, three per
// multiprocessor; 22 slices per panel, 26 in the fullest block. Instructions: 10 per entry, 0.9 us.
// Shared memory: words of x^ at 2.3 cycles per warp, 1.4 us, and 0.9 for transforms of x, all
// overlapped with the reading of other blocks. Latency of a single product: launch 2, slice
// offsets, lanes and chunks 2.3, x 0.8, its transform 0.4, four slices per warp 1.3, inverse
// transform of rows 0.3, panels 1.2: predicted 8.3 us, measured 28. Within a sequence of products
// predicted 5, measured 22 (docs/lab/performance.md, section 7).
#ifndef BB_SOLVERS_OPERATOR_TRANSFORM_STREAM_H
#define BB_SOLVERS_OPERATOR_TRANSFORM_STREAM_H

#include "core/device/device.h"
#include "precision/codecs/transform.h"
#include "solvers/operator/stream/coded_stream.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

// Index arithmetic, for host and device: blocks of the mesh in a panel, work items of the threads
// in a transform of a few short axes, and words of coefficients.
//
// A panel has every `panels`-th block of the mesh, so that a near field is spread over all panels.
// Frequencies of its blocks are consecutive in shared memory, `cells` per block, and a coefficient
// refers to its own by 10 bits.

enum {
    BB_TRANSFORM_PANEL_CELLS = 1024, ///< largest size of a panel
    BB_TRANSFORM_CELL_BITS = 10,
    BB_TRANSFORM_NARROW = 8, ///< entries per 16 bytes
    BB_TRANSFORM_WIDER = 4,
    BB_TRANSFORM_LONG = 2,
    BB_TRANSFORM_TILE = 4, ///< frequencies per thread
    BB_TRANSFORM_LANES = 32,
};

/// Total lengths along the row grid's lines and columns and the mesh's, lengths of a block, and
/// numbers of blocks.
typedef struct bb_transform_shape {
    uint32_t extent[4], length[4], count[4];
    uint32_t panels, panel_blocks; ///< panel_blocks: largest number per panel
    uint32_t cells, block_rows;    ///< cells and rows of a whole block
} bb_transform_shape;

/// Matrices [n][pitch] along each axis for whole and for shorter blocks, out[k] = sum in[i]
/// M[i][k]: the transform of cells, and the inverse one of rows. Rows are padded to a pitch of 8 or
/// more.
typedef struct bb_transform_bases {
    uint32_t first[4][2], pitch[4][2];
    uint32_t values; ///< number of values of all matrices
} bb_transform_bases;

/// Length of block `index` along an axis.
BB_DEVICE_FUNCTION
uint32_t bb_transform_stream_size(const bb_transform_shape *shape, int axis, uint32_t index)
{
    const uint32_t rest = shape->extent[axis] - index * shape->length[axis];
    return rest < shape->length[axis] ? rest : shape->length[axis];
}

/// Frequencies, or values, computed by one thread: `count` of them, `step` apart.
typedef struct bb_transform_quad {
    double value[BB_TRANSFORM_TILE];
    uint32_t start, step, count;
} bb_transform_quad;

// Four outputs from `k` on of n inputs, `stride` apart; pitches are multiples of 8.
BB_DEVICE_FUNCTION
void bb_transform_stream_four(const double *basis, uint32_t n, uint32_t pitch, uint32_t k,
                              const double *input, uint32_t stride, bb_transform_quad *out)
{
    double sum[BB_TRANSFORM_TILE] = {0.0, 0.0, 0.0, 0.0};
    for (uint32_t i = 0; i < n; ++i) {
        const double value = input[i * stride];
#if defined(__CUDA_ARCH__)
        const double2 *pairs = reinterpret_cast<const double2 *>(basis + i * pitch + k);
        const double2 low = pairs[0];
        const double2 high = pairs[1];
        const double m[BB_TRANSFORM_TILE] = {low.x, low.y, high.x, high.y};
#else
        const double *m = basis + i * pitch + k;
#endif
        for (int o = 0; o < BB_TRANSFORM_TILE; ++o) {
            sum[o] = fma(m[o], value, sum[o]);
        }
    }
    for (int o = 0; o < BB_TRANSFORM_TILE; ++o) {
        out->value[o] = sum[o];
    }
    out->count = n - k < BB_TRANSFORM_TILE ? n - k : BB_TRANSFORM_TILE;
}

BB_DEVICE_FUNCTION
uint32_t bb_transform_stream_tiles(uint32_t n)
{
    return (n + BB_TRANSFORM_TILE - 1) / BB_TRANSFORM_TILE;
}

/// Number of work items for reading a panel's x, and for either pass over it.
BB_DEVICE_FUNCTION
uint32_t bb_transform_stream_cell_works(const bb_transform_shape *shape, int axis)
{
    return bb_transform_stream_tiles(shape->length[axis]) * shape->panel_blocks *
           shape->length[5 - axis];
}

/// Location in x and in shared memory of value `work` < panel_blocks cells of a panel.
BB_DEVICE_FUNCTION
bool bb_transform_stream_cell(const bb_transform_shape *shape, uint32_t panel, uint32_t work,
                              uint32_t *of_x, uint32_t *cursor)
{
    const uint32_t j = work / shape->cells;
    const uint32_t line = work % shape->cells / shape->length[3];
    const uint32_t column = work % shape->length[3];
    const uint32_t block = panel + j * shape->panels;
    const uint32_t down = block / shape->count[3];
    const uint32_t across = block % shape->count[3];
    if (down >= shape->count[2] || line >= bb_transform_stream_size(shape, 2, down) ||
        column >= bb_transform_stream_size(shape, 3, across)) {
        return false;
    }
    *of_x =
        (down * shape->length[2] + line) * shape->extent[3] + across * shape->length[3] + column;
    *cursor = j * shape->cells + line * bb_transform_stream_size(shape, 3, across) + column;
    return true;
}

/// Work item of bb_transform_stream_cell_works along an axis of the mesh: lines first, which
/// transposes a block, then columns, which transposes it back.
BB_DEVICE_FUNCTION
bb_transform_quad bb_transform_stream_along_cells(const bb_transform_shape *shape,
                                                  const bb_transform_bases *bases,
                                                  const double *values, uint32_t panel, int axis,
                                                  uint32_t work, const double *input)
{
    bb_transform_quad out = {{0.0, 0.0, 0.0, 0.0}, 0, 1, 0};
    const int other = 5 - axis;
    const uint32_t c = work % shape->length[other];
    const uint32_t j = work / shape->length[other] % shape->panel_blocks;
    const uint32_t k = work / shape->length[other] / shape->panel_blocks * BB_TRANSFORM_TILE;
    const uint32_t block = panel + j * shape->panels;
    const uint32_t down = block / shape->count[3];
    const uint32_t across = block % shape->count[3];
    if (down >= shape->count[2]) {
        return out;
    }
    const uint32_t n = bb_transform_stream_size(shape, axis, axis == 2 ? down : across);
    const uint32_t width = bb_transform_stream_size(shape, other, axis == 2 ? across : down);
    if (k < n && c < width) {
        const int rest = n < shape->length[axis];
        bb_transform_stream_four(values + bases->first[axis][rest], n, bases->pitch[axis][rest], k,
                                 input + j * shape->cells + c, width, &out);
        out.start = j * shape->cells + c * n + k;
    }
    return out;
}

/// Number of work items in either inverse pass over `groups` blocks of rows.
BB_DEVICE_FUNCTION
uint32_t bb_transform_stream_row_works(const bb_transform_shape *shape, int axis, uint32_t groups)
{
    return bb_transform_stream_tiles(shape->length[axis]) * groups * shape->length[1 - axis];
}

/// Block of rows of a work item, and its output index along the other axis.
BB_DEVICE_FUNCTION
void bb_transform_stream_row_work(const bb_transform_shape *shape, int axis, uint32_t groups,
                                  uint32_t work, uint32_t *group, uint32_t *c, uint32_t *k)
{
    *c = work % shape->length[1 - axis];
    *group = work / shape->length[1 - axis] % groups;
    *k = work / shape->length[1 - axis] / groups * BB_TRANSFORM_TILE;
}

/// Work item of a transform of rows; `group` counts the blocks of all bands consecutively. Lines
/// first, from sums [row lines][row columns] to [row columns][lines], then columns, to
/// [lines][columns].
BB_DEVICE_FUNCTION
bb_transform_quad bb_transform_stream_along_rows(const bb_transform_shape *shape,
                                                 const bb_transform_bases *bases,
                                                 const double *values, uint32_t group, int axis,
                                                 uint32_t c, uint32_t k, const double *input)
{
    bb_transform_quad out = {{0.0, 0.0, 0.0, 0.0}, 0, 1, 0};
    const uint32_t band = group / shape->count[1];
    const uint32_t across = group % shape->count[1];
    const uint32_t n = bb_transform_stream_size(shape, axis, axis == 0 ? band : across);
    const uint32_t width = bb_transform_stream_size(shape, 1 - axis, axis == 0 ? across : band);
    if (k < n && c < width) {
        const int rest = n < shape->length[axis];
        bb_transform_stream_four(values + bases->first[axis][rest], n, bases->pitch[axis][rest], k,
                                 input + c, width, &out);
        out.start = c * n + k;
    }
    return out;
}

/// Row of the matrix of value `index` of a block of rows.
BB_DEVICE_FUNCTION
uint64_t bb_transform_stream_row(const bb_transform_shape *shape, uint32_t group, uint32_t index)
{
    const uint32_t across = group % shape->count[1];
    const uint32_t width = bb_transform_stream_size(shape, 1, across);
    const uint64_t line = (uint64_t)(group / shape->count[1]) * shape->length[0] + index / width;
    return line * shape->extent[1] + across * shape->length[1] + index % width;
}

/// Descriptor of a lane of a slice: some of the chunks of one frequency of a block's rows, which 1
/// to 32 adjacent lanes process in turn. Bits: row 8, log2 lanes 3, chunks of narrow entries 8, of
/// others 10; then flags: the others are long, there is a row, it is NaN.
typedef struct bb_transform_lane {
    uint32_t row, log_lanes;
    uint32_t narrow, others; ///< chunks of the row
    uint32_t is_long, present, poisoned;
} bb_transform_lane;

BB_DEVICE_FUNCTION
uint32_t bb_transform_lane_word(const bb_transform_lane *lane)
{
    return lane->row | lane->log_lanes << 8 | lane->narrow << 11 | lane->others << 19 |
           lane->is_long << 29 | lane->present << 30 | lane->poisoned << 31;
}

BB_DEVICE_FUNCTION
bb_transform_lane bb_transform_lane_of(uint32_t word)
{
    bb_transform_lane lane;
    lane.row = word & 255U;
    lane.log_lanes = word >> 8 & 7U;
    lane.narrow = word >> 11 & 255U;
    lane.others = word >> 19 & 1023U;
    lane.is_long = word >> 29 & 1U;
    lane.present = word >> 30 & 1U;
    lane.poisoned = word >> 31;
    return lane;
}

/// Chunk of the row for a lane in a step; it exists if it is below narrow + others.
BB_DEVICE_FUNCTION
uint32_t bb_transform_lane_chunk(const bb_transform_lane *lane, uint32_t index, uint32_t step)
{
    return (step << lane->log_lanes) + (index & ((1U << lane->log_lanes) - 1U));
}

/// Entries: a cell of the panel in 10 bits below a quotient of 6 bits, in 16 bits, or of 22, in 32;
/// long ones use a word for each.
BB_DEVICE_FUNCTION
uint32_t bb_transform_stream_entry_cell(uint32_t entry)
{
    return entry & (BB_TRANSFORM_PANEL_CELLS - 1U);
}

BB_DEVICE_FUNCTION
int32_t bb_transform_stream_entry_narrow(uint32_t entry)
{
    return (int32_t)(entry << 16) >> (16 + BB_TRANSFORM_CELL_BITS);
}

BB_DEVICE_FUNCTION
int32_t bb_transform_stream_entry_wide(uint32_t entry)
{
    return (int32_t)entry >> BB_TRANSFORM_CELL_BITS;
}

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BB_TRANSFORM_WARPS = 8,     ///< warps per thread block of the first launch
    BB_TRANSFORM_JOB_BANDS = 8, ///< bands of a job per launch
    BB_TRANSFORM_JOBS = 3,
    BB_TRANSFORM_HELPERS = 64, ///< most additional blocks for heavy panels
    BB_TRANSFORM_SUMS = 2048,  ///< row frequencies that a thread block processes at a time
    BB_TRANSFORM_BASES = 1024, ///< values of bases that it stores
};

/// Coefficients of 32 lanes.
typedef struct bb_transform_slice {
    uint32_t chunk; ///< first chunk, in units of 16 bytes
    uint32_t group; ///< block of rows: band x blocks across + block
} bb_transform_slice;

/// Some rows of one matrix times a vector; all addresses are device addresses.
typedef struct bb_transform_job {
    const uint32_t *chunks; ///< [][4]
    const bb_transform_slice *slices;
    const uint32_t *lanes; ///< [slices][32]
    /// [bands][panels + 1] first slice of a panel, from the first band used.
    const uint32_t *firsts;
    double *parts; ///< workspace: [blocks][part_pitch]
    double *y;     ///< [rows]
    double step;
} bb_transform_job;

/// Task of one launch: matrices of one shape, the same rows of each.
typedef struct bb_transform_task {
    bb_stream_sums sums; ///< a run is the products of a chunk
    int count;
    bb_transform_shape shape;
    bb_transform_bases bases;
    const double *basis; ///< values of all bases
    const double *x;     ///< [columns], or NULL
    const float *x_f32;  ///< x rounded to fp32, used if `x` is NULL
    uint64_t row;        ///< first row in the matrix
    uint32_t rows;
    uint32_t band, bands; ///< bands used
    uint32_t part_pitch;
    uint32_t blocks; ///< thread blocks of the first launch: one per panel, then helpers of heavy
                     ///< panels
    uint32_t helps[BB_TRANSFORM_HELPERS]; ///< panel of each helper
    bb_transform_job jobs[BB_TRANSFORM_JOBS];
} bb_transform_task;

/// Number of blocks of rows whose sums fit in shared memory at the same time, per matrix.
BB_DEVICE_FUNCTION
uint32_t bb_transform_stream_groups_at_once(const bb_transform_task *task)
{
    return BB_TRANSFORM_SUMS / ((uint32_t)task->count * task->shape.block_rows);
}

/// Panel of a thread block, and its share of the slices, one of `shares`.
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

/// Slice ranges of a panel for each matrix and band of a task.
typedef struct bb_transform_slices {
    uint32_t first[BB_TRANSFORM_JOBS * BB_TRANSFORM_JOB_BANDS];
    uint32_t past[BB_TRANSFORM_JOBS * BB_TRANSFORM_JOB_BANDS];
} bb_transform_slices;

/// Computes entry `which` of the task's count x bands.
BB_DEVICE_FUNCTION
void bb_transform_stream_find_slices(const bb_transform_task *task, uint32_t panel, uint32_t which,
                                     bb_transform_slices *out)
{
    const uint32_t *firsts = task->jobs[which / task->bands].firsts +
                             (size_t)(which % task->bands) * (task->shape.panels + 1) + panel;
    out->first[which] = firsts[0];
    out->past[which] = firsts[1];
}

/// Slice `index` over all ranges; returns false past the last.
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

enum { BB_TRANSFORM_CHUNK_WORDS = 4, BB_TRANSFORM_PART_PANELS = 16 };

/// Growing array.
typedef struct bb_transform_list {
    void *items;
    bb_index count, capacity;
    size_t item;
} bb_transform_list;

/// Chunks, slices and lanes of some panels of a band, counted from 0. Zero-initialise.
typedef struct bb_transform_part {
    bb_transform_list chunks, slices, lanes;
    uint32_t firsts[BB_TRANSFORM_PART_PANELS + 1]; ///< first slices of its panels
} bb_transform_part;

/// Builds the panels of a band from `panel` on, at most BB_TRANSFORM_PART_PANELS, on the calling
/// thread. Errors: BB_MEMORY. Release with bb_transform_part_release, also on failure.
BB_CHECKED bb_status bb_transform_part_build(const bb_coded_matrix *matrix,
                                             const bb_transform_shape *shape, bb_index band,
                                             bb_index panel, bb_transform_part *out);
void bb_transform_part_release(bb_transform_part *part);

typedef struct bb_transform_stream bb_transform_stream;

/// Copies a transform matrix to a device and allocates its sums. Errors: BB_MEMORY, BB_DEVICE,
/// BB_UNSUPPORTED (more than 2^32 rows, columns or chunks).
BB_CHECKED bb_status bb_transform_stream_create(bb_device *device, const bb_coded_matrix *matrix,
                                                bb_transform_stream **out);
void bb_transform_stream_destroy(bb_transform_stream **stream);

/// Bytes of the matrix read by a product of all rows.
size_t bb_transform_stream_bytes(const bb_transform_stream *stream);

/// True if both can be in one task.
bool bb_transform_stream_alike(const bb_transform_stream *one, const bb_transform_stream *other);

/// Task for rows from `row` on, as many of `rows` as a task has bands for, with `count` compatible
/// matrices; the caller sets sums, x, x_f32 and every y. Returns the number of rows.
bb_index bb_transform_stream_task(const bb_transform_stream *const *streams, int count,
                                  bb_index row, bb_index rows, bb_transform_task *out);

/// Queues a bb_transform_task; nothing waits, so a stream under capture can record it. A matrix's
/// workspace serves one task at a time.
bb_status bb_transform_stream_multiply_cuda(bb_queue *queue, bb_index begin, bb_index rows,
                                            void *arguments);

#ifdef __cplusplus
}
#endif

#endif
