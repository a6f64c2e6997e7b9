// SPDX-License-Identifier: Apache-2.0
//
// A matrix in zfp on a GPU: y = C x by decoding and multiplying panel by panel (the architecture of
// Bamakhrama et al., "decoded on the device, then applied"). Streams and run indexes are stored on
// the device as for bb_zfp_decoder. Decoded values never leave registers (3-D and 4-D: shared
// memory of the warp), so no decoded part of the matrix is written to memory.
//
// A warp processes a panel (below). In one and two dimensions a lane decodes a run of a row's
// blocks and adds its products. In three and four dimensions a warp decodes a block; lane l has its
// lines l and l + 32 of four values, each from one row, and accumulates their sums. A panel writes
// a sum for each of its rows; a second kernel adds them and removes the scale. Windows that cut a
// slab decode all of it.
//
// Values are bit-identical to those on the cpu. Order of the sums of a row: blocks ascending, in a
// block the lines by y, values by x, then a tree over the lanes, panels in 32 strides, a tree. It
// depends on the matrix's shape only. A run of fp32 products (bb_coded_operator_sum_in_runs) has
// the products of a lane within a block: 16 in two dimensions, 4 otherwise, which is as accurate as
// longer ones.
//
// Predicted time, from zfp_decoder_cuda.cu: that kernel needs 1120 to 1320 instructions per warp
// for 512 values in two dimensions, 50 of them stores, and 0.33 ms on an H200 for 378 x 256000
// values at 3.1 bits. Products have no stores; they have 4 loads of x, 16 products and 3
// instructions for the sum of a run (without runs 16 conversions and 16 sums in fp64 more, at a
// quarter and half of the rate). Panels of two groups are 47,000 warps for 3,700 warp slots, so the
// last wave costs 4 %; the beginnings and ends of panels cost 3 %. Predicted are thus 0.34 to 0.36
// ms, without runs 0.38. Instructions are the bottleneck: 45 MB of stream and index take 10 us, and
// the 387 MB of x requested by lanes come from the caches.
#ifndef BB_SOLVERS_OPERATOR_ZFP_PANELS_H
#define BB_SOLVERS_OPERATOR_ZFP_PANELS_H

#include "core/device/device.h"
#include "precision/codecs/zfp/zfp_decoder.h"
#include "precision/coded_matrix.h"
#include "solvers/operator/stream/coded_stream.h"

// Panels, in the common subset of C and CUDA.
//
// A slab is the set of rows that are decoded together: a row (1-D, 2-D), four rows of a line of the
// row grid (3-D), four by four (4-D). Its values are `blocks` consecutive blocks in the stream of
// the slab's band. A panel is the part of a slab whose runs of blocks are in BB_ZFP_PANEL_NARROW or
// BB_ZFP_PANEL_WIDE groups of the index (32 runs). One warp decodes and multiplies it.

enum {
    BB_ZFP_PANEL_NARROW = 2, ///< groups per panel in one and two dimensions, one run per lane
    BB_ZFP_PANEL_WIDE = 1,   ///< in three and four dimensions, one run per warp
};

typedef struct bb_zfp_cut {
    int dimensions;
    bb_index nx, ny;       ///< mesh of the columns
    bb_index line_rows;    ///< rows per line of the row grid, 1 below three dimensions
    bb_index band_rows;    ///< rows per stream; the matrix's last may have fewer
    bb_index band_slabs;   ///< slabs per band
    bb_index slab_rows;    ///< 1, 4 or 16; some may not exist
    bb_index blocks;       ///< blocks per slab
    bb_index run_blocks;   ///< 1 in three and four dimensions: no run crosses slabs
    bb_index runs;         ///< runs per slab; the last run may have fewer blocks
    bb_index panel_groups; ///< BB_ZFP_PANEL_NARROW or BB_ZFP_PANEL_WIDE
    bb_index panels;       ///< panels per slab; the last ones may be empty
} bb_zfp_cut;

/// Partition of a band with all its lines.
BB_DEVICE_FUNCTION
bb_zfp_cut bb_zfp_cut_of(const bb_zfp_shape *shape, bb_index run_blocks)
{
    const int wide = shape->dimensions >= 3;
    const bb_index group = BB_ZFP_GROUP_RUNS;
    bb_zfp_cut cut;
    cut.dimensions = shape->dimensions;
    cut.nx = shape->nx;
    cut.ny = shape->ny;
    cut.line_rows = shape->nz;
    cut.band_rows = shape->nz * shape->nw;
    cut.band_slabs = bb_zfp_stream_blocks_of(shape->nz);
    cut.slab_rows = shape->dimensions == 4 ? 16 : wide ? 4 : 1;
    cut.blocks = bb_zfp_stream_blocks_of(shape->nx) * bb_zfp_stream_blocks_of(shape->ny);
    cut.run_blocks = run_blocks;
    cut.runs = (cut.blocks + run_blocks - 1) / run_blocks;
    cut.panel_groups = wide ? BB_ZFP_PANEL_WIDE : BB_ZFP_PANEL_NARROW;
    // A slab may start at any run of a group.
    const bb_index touched =
        wide ? (cut.runs + 2 * (group - 1)) / group : (cut.runs + group - 1) / group;
    cut.panels = (touched + cut.panel_groups - 1) / cut.panel_groups;
    return cut;
}

/// Runs [begin, end) of a band, empty unless `begin` is below `end`.
typedef struct bb_zfp_panel {
    bb_index band;
    bb_index first_run; ///< first run of the slab, within the band
    bb_index begin, end;
} bb_zfp_panel;

