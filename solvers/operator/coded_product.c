// SPDX-License-Identifier: Apache-2.0
#include "solvers/operator/coded_product.h"

#include "core/memory.h"
#include "core/portable.h"
#include "core/thread.h"
#include "precision/codecs/bfp_core.h"

enum {
    LANES = BB_SPAN_LANES,
    SPAN = 65536, // columns of x that remain in a core's cache across the rows of a task
};

BB_CLONES static void add_fp64(const double *c, const double *x, bb_index count, double *lanes)
{
    bb_index multiple = count / LANES * LANES;
    for (bb_index j = 0; j < multiple; j += LANES) {
        for (int l = 0; l < LANES; ++l) {
            lanes[l] += c[j + l] * x[j + l];
        }
    }
    for (bb_index j = multiple; j < count; ++j) {
        lanes[j - multiple] += c[j] * x[j];
    }
}

static double reduce_fp64(double *lanes)
{
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; ++l) {
            lanes[l] += lanes[l + half];
        }
    }
    return lanes[0];
}

static float reduce_fp32(float *lanes)
{
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; ++l) {
            lanes[l] += lanes[l + half];
        }
    }
    return lanes[0];
}

static double row_fp64(const bb_coded_product *task, bb_index row)
{
    enum { CHUNK = 512 };
    double decoded[CHUNK];
    double lanes[LANES] = {0.0};
    bb_index word = bb_format_describe(task->format)->bytes;
    const char *words = (const char *)task->words + row * task->columns * word;
    if (task->format == BB_FORMAT_FP64) {
        add_fp64((const double *)(const void *)words, task->x, task->columns, lanes);
        return reduce_fp64(lanes);
    }
    for (bb_index j = 0; j < task->columns; j += CHUNK) {
        bb_index count = task->columns - j < CHUNK ? task->columns - j : CHUNK;
        bb_format_decode(task->format, words + j * word, count, decoded);
        add_fp64(decoded, task->x + j, count, lanes);
    }
    return reduce_fp64(lanes);
}

// Sums columns [begin, end) of a span in runs: each run in fp32, then promoted.
static void add_runs(bb_span *span, bb_index run)
{
    const bb_span_kernel *kernel = bb_span_kernel_chosen();
    const bb_index begin = span->begin;
    const bb_index end = span->end;
    span->wide_sums = false;
    for (span->begin = begin; span->begin < end; span->begin = span->end) {
        bb_index rest = end - span->begin;
        span->end = span->begin + (rest < run * LANES ? rest : run * LANES);
        kernel->add(span);
        for (bb_index r = 0; r < span->rows; ++r) {
            bb_span_row *row = &span->row[r];
            for (int l = 0; l < LANES; ++l) {
                row->wide[l] += (double)row->narrow[l];
                row->narrow[l] = 0.0F;
            }
        }
    }
    span->wide_sums = true;
    span->begin = begin;
}

static void add_span(bb_span *span, bb_index run)
{
    if (run > 1) {
        add_runs(span, run);
    } else {
        bb_span_kernel_chosen()->add(span);
    }
}

// Processes the rows of a task in groups that share a span of x, span by span.
static void multiply_spans(bb_span *span, bb_index rows, bb_index columns, bb_index run,
                           bb_span_row *sums)
{
    // A span has whole runs.
    const bb_index limit = run > 1 ? SPAN / (run * LANES) * (run * LANES) : SPAN;
    for (span->begin = 0; span->begin < columns; span->begin = span->end) {
        bb_index rest = columns - span->begin;
        span->end = span->begin + (rest < limit ? rest : limit);
        for (bb_index row = 0; row < rows; row += span->rows) {
            span->rows = rows - row < BB_SPAN_ROWS ? rows - row : BB_SPAN_ROWS;
            span->row = sums + row;
            add_span(span, run);
        }
    }
}

static void store_sums(const bb_span_row *sums, bb_index rows, bool wide, double *y)
{
    for (bb_index i = 0; i < rows; ++i) {
        bb_span_row row = sums[i];
        y[i] = wide ? reduce_fp64(row.wide) : (double)reduce_fp32(row.narrow);
    }
}

// Words of a row, and the mask of an exponent with all bits set.
typedef struct scan {
    const bb_coded_matrix *matrix;
    bb_index columns;
    bool bfp8;
    bool *finite; // [rows]
} scan;

