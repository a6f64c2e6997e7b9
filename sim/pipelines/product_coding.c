// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/product_coding.h"

#include "core/clock.h"
#include "core/memory.h"
#include "core/stage.h"
#include "core/thread.h"
#include "precision/draw.h"
#include "solvers/operator/device_coding.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

// Encoding of bands of rows over the threads. Each band's errors are stored separately and added in
// order.
typedef struct coding {
    const bb_exact_rows *rows;
    bb_coded_matrix *matrix;
    const double *factors;            // [rows] factors of a draw, or NULL
    bb_index band;                    // rows
    bb_index band_groups;             // groups of a band
    bb_error_norms *norms;            // [bands]
    bb_row_certificate *certificates; // [rows] or NULL
} coding;

// Undoes a row's power-of-two scale in place, which is exact.
static void unscale(double scale, bb_index count, double *values)
{
    double inverse = 1.0 / scale;
    for (bb_index i = 0; scale != 1.0 && i < count; ++i) {
        values[i] *= inverse;
    }
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

// Multiplies a panel by the factors of its rows.
static void apply_factors(const double *factors, bb_view panel, double *out)
{
    for (bb_index i = 0; i < panel.shape[0]; ++i) {
        const double *values = bb_view_row(panel, i);
        for (bb_index j = 0; j < panel.shape[1]; ++j) {
            out[i * panel.shape[1] + j] = factors[i] * values[j];
        }
    }
}

static bb_status fill_rows(const coding *work, bb_index row, bb_view panel)
{
    bb_status status = BB_OK;
    const bb_exact_rows *rows = work->rows;
    bb_index columns = panel.shape[1];
    if (rows->matrix == NULL) {
        BB_TRY(bb_matrix_source_fill(rows->source, row, 0, panel));
    }
    for (bb_index i = 0; i < panel.shape[0]; ++i) {
        double *values = bb_view_row(panel, i);
        if (rows->matrix != NULL) {
            bb_coded_matrix_decode(rows->matrix, row + i, 0, columns, values);
            unscale(bb_coded_matrix_row_scale(rows->matrix, row + i), columns, values);
            continue;
        }
        bb_index bad = bb_stage_find_nonfinite("rows", values, columns);
        BB_REQUIRE(bad < 0, BB_INVALID, "%s, row %td, column %td: %g, expected a finite value",
                   rows->source->name, row + i, bad, values[bad]);
    }
done:
    return status;
}

// Adds the rounding paths of a band's rows to their existing certificates.
static bb_status certify_paths(const coding *work, bb_index band)
{
    bb_status status = BB_OK;
    bb_row_rounding *paths = NULL;
    bb_index rest = bb_coded_matrix_rows(work->matrix) - band * work->band;
    bb_index rows = rest < work->band ? rest : work->band;
    BB_TRY(BB_ALLOCATE(rows, &paths));
    BB_TRY(bb_row_roundings_of(work->matrix, band, paths));
    for (bb_index i = 0; i < rows; ++i) {
        work->certificates[band * work->band + i].path = paths[i];
    }
done:
    BB_RELEASE(&paths);
    return status;
}

// Compares one band with its exact rows; `decoded` is a buffer for a piece of a group.
static void assess_band(const coding *work, bb_index band, const double *exact, double *decoded)
{
    const bb_coded_matrix *matrix = work->matrix;
    bb_index columns = bb_coded_matrix_columns(matrix);
    bb_index width = bb_coded_matrix_piece_columns(matrix);
    bb_index rows[BB_GROUP_ROWS];
    for (bb_index g = band * work->band_groups; g < (band + 1) * work->band_groups; ++g) {
        bb_index row_count = bb_coded_matrix_group_rows(matrix, g, rows);
        for (bb_index k = 0; work->certificates != NULL && k < row_count; ++k) {
            work->certificates[rows[k]] =
                bb_row_certificate_start(bb_coded_matrix_row_scale(matrix, rows[k]));
        }
        for (bb_index piece = 0; piece * width < columns; ++piece) {
            bb_index rest = columns - piece * width;
            bb_index count = rest < width ? rest : width;
            bb_coded_matrix_decode_f64(matrix, g, piece, decoded);
            for (bb_index k = 0; k < row_count; ++k) {
                double *values = decoded + k * width;
                const double *truth = exact + (rows[k] - band * work->band) * columns;
                bb_error_norms norms = bb_error_norms_start();
                unscale(bb_coded_matrix_row_scale(matrix, rows[k]), count, values);
                for (bb_index i = 0; work->factors != NULL && i < count; ++i) {
                    values[i] /= work->factors[rows[k]];
                }
                bb_error_norms_add(&norms, truth + piece * width, values, count);
                bb_error_norms_merge(&work->norms[band], &norms);
                if (work->certificates != NULL) {
                    bb_row_certificate_add(&work->certificates[rows[k]], &norms,
                                           truth + piece * width, values, count);
                }
            }
        }
    }
}

static bb_status encode_bands(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    const coding *work = context;
    bb_index columns = bb_coded_matrix_columns(work->matrix);
    bb_index rows = bb_coded_matrix_rows(work->matrix);
    bb_index first = begin * work->band;
    bb_index past = end * work->band < rows ? end * work->band : rows;
    double *exact = NULL;   // [past - first][columns]
    double *drawn = NULL;   // [past - first][columns] `exact` times a draw's factors
    double *decoded = NULL; // [BB_GROUP_ROWS][piece columns]
    BB_TRY(BB_ALLOCATE((past - first) * columns, &exact));
    BB_TRY(BB_ALLOCATE(BB_GROUP_ROWS * bb_coded_matrix_piece_columns(work->matrix), &decoded));
    bb_view panel = bb_view_matrix(exact, past - first, columns);
    BB_TRY(fill_rows(work, first, panel));
    if (work->factors != NULL) {
        BB_TRY(BB_ALLOCATE((past - first) * columns, &drawn));
        apply_factors(work->factors + first, panel, drawn);
        panel = bb_view_matrix(drawn, past - first, columns);
    }
    BB_TRY(bb_coded_matrix_encode(work->matrix, first, panel));
    for (bb_index band = begin; band < end; ++band) {
        assess_band(work, band, exact + (band - begin) * work->band * columns, decoded);
        if (work->certificates != NULL) {
            BB_TRY(certify_paths(work, band));
        }
    }
done:
    BB_RELEASE(&exact);
    BB_RELEASE(&drawn);
    BB_RELEASE(&decoded);
    return status;
}

static bb_status run_bands(coding *work, bb_error_norms *total)
{
    bb_status status = BB_OK;
    bb_index rows = bb_coded_matrix_rows(work->matrix);
    work->band = bb_coded_matrix_band(work->matrix);
    bb_index bands = (rows + work->band - 1) / work->band;
    // Only the reference uses batches; it is plain, so its bands are single rows.
    bb_index grain = work->rows->matrix == NULL ? work->rows->batch : 1;
    work->band_groups = bb_coded_matrix_group_count(work->matrix) / bands;
    BB_TRY(BB_ALLOCATE(bands, &work->norms));
    for (bb_index band = 0; band < bands; ++band) {
        work->norms[band] = bb_error_norms_start();
    }
    BB_TRY(bb_thread_ranges(bands, grain, encode_bands, work));
    for (bb_index band = 0; band < bands; ++band) {
        bb_error_norms_merge(total, &work->norms[band]);
    }
done:
    BB_RELEASE(&work->norms);
    return status;
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

static bb_status encode(const bb_product_pipeline *pipeline, const bb_exact_rows *rows,
                        const bb_matrix_layout *layout, const coding_extras *extras,
                        bb_coding_report *report, bb_coded_matrix **out)
{
    bb_status status = BB_OK;
    bb_coded_matrix *matrix = NULL;
    double begin = bb_clock_seconds();
    *report = bb_coding_report_start();
    BB_TRY(bb_status_prefix(
        bb_coded_matrix_create(&pipeline->storage, (bb_row_scale)pipeline->scale, layout, &matrix),
        "pipeline %s", pipeline->name));
    coding work = {.rows = rows, .matrix = matrix, .certificates = extras->certificates};
    if (extras->draw != NULL) {
        BB_TRY(make_factors(pipeline, extras->draw, bb_coded_matrix_band(matrix), layout->rows,
                            extras->factors));
        work.factors = extras->factors->rows;
    }
    BB_TRY(run_bands(&work, &report->norms));
    report->seconds = bb_clock_seconds() - begin;
    report->bytes = (double)bb_coded_matrix_bytes(matrix);
    report->values = (double)layout->rows * (double)layout->columns;
    report->saturated = (double)bb_coded_matrix_saturated(matrix);
    report->underflowed = (double)bb_coded_matrix_underflowed(matrix);
    report->non_finite = (double)bb_coded_matrix_non_finite(matrix);
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
    *report = (bb_coding_report){.seconds = bb_clock_seconds() - begin,
                                 .bytes = loss.bytes,
                                 .values = (double)layout->rows * (double)layout->columns,
                                 .saturated = loss.saturated,
                                 .underflowed = loss.underflowed,
                                 .non_finite = loss.non_finite,
                                 .norms = loss.norms};
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

typedef struct unpacking {
    const bb_coded_matrix *coded;
    bb_coded_matrix *plain; // fp32; or NULL and
    double *values;         // [rows][columns]
} unpacking;

// Decodes row rows[k] of a group to targets[k], piece by piece; `decoded` is a buffer for a piece
// of all rows.
static void decode_group(const bb_coded_matrix *coded, bb_index group, bb_index count,
                         const bb_index *rows, double *decoded, double *const *targets)
{
    const bb_index columns = bb_coded_matrix_columns(coded);
    const bb_index width = bb_coded_matrix_piece_columns(coded);
    for (bb_index piece = 0; piece * width < columns; ++piece) {
        const bb_index rest = columns - piece * width;
        const bb_index held = rest < width ? rest : width;
        bb_coded_matrix_decode_f64(coded, group, piece, decoded);
        for (bb_index k = 0; k < count; ++k) {
            double *target = targets[k] + piece * width;
            memcpy(target, decoded + k * width, (size_t)held * sizeof *target);
            unscale(bb_coded_matrix_row_scale(coded, rows[k]), held, target);
        }
    }
}

// Decodes groups into the whole matrix, or into a thread's own rows, which are then encoded in
// fp32.
static bb_status unpack_groups(void *context, bb_index begin, bb_index end)
{
    bb_status status = BB_OK;
    const unpacking *work = context;
    const bb_index columns = bb_coded_matrix_columns(work->coded);
    bb_index rows[BB_GROUP_ROWS];
    double *targets[BB_GROUP_ROWS];
    double *decoded = NULL;  // [BB_GROUP_ROWS][piece columns]
    double *unpacked = NULL; // [BB_GROUP_ROWS][columns]
    BB_TRY(BB_ALLOCATE(BB_GROUP_ROWS * bb_coded_matrix_piece_columns(work->coded), &decoded));
    if (work->plain != NULL) {
        BB_TRY(BB_ALLOCATE(BB_GROUP_ROWS * columns, &unpacked));
    }
    for (bb_index group = begin; group < end; ++group) {
        const bb_index count = bb_coded_matrix_group_rows(work->coded, group, rows);
        for (bb_index k = 0; k < count; ++k) {
            targets[k] =
                work->plain != NULL ? unpacked + k * columns : work->values + rows[k] * columns;
        }
        decode_group(work->coded, group, count, rows, decoded, targets);
        for (bb_index k = 0; work->plain != NULL && k < count; ++k) {
            BB_TRY(bb_coded_matrix_encode(work->plain, rows[k],
                                          bb_view_matrix(targets[k], 1, columns)));
        }
    }
done:
    BB_RELEASE(&decoded);
    BB_RELEASE(&unpacked);
    return status;
}

bb_status bb_product_coding_decode(const bb_coded_matrix *coded, double *out)
{
    unpacking work = {.coded = coded, .values = out};
    return bb_thread_ranges(bb_coded_matrix_group_count(coded), 1, unpack_groups, &work);
}

bb_status bb_product_coding_unpack(const bb_coded_matrix *coded, double *seconds,
                                   bb_coded_matrix **out)
{
    bb_status status = BB_OK;
    const bb_codec_config fp32 = bb_codec_plain(BB_FORMAT_FP32);
    const bb_matrix_layout layout = {.rows = bb_coded_matrix_rows(coded),
                                     .columns = bb_coded_matrix_columns(coded)};
    bb_coded_matrix *plain = NULL;
    double begin = bb_clock_seconds();
    BB_TRY(bb_coded_matrix_create(&fp32, BB_ROW_SCALE_NONE, &layout, &plain));
    unpacking work = {.coded = coded, .plain = plain};
    BB_TRY(bb_thread_ranges(bb_coded_matrix_group_count(coded), 1, unpack_groups, &work));
    *seconds += bb_clock_seconds() - begin;
    *out = plain;
    plain = NULL;
done:
    bb_coded_matrix_destroy(&plain);
    return status;
}
