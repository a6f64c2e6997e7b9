// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/coding_report.h"

#include "core/memory.h"

#include <math.h>

bb_coding_report bb_coding_report_start(void)
{
    return (bb_coding_report){.norms = bb_error_norms_start()};
}

bb_coding_report bb_coding_report_unset(void)
{
    const bb_error_norms norms = {NAN, NAN, NAN, NAN, NAN, NAN, 0};
    return (bb_coding_report){NAN, NAN, NAN, NAN, NAN, NAN, norms};
}

void bb_coding_report_add(bb_coding_report *total, const bb_coding_report *more)
{
    total->seconds += more->seconds;
    total->bytes += more->bytes;
    total->values += more->values;
    total->saturated += more->saturated;
    total->underflowed += more->underflowed;
    total->non_finite += more->non_finite;
    bb_error_norms_merge(&total->norms, &more->norms);
}

static const char title[] = "/results, wafer and product: what storage lost";

enum { CODEC_BYTES = 96 };

// Of a pipeline: sums over the axis.
typedef struct storage_row {
    const char *codec, *rounding;
    double saturated, underflowed, non_finite;
    char description[CODEC_BYTES];
} storage_row;

static const bb_output outputs[] = {
    {"codec", "pipeline", NULL, "how the matrix is stored", .member = offsetof(storage_row, codec)},
    {"rounding", "pipeline", NULL, "how stored values are rounded",
     .member = offsetof(storage_row, rounding)},
    {"saturated_values", "pipeline", "1", "stored values clipped to the format's range",
     .member = offsetof(storage_row, saturated)},
    {"underflowed_values", "pipeline", "1", "values other than zero that are stored as zero",
     .member = offsetof(storage_row, underflowed)},
    {"non_finite_values", "pipeline", "1", "values that the codec cannot hold",
     .member = offsetof(storage_row, non_finite)},
};

const bb_output_table bb_coding_report_outputs = {
    .title = title, .group = "results", .axes = "pipeline", BB_OUTPUT_ROWS(outputs)};

// Of a pipeline and an item of the axis.
typedef struct measure_row {
    double bits, rmse, nrmse, max_error, bias, psnr_db, psnr_zfp_db;
} measure_row;

#define AXES "pipeline, <axis or operator>"

static const bb_output measures[] = {
    {"bits_per_value", AXES, "1", "stored bits over values, exponents, index and scales included",
     .member = offsetof(measure_row, bits)},
    {"rmse", AXES, "<of the matrix>", "root mean square of decoded minus exact values",
     .note = "m/K of wafer", .member = offsetof(measure_row, rmse)},
    {"nrmse", AXES, "1", "rmse over the range (maximum - minimum) of the exact values",
     .note = "NaN where they are all equal", .member = offsetof(measure_row, nrmse)},
    {"max_error", AXES, "<of the matrix>", "largest magnitude of decoded minus exact values",
     .note = "m/K of wafer", .member = offsetof(measure_row, max_error)},
    {"mean_error", AXES, "<of the matrix>",
     "mean of decoded minus exact values: the bias of rounding", .note = "m/K of wafer",
     .member = offsetof(measure_row, bias)},
    {"psnr_db", AXES, "dB", "20 log10(range / rmse)",
     .note = "inf of a lossless copy (`rmse` 0, such as the reference), NaN where the exact values "
             "are all "
             "equal and so have no range",
     .member = offsetof(measure_row, psnr_db)},
    {"psnr_zfp_db", AXES, "dB", "20 log10(range / (2 rmse)), as the zfp tool prints it",
     .note = "6.02 dB less; inf and NaN likewise", .member = offsetof(measure_row, psnr_zfp_db)},
};

const bb_output_table bb_coding_report_measures = {
    .title = title, .group = "results", .axes = AXES, BB_OUTPUT_ROWS(measures)};

static measure_row measure(const bb_coding_report *report)
{
    const bb_error_norms *norms = &report->norms;
    return (measure_row){
        .bits = 8.0 * report->bytes / report->values,
        .rmse = bb_error_norms_rmse(norms),
        .nrmse = bb_error_norms_nrmse(norms),
        .max_error = norms->max_error,
        .bias = bb_error_norms_bias(norms),
        .psnr_db = bb_error_norms_psnr_db(norms),
        .psnr_zfp_db = bb_error_norms_psnr_zfp_db(norms),
    };
}

static void describe(const bb_product_pipeline *pipeline, bb_index count,
                     const bb_coding_report *reports, storage_row *out)
{
    *out = (storage_row){.codec = out->description, .rounding = ""};
    if (pipeline->storage.codec >= 0) { // else a promise that was not kept
        out->rounding = bb_codec_rounding(&pipeline->storage);
        bb_codec_describe(&pipeline->storage, out->description, sizeof out->description);
    }
    for (bb_index i = 0; i < count; ++i) {
        out->saturated += reports[i].saturated;
        out->underflowed += reports[i].underflowed;
        out->non_finite += reports[i].non_finite;
    }
}

bb_status bb_coding_report_publish(const bb_list *pipelines, const char *axis, bb_index axis_count,
                                   const char *unit, const bb_coding_report *reports,
                                   bb_results *results)
{
    bb_status status = BB_OK;
    const bb_product_pipeline *items = pipelines->items;
    const bb_index count = pipelines->count * axis_count;
    const bb_output_fill fill = {.unit = unit, .axis = axis};
    storage_row *rows = NULL;    // [pipelines]
    measure_row *numbers = NULL; // [pipelines][axis_count]
    BB_TRY(BB_ALLOCATE(pipelines->count, &rows));
    BB_TRY(BB_ALLOCATE(count, &numbers));
    for (bb_index p = 0; p < pipelines->count; ++p) {
        describe(&items[p], axis_count, reports + p * axis_count, &rows[p]);
    }
    for (bb_index i = 0; i < count; ++i) {
        numbers[i] = measure(&reports[i]);
    }
    BB_TRY(bb_output_table_publish_records(&bb_coding_report_outputs, rows, sizeof *rows,
                                           pipelines->count, NULL, results));
    BB_TRY(bb_output_table_publish_records(&bb_coding_report_measures, numbers, sizeof *numbers,
                                           count, &fill, results));
done:
    BB_RELEASE(&rows);
    BB_RELEASE(&numbers);
    return status;
}
