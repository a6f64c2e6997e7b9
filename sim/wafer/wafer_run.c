// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_run.h"

#include "core/log.h"
#include "core/memory.h"
#include "sim/device_choice.h"
#include "sim/kernels/kernel_variants.h"
#include "sim/wafer/wafer_cautions.h"
#include "sim/wafer/wafer_dump.h"
#include "sim/wafer/wafer_plan.h"
#include "sim/wafer/wafer_promise.h"
#include "sim/wafer/wafer_publication.h"
#include "sim/wafer/wafer_restart.h"

static const bb_device_offer offer = {.work = "the matrix-vector product of wafer",
                                      .kinds = BB_DEVICE_OFFER(BB_DEVICE_CUDA) |
                                               BB_DEVICE_OFFER(BB_DEVICE_OPENCL)};

typedef struct wafer_run {
    bb_index pipeline_count;
    bb_wafer_problem *problem;
    bb_wafer_heating heating;
    bb_product_devices devices;
    bb_wafer_evaluation *evaluations; // [pipeline_count]
    bb_wafer_promises promises;
} wafer_run;

// A promise makes room for its candidates by itself.
static bb_status make_room(const bb_wafer_study *study, wafer_run *run)
{
    bb_status status = BB_OK;
    const bb_product_pipeline *pipelines = study->pipelines.items;
    for (bb_index p = 0; p < run->pipeline_count; ++p) {
        if (!bb_product_pipeline_promises(&pipelines[p])) {
            BB_TRY(bb_wafer_evaluation_create(study, run->problem, pipelines[p].draws - 1,
                                              &run->evaluations[p]));
        }
    }
    BB_TRY(bb_wafer_promises_open(study, &run->devices, run->evaluations, &run->promises));
done:
    return status;
}

// `asked` is the study as it is written, `study` with what `auto` came to.
static bb_status start(const bb_wafer_study *asked, const bb_wafer_study *study, wafer_run *run)
{
    bb_status status = BB_OK;
    const bb_wafer_config physics = bb_wafer_study_physics(study);
    const bb_product_pipeline *pipelines = study->pipelines.items;
    run->pipeline_count = study->pipelines.count;
    bb_device_choice_announce(&offer, asked->common.device, study->common.device);
    BB_TRY(bb_wafer_cautions_warn(study));
    BB_TRY(BB_ZEROED(run->pipeline_count, &run->evaluations));
    for (bb_index p = 0; p < run->pipeline_count; ++p) {
        run->evaluations[p].common = bb_evaluation_start(pipelines[p].name);
        const bb_product_pipeline record =
            bb_storage_promise_first(&pipelines[p], study->common.device);
        BB_TRY(bb_product_devices_open(&run->devices, &record, study->common.device,
                                       &run->evaluations[p].common.device));
    }
    BB_TRY(bb_wafer_problem_create(&physics, &run->problem));
    BB_TRY(make_room(study, run));
    bb_log_info("%td nodes, %td fields of which %td scored, response %td x %td, step limit %.3f ms",
                run->problem->mesh->node_count, run->problem->scan->field_count,
                run->problem->scored_count, run->problem->slit.field_points,
                run->problem->input_count, 1e3 * run->problem->thermal->stable_step);
done:
    return status;
}

static void finish(wafer_run *run)
{
    bb_wafer_promises_release(&run->promises);
    for (bb_index p = 0; run->evaluations != NULL && p < run->pipeline_count; ++p) {
        bb_wafer_evaluation_release(&run->evaluations[p]);
    }
    BB_RELEASE(&run->evaluations);
    bb_wafer_heating_release(&run->heating);
    bb_wafer_problem_destroy(&run->problem);
    bb_product_devices_close(&run->devices);
}

bb_status bb_wafer_run(const void *asked, const bb_run_options *options, bb_results *results)
{
    bb_status status = BB_OK;
    bb_wafer_study resolved;
    const bb_wafer_study *study = &resolved;
    wafer_run run = {0};
    bb_restart restart = {0};
    BB_TRY(bb_wafer_restart_open(asked, options, &restart));
    BB_TRY(bb_wafer_plan_resolve(asked, &resolved));
    BB_TRY(bb_wafer_dump_check(&study->dump, options->dump));
    BB_TRY(bb_product_devices_vary(&run.devices, &study->kernels, options->kernels));
    BB_TRY(start(asked, study, &run));
    BB_TRY(bb_wafer_heating_resume(run.problem, &restart, &run.heating));
    bb_wafer_heating_refer(run.problem, &run.heating);
    BB_TRY(bb_wafer_promises_compute(&run.promises, run.problem, &run.heating));
    BB_TRY(bb_wafer_publication_write(&run.promises.study, run.problem, &run.heating,
                                      run.evaluations, results));
    BB_TRY(bb_wafer_promises_publish(&run.promises, results));
    BB_TRY(bb_kernel_variants_publish(run.devices.variants, results));
    BB_TRY(bb_wafer_dump(study, options->dump, &run.problem, &run.heating, results));
done:
    bb_restart_release(&restart);
    finish(&run);
    return status;
}
