// SPDX-License-Identifier: Apache-2.0
#include "solvers/operator/stream/stream_encoder.h"

#include "core/memory.h"
#include "precision/scaling.h"
#include "solvers/operator/device_coding.h"
#include "solvers/operator/stream/coded_stream_parts.h"

#include <math.h>

static const bb_kernel range_kernel = {.name = "row_ranges",
                                       .grain = 1,
                                       .run[BB_DEVICE_CUDA] =
                                           BB_CUDA_TWIN(bb_stream_encoder_range_cuda)};
static const bb_kernel clip_kernel = {.name = "row_clips",
                                      .grain = 1,
                                      .run[BB_DEVICE_CUDA] =
                                          BB_CUDA_TWIN(bb_stream_encoder_clip_cuda)};
static const bb_kernel row_kernel = {.name = "row_encoder",
                                     .grain = 1,
                                     .run[BB_DEVICE_CUDA] =
                                         BB_CUDA_TWIN(bb_stream_encoder_rows_cuda)};
static const bb_kernel width_kernel = {.name = "quotient_widths",
                                       .grain = 1,
                                       .run[BB_DEVICE_CUDA] =
                                           BB_CUDA_TWIN(bb_stream_encoder_widths_cuda)};
static const bb_kernel quotient_kernel = {.name = "quotient_encoder",
                                          .grain = 1,
                                          .run[BB_DEVICE_CUDA] =
                                              BB_CUDA_TWIN(bb_stream_encoder_quotients_cuda)};

bool bb_stream_encoder_available(const bb_codec_config *storage)
{
    bb_stream_layout layout;
    return row_kernel.run[BB_DEVICE_CUDA] != NULL && storage->rounding != BB_ROUNDING_DIFFUSED &&
           bb_codec_absent(storage, BB_DEVICE_CUDA) == NULL &&
           bb_stream_layout_of(storage, &layout);
}

// Device blocks of an encoding, in addition to the stream.
typedef struct encoding {
    bb_device *device;
    const bb_device_coding *coding;
    const bb_codec_config *config; // configuration of `row`
    bb_coded_matrix *row;          // one row without values: bytes, step, defaults
    bb_coded_stream *stream;
    bb_stream_encoding task;
    bb_stream_range *ranges; // [rows] on the host, if scales or steps need them
    void *factors, *device_ranges, *clips, *squares, *widths, *errors, *totals, *tally;
    void *tiles, *part_widths; // counts of parts of quotients
} encoding;

static void release(encoding *work)
{
    void **blocks[] = {&work->factors, &work->device_ranges, &work->clips,  &work->squares,
                       &work->widths,  &work->errors,        &work->totals, &work->tally,
                       &work->tiles,   &work->part_widths};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i) {
        bb_device_release(work->device, blocks[i]);
    }
    bb_coded_stream_destroy(&work->stream);
    bb_coded_matrix_destroy(&work->row);
    BB_RELEASE(&work->ranges);
}

bb_status bb_stream_encoder_place(bb_device *device, const void *values, size_t bytes, void **out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_device_allocate(device, bytes, out));
    BB_TRY(bb_device_upload(device, *out, values, bytes));
done:
    return status;
}

static bb_status place_zeros(bb_device *device, size_t bytes, void **out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_device_allocate(device, bytes, out));
    BB_TRY(bb_device_zero(device, *out, bytes));
done:
    return status;
}

static bb_status start(encoding *work)
{
    bb_status status = BB_OK;
    const bb_device_coding *coding = work->coding;
    const bb_matrix_layout *layout = coding->layout;
    bb_matrix_layout one = *layout;
    one.rows = 1;
    one.row_columns = 0;
    BB_TRY(bb_coded_matrix_create(coding->storage, coding->scale, &one, &work->row));
    BB_TRY(bb_matrix_layout_check(layout, coding->storage));
    work->config = bb_coded_matrix_config(work->row);
    BB_TRY(bb_coded_stream_start(work->device, work->config, layout->rows, layout->columns,
                                 &work->stream));
    if (coding->factors != NULL) {
        BB_TRY(bb_stream_encoder_place(work->device, coding->factors,
                                       (size_t)layout->rows * sizeof(double), &work->factors));
    }
    work->task = (bb_stream_encoding){
        .source = {coding->values, work->factors, layout->rows, layout->columns},
        .layout = work->stream->layout,
        .form = bb_codec_form_of(work->config),
        .tiles = work->stream->tiles,
        .segments = (layout->columns + BB_STREAM_SEGMENT - 1) / BB_STREAM_SEGMENT,
    };
done:
    return status;
}

static double value_of(uint64_t bits)
{
    return bb_format_f64_of_bits(bits);
}

