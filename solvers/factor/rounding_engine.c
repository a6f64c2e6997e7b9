// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/rounding_engine.h"

#include "core/memory.h"
#include "core/portable.h"
#include "core/thread.h"

#include <cblas.h>
#include <string.h>

enum {
    ROWS = 64,  // rows of R per rounding task; fixed, so that sums do not depend on the threads
    STRIP = 64, // largest number of columns of a strip, whose factor, 32 kB, fits into the L1 cache
};

typedef struct sweep {
    const bb_rounding_engine *engine;
    const bb_rounding_step *step;
    bb_index m;
    double *r;               // [m][n]
    double *paid;            // [m] excess of each row, equation (1)
    bb_rounding_panel panel; // current panel
} sweep;

// Returns the feedback to a column: the feedback received so far and, for columns before the panel,
// the feedback of the panel's columns from `first` on.
static double fed_to(const sweep *work, bb_index row, bb_index column, bb_index first)
{
    const bb_rounding_panel *panel = &work->panel;
    double fed = panel->fed[row * panel->fed_stride + column - panel->first];
    if (column < panel->first) {
        bb_index stride = 0;
        const double *factor = work->engine->column(work->engine->context, panel, column, &stride);
        for (bb_index k = first; k < panel->width; ++k) {
            fed += panel->errors[row * panel->errors_stride + k] * factor[k * stride];
        }
    }
    return fed;
}

static double scale_of(const sweep *work, bb_index column)
{
    return work->step->scales == NULL ? 1.0 : work->step->scales[column];
}

// Calls `enter` of the step for the block that ends with column `last`, if there is one.
static void start_block(const sweep *work, bb_index row, bb_index last)
{
    const bb_rounding_step *step = work->step;
    const bb_rounding_engine *engine = work->engine;
    double values[BB_ROUNDING_BLOCK];
    if (step->block == 0 || ((last + 1) % step->block != 0 && last + 1 != engine->n)) {
        return;
    }
    const bb_index first = last / step->block * step->block;
    for (bb_index column = first; column <= last; ++column) {
        values[column - first] = work->r[row * engine->n + column] -
                                 scale_of(work, column) *
                                     fed_to(work, row, column, last + 1 - work->panel.first) /
                                     engine->pivot(engine->context, column);
    }
    step->enter(step->context, row, first, last + 1 - first, values);
}

// fed += error factor, for `count` columns.
BB_CLONES static void feed(bb_index count, double error, const double *factor, double *fed)
{
    for (bb_index k = 0; k < count; ++k) {
        fed[k] += error * factor[k];
    }
}

// Rounds a row's columns [first, end) of the panel, from the last to the first.
static void round_row(const sweep *work, bb_index row, bb_index first, bb_index end)
{
    const bb_rounding_panel *panel = &work->panel;
    double *values = work->r + row * work->engine->n + panel->first;
    double *fed = panel->fed + row * panel->fed_stride;
    double *errors = panel->errors + row * panel->errors_stride;
    for (bb_index k = end - 1; k >= first; --k) {
        const double *factor = panel->diagonal + k * panel->width;
        const double pivot = factor[k];
        const double scale = scale_of(work, panel->first + k);
        start_block(work, row, panel->first + k);
        const double wanted = values[k] - scale * fed[k] / pivot;
        const double stored = work->step->round(work->step->context, row, panel->first + k, wanted);
        const double remainder = (stored - wanted) / scale * pivot;
        errors[k] = (stored - values[k]) / scale;
        work->paid[row] += remainder * remainder;
        values[k] = stored;
        feed(k - first, errors[k], factor + first, fed + first);
    }
}

// Start of the strip of the panel that ends at `end`. Strips start at multiples of their width in
// the matrix, so that a block within one panel is also within one strip.
static bb_index begin_of_strip(const sweep *work, bb_index end)
{
    const bb_index block = work->step->block;
    const bb_index width = block == 0 ? STRIP : STRIP / block * block;
    const bb_index first = work->panel.first;
    const bb_index begin = (first + end - 1) / width * width - first;
    return begin > 0 ? begin : 0;
}

// Processes strip by strip; the feedback of a strip of all rows to earlier strips is a product.
static bb_status round_rows(void *context, bb_index begin, bb_index end)
{
    const sweep *work = context;
    const bb_rounding_engine *engine = work->engine;
    const bb_rounding_panel *panel = &work->panel;
    bb_index first = 0;
    for (bb_index last = panel->width; last > 0; last = first) {
        first = begin_of_strip(work, last);
        for (bb_index row = begin; row < end; ++row) {
            round_row(work, row, first, last);
        }
        if (first > 0) {
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)(end - begin), (int)first,
                        (int)(last - first), 1.0,
                        panel->errors + begin * panel->errors_stride + first,
                        (int)panel->errors_stride, panel->diagonal + first * panel->width,
                        (int)panel->width, 1.0, panel->fed + begin * panel->fed_stride,
                        (int)panel->fed_stride);
        }
    }
    return engine->take_rows == NULL ? BB_OK
                                     : engine->take_rows(engine->context, panel, begin, end);
}

bb_status bb_rounding_engine_run(const bb_rounding_engine *engine, const bb_rounding_step *step,
                                 bb_index m, double *r, double *excess)
{
    bb_status status = BB_OK;
    sweep work = {.engine = engine, .step = step, .m = m, .r = r};
    BB_REQUIRE(step->block >= 0 && step->block <= BB_ROUNDING_BLOCK, BB_INVALID,
               "rounding sweep: blocks of %td columns, expected at most %d", step->block,
               BB_ROUNDING_BLOCK);
    BB_TRY(BB_ZEROED(m, &work.paid));
    for (bb_index index = engine->panels - 1; index >= 0; --index) {
        BB_TRY(engine->begin_panel(engine->context, index, &work.panel));
        BB_TRY(bb_thread_ranges(m, ROWS, round_rows, &work));
        if (engine->end_panel != NULL) {
            BB_TRY(engine->end_panel(engine->context, &work.panel));
        }
    }
    if (excess != NULL) {
        memcpy(excess, work.paid, (size_t)m * sizeof *excess);
    }
done:
    BB_RELEASE(&work.paid);
    return status;
}
