// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/realtime/realtime_config.h"

const char *const bb_release_names[] = {"fixed", "back_to_back", NULL};
const char *const bb_loop_mode_names[] = {"resident", "streamed", NULL};

// clang-format off
static const bb_key keys[] = {
    {.name = "pipeline", .kind = BB_KEY_TEXT, .optional = true,
     .offset = offsetof(bb_realtime_config, pipeline),
     .meaning = "Name of the pipeline that runs; unset: the first that is not the reference."},
    {.name = "release", .kind = BB_KEY_CHOICE, .choices = bb_release_names,
     .offset = offsetof(bb_realtime_config, release), .default_text = "fixed",
     .meaning = "Steps start at fixed times, or each when the one before has ended."},
    {.name = "steps", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = 1e7,
     .offset = offsetof(bb_realtime_config, steps), .default_text = "100000",
     .meaning = "Steps that are measured."},
    {.name = "period_ms", .kind = BB_KEY_DOUBLE, .unit = "ms", .minimum = 0.01, .maximum = 1e3,
     .offset = offsetof(bb_realtime_config, period_ms),
     .default_text = "1.0", .meaning = "Between fixed release times."},
    {.name = "deadline_ms", .kind = BB_KEY_DOUBLE, .unit = "ms", .minimum = 0.0, .maximum = 1e3,
     .exclusive_minimum = true, .offset = offsetof(bb_realtime_config, deadline_ms),
     .default_text = "1.0", .meaning = "After its release, by which a step is to be done."},
    {.name = "warm_up_steps", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0, .maximum = 1e6,
     .offset = offsetof(bb_realtime_config, warm_up_steps), .default_text = "1000",
     .meaning = "Steps before those that are measured."},
    {.name = "ahead", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0, .maximum = BB_LOOP_AHEAD_MOST,
     .offset = offsetof(bb_realtime_config, ahead), .default_text = "0",
     .meaning = "Steps that are queued before their release, which the device's clock then keeps; 0: the host's."},
    {.name = "matrices", .kind = BB_KEY_CHOICE, .choices = bb_loop_mode_names,
     .offset = offsetof(bb_realtime_config, matrices), .default_text = "resident",
     .meaning = "All on the device, or on the host and over its link to the device field by field."},
    {.name = "gpus", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = BB_LOOP_GPUS,
     .offset = offsetof(bb_realtime_config, gpus), .default_text = "1",
     .meaning = "GPUs of this host that share the axes: axis k of response.axes on GPU k mod gpus."},
};
// clang-format on
const bb_schema bb_realtime_schema = BB_SCHEMA("realtime", bb_realtime_config, keys);