static bb_status find_ranges(encoding *work)
{
    bb_status status = BB_OK;
    const bb_index rows = work->task.source.rows;
    const size_t bytes = (size_t)rows * sizeof *work->ranges;
    BB_TRY(BB_ALLOCATE(rows, &work->ranges));
    BB_TRY(place_zeros(work->device, bytes, &work->device_ranges));
    bb_stream_range_task task = {work->task.source, work->device_ranges};
    BB_TRY(bb_device_launch(work->device, &range_kernel, rows, &task));
    BB_TRY(bb_device_download(work->device, work->ranges, work->device_ranges, bytes));
done:
    return status;
}

static double scale_of(const encoding *work, bb_index row)
{
    return work->coding->scale == BB_ROW_SCALE_NONE
               ? 1.0
               : bb_scaling_of_largest(bb_codec_scaled_largest(work->config),
                                       value_of(work->ranges[row].largest));
}

static bb_status place_scales(encoding *work)
{
    bb_status status = BB_OK;
    const bb_index rows = work->task.source.rows;
    double *scales = NULL;
    BB_TRY(BB_ALLOCATE(rows, &scales));
    for (bb_index row = 0; row < rows; ++row) {
        scales[row] = scale_of(work, row);
    }
    BB_TRY(bb_stream_encoder_place(work->device, scales, (size_t)rows * sizeof *scales,
                                   &work->stream->scales));
    work->task.scales = work->stream->scales;
done:
    BB_RELEASE(&scales);
    return status;
}

// Computes the sums of squared errors of every row, for all its clips.
static bb_status try_clips(encoding *work, const float *steps, double *squares)
{
    bb_status status = BB_OK;
    const bb_index rows = work->task.source.rows;
    const size_t count = (size_t)(rows * BB_INTEGER_CLIPS);
    BB_TRY(bb_stream_encoder_place(work->device, steps, count * sizeof *steps, &work->clips));
    BB_TRY(bb_device_allocate(work->device, count * sizeof *squares, &work->squares));
    bb_stream_clip_task task = {work->task.source, work->task.layout.bits, work->clips,
                                work->squares};
    BB_TRY(bb_device_launch(work->device, &clip_kernel, rows, &task));
    BB_TRY(bb_device_download(work->device, squares, work->squares, count * sizeof *squares));
done:
    return status;
}

// Selects steps [rows] from those of the clips [rows][clips], by `squares` of the same shape.
static void choose_steps(const encoding *work, bb_index clips, const float *tried,
                         const double *squares, float *steps)
{
    for (bb_index row = 0; row < work->task.source.rows; ++row) {
        const bb_index first = row * BB_INTEGER_CLIPS;
        const bb_index best = clips == 1 ? 0 : bb_integer_best_clip(squares + first, clips);
        steps[row] = work->ranges[row].not_held > 0 ? NAN : tried[first + best];
    }
}

static bb_status place_steps(encoding *work)
{
    bb_status status = BB_OK;
    const bb_index rows = work->task.source.rows;
    const bb_index clips = bb_codec_clip_count(work->config);
    float *tried = NULL;    // [rows][BB_INTEGER_CLIPS]
    double *squares = NULL; // [rows][BB_INTEGER_CLIPS]
    float *steps = NULL;    // [rows]
    BB_TRY(BB_ALLOCATE(rows * BB_INTEGER_CLIPS, &tried));
    BB_TRY(BB_ALLOCATE(rows * BB_INTEGER_CLIPS, &squares));
    BB_TRY(BB_ALLOCATE(rows, &steps));
    for (bb_index i = 0; i < rows * BB_INTEGER_CLIPS; ++i) {
        const double largest = value_of(work->ranges[i / BB_INTEGER_CLIPS].held);
        tried[i] = bb_integer_step(work->task.layout.bits,
                                   bb_integer_clip(i % BB_INTEGER_CLIPS) * largest);
    }
    if (clips > 1) {
        BB_TRY(try_clips(work, tried, squares));
    }
    choose_steps(work, clips, tried, squares, steps);
    BB_TRY(bb_stream_encoder_place(work->device, steps, (size_t)rows * sizeof *steps,
                                   &work->stream->steps));
    work->task.steps = work->stream->steps;
done:
    BB_RELEASE(&tried);
    BB_RELEASE(&squares);
    BB_RELEASE(&steps);
    return status;
}