BB_CLONES static bool bytes_stay_below(const unsigned char *bytes, bb_index count,
                                       unsigned char mask, unsigned char limit)
{
    unsigned char largest = 0;
    for (bb_index j = 0; j < count; ++j) {
        unsigned char magnitude = bytes[j] & mask;
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest < limit;
}

BB_CLONES static bool halves_stay_finite(const uint16_t *words, bb_index count)
{
    uint16_t largest = 0;
    for (bb_index j = 0; j < count; ++j) {
        uint16_t magnitude = words[j] & 0x7fffu;
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest < 0x7c00u;
}

// True if no unit of a row is poisoned (-128) or above 2^(BB_FINITE_EXPONENT - 7).
static bool units_stay_small(const unsigned char *exponents, bb_index blocks)
{
    int limit = -127;
    bool held = true;
    for (bb_index b = 0; b < blocks; ++b) {
        int exponent = bb_plane_signed(exponents[b], 8);
        held = held && exponent != BB_BFP_POISONED;
        limit = exponent > limit ? exponent : limit;
    }
    return held && limit <= BB_FINITE_EXPONENT - 7;
}

static bb_status scan_row(void *context, bb_index row)
{
    const scan *work = context;
    const unsigned char *words = bb_coded_matrix_words(work->matrix, row);
    bool *finite = &work->finite[row];
    if (work->bfp8) {
        const bb_bfp_layout layout = bb_bfp_layout_of(8, work->columns);
        const unsigned char *parts = bb_coded_matrix_bfp_row(work->matrix, row);
        *finite = units_stay_small(parts + layout.exponents, layout.blocks);
        return BB_OK;
    }
    switch (bb_coded_matrix_format(work->matrix)) {
    case BB_FORMAT_FP16:
        *finite = halves_stay_finite((const uint16_t *)(const void *)words, work->columns);
        break;
    case BB_FORMAT_E4M3:
        *finite = bytes_stay_below(words, work->columns, 0x7f, 0x7f);
        break;
    case BB_FORMAT_E5M2:
        *finite = bytes_stay_below(words, work->columns, 0x7f, 0x7c);
        break;
    default:
        *finite = false;
    }
    return BB_OK;
}

bb_status bb_coded_product_is_finite(const bb_coded_matrix *matrix, bool *out)
{
    bb_status status = BB_OK;
    bb_index rows = bb_coded_matrix_rows(matrix);
    const bb_codec_form form = bb_codec_form_of(bb_coded_matrix_config(matrix));
    scan work = {.matrix = matrix,
                 .columns = bb_coded_matrix_columns(matrix),
                 .bfp8 = form.kind == BB_FORM_BLOCKS && form.bits == 8};
    bool narrow = form.format == BB_FORMAT_FP16 || form.format == BB_FORMAT_E4M3 ||
                  form.format == BB_FORMAT_E5M2;
    bool known = work.bfp8 || (form.kind == BB_FORM_WORDS && narrow);
    *out = known;
    if (known) {
        BB_TRY(BB_ZEROED(rows, &work.finite));
        BB_TRY(bb_thread_for(rows, scan_row, &work));
        for (bb_index row = 0; row < rows; ++row) {
            *out = *out && work.finite[row];
        }
    }
done:
    BB_RELEASE(&work.finite);
    return status;
}

bb_status bb_coded_product_multiply_rows(bb_queue *queue, bb_index begin, bb_index end,
                                         void *context)
{
    (void)queue;
    const bb_coded_product *task = context;
    bb_span_row sums[BB_CODED_GRAIN] = {0};
    bb_span span = {.storage = (int)task->format,
                    .wide_sums = task->arithmetic.accumulate == BB_FORMAT_FP64,
                    .finite = task->finite,
                    .x = task->x_f32};
    bb_index word = bb_format_describe(task->format)->bytes;
    if (task->arithmetic.multiply == BB_FORMAT_FP64) {
        for (bb_index row = begin; row < end; ++row) {
            task->y[row] = row_fp64(task, row);
        }
        return BB_OK;
    }
    for (bb_index row = begin; row < end; ++row) {
        sums[row - begin].words = (const unsigned char *)task->words + row * task->columns * word;
    }
    multiply_spans(&span, end - begin, task->columns, task->run, sums);
    store_sums(sums, end - begin, span.wide_sums, task->y + begin);
    return BB_OK;
}

bb_status bb_coded_product_multiply_bfp8(bb_queue *queue, bb_index begin, bb_index end,
                                         void *context)
{
    (void)queue;
    const bb_piece_product *task = context;
    bb_span_row sums[BB_CODED_GRAIN] = {0};
    bb_span span = {.storage = BB_SPAN_BFP8,
                    .wide_sums = task->arithmetic.accumulate == BB_FORMAT_FP64,
                    .finite = task->finite,
                    .x = task->x_f32};
    bb_index columns = bb_coded_matrix_columns(task->matrix);
    bb_bfp_layout layout = bb_bfp_layout_of(8, columns);
    for (bb_index row = begin; row < end; ++row) {
        const unsigned char *parts = bb_coded_matrix_bfp_row(task->matrix, task->row + row);
        sums[row - begin].words = parts + layout.plane[3];
        sums[row - begin].exponents = parts + layout.exponents;
    }
    multiply_spans(&span, end - begin, columns, task->run, sums);
    store_sums(sums, end - begin, span.wide_sums, task->y + begin);
    return BB_OK;
}

static void add_piece_fp64(const double *c, const double *x, bb_index column, bb_index count,
                           double *lanes)
{
    bb_index head = (LANES - column % LANES) % LANES;
    head = head < count ? head : count;
    for (bb_index j = 0; j < head; ++j) {
        lanes[(column + j) % LANES] += c[j] * x[column + j];
    }
    add_fp64(c + head, x + column + head, count - head, lanes);
}

// A span starts at a multiple of 32 columns, so earlier columns are summed separately. Runs start
// anew in every piece.
static void add_piece_fp32(const float *c, const float *x, bb_index column, bb_index count,
                           bb_index run, bb_span *span)
{
    bb_span_row *row = span->row;
    bb_index head = (BB_BLOCK - column % BB_BLOCK) % BB_BLOCK;
    head = head < count ? head : count;
    for (bb_index j = 0; j < head; ++j) {
        float product = c[j] * x[column + j];
        if (span->wide_sums) {
            row->wide[(column + j) % LANES] += (double)product;
        } else {
            row->narrow[(column + j) % LANES] += product;
        }
    }
    row->words = (const unsigned char *)(const void *)(c + head);
    span->x = x + column + head;
    span->begin = 0;
    span->end = count - head;
    add_span(span, run);
}

static void multiply_group(const bb_piece_product *task, bb_index group, void *piece)
{
    bb_index rows[BB_GROUP_ROWS];
    bb_span_row sums[BB_GROUP_ROWS] = {0};
    bool wide = task->arithmetic.accumulate == BB_FORMAT_FP64;
    bb_index count = bb_coded_matrix_group_rows(task->matrix, group, rows);
    bb_index columns = bb_coded_matrix_columns(task->matrix);
    bb_index stride = bb_coded_matrix_piece_columns(task->matrix);
    for (bb_index j = 0; j < columns; j += stride) {
        bb_index here = columns - j < stride ? columns - j : stride;
        if (task->x_f32 == NULL) {
            bb_coded_matrix_decode_f64(task->matrix, group, j / stride, piece);
        } else {
            bb_coded_matrix_decode_f32(task->matrix, group, j / stride, piece);
        }
        for (bb_index i = 0; i < count; ++i) {
            bb_span span = {
                .storage = BB_FORMAT_FP32, .wide_sums = wide, .rows = 1, .row = &sums[i]};
            if (task->x_f32 == NULL) {
                add_piece_fp64((double *)piece + i * stride, task->x, j, here, sums[i].wide);
            } else {
                add_piece_fp32((float *)piece + i * stride, task->x_f32, j, here, task->run, &span);
            }
        }
    }
    for (bb_index i = 0; i < count; ++i) {
        if (rows[i] >= task->row && rows[i] < task->row + task->rows) {
            task->y[rows[i] - task->row] =
                wide ? reduce_fp64(sums[i].wide) : (double)reduce_fp32(sums[i].narrow);
        }
    }
}

bb_status bb_coded_product_multiply_groups(bb_queue *queue, bb_index begin, bb_index end,
                                           void *context)
{
    (void)queue;
    bb_status status = BB_OK;
    const bb_piece_product *task = context;
    bb_index stride = bb_coded_matrix_piece_columns(task->matrix);
    double *piece = NULL;
    for (bb_index group = begin; group < end; ++group) {
        bb_index rows[BB_GROUP_ROWS];
        bb_index count = bb_coded_matrix_group_rows(task->matrix, group, rows);
        bool wanted = false;
        for (bb_index i = 0; i < count; ++i) {
            wanted = wanted || (rows[i] >= task->row && rows[i] < task->row + task->rows);
        }
        if (wanted) {
            if (piece == NULL) {
                BB_TRY(BB_ALLOCATE(BB_GROUP_ROWS * stride, &piece));
            }
            multiply_group(task, group, piece);
        }
    }
done:
    BB_RELEASE(&piece);
    return status;
}
