// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_whole.h"

#include "core/memory.h"
#include "sim/ao/timeline/ao_timeline_config.h"

#include <math.h>

void bb_ao_whole_release(bb_ao_whole *self)
{
    for (bb_index t = 0; self->models != NULL && t < self->problem->target_count; ++t) {
        bb_whole_residual_destroy(&self->models[t]);
    }
    BB_RELEASE(&self->models);
}

static bool shakes(const bb_ao_study *study)
{
    return study->error_terms.shake_arcsec > 0.0 || !isnan(study->shake_test_arcsec);
}

bool bb_ao_whole_applies(const bb_ao_study *study)
{
    return study->error_terms.fitting &&
           study->error_terms.combination == (int)BB_COMBINATION_EXACT &&
           (study->mirrors.count == 0 || !shakes(study));
}

bool bb_ao_whole_serves(const bb_ao_whole *self)
{
    return self->study != NULL && bb_ao_whole_applies(self->study);
}

const char *bb_ao_whole_definition(const bb_ao_study *study, bool pairs)
{
    return pairs && bb_ao_whole_applies(study) ? "whole residual"
                                               : "correctable residual and independent error terms";
}

bb_status bb_ao_whole_check(const bb_ao_study *study, const bb_config *config,
                            bb_problems *problems)
{
    bb_status status = BB_OK;
    const double given = study->error_terms.fitting_coefficient;
    const bool pairs = study->score == (int)BB_SCORE_PAIRS || bb_ao_study_frames(study);
    if (pairs && bb_ao_whole_applies(study) && given != BB_FITTING_COEFFICIENT) {
        BB_TRY(bb_problems_add(problems, bb_config_place(config, "error_terms.fitting_coefficient"),
                               "error_terms.fitting_coefficient = %g: of no effect on the exact "
                               "whole residual; set error_terms.combination: independent",
                               given));
    }
done:
    return status;
}

// The drift of every layer in the delay of the correction, and the model of one target.
static bb_status make_model(bb_ao_whole *self, bb_index target)
{
    bb_status status = BB_OK;
    const bb_index layers = self->problem->atmosphere.layer_count;
    const double delay_s = 1e-3 * self->study->error_terms.frame_delay_ms;
    double(*drift_m)[2] = NULL; // [layers]
    if (delay_s > 0.0) {
        BB_TRY(BB_ALLOCATE(layers, &drift_m));
        bb_ao_timeline_config_wind(self->study, &self->problem->atmosphere, drift_m);
        for (bb_index l = 0; l < layers; ++l) {
            drift_m[l][0] *= delay_s;
            drift_m[l][1] *= delay_s;
        }
    }
    BB_TRY(bb_whole_residual_create(self->problem, target, (const double(*)[2])drift_m,
                                    &self->models[target]));
done:
    BB_RELEASE(&drift_m);
    return status;
}

bb_status bb_ao_whole_estimate(bb_ao_whole *self, const bb_ao_evaluation *evaluation,
                               bb_index target, const double *product, bb_whole_estimate *out,
                               const bb_whole_estimate **estimate)
{
    bb_status status = BB_OK;
    *estimate = NULL;
    if (!bb_ao_whole_serves(self)) {
        goto done;
    }
    if (self->models == NULL) {
        BB_TRY(BB_ZEROED(self->problem->target_count, &self->models));
    }
    if (self->models[target] == NULL) {
        BB_TRY(make_model(self, target));
    }
    *out = (bb_whole_estimate){self->models[target],
                               self->problem->commands != NULL
                                   ? evaluation->r[0]
                                   : bb_ao_evaluation_reconstructor(evaluation, target),
                               product};
    *estimate = out;
done:
    return status;
}
