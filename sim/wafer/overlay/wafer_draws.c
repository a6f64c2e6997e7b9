// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/overlay/wafer_draws.h"

#include "core/memory.h"
#include "physics/wafer/overlay/overlay.h"

#include <math.h>

enum { RESIDUAL = 1, NUMERICAL }; // of the axis /results/error

typedef struct pricing {
    const bb_wafer_overlay *overlay;
    bool late;       // some pipeline's corrections are not on time
    double *dx, *dy; // [points]
} pricing;

// Larger |mean| + 3 sigma of x and y, nm; NaN where one is not determined.
static bb_status size_of(const pricing *work, const bb_wafer_evaluation *evaluation, int error,
                         double *out)
{
    bb_status status = BB_OK;
    const bb_wafer_overlay *overlay = work->overlay;
    const bb_index last = evaluation->wafer_count - 1;
    bb_overlay_statistics statistics;
    bb_wafer_overlay_error(overlay, evaluation, last, error, BB_AXIS_X, work->dx);
    bb_wafer_overlay_error(overlay, evaluation, last, error, BB_AXIS_Y, work->dy);
    BB_TRY(
        bb_overlay_statistics_of(overlay->problem->point_count, work->dx, work->dy, &statistics));
    bool known = !isnan(statistics.x.m3s) && !isnan(statistics.y.m3s);
    *out = known ? fmax(statistics.x.m3s, statistics.y.m3s) : NAN;
done:
    return status;
}

static bb_status add(const pricing *work, const bb_wafer_evaluation *evaluation, bb_draws *draws)
{
    bb_status status = BB_OK;
    double price = NAN;
    double residual = NAN;
    BB_TRY(size_of(work, evaluation, NUMERICAL, &price));
    if (work->late) {
        BB_TRY(size_of(work, evaluation, RESIDUAL, &residual));
        price = isnan(price) || isnan(residual) ? NAN : fmax(price, residual);
    }
    bb_draws_add(draws, &evaluation->common.outcome, price);
done:
    return status;
}

// Whether corrections of some pipeline come late or not at all.
static bool is_late(const bb_wafer_study *study)
{
    bool late = false;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        const bb_product_pipeline *pipeline =
            (const bb_product_pipeline *)study->pipelines.items + p;
        late = late || !bb_delivery_on_time(&pipeline->delivery);
    }
    return late;
}

bb_status bb_wafer_draws_find(const bb_wafer_overlay *overlay,
                              const bb_wafer_evaluation *evaluation, bb_draws *draws)
{
    bb_status status = BB_OK;
    const bb_index points = overlay->problem->point_count;
    pricing work = {.overlay = overlay, .late = is_late(overlay->study)};
    BB_TRY(BB_ALLOCATE(points, &work.dx));
    BB_TRY(BB_ALLOCATE(points, &work.dy));
    BB_TRY(add(&work, evaluation, draws));
    for (bb_index d = 0; d < evaluation->drawn_count; ++d) {
        BB_TRY(add(&work, &evaluation->drawn[d], draws));
    }
done:
    BB_RELEASE(&work.dx);
    BB_RELEASE(&work.dy);
    return status;
}

bb_status bb_wafer_draws_price(const bb_wafer_overlay *overlay, bb_wafer_evaluation *evaluations)
{
    bb_status status = BB_OK;
    for (bb_index p = 0; p < overlay->study->pipelines.count; ++p) {
        BB_TRY(bb_wafer_draws_find(overlay, &evaluations[p], &evaluations[p].common.draws));
    }
done:
    return status;
}
