// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/realtime/wafer_realtime.h"

#include "core/log.h"
#include "sim/wafer/realtime/realtime_plan.h"
#include "sim/wafer/realtime/realtime_report.h"

bb_status bb_wafer_realtime_run(const void *study, bb_results *results, bb_text *table)
{
    bb_status status = BB_OK;
    const bb_wafer_study *wafer = study;
    const bb_wafer_config physics = bb_wafer_study_physics(wafer);
    const bb_product_pipeline *pipelines = wafer->pipelines.items;
    const bb_product_pipeline *pipeline = &pipelines[bb_wafer_study_realtime(wafer)];
    bb_device *devices[BB_LOOP_GPUS] = {NULL};
    bb_wafer_problem *problem = NULL;
    bb_wafer_loop *loop = NULL;
    bb_realtime_measurement measured = {0};
    BB_REQUIRE(wafer->common.device == (int)BB_DEVICE_AUTO ||
                   wafer->common.device == (int)BB_DEVICE_CUDA,
               BB_UNSUPPORTED, "device: the loop runs on a cuda device, expected auto or cuda");
    BB_TRY(bb_realtime_plan_check(wafer, pipeline));
    for (bb_index g = 0; g < wafer->realtime.gpus; ++g) {
        BB_TRY(bb_device_open(BB_DEVICE_CUDA, g, &devices[g]));
    }
    BB_TRY(bb_wafer_problem_create(&physics, &problem));
    BB_TRY(bb_wafer_loop_create(wafer, problem, pipeline, devices, problem->scored[0], &loop));
    bb_log_info("pipeline %s: %.1f MB of matrices on %d GPU%s, coded in %.1f s", pipeline->name,
                1e-6 * loop->device_bytes, loop->gpus, loop->gpus == 1 ? "" : "s",
                loop->coding.seconds);
    BB_TRY(bb_realtime_measurement_take(loop, &measured));
    BB_TRY(bb_realtime_report(loop, &measured, results, table));
done:
    bb_realtime_measurement_release(&measured);
    bb_wafer_loop_destroy(&loop);
    bb_wafer_problem_destroy(&problem);
    for (int g = 0; g < BB_LOOP_GPUS; ++g) {
        bb_device_close(&devices[g]);
    }
    return status;
}