BB_DEVICE_FUNCTION
bb_zfp_panel bb_zfp_panel_of(const bb_zfp_cut *cut, bb_index slab, bb_index panel)
{
    bb_zfp_panel out;
    out.band = cut->band_slabs == 1 ? slab : slab / cut->band_slabs;
    out.first_run = (slab - out.band * cut->band_slabs) * cut->runs;
    const bb_index past = out.first_run + cut->runs;
    const bb_index group = out.first_run / BB_ZFP_GROUP_RUNS + panel * cut->panel_groups;
    out.begin = group * BB_ZFP_GROUP_RUNS;
    out.end = out.begin + cut->panel_groups * BB_ZFP_GROUP_RUNS;
    out.begin = out.begin > out.first_run ? out.begin : out.first_run;
    out.end = out.end < past ? out.end : past;
    return out;
}

/// Slab of a row and its index among the slab's rows, z + 4 w.
typedef struct bb_zfp_row_place {
    bb_index slab, row;
} bb_zfp_row_place;

BB_DEVICE_FUNCTION
bb_zfp_row_place bb_zfp_row_place_of(const bb_zfp_cut *cut, bb_index row)
{
    const bb_index band = row / cut->band_rows;
    const bb_index of_band = row - band * cut->band_rows;
    const bb_index w = of_band / cut->line_rows;
    const bb_index z = of_band - w * cut->line_rows;
    bb_zfp_row_place out;
    out.slab = band * cut->band_slabs + z / 4;
    out.row = z % 4 + 4 * w;
    return out;
}

/// Slabs that contain the rows; in four dimensions those of whole bands.
typedef struct bb_zfp_slab_range {
    bb_index first, count;
} bb_zfp_slab_range;

BB_DEVICE_FUNCTION
bb_zfp_slab_range bb_zfp_panels_slabs_of(const bb_zfp_cut *cut, bb_index row, bb_index rows)
{
    bb_zfp_slab_range out = {0, 0};
    if (rows > 0) {
        bb_index first = bb_zfp_row_place_of(cut, row).slab;
        bb_index last = bb_zfp_row_place_of(cut, row + rows - 1).slab;
        if (cut->dimensions == 4) {
            first = row / cut->band_rows * cut->band_slabs;
            last = ((row + rows - 1) / cut->band_rows + 1) * cut->band_slabs - 1;
        }
        out.first = first;
        out.count = last - first + 1;
    }
    return out;
}

/// Number of panel sums written by a product of this many slabs.
BB_DEVICE_FUNCTION
bb_index bb_zfp_panels_place_count(const bb_zfp_cut *cut, bb_index slabs)
{
    return slabs * cut->slab_rows * cut->panels;
}

/// Index of the sum of a panel for a row; slabs are counted from the product's first.
BB_DEVICE_FUNCTION
bb_index bb_zfp_panels_place_of(const bb_zfp_cut *cut, bb_index slab, bb_index row, bb_index panel)
{
    return (slab * cut->slab_rows + row) * cut->panels + panel;
}

#ifdef __cplusplus
extern "C" {
#endif

/// One matrix of a product; all addresses are device addresses.
typedef struct bb_zfp_operand {
    bb_zfp_words words;
    bb_zfp_settings settings;
    const uint64_t *places;  ///< [bands][2], as in bb_zfp_decoding
    const uint64_t *bases;   ///< [bands][groups]
    const uint16_t *lengths; ///< [bands][groups][32], NULL: fixed rate
    const double *scales;    ///< [rows]; NaN: the row is poisoned
    double *y;               ///< [requested rows]
} bb_zfp_operand;

/// Products of matrices of one shape and kind in one launch, for the same rows.
typedef struct bb_zfp_task {
    bb_zfp_cut cut;
    bb_index groups; ///< groups per index of a band
    bool reversible;
    bb_stream_sums sums;
    bb_index row, rows;      ///< requested rows
    bb_zfp_slab_range slabs; ///< slabs that contain them
    const void *x;           ///< [columns] in the products' format, aligned to 16 bytes
    int operands;
    bb_zfp_operand operand[BB_STREAM_OPERANDS];
    double *sums_of_panels; ///< workspace: [operands][bb_zfp_panels_place_count]
} bb_zfp_task;

typedef struct bb_zfp_panels bb_zfp_panels;

/// Copies a zfp matrix to a device with an index that it builds, and allocates a workspace for
/// products of all rows in up to BB_STREAM_OPERANDS compatible matrices. Errors: BB_INVALID (not
/// encoded), BB_MEMORY (host or device), BB_DEVICE.
BB_CHECKED bb_status bb_zfp_panels_create(bb_device *device, const bb_coded_matrix *matrix,
                                          bb_zfp_panels **out);
void bb_zfp_panels_destroy(bb_zfp_panels **panels);

/// True if two matrices can be in one task.
bool bb_zfp_panels_alike(const bb_zfp_panels *a, const bb_zfp_panels *b);

/// Task for rows [row, row + rows) with the matrix as the only operand; the caller sets sums, x and
/// y.
bb_zfp_task bb_zfp_panels_task(const bb_zfp_panels *panels, bb_index row, bb_index rows);

/// Bytes of the matrix read by a product of all rows: streams and indexes.
size_t bb_zfp_panels_bytes(const bb_zfp_panels *panels);

/// Index bits per value of a matrix of variable rate, for meshes and lines of whole blocks.
double bb_zfp_panels_index_bits(int dimensions);

/// Queues a bb_zfp_task; nothing waits, so a stream under capture can record it. A matrix's
/// workspace serves one task at a time.
bb_status bb_zfp_panels_multiply_cuda(bb_queue *queue, bb_index begin, bb_index rows,
                                      void *arguments);

#ifdef __cplusplus
}
#endif

#endif
