// SPDX-License-Identifier: Apache-2.0
#include "sim/ao_experiment.h"

#include "core/memory.h"
#include "sim/ao_study.h"

#include <math.h>

bb_status bb_ao_experiment_plan(const void *study, const bb_run_options *options, bb_plan *plan)
{
    const bb_ao_study *ao = study;
    (void)options;
    plan->estimated_seconds = NAN;
    return bb_plan_add(plan, "pipelines", "%td", ao->pipelines.count);
}

bb_status bb_ao_experiment_run(const void *study, const bb_run_options *options,
                               bb_results *results)
{
    bb_status status = BB_OK;
    const bb_ao_study *ao = study;
    const bb_ao_pipeline *pipelines = ao->pipelines.items;
    const char **names = NULL;
    (void)options;
    BB_TRY(BB_ALLOCATE(ao->pipelines.count, &names));
    for (bb_index i = 0; i < ao->pipelines.count; ++i) {
        names[i] = pipelines[i].name;
    }
    BB_TRY(bb_results_text_axis(results, "results/pipeline", "name of the pipeline",
                                ao->pipelines.count, names));
done:
    BB_RELEASE(&names);
    return status;
}
