// SPDX-License-Identifier: Apache-2.0
//
// Encoding of rows on a GPU into the layout of coded_stream.h: tasks of the kernels.
//
// A warp encodes a segment of a row: BB_STREAM_SEGMENT columns, four per lane at a time. Errors are
// summed over a lane's columns in order, over the lanes as a tree, and over a row's segments in
// order: the same bits in every run.
#ifndef BB_SOLVERS_OPERATOR_STREAM_STREAM_ENCODER_H
#define BB_SOLVERS_OPERATOR_STREAM_STREAM_ENCODER_H

#include "precision/codecs/integer_core.h"
#include "precision/format_core.h"
#include "precision/row_certificate.h"
#include "solvers/operator/stream/coded_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BB_STREAM_SEGMENT = BB_QUANTISER_RUN }; ///< columns, a multiple of those of any tile

/// Rows to encode; all addresses are device addresses.
typedef struct bb_stream_rows {
    const double *values;  ///< [rows][columns]
    const double *factors; ///< [rows] factors of the values before encoding, or NULL
    bb_index rows, columns;
} bb_stream_rows;

/// Magnitudes of a row times its factor, as bit patterns of doubles.
typedef struct bb_stream_range {
    uint64_t largest;  ///< NaN is ignored
    uint64_t held;     ///< largest one within the range of fp32
    uint64_t not_held; ///< number of values outside the range of fp32
} bb_stream_range;

typedef struct bb_stream_range_task {
    bb_stream_rows source;
    bb_stream_range *ranges; ///< [rows], zero on entry
} bb_stream_range_task;

/// Sums of squared errors of a row for each of its steps, in the order of the codec.
typedef struct bb_stream_clip_task {
    bb_stream_rows source;
    int bits;
    const float *steps; ///< [rows][BB_INTEGER_CLIPS]
    double *squares;    ///< [rows][BB_INTEGER_CLIPS]
} bb_stream_clip_task;

/// Errors of a segment or a row, without scales and factors.
typedef struct bb_stream_errors {
    bb_error_norms norms;
    double error_1, stored_1, stored_squares; ///< values for a row certificate
} bb_stream_errors;

/// Counts of a matrix.
typedef struct bb_stream_tally {
    uint64_t saturated, underflowed, non_finite;
    uint64_t words; ///< 32-bit words that the quantiser stores
    uint64_t odd;   ///< 1 + the last row with a unit of mx int8 below the normal range of fp32
} bb_stream_tally;

typedef struct bb_stream_encoding {
    bb_stream_rows source;
    bb_stream_layout layout;
    bb_codec_form form;
    bb_format_rule rule;  ///< rule for words of at most 16 bits, and tf32
    double lost;          ///< largest magnitude that words turn to zero
    const double *scales; ///< [rows]
    const float *steps;   ///< [rows] for integers
    float step;           ///< step for the quantiser
    bb_index tiles, segments;
    unsigned char *words;
    uint32_t *widths;         ///< quantiser: [tiles][rows], to be levelled in bands
    bb_stream_errors *errors; ///< [rows][segments]
    bb_stream_errors *totals; ///< [rows]
    bb_stream_tally *tally;   ///< zero on entry
} bb_stream_encoding;

/// Tiles of quotients, whole or one part of each, in storage order.
typedef struct bb_stream_quotient_task {
    bb_stream_rows source;
    float step;
    bb_stream_part part;
    bb_index tiles;
    const int32_t *sources;        ///< [tiles] tiles of the matrix; NULL: all in order
    const bb_stream_place *places; ///< [tiles][rows], for lower parts [matrix tiles][rows]
    uint32_t *widths;              ///< [tiles][rows], output of the measurement
    unsigned char *words;          ///< base address of the places
} bb_stream_quotient_task;

struct bb_device_coding; // solvers/operator/device_coding.h
struct bb_coding_loss;

/// True if a storage has an encoder in this build.
bool bb_stream_encoder_available(const bb_codec_config *storage);

/// Implements bb_device_coding_encode for an available storage; `storage` receives it with
/// defaults.
BB_CHECKED bb_status bb_stream_encoder_encode(bb_device *device,
                                              const struct bb_device_coding *coding,
                                              struct bb_coding_loss *loss,
                                              bb_row_certificate *certificates,
                                              bb_codec_config *storage, bb_coded_stream **out);

/// Allocates a device block and copies `values` to it. Errors: BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_stream_encoder_place(bb_device *device, const void *values, size_t bytes,
                                             void **out);

/// Adds the errors of all rows in order, from `totals` [rows] of bb_stream_errors on the device,
/// and stores the errors of each row in its certificate, with scale 1, if there are certificates.
/// Errors: BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_stream_encoder_collect(bb_device *device, const void *totals, bb_index rows,
                                               bb_error_norms *norms,
                                               bb_row_certificate *certificates);

/// Workspace of bb_stream_encoder_encode.
bb_need bb_stream_encoder_need(const bb_codec_config *storage, double rows, double columns);

/// Queue the task of the same name (`arguments`); `rows` is the number of rows of its source.
bb_status bb_stream_encoder_range_cuda(bb_queue *queue, bb_index begin, bb_index rows,
                                       void *arguments);
bb_status bb_stream_encoder_clip_cuda(bb_queue *queue, bb_index begin, bb_index rows,
                                      void *arguments);
/// Encodes the words of all rows, or computes the quantiser's widths only; with errors and counts.
bb_status bb_stream_encoder_rows_cuda(bb_queue *queue, bb_index begin, bb_index rows,
                                      void *arguments);
/// Queue the tasks that compute widths of parts of quotients, and that write words to their places.
bb_status bb_stream_encoder_widths_cuda(bb_queue *queue, bb_index begin, bb_index rows,
                                        void *arguments);
bb_status bb_stream_encoder_quotients_cuda(bb_queue *queue, bb_index begin, bb_index rows,
                                           void *arguments);

#ifdef __cplusplus
}
#endif

#endif