// Encodes words of fixed rows, or computes widths of the quantiser; with errors and counts.
static bb_status encode_rows(encoding *work)
{
    bb_status status = BB_OK;
    bb_stream_encoding *task = &work->task;
    bb_coded_stream *stream = work->stream;
    const bb_index rows = task->source.rows;
    const size_t segments = (size_t)(rows * task->segments);
    if (task->form.kind == BB_FORM_WORDS) {
        task->rule = bb_format_rule_of(task->form.format);
        task->lost = 0.5 * bb_format_smallest_subnormal(task->form.format);
    }
    if (task->layout.row_bytes > 0) {
        stream->bytes = (size_t)(stream->tiles * rows * task->layout.row_bytes);
        BB_TRY(bb_device_allocate(work->device, stream->bytes, &stream->words));
    } else {
        task->step = bb_coded_matrix_step(work->row);
        BB_TRY(bb_device_allocate(work->device, segments * sizeof *task->widths, &work->widths));
    }
    BB_TRY(bb_device_allocate(work->device, segments * sizeof *task->errors, &work->errors));
    BB_TRY(bb_device_allocate(work->device, (size_t)rows * sizeof *task->totals, &work->totals));
    BB_TRY(place_zeros(work->device, sizeof *task->tally, &work->tally));
    task->words = stream->words;
    task->widths = work->widths;
    task->errors = work->errors;
    task->totals = work->totals;
    task->tally = work->tally;
    BB_TRY(bb_device_launch(work->device, &row_kernel, rows, task));
done:
    return status;
}

// Whole tiles were measured together with their errors.
static bb_status measure_whole(encoding *work, bb_index tiles, uint32_t *widths)
{
    const size_t count = (size_t)(tiles * work->task.source.rows);
    return bb_device_download(work->device, widths, work->widths, count * sizeof *widths);
}

static bb_status measure_parts(encoding *work, const bb_stream_laid *tiles, bb_index count,
                               uint32_t *widths)
{
    bb_status status = BB_OK;
    const bb_index rows = work->task.source.rows;
    const size_t bytes = (size_t)(count * rows) * sizeof *widths;
    int32_t *sources = NULL;
    BB_TRY(BB_ALLOCATE(count, &sources));
    for (bb_index t = 0; t < count; ++t) {
        sources[t] = (int32_t)tiles[t].source;
    }
    bb_device_release(work->device, &work->tiles);
    bb_device_release(work->device, &work->part_widths);
    BB_TRY(bb_stream_encoder_place(work->device, sources, (size_t)count * sizeof *sources,
                                   &work->tiles));
    BB_TRY(bb_device_allocate(work->device, bytes, &work->part_widths));
    bb_stream_quotient_task task = {.source = work->task.source,
                                    .step = work->task.step,
                                    .part = tiles[0].part,
                                    .tiles = count,
                                    .sources = work->tiles,
                                    .widths = work->part_widths};
    BB_TRY(bb_device_launch(work->device, &width_kernel, rows, &task));
    BB_TRY(bb_device_download(work->device, widths, work->part_widths, bytes));
done:
    BB_RELEASE(&sources);
    return status;
}

// Number of tiles from the first on that are the same part; at most `count`.
static bb_index count_alike(const bb_stream_laid *tiles, bb_index count)
{
    bb_index alike = 1;
    while (alike < count && tiles[alike].part == tiles[0].part) {
        ++alike;
    }
    return alike;
}

static bb_status measure(void *context, const bb_stream_laid *tiles, bb_index count,
                         bb_stream_place *places)
{
    bb_status status = BB_OK;
    encoding *work = context;
    const bb_index rows = work->task.source.rows;
    uint32_t *widths = NULL; // [count][rows]
    BB_TRY(BB_ALLOCATE(count * rows, &widths));
    for (bb_index first = 0, alike = 0; first < count; first += alike) {
        alike = count_alike(tiles + first, count - first);
        BB_TRY(tiles[first].part == BB_STREAM_WHOLE
                   ? measure_whole(work, alike, widths + first * rows)
                   : measure_parts(work, tiles + first, alike, widths + first * rows));
    }
    for (bb_index i = 0; i < count * rows; ++i) {
        places[i].widths = widths[i];
    }
done:
    BB_RELEASE(&widths);
    return status;
}

static bb_status write_words(void *context, const bb_stream_laid *tiles, bb_index count,
                             bb_stream_place *places)
{
    bb_status status = BB_OK;
    encoding *work = context;
    const bb_coded_stream *stream = work->stream;
    const bb_stream_place *limbs = stream->limb_places;
    (void)places; // also on the device
    for (bb_index first = 0, alike = 0; first < count; first += alike) {
        const bb_stream_part part = tiles[first].part;
        alike = count_alike(tiles + first, count - first);
        bb_stream_quotient_task task = {.source = work->task.source,
                                        .step = work->task.step,
                                        .part = part,
                                        .tiles = alike,
                                        .places = stream->places,
                                        .words = stream->words};
        if (part != BB_STREAM_WHOLE) {
            task.sources = stream->device_sources;
            task.places = part == BB_STREAM_LOWER ? limbs : limbs + stream->tiles * stream->rows;
        }
        BB_TRY(bb_device_launch(work->device, &quotient_kernel, stream->rows, &task));
    }
done:
    return status;
}

