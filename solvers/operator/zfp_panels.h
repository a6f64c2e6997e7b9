// SPDX-License-Identifier: Apache-2.0
//
// A matrix in zfp on a GPU: y = C x by decoding and multiplying panel by panel (the architecture of
// Bamakhrama et al., "decoded on the device, then applied"). Streams and run indexes lie on the
// device as bb_zfp_decoder has them; decoded values never leave registers (3-D and 4-D: shared
// memory of the warp), so nothing of the size of the matrix or of a part of it is written.
//
// A warp takes a panel (zfp_panels_core.h). In one and two dimensions a lane decodes a run of a
// row's blocks and adds its products; in three and four a warp decodes a block, lane l has its
// lines l and l + 32 of four values, which are of one row each, and keeps their sums. A panel
// leaves a sum for each of its rows; a second kernel adds them and undoes the scale. Windows that
// cut a slab decode all of it.
//
// Values are those of the cpu, bit by bit. Order of the sums of a row: blocks ascending, in a block
// the lines by y, values by x, then a tree over the lanes, panels in 32 strides, a tree. It depends
// on the matrix's shape alone. Runs of fp32 products (bb_coded_operator_sum_in_runs) are those of a
// block of a lane: 16 in two dimensions, 4 in others, which is as exact as longer ones.
//
// What it should take, from zfp_decoder_cuda.cu: that kernel needs 1120 to 1320 instructions of a
// warp for 512 values in two dimensions, 50 of them stores, and 0.33 ms on an H200 for 378 x 256000
// values at 3.1 bits. Products have no stores; they have 4 loads of x, 16 products and 3 for the
// sum of a run (one by one 16 conversions and 16 sums in fp64 more, at a quarter and half of the
// rate). Panels of two groups are 47,000 warps for 3,700 places, so that the last ones cost 4 %;
// the beginnings and ends of panels cost 3 %. So 0.34 to 0.36 ms predicted, one by one 0.38:
// instructions bind, 45 MB of stream and index take 10 us, and the 387 MB of x that lanes ask for
// come from the caches.
#ifndef BB_SOLVERS_OPERATOR_ZFP_PANELS_H
#define BB_SOLVERS_OPERATOR_ZFP_PANELS_H

#include "core/device/device.h"
#include "precision/codecs/zfp/zfp_decoder.h"
#include "precision/coded_matrix.h"
#include "solvers/operator/stream/coded_stream.h"
#include "solvers/operator/zfp_panels_core.h"

#ifdef __cplusplus
extern "C" {
#endif

/// One matrix of a product; addresses are the device's.
typedef struct bb_zfp_operand {
    bb_zfp_words words;
    bb_zfp_settings settings;
    const uint64_t *places;  ///< [bands][2], as in bb_zfp_decoding
    const uint64_t *bases;   ///< [bands][groups]
    const uint16_t *lengths; ///< [bands][groups][32], NULL: fixed rate
    const double *scales;    ///< [rows]; NaN: the row is poisoned
    double *y;               ///< [rows wanted]
} bb_zfp_operand;

/// Products of matrices of one shape and kind in one launch, the same rows of each.
typedef struct bb_zfp_task {
    bb_zfp_cut cut;
    bb_index groups; ///< of a band's index
    bool reversible;
    bb_stream_sums sums;
    bb_index row, rows;      ///< wanted
    bb_zfp_slab_range slabs; ///< that they lie in
    const void *x;           ///< [columns] in the products' format, at 16 bytes
    int operands;
    bb_zfp_operand operand[BB_STREAM_OPERANDS];
    double *sums_of_panels; ///< workspace: [operands][bb_zfp_panels_place_count]
} bb_zfp_task;

typedef struct bb_zfp_panels bb_zfp_panels;

/// Copies a matrix of codec zfp to a device with an index that it makes, and takes room for
/// products of all rows of it and of others like it, BB_STREAM_OPERANDS together. Errors:
/// BB_INVALID (not encoded), BB_MEMORY (host or device), BB_DEVICE.
BB_CHECKED bb_status bb_zfp_panels_create(bb_device *device, const bb_coded_matrix *matrix,
                                          bb_zfp_panels **out);
void bb_zfp_panels_destroy(bb_zfp_panels **panels);

/// Whether two matrices can be in one task.
bool bb_zfp_panels_alike(const bb_zfp_panels *a, const bb_zfp_panels *b);

/// A product of rows [row, row + rows) with the matrix as the only operand; sums, x and y are the
/// caller's to fill in.
bb_zfp_task bb_zfp_panels_task(const bb_zfp_panels *panels, bb_index row, bb_index rows);

/// Bytes of matrix that a product of all rows reads: streams and indexes.
size_t bb_zfp_panels_bytes(const bb_zfp_panels *panels);

/// Bits a value of the index of a matrix of variable rate, meshes and lines of whole blocks.
double bb_zfp_panels_index_bits(int dimensions);

/// Queues a bb_zfp_task on a queue; nothing waits, so that a stream that is being captured
/// takes it. One task at a time uses a matrix's workspace.
bb_status bb_zfp_panels_multiply_cuda(bb_queue *queue, bb_index begin, bb_index rows,
                                      void *arguments);

#ifdef __cplusplus
}
#endif

#endif
