// SPDX-License-Identifier: Apache-2.0
//
// An ao study with pipelines that store their reconstructor, and its realtime loop on the CPU.
#ifndef BB_TESTS_SIM_AO_REALTIME_FRAME_RIG_H
#define BB_TESTS_SIM_AO_REALTIME_FRAME_RIG_H

#include "sim/ao/realtime/ao_realtime.h"
#include "tests/sim/driver.h"

#define PIPELINES                                                                                  \
    "pipelines=[{name: reference, arithmetic: dp}, {name: both, arithmetic: dp, storage: {codec: " \
    "integer, bits: 8, rounding: sweep}, filter: means}, {name: fp16, arithmetic: dp, storage: "   \
    "fp16, scale: row, slopes: {bits: 10}}, {name: scaled, arithmetic: dp, operator: commands, "   \
    "storage: {codec: integer, bits: 12, rounding: sweep}, column_scale: remainder, filter: "      \
    "means}]"
#define DRAWN "realtime.size={commands: 60, slopes: 401}"
#define PACED DRAWN, "realtime.frames=40", "realtime.warm_up_frames=5"

// Study, its loop on the CPU, and the measurement.
typedef struct rig {
    bb_config *config;
    bb_device *cpu;
    bb_frame_loop *loop;
    float *commands; // of the last step
} rig;

/// Creates a loop with matrices of its own.
static inline bb_status make_loop(const bb_ao_study *study, const bb_factor_pipeline *pipeline,
                                  int count, bb_device *const *devices, bb_frame_loop **out)
{
    bb_status status = BB_OK;
    autorelease(bb_frame_matrices) matrices = {0};
    BB_TRY(bb_frame_matrices_make(study, pipeline, &matrices));
    BB_TRY(bb_frame_loop_create(study, pipeline, count, devices, &matrices, out));
done:
    return status;
}

static inline void rig_open(rig *self, const driver_case *study, bb_index threads)
{
    *self = (rig){0};
    check_ok(bb_threads_set(threads));
    check_ok(driver_load(study, &self->config));
    const bb_ao_study *ao = bb_config_study(self->config);
    const bb_index p = bb_ao_realtime_config_pipeline(&ao->realtime, &ao->pipelines);
    const bb_factor_pipeline *pipelines = ao->pipelines.items;
    assert_true(p >= 0);
    check_ok(bb_device_open(BB_DEVICE_CPU, 0, &self->cpu));
    check_ok(make_loop(ao, &pipelines[p], 1, &self->cpu, &self->loop));
}

static inline void rig_close(rig *self)
{
    BB_RELEASE(&self->commands);
    bb_frame_loop_destroy(&self->loop);
    bb_device_close(&self->cpu);
    bb_config_destroy(&self->config);
}

/// Opens a loop on two threads and measures it. Returns the peak of memory in bytes, without the
/// keys.
static inline double rig_peak(rig *self, const driver_case *study,
                              bb_realtime_measurement *measured)
{
    const size_t bare = bb_memory_bytes();
    bb_config *config = driver_config(study);
    const size_t keys = bb_memory_bytes() - bare;
    bb_config_destroy(&config);
    bb_memory_peak_reset();
    rig_open(self, study, 2);
    check_ok(bb_frame_loop_measure(self->loop, measured));
    return (double)(bb_memory_peak_bytes() - bare - keys);
}

static inline const float *step(rig *self, bb_index number)
{
    bb_command_frame frame;
    bb_frame_loop_set_slopes(self->loop, number);
    check_ok(bb_command_loop_step(self->loop->frames, 0, &frame));
    assert_true(frame.slopes_finite && frame.products_finite);
    if (self->commands == NULL) {
        check_ok(BB_ALLOCATE(self->loop->matrices.commands, &self->commands));
    }
    bb_command_loop_commands(self->loop->frames, self->commands);
    return self->commands;
}

#endif
