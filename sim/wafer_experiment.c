// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer_experiment.h"

#include "core/memory.h"
#include "sim/wafer_study.h"

#include <math.h>

bb_status bb_wafer_experiment_plan(const void *study, const bb_run_options *options, bb_plan *plan)
{
    const bb_wafer_study *wafer = study;
    (void)options;
    plan->estimated_seconds = NAN;
    return bb_plan_add(plan, "pipelines", "%td", wafer->pipelines.count);
}

bb_status bb_wafer_experiment_run(const void *study, const bb_run_options *options,
                                  bb_results *results)
{
    bb_status status = BB_OK;
    const bb_wafer_study *wafer = study;
    const bb_wafer_pipeline *pipelines = wafer->pipelines.items;
    const char **names = NULL;
    (void)options;
    BB_TRY(BB_ALLOCATE(wafer->pipelines.count, &names));
    for (bb_index i = 0; i < wafer->pipelines.count; ++i) {
        names[i] = pipelines[i].name;
    }
    BB_TRY(bb_results_text_axis(results, "results/pipeline", "name of the pipeline",
                                wafer->pipelines.count, names));
done:
    BB_RELEASE(&names);
    return status;
}
