// SPDX-License-Identifier: Apache-2.0
#include "sim/run/part.h"

#include "core/clock.h"
#include "core/log.h"

static bool is_wanted(const bb_part *part, const void *study)
{
    return part->wanted == NULL || part->wanted(study);
}

bb_status bb_parts_check(const bb_part *const *parts, const void *study, const bb_config *config,
                         bb_problems *problems)
{
    for (; *parts != NULL; ++parts) {
        if ((*parts)->check != NULL) {
            BB_RETURN_IF_FAILED((*parts)->check(study, config, problems));
        }
    }
    return BB_OK;
}

bb_status bb_parts_plan_lines(const bb_part *const *parts, const void *study, const void *extent,
                              bb_plan *plan)
{
    for (; *parts != NULL; ++parts) {
        if ((*parts)->plan_lines != NULL && is_wanted(*parts, study)) {
            BB_RETURN_IF_FAILED((*parts)->plan_lines(study, extent, plan));
        }
    }
    return BB_OK;
}

bb_status bb_parts_start(const bb_part *const *parts, const void *study, void *work,
                         bb_results *results)
{
    for (; *parts != NULL; ++parts) {
        if ((*parts)->start != NULL && is_wanted(*parts, study)) {
            BB_RETURN_IF_FAILED((*parts)->start(work, results));
        }
    }
    return BB_OK;
}

void bb_parts_log_phase(const char *phase, double *begin)
{
    const double now = bb_clock_seconds();
    bb_log_detail("phase %s: %.3f s", phase, now - *begin);
    *begin = now;
}

bb_status bb_parts_run(const bb_part *const *parts, const void *study, void *work,
                       bb_results *results)
{
    for (; *parts != NULL; ++parts) {
        if ((*parts)->run != NULL && is_wanted(*parts, study)) {
            double begin = bb_clock_seconds();
            BB_RETURN_IF_FAILED((*parts)->run(work, results));
            bb_parts_log_phase((*parts)->name, &begin);
        }
    }
    return BB_OK;
}

bb_status bb_parts_need(const bb_part *const *parts, const void *study, const void *extent,
                        bb_need common, bb_need *out)
{
    *out = (bb_need){0};
    for (; *parts != NULL; ++parts) {
        if ((*parts)->need != NULL && is_wanted(*parts, study)) {
            bb_need own = {0};
            BB_RETURN_IF_FAILED((*parts)->need(study, extent, &own));
            *out = bb_need_in_turn(*out, bb_need_together(common, own));
        }
    }
    return BB_OK;
}

const bb_output_table *bb_parts_output(const bb_part *const *parts, bb_index index)
{
    for (; *parts != NULL; ++parts) {
        const bb_output_table *const *outputs = (*parts)->outputs;
        for (; outputs != NULL && *outputs != NULL; ++outputs) {
            if (index-- == 0) {
                return *outputs;
            }
        }
    }
    return NULL;
}
