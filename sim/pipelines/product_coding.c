// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/product_coding.h"

#include "core/clock.h"
#include "core/memory.h"
#include "precision/draw.h"
#include "solvers/operator/device_coding.h"

#include <math.h>
#include <stdio.h>

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

static const char title[] = "/results, wafer and product: storage errors";

enum { CODEC_BYTES = 96 };

// Row of a pipeline: sums over the axis.
typedef struct storage_row {
    const char *codec, *rounding;
    double saturated, underflowed, non_finite;
    char description[CODEC_BYTES];
} storage_row;

static const bb_output outputs[] = {
    {"codec", "pipeline", NULL, "storage format of the matrix",
     .member = offsetof(storage_row, codec)},
    {"rounding", "pipeline", NULL, "rounding of stored values",
     .member = offsetof(storage_row, rounding)},
    {"saturated_values", "pipeline", "1", "stored values clipped to the format's range",
     .member = offsetof(storage_row, saturated)},
    {"underflowed_values", "pipeline", "1", "nonzero values stored as zero",
     .member = offsetof(storage_row, underflowed)},
    {"non_finite_values", "pipeline", "1", "values outside the codec's range",
     .member = offsetof(storage_row, non_finite)},
};

const bb_output_table bb_coding_report_outputs = {
    .title = title, .group = "results", .axes = "pipeline", BB_OUTPUT_ROWS(outputs)};

// Row of a pipeline and an item of the axis.
typedef struct measure_row {
    double bits, rmse, nrmse, max_error, bias, psnr_db, psnr_zfp_db;
} measure_row;

#define AXES "pipeline, <axis or operator>"

