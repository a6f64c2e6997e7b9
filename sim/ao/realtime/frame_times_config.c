// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/realtime/frame_times_config.h"

#include "sim/pipelines/storage/factor_storage.h"
#include "solvers/loop/command_loop.h"

#include <math.h>

// clang-format off
static const bb_key keys[] = {
    {.name = "frames", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0, .maximum = 1e5,
     .offset = offsetof(bb_frame_times_config, frames), .default_text = "0",
     .meaning = "Frames that are measured of each pipeline that stores its reconstructor; 0: none."},
    {.name = "warm_up_frames", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0, .maximum = 1e5,
     .offset = offsetof(bb_frame_times_config, warm_up_frames), .default_text = "20",
     .meaning = "Frames before those that are measured."},
    {.name = "rate_hz", .kind = BB_KEY_DOUBLE, .unit = "Hz", .minimum = 0.0, .maximum = 1e5,
     .offset = offsetof(bb_frame_times_config, rate_hz), .default_text = "1000.0",
     .meaning = "Frames that are released a second by the host's clock; 0: each when the one before has ended."},
};
// clang-format on
const bb_schema bb_frame_times_schema = BB_SCHEMA("frame_times", bb_frame_times_config, keys);

bb_ao_realtime_config bb_frame_times_config_loop(const bb_frame_times_config *self,
                                                 const bb_ao_realtime_config *realtime)
{
    return (bb_ao_realtime_config){.rate_hz = self->rate_hz,
                                   .clock = (int)BB_FRAME_CLOCK_HOST,
                                   .frames = self->frames,
                                   .warm_up_frames = self->warm_up_frames,
                                   .deadline_ms = realtime->deadline_ms,
                                   .accumulate = realtime->accumulate,
                                   .controller = (int)BB_FRAME_CONTROLLER_NONE,
                                   .gain = NAN,
                                   .size = {BB_INTEGER_UNSET, BB_INTEGER_UNSET},
                                   .targets = 1,
                                   .gpus = 1};
}

bb_status bb_frame_times_config_check(const bb_frame_times_config *self, const bb_list *pipelines,
                                      bb_index reconstructors, const bb_config *config,
                                      bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_factor_pipeline *items = pipelines->items;
    const bb_place place = bb_config_place(config, "frame_times.frames");
    bool stores = false;
    for (bb_index p = 0; p < pipelines->count; ++p) {
        stores = stores || bb_factor_storage_is_given(&items[p]);
    }
    if (self->frames > 0 && !stores) {
        BB_TRY(bb_problems_add(problems, place,
                               "frame_times.frames = %td: of no effect without a pipeline that "
                               "stores its reconstructor, expected one with a storage",
                               self->frames));
    }
    if (self->frames > 0 && stores && reconstructors > (bb_index)BB_COMMAND_MATRICES) {
        BB_TRY(bb_problems_add(problems, place,
                               "frame_times.frames = %td: a frame multiplies the reconstructors of "
                               "%td targets, expected at most %d",
                               self->frames, reconstructors, (int)BB_COMMAND_MATRICES));
    }
done:
    return status;
}