bb_status bb_stream_encoder_collect(bb_device *device, const void *totals, bb_index rows,
                                    bb_error_norms *norms, bb_row_certificate *certificates)
{
    bb_status status = BB_OK;
    bb_stream_errors *errors = NULL; // [rows]
    *norms = bb_error_norms_start();
    BB_TRY(BB_ALLOCATE(rows, &errors));
    BB_TRY(bb_device_download(device, errors, totals, (size_t)rows * sizeof *errors));
    for (bb_index row = 0; row < rows; ++row) {
        bb_error_norms_merge(norms, &errors[row].norms);
        if (certificates != NULL) {
            certificates[row] = (bb_row_certificate){.norms = errors[row].norms,
                                                     .error_1 = errors[row].error_1,
                                                     .stored_1 = errors[row].stored_1,
                                                     .stored_squares = errors[row].stored_squares,
                                                     .scale = 1.0};
        }
    }
done:
    BB_RELEASE(&errors);
    return status;
}

static bb_status report(encoding *work, bb_coding_loss *loss, bb_row_certificate *certificates)
{
    bb_status status = BB_OK;
    const bb_index rows = work->task.source.rows;
    bb_stream_tally tally;
    BB_TRY(bb_device_download(work->device, &tally, work->tally, sizeof tally));
    BB_REQUIRE(tally.odd == 0, BB_UNSUPPORTED,
               "int8 unit below 2^-126 in row %td: products on a GPU need 2^-126 or more; scale "
               "the rows or set device: cpu",
               (bb_index)tally.odd - 1);
    *loss = (bb_coding_loss){
        .bytes = (double)rows * (double)bb_coded_matrix_bytes(work->row) +
                 sizeof(uint32_t) * (double)tally.words,
        .saturated = (double)tally.saturated,
        .underflowed = (double)tally.underflowed,
        .non_finite = (double)tally.non_finite,
    };
    BB_TRY(bb_stream_encoder_collect(work->device, work->totals, rows, &loss->norms, certificates));
    for (bb_index row = 0; certificates != NULL && row < rows; ++row) {
        certificates[row].scale = scale_of(work, row);
    }
    // Values that a quantiser cannot represent are counted with the ranges, not during encoding.
    for (bb_index row = 0; work->task.form.kind == BB_FORM_STEPS && row < rows; ++row) {
        loss->non_finite += (double)work->ranges[row].not_held;
    }
done:
    return status;
}

bb_status bb_stream_encoder_encode(bb_device *device, const bb_device_coding *coding,
                                   bb_coding_loss *loss, bb_row_certificate *certificates,
                                   bb_codec_config *storage, bb_coded_stream **out)
{
    bb_status status = BB_OK;
    encoding work = {.device = device, .coding = coding};
    const bool in_steps = bb_codec_form_of(coding->storage).kind == BB_FORM_STEPS;
    *out = NULL;
    BB_TRY(start(&work));
    if (in_steps || coding->scale != BB_ROW_SCALE_NONE) {
        BB_TRY(find_ranges(&work));
    }
    BB_TRY(place_scales(&work));
    if (in_steps) {
        BB_TRY(place_steps(&work));
    }
    BB_TRY(encode_rows(&work));
    if (work.task.layout.row_bytes == 0) {
        const bb_stream_quotients source = {&work, work.task.step, measure, write_words};
        BB_TRY(bb_coded_stream_lay_quotients(work.stream, &source));
    }
    BB_TRY(report(&work, loss, certificates));
    BB_TRY(bb_coded_stream_acquire_workspace(work.stream));
    BB_TRY(bb_device_wait(device));
    *storage = *work.config;
    *out = work.stream;
    work.stream = NULL;
done:
    release(&work);
    return status;
}

bb_need bb_stream_encoder_need(const bb_codec_config *storage, double rows, double columns)
{
    const double segments = rows * ceil(columns / BB_STREAM_SEGMENT);
    const double row_bytes = sizeof(bb_stream_errors) + sizeof(bb_stream_range) +
                             2.0 * sizeof(double) +
                             BB_INTEGER_CLIPS * (sizeof(float) + sizeof(double));
    // Widths of the quantiser's tiles, and places of these tiles and of their parts.
    const double tile_bytes = bb_codec_form_of(storage).kind == BB_FORM_QUOTIENTS
                                  ? 2.0 * (sizeof(bb_stream_place) + sizeof(uint32_t))
                                  : 0.0;
    return (bb_need){.host_bytes = rows * row_bytes + segments * tile_bytes,
                     .device_bytes =
                         rows * row_bytes + segments * (sizeof(bb_stream_errors) + tile_bytes)};
}
