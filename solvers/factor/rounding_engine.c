// SPDX-License-Identifier: Apache-2.0
#include "solvers/factor/rounding_engine.h"

#include "core/memory.h"
#include "core/thread.h"

#include <cblas.h>
#include <string.h>

enum { ROWS = 32 }; // of R that a task rounds; fixed, so that sums do not depend on the threads

typedef struct sweep {
    const bb_rounding_engine *engine;
    const bb_rounding_step *step;
    bb_index m;
    double *r;               // [m][n]
    double *paid;            // [m] of each row, by (1)
    bb_rounding_panel panel; // the one at work
} sweep;

// What a column was fed, or, before the panel, is to be by the panel's columns from `first` on.
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

// Tells of the block that ends with `last`, where one does.
static void enter_block(const sweep *work, bb_index row, bb_index last)
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

// Rounds a row's columns of the panel, from the last to the first.
static void round_row(const sweep *work, bb_index row)
{
    const bb_rounding_panel *panel = &work->panel;
    double *values = work->r + row * work->engine->n + panel->first;
    double *fed = panel->fed + row * panel->fed_stride;
    double *errors = panel->errors + row * panel->errors_stride;
    for (bb_index k = panel->width - 1; k >= 0; --k) {
        const double *factor = panel->diagonal + k * panel->width;
        const double pivot = factor[k];
        const double scale = scale_of(work, panel->first + k);
        enter_block(work, row, panel->first + k);
        const double wanted = values[k] - scale * fed[k] / pivot;
        const double stored = work->step->round(work->step->context, row, panel->first + k, wanted);
        const double remainder = (stored - wanted) / scale * pivot;
        errors[k] = (stored - values[k]) / scale;
        work->paid[row] += remainder * remainder;
        values[k] = stored;
        cblas_daxpy((int)k, errors[k], factor, 1, fed, 1);
    }
}

static bb_status round_rows(void *context, bb_index begin, bb_index end)
{
    const sweep *work = context;
    const bb_rounding_engine *engine = work->engine;
    for (bb_index row = begin; row < end; ++row) {
        round_row(work, row);
    }
    return engine->take_rows == NULL ? BB_OK
                                     : engine->take_rows(engine->context, &work->panel, begin, end);
}

bb_status bb_rounding_engine_run(const bb_rounding_engine *engine, const bb_rounding_step *step,
                                 bb_index m, double *r, double *excess)
{
    bb_status status = BB_OK;
    sweep work = {.engine = engine, .step = step, .m = m, .r = r};
    BB_REQUIRE(step->block >= 0 && step->block <= BB_ROUNDING_BLOCK, BB_INVALID,
               "rounding in a sweep: blocks of %td columns, expected at most %d", step->block,
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
