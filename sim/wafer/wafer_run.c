// SPDX-License-Identifier: Apache-2.0
#include "core/log.h"
#include "core/thread.h"
#include "sim/run/device_choice.h"
#include "sim/wafer/wafer_experiment.h"
#include "sim/wafer/wafer_work.h"

static const bb_device_offer offer = {.work = "the matrix-vector product of wafer",
                                      .kinds = BB_DEVICE_OFFER(BB_DEVICE_CUDA) |
                                               BB_DEVICE_OFFER(BB_DEVICE_OPENCL)};

static bb_status build_problem(const bb_wafer_config *physics, bb_wafer_work *work)
{
    bb_status status = BB_OK;
    BB_TRY(bb_wafer_problem_start(physics, &work->problem));
    const bb_wafer_problem *problem = work->problem;
    bb_log_info("%td nodes, %td fields (%td scored), response %td x %td, step limit %.3f ms",
                problem->mesh->node_count, problem->scan->field_count, problem->scored_count,
                problem->slit.field_points, problem->input_count,
                1e3 * problem->thermal->stable_step);
done:
    return status;
}

// Builds the response in a side thread while the thread pool computes the heat.
typedef struct building {
    const bb_wafer_config *physics;
    bb_wafer_problem *problem;
} building;

static bb_status finish_problem(void *context, bb_index index)
{
    const building *work = context;
    (void)index;
    return bb_wafer_problem_finish(work->physics, work->problem);
}

static bb_status heat(const bb_wafer_config *physics, bb_restart *restart, bb_wafer_work *work)
{
    bb_status status = BB_OK;
    bb_side_thread *side_thread = NULL;
    building response = {physics, work->problem};
    BB_TRY(bb_side_thread_start(finish_problem, &response, &side_thread));
    BB_TRY(bb_wafer_heating_resume(work->problem, restart, &work->heating));
    bb_wafer_heating_subtract_reference(work->problem, &work->heating);
    BB_TRY(bb_side_thread_join(&side_thread));
done:
    if (side_thread != NULL) { // the error of the heating is returned
        bb_status_record record;
        bb_status_save(&record);
        if (bb_side_thread_join(&side_thread) != BB_OK) {
            bb_status_restore(&record);
        }
    }
    return status;
}

// Runs the study. `asked` is the study as written; in the study of the work `auto` devices are
// resolved.
bb_status bb_wafer_experiment_run(const void *asked, const bb_run_options *options,
                                  bb_results *results)
{
    bb_status status = BB_OK;
    const bb_wafer_study *study = asked;
    bb_restart restart = {0};
    bb_wafer_work work = {.dump = options->dump, .restart = &restart};
    BB_TRY(bb_wafer_heating_restart(study, options, &restart));
    BB_TRY(bb_wafer_extent_resolve(study, &work.study));
    BB_TRY(bb_product_devices_vary(&work.devices, &study->kernels, options->kernels));
    bb_device_choice_announce(&offer, study->common.device, work.study.common.device);
    BB_TRY(bb_parts_start(bb_wafer_parts, &work.study, &work, results));
    BB_TRY(bb_wafer_work_open(study, &work));
    const bb_wafer_config physics = bb_wafer_study_physics(&work.study);
    BB_TRY(build_problem(&physics, &work));
    BB_TRY(heat(&physics, &restart, &work));
    BB_TRY(bb_wafer_work_compute(&work));
    BB_TRY(bb_parts_run(bb_wafer_parts, &work.study, &work, results));
done:
    bb_restart_release(&restart);
    bb_wafer_work_release(&work);
    return status;
}
