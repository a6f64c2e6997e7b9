// SPDX-License-Identifier: Apache-2.0
//
// Encoding of rows on a GPU into the layout of coded_stream.h: tasks of the kernels.
//
// A warp takes a segment of a row: the columns of BB_STREAM_SEGMENT, four a lane at a time. Sums of
// errors are those of a lane in the order of its columns, of the lanes as a tree, and of a row's
// segments in their order: the same bits in every run.
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

/// Rows to encode; addresses are the device's.
typedef struct bb_stream_rows {
    const double *values;  ///< [rows][columns]
    const double *factors; ///< [rows] by which values are multiplied before they are coded, or NULL
    bb_index rows, columns;
} bb_stream_rows;

/// Magnitudes of a row times its factor, as bits of doubles.
typedef struct bb_stream_range {
    uint64_t largest;  ///< a NaN is passed over
    uint64_t held;     ///< of those that fp32 holds
    uint64_t not_held; ///< how many it does not
} bb_stream_range;

typedef struct bb_stream_range_task {
    bb_stream_rows source;
    bb_stream_range *ranges; ///< [rows], zero before
} bb_stream_range_task;

/// Sums of squared errors of a row for each of its steps, as the codec sums them.
typedef struct bb_stream_clip_task {
    bb_stream_rows source;
    int bits;
    const float *steps; ///< [rows][BB_INTEGER_CLIPS]
    double *squares;    ///< [rows][BB_INTEGER_CLIPS]
} bb_stream_clip_task;

/// Errors of a segment or a row, scales and factors undone.
typedef struct bb_stream_errors {
    bb_error_norms norms;
    double error_1, stored_1, stored_squares; ///< of a row certificate
} bb_stream_errors;

/// Counts of a matrix.
typedef struct bb_stream_tally {
    uint64_t saturated, underflowed, non_finite;
    uint64_t words; ///< of 32 bits that the quantiser stores
    uint64_t odd;   ///< 1 + the last row with a unit of mx int8 below fp32's normal numbers
} bb_stream_tally;

typedef struct bb_stream_encoding {
    bb_stream_rows source;
    bb_stream_layout layout;
    bb_codec_form form;
    bb_format_rule rule;  ///< of words of 16 bits and fewer, and tf32
    double lost;          ///< magnitudes that words turn to zero, at most
    const double *scales; ///< [rows]
    const float *steps;   ///< [rows] of integers
    float step;           ///< of the quantiser
    bb_index tiles, segments;
    unsigned char *words;
    uint32_t *widths;         ///< [tiles][rows] of the quantiser, to be levelled in bands
    bb_stream_errors *errors; ///< [rows][segments]
    bb_stream_errors *totals; ///< [rows]
    bb_stream_tally *tally;   ///< zero before
} bb_stream_encoding;

/// Tiles of quotients, whole or a part of each, in the order in which they lie.
typedef struct bb_stream_quotient_task {
    bb_stream_rows source;
    float step;
    bb_stream_part part;
    bb_index tiles;
    const int32_t *sources;        ///< [tiles] of the matrix's tiles; NULL: all in turn
    const bb_stream_place *places; ///< [tiles][rows], of lower parts [matrix tiles][rows]
    uint32_t *widths;              ///< [tiles][rows], measured
    unsigned char *words;          ///< where places begin
} bb_stream_quotient_task;

struct bb_device_coding; // solvers/operator/device_coding.h
struct bb_coding_loss;

/// Whether a storage has an encoder here, in this build.
bool bb_stream_encoder_available(const bb_codec_config *storage);

/// bb_device_coding_encode of a storage that is available; `storage` gets it with defaults.
BB_CHECKED bb_status bb_stream_encoder_encode(bb_device *device,
                                              const struct bb_device_coding *coding,
                                              struct bb_coding_loss *loss,
                                              bb_row_certificate *certificates,
                                              bb_codec_config *storage, bb_coded_stream **out);

/// A new block of the device with `values`. Errors: BB_MEMORY, BB_DEVICE.
BB_CHECKED bb_status bb_stream_encoder_place(bb_device *device, const void *values, size_t bytes,
                                             void **out);

/// Errors of all rows in their order, out of `totals` [rows] of bb_stream_errors on the device, and
/// those of each row in its certificate, of scale 1, where there are any. Errors: BB_MEMORY,
/// BB_DEVICE.
BB_CHECKED bb_status bb_stream_encoder_collect(bb_device *device, const void *totals, bb_index rows,
                                               bb_error_norms *norms,
                                               bb_row_certificate *certificates);

/// Workspace of bb_stream_encoder_encode.
bb_need bb_stream_encoder_need(const bb_codec_config *storage, double rows, double columns);

/// Queue a task of the name (`arguments`) on a queue; `rows` is that of its source.
bb_status bb_stream_encoder_range_cuda(bb_queue *queue, bb_index begin, bb_index rows,
                                       void *arguments);
bb_status bb_stream_encoder_clip_cuda(bb_queue *queue, bb_index begin, bb_index rows,
                                      void *arguments);
/// Words of all rows, or of the quantiser widths alone; errors and counts.
bb_status bb_stream_encoder_rows_cuda(bb_queue *queue, bb_index begin, bb_index rows,
                                      void *arguments);
/// Widths of parts of quotients, and words in their places.
bb_status bb_stream_encoder_widths_cuda(bb_queue *queue, bb_index begin, bb_index rows,
                                        void *arguments);
bb_status bb_stream_encoder_quotients_cuda(bb_queue *queue, bb_index begin, bb_index rows,
                                           void *arguments);

#ifdef __cplusplus
}
#endif

#endif
