// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_storage.h"

#include "core/memory.h"
#include "sim/ao/ao_commands.h"

bb_status bb_ao_storage_open(const bb_factor_problem *factor_problem, const bb_tomography *problem,
                             double tilt_arcsec2, bb_ao_storage *out)
{
    bb_status status = BB_OK;
    const bb_sensor_array *guides = &problem->guides;
    const bb_index n = guides->measurement_count;
    out->problem = problem;
    BB_TRY(bb_tilt_vectors_create_known(guides, tilt_arcsec2, &out->shakes));
    const bb_low_rank modes = {out->shakes.columns, out->shakes.vectors, out->shakes.variance};
    BB_TRY(BB_ALLOCATE(n + 2 * guides->sensor_count, &out->groups));
    for (bb_index s = 0; s < guides->sensor_count; ++s) {
        const bb_sensor *sensor = &guides->sensors[s];
        for (bb_index i = 0; i < 2 * sensor->count; ++i) {
            out->groups[sensor->first + i] = 2 * s + i / sensor->count;
        }
        out->groups[n + 2 * s] = out->groups[n + 2 * s + 1] = sensor->count;
    }
    const bb_slope_groups groups = {2 * guides->sensor_count, out->groups, out->groups + n};
    bb_factor_storage_open(factor_problem, &modes, &groups, &out->common);
done:
    return status;
}

void bb_ao_storage_release(bb_ao_storage *self)
{
    bb_factor_storage_release(&self->common);
    bb_tilt_vectors_release(&self->shakes);
    BB_RELEASE(&self->groups);
}

bb_status bb_ao_storage_round(bb_ao_storage *self, const bb_factor_pipeline *pipeline,
                              bb_index draw, bb_ao_evaluation *evaluation)
{
    bb_status status = BB_OK;
    for (bb_index t = 0; t < self->problem->target_count; ++t) {
        if (evaluation->r[t] != NULL) {
            BB_TRY(bb_factor_storage_apply(&self->common, pipeline, draw,
                                           bb_ao_commands_rows(self->problem, evaluation, t),
                                           evaluation->r[t], &evaluation->common));
        }
    }
done:
    return status;
}

bb_status bb_ao_storage_apply(bb_ao_storage *self, const bb_factor_pipeline *pipeline,
                              bb_index draw, bb_ao_evaluation *evaluation)
{
    bb_status status = BB_OK;
    BB_TRY(bb_ao_commands_take(self->problem, pipeline, evaluation));
    BB_TRY(bb_ao_storage_round(self, pipeline, draw, evaluation));
done:
    return status;
}