static const bb_output measures[] = {
    {"bits_per_value", AXES, "1", "stored bits per value, including exponents, index and scales",
     .member = offsetof(measure_row, bits)},
    {"rmse", AXES, "<of the matrix>", "root mean square of decoded minus exact values",
     .note = "m/K for wafer", .member = offsetof(measure_row, rmse)},
    {"nrmse", AXES, "1", "rmse over the range (maximum - minimum) of the exact values",
     .note = "NaN if they are all equal", .member = offsetof(measure_row, nrmse)},
    {"max_error", AXES, "<of the matrix>", "largest magnitude of decoded minus exact values",
     .note = "m/K for wafer", .member = offsetof(measure_row, max_error)},
    {"mean_error", AXES, "<of the matrix>",
     "mean of decoded minus exact values: the bias of rounding", .note = "m/K for wafer",
     .member = offsetof(measure_row, bias)},
    {"psnr_db", AXES, "dB", "20 log10(range / rmse)",
     .note = "inf for a lossless copy (`rmse` 0, such as the reference), NaN if the exact values "
             "are all equal and so have no range",
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
    if (pipeline->storage.codec >= 0) { // otherwise max_loss was not met
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

void bb_coding_factors_undo(const bb_coding_factors *factors, bb_index row, bb_index count,
                            double *values)
{
    for (bb_index i = 0; factors->rows != NULL && i < count; ++i) {
        values[i] /= factors->rows[row + i];
    }
}

void bb_coding_factors_release(bb_coding_factors *factors)
{
    BB_RELEASE(&factors->rows);
}

// Computes the factors of a draw for a matrix of `rows`, shared by bands of `band` rows.
static bb_status make_factors(const bb_product_pipeline *pipeline, const bb_coding_draw *draw,
                              bb_index band, bb_index rows, bb_coding_factors *out)
{
    bb_status status = BB_OK;
    if (draw->number > 0) {
        BB_TRY(BB_ALLOCATE(rows, &out->rows));
        bb_draw_bands(draw->seed, draw->number, bb_codec_draw_range(&pipeline->storage),
                      draw->first, band, rows, out->rows);
    }
done:
    return status;
}

// Optional results of encoding: certificates, or the factors of a draw.
typedef struct coding_extras {
    bb_row_certificate *certificates;
    const bb_coding_draw *draw; // NULL: none
    bb_coding_factors *factors;
} coding_extras;

static void note_loss(const bb_coding_loss *loss, const bb_matrix_layout *layout, double seconds,
                      bb_coding_report *report)
{
    *report = (bb_coding_report){.seconds = seconds,
                                 .bytes = loss->bytes,
                                 .values = (double)layout->rows * (double)layout->columns,
                                 .saturated = loss->saturated,
                                 .underflowed = loss->underflowed,
                                 .non_finite = loss->non_finite,
                                 .norms = loss->norms};
}

static bb_status encode(const bb_product_pipeline *pipeline, const bb_exact_rows *rows,
                        const bb_matrix_layout *layout, const coding_extras *extras,
                        bb_coding_report *report, bb_coded_matrix **out)
{
    bb_status status = BB_OK;
    bb_coded_matrix *matrix = NULL;
    bb_coding_loss loss;
    double begin = bb_clock_seconds();
    *report = bb_coding_report_start();
    BB_TRY(bb_status_prefix(
        bb_coded_matrix_create(&pipeline->storage, (bb_row_scale)pipeline->scale, layout, &matrix),
        "pipeline %s", pipeline->name));
    bb_matrix_coding work = {.rows = rows, .certificates = extras->certificates};
    if (extras->draw != NULL) {
        BB_TRY(make_factors(pipeline, extras->draw, bb_coded_matrix_band(matrix), layout->rows,
                            extras->factors));
        work.factors = extras->factors->rows;
    }
    BB_TRY(bb_matrix_coding_encode(&work, matrix, &loss));
    note_loss(&loss, layout, bb_clock_seconds() - begin, report);
    *out = matrix;
    matrix = NULL;
done:
    bb_coded_matrix_destroy(&matrix);
    return status;
}

bb_status bb_product_coding_encode(const bb_product_pipeline *pipeline, const bb_exact_rows *rows,
                                   const bb_matrix_layout *layout, bb_coding_report *report,
                                   bb_row_certificate *certificates, bb_coded_matrix **out)
{
    const coding_extras extras = {.certificates = certificates};
    return encode(pipeline, rows, layout, &extras, report, out);
}

bb_status bb_product_coding_encode_draw(const bb_product_pipeline *pipeline,
                                        const bb_exact_rows *rows, const bb_matrix_layout *layout,
                                        const bb_coding_draw *draw, bb_coding_factors *factors,
                                        bb_coding_report *report, bb_coded_matrix **out)
{
    const coding_extras extras = {.draw = draw, .factors = factors};
    return encode(pipeline, rows, layout, &extras, report, out);
}

bb_status bb_product_coding_encode_there(const bb_product_pipeline *pipeline, bb_device *device,
                                         const double *values, const bb_matrix_layout *layout,
                                         const bb_coding_draw *draw, bb_coding_factors *factors,
                                         bb_coding_report *report, bb_row_certificate *certificates,
                                         bb_device_matrix **out)
{
    bb_status status = BB_OK;
    bb_coding_loss loss;
    const double begin = bb_clock_seconds();
    const double band = bb_codec_band_rows(&pipeline->storage, (double)layout->row_columns);
    bb_device_coding work = {.storage = &pipeline->storage,
                             .scale = (bb_row_scale)pipeline->scale,
                             .layout = layout,
                             .values = values};
    *report = bb_coding_report_start();
    if (draw != NULL) {
        BB_TRY(make_factors(pipeline, draw, (bb_index)band, layout->rows, factors));
        work.factors = factors->rows;
    }
    BB_TRY(bb_status_prefix(bb_device_coding_encode(device, &work, &loss, certificates, out),
                            "pipeline %s", pipeline->name));
    note_loss(&loss, layout, bb_clock_seconds() - begin, report);
done:
    return status;
}

// Need of the bands: a thread's band in fp64, its products with the factors of a draw, and decoded
// pieces of a group.
static bb_need bands_need(const bb_product_pipeline *pipeline, const bb_matrix_layout *layout,
                          double batch, double threads)
{
    const double rows = (double)layout->rows;
    const double own = bb_codec_band_rows(&pipeline->storage, (double)layout->row_columns);
    const double band = fmin(rows, fmax(own, batch));
    const double panels = pipeline->draws > 1 ? 2.0 : 1.0;
    return (bb_need){.host_bytes = fmin(threads, ceil(rows / band)) * (double)layout->columns *
                                       sizeof(double) * (panels * band + BB_GROUP_ROWS) +
                                   rows * sizeof(bb_error_norms)};
}

bb_need bb_product_coding_need(const bb_product_pipeline *pipeline, int study_device,
                               const bb_matrix_layout *layout, double batch, double threads)
{
    const bb_codec_config *storage = &pipeline->storage;
    const bb_device_kind device = bb_product_pipeline_device(pipeline, study_device);
    const bb_codec_config fp32 = bb_codec_plain(BB_FORMAT_FP32);
    const bb_need unpacked =
        bb_codec_unpacks(storage, device) ? bb_coded_matrix_resident(&fp32, layout) : (bb_need){0};
    bb_need operation =
        bb_coded_operator_need(storage, (double)layout->rows, (double)layout->columns, device);
    if (device == BB_DEVICE_OPENCL) { // may be the host itself, and does not report free memory
        operation.host_bytes += operation.device_bytes;
        operation.device_bytes = 0.0;
    }
    const bb_need encoding = bb_need_together(bb_coded_matrix_need(storage, layout, threads),
                                              bands_need(pipeline, layout, batch, threads));
    return bb_need_in_turn(encoding, bb_need_together(bb_coded_matrix_resident(storage, layout),
                                                      bb_need_together(unpacked, operation)));
}

bb_index bb_product_coding_gpus(const bb_list *pipelines, int study_device)
{
    const bb_product_pipeline *items = pipelines->items;
    for (bb_index p = 0; p < pipelines->count; ++p) {
        if (bb_product_pipeline_device(&items[p], study_device) == BB_DEVICE_CUDA &&
            isnan(bb_codec_bits_per_value(&items[p].storage))) {
            return 0;
        }
    }
    return 1;
}
