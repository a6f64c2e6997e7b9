// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/timeline/ao_timeline_plan.h"

#include "physics/ao/frames/time_domain.h"
#include "sim/ao/timeline/ao_timeline_config.h"
#include "sim/pipelines/storage/stored_product.h"

#include <math.h>

static double narrow_pipelines(const bb_ao_study *study)
{
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    double count = 0.0;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        count += bb_narrow_sum_is_given(&pipelines[p]) ? 1.0 : 0.0;
    }
    return count;
}

bb_need bb_ao_timeline_plan_need(const bb_ao_study *study, const bb_ao_timeline_extent *extent,
                                 bb_need *held)
{
    const bb_time_domain_config *time = &study->time_domain;
    const bool closed = time->loop == (int)BB_LOOP_CLOSED;
    const bool alone = extent->together == 0.0;
    const double targets = (double)study->targets.count;
    const double rows = alone ? fmax(extent->truths, extent->actuators) : extent->together;
    const double seen = closed ? rows + (alone ? extent->truths : 0.0) : 0.0;
    const bb_time_domain_extent series = {
        .frames = extent->frames,
        .realisations = (double)time->realisations,
        .scored = (double)time->frames,
        .settle = time->gain >= 1.0 && !closed ? 0.0 : (double)time->settle_frames,
        .estimates = (double)study->pipelines.count * targets,
        .rows = rows,
        .slopes = extent->n,
        .delay = 1e-3 * bb_ao_timeline_config_delay_ms(study) * time->rate_hz,
        .wavelengths = (double)study->wavelengths_um.count};
    *held = (bb_need){.host_bytes = sizeof(double) * extent->n *
                                    (seen + narrow_pipelines(study) * targets * rows)};
    return bb_need_in_turn(bb_frame_sampler_need(&extent->frames),
                           bb_need_together(bb_frame_sampler_held(&extent->frames),
                                            bb_time_domain_need(&series, extent->threads)));
}
