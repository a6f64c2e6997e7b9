// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/realtime/ao_realtime_config.h"

#include "precision/format.h"
#include "sim/pipelines/factor_storage.h"
#include "sim/pipelines/storage_search.h"
#include "solvers/loop/command_loop.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { LEAST_SLOPES = 16 }; // smallest random matrix

static_assert((int)BB_COMMAND_AHEAD == 16, "the meaning of realtime.clock quotes this number");

const char *const bb_frame_controller_names[] = {"none", "integrator", NULL};
const char *const bb_frame_clock_names[] = {"host", "device", NULL};

// clang-format off
static const bb_key size_keys[] = {
    {.name = "commands", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = 1e6, .optional = true,
     .offset = offsetof(bb_frame_size, commands), .meaning = "Commands of a target: rows of the matrix."},
    {.name = "slopes", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = LEAST_SLOPES, .maximum = 1e7, .optional = true,
     .offset = offsetof(bb_frame_size, slopes), .meaning = "Slopes of a frame: columns of the matrix."},
};
static const bb_schema size_schema = BB_SCHEMA("size", bb_frame_size, size_keys);

static const bb_key telemetry_keys[] = {
    {.name = "file", .kind = BB_KEY_PATH, .optional = true, .offset = offsetof(bb_telemetry_config, file),
     .meaning = "HDF5 or FITS file of slopes [frames][slopes], in arcsec unless its "
     "unit is mas or rad, in the order of /operators/Cmm, references "
     "subtracted; replayed repeatedly."},
    {.name = "dataset", .kind = BB_KEY_TEXT, .optional = true, .offset = offsetof(bb_telemetry_config, dataset),
     .meaning = "Dataset in an HDF5 file, unset: " BB_TELEMETRY_DATASET "; image in a FITS file by name or number, "
                "unset: the first of two axes."},
};
static const bb_schema telemetry_schema = BB_SCHEMA("telemetry", bb_telemetry_config, telemetry_keys);

static const bb_key keys[] = {
    {.name = "pipeline", .kind = BB_KEY_TEXT, .optional = true,
     .offset = offsetof(bb_ao_realtime_config, pipeline),
     .meaning = "Pipeline whose stored reconstructor runs; unset: the first with a "
     "storage."},
    {.name = "rate_hz", .kind = BB_KEY_DOUBLE, .unit = "Hz", .minimum = 0.0, .maximum = 1e5,
     .offset = offsetof(bb_ao_realtime_config, rate_hz), .default_text = "1000.0",
     .meaning = "Frame rate; 0: each frame starts when the one before has ended."},
    {.name = "clock", .kind = BB_KEY_CHOICE, .choices = bb_frame_clock_names,
     .offset = offsetof(bb_ao_realtime_config, clock), .default_text = "host",
     .meaning = "Clock of releases and latencies: host, or device, where the GPU waits "
     "for the release and the host provides slopes up to 16 frames ahead; "
     "needs a rate."},
    {.name = "frames", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = 1e7,
     .offset = offsetof(bb_ao_realtime_config, frames), .default_text = "10000",
     .meaning = "Number of measured frames."},
    {.name = "warm_up_frames", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0, .maximum = 1e6,
     .offset = offsetof(bb_ao_realtime_config, warm_up_frames), .default_text = "100",
     .meaning = "Warm-up frames, not measured."},
    {.name = "deadline_ms", .kind = BB_KEY_DOUBLE, .unit = "ms", .minimum = 0.0, .maximum = 1e3,
     .exclusive_minimum = true, .offset = offsetof(bb_ao_realtime_config, deadline_ms), .default_text = "1.0",
     .meaning = "Deadline of the commands after the release of a frame."},
    {.name = "accumulate", .kind = BB_KEY_CHOICE, .choices = bb_working_format_names,
     .offset = offsetof(bb_ao_realtime_config, accumulate), .default_text = "fp32",
     .meaning = "Format of the sums; products are fp32. On a GPU, sums within a lane or tensor core are fp32 and are added in fp64."},
    {.name = "controller", .kind = BB_KEY_CHOICE, .choices = bb_frame_controller_names,
     .offset = offsetof(bb_ao_realtime_config, controller), .default_text = "none",
     .meaning = "none: commands are the product; integrator: for pseudo-open-loop slopes, v <- (1 - gain) v + gain product."},
    {.name = "gain", .kind = BB_KEY_DOUBLE, .unit = "1", .minimum = 0.0, .maximum = 1.0,
     .exclusive_minimum = true, .optional = true, .offset = offsetof(bb_ao_realtime_config, gain),
     .meaning = "controller integrator: gain; unset: 0.5."},
    {.name = "delay_frames", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0, .maximum = BB_COMMAND_DELAY_MOST,
     .offset = offsetof(bb_ao_realtime_config, delay_frames), .default_text = "0",
     .meaning = "Frames by which computed commands are delayed."},
    {.name = "gpus", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = BB_COMMAND_DEVICES,
     .offset = offsetof(bb_ao_realtime_config, gpus), .default_text = "1",
     .meaning = "GPUs of this host that share the rows of every matrix; each gets all slopes, and a frame ends when the last GPU has finished."},
    {.name = "size", .kind = BB_KEY_GROUP, .schema = &size_schema, .optional = true,
     .offset = offsetof(bb_ao_realtime_config, size),
     .meaning = "Random matrix of this size, stored like the pipeline's reconstructor, "
     "for timing without a solve."},
    {.name = "targets", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 1.0, .maximum = BB_COMMAND_MATRICES,
     .offset = offsetof(bb_ao_realtime_config, targets), .default_text = "1",
     .meaning = "size: number of different random matrices that multiply the slopes of a frame."},
    {.name = "telemetry", .kind = BB_KEY_GROUP, .schema = &telemetry_schema, .optional = true,
     .offset = offsetof(bb_ao_realtime_config, telemetry),
     .meaning = "File of slopes to replay instead of random ones."},
};

static const bb_key times_keys[] = {
    {.name = "frames", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0, .maximum = 1e5,
     .offset = offsetof(bb_frame_times_config, frames), .default_text = "0",
     .meaning = "Number of measured frames for each pipeline that stores its reconstructor; 0: none."},
    {.name = "warm_up_frames", .kind = BB_KEY_INTEGER, .unit = "1", .minimum = 0.0, .maximum = 1e5,
     .offset = offsetof(bb_frame_times_config, warm_up_frames), .default_text = "20",
     .meaning = "Warm-up frames, not measured."},
    {.name = "rate_hz", .kind = BB_KEY_DOUBLE, .unit = "Hz", .minimum = 0.0, .maximum = 1e5,
     .offset = offsetof(bb_frame_times_config, rate_hz), .default_text = "1000.0",
     .meaning = "Frame rate by the host's clock; 0: each frame starts when the one before has ended."},
};
// clang-format on
const bb_schema bb_ao_realtime_schema = BB_SCHEMA("realtime", bb_ao_realtime_config, keys);
const bb_schema bb_frame_times_schema = BB_SCHEMA("frame_times", bb_frame_times_config, times_keys);

bool bb_ao_realtime_config_draws(const bb_ao_realtime_config *self)
{
    return self->size.commands != BB_INTEGER_UNSET && self->size.slopes != BB_INTEGER_UNSET;
}

double bb_ao_realtime_config_gain(const bb_ao_realtime_config *self)
{
    return self->controller == (int)BB_FRAME_CONTROLLER_NONE ? 1.0
           : isnan(self->gain)                               ? 0.5
                                                             : self->gain;
}

// True if a pipeline has an explicit storage.
static bool has_explicit_storage(const bb_factor_pipeline *pipeline)
{
    return bb_factor_storage_is_given(pipeline) && !bb_factor_pipeline_finds_storage(pipeline);
}

bb_index bb_ao_realtime_config_pipeline(const bb_ao_realtime_config *self, const bb_list *pipelines)
{
    const bb_factor_pipeline *items = pipelines->items;
    for (bb_index p = 0; p < pipelines->count; ++p) {
        if (self->pipeline == NULL ? has_explicit_storage(&items[p])
                                   : strcmp(items[p].name, self->pipeline) == 0) {
            return p;
        }
    }
    return -1;
}

static bb_status check_pipeline(const bb_ao_realtime_config *self, const bb_list *pipelines,
                                const bb_config *config, bb_problems *problems)
{
    const bb_factor_pipeline *items = pipelines->items;
    const bb_index p = bb_ao_realtime_config_pipeline(self, pipelines);
    if (self->pipeline == NULL) {
        return BB_OK;
    }
    if (p < 0) {
        return bb_study_refuse(true, config, problems,
                               "realtime.pipeline = %s: expected the name of one of the pipelines",
                               self->pipeline);
    }
    if (!bb_factor_storage_is_given(&items[p])) {
        return bb_study_refuse(true, config, problems,
                               "realtime.pipeline = %s: it stores no reconstructor, expected a "
                               "pipeline with a storage",
                               self->pipeline);
    }
    if (bb_factor_pipeline_finds_storage(&items[p])) {
        return bb_study_refuse(true, config, problems,
                               "realtime.pipeline = %s: `run` finds its storage by max_loss, "
                               "expected a pipeline with a complete storage",
                               self->pipeline);
    }
    return BB_OK;
}

bb_status bb_ao_realtime_config_check(const bb_ao_realtime_config *self, const bb_list *pipelines,
                                      int device, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bool commands = self->size.commands != BB_INTEGER_UNSET;
    const bool slopes = self->size.slopes != BB_INTEGER_UNSET;
    BB_TRY(check_pipeline(self, pipelines, config, problems));
    BB_TRY(bb_study_refuse(commands != slopes, config, problems,
                           "realtime.size: %s alone, expected commands and slopes",
                           commands ? "commands" : "slopes"));
    BB_TRY(bb_study_refuse((commands || slopes) &&
                               bb_ao_realtime_config_pipeline(self, pipelines) < 0 &&
                               self->pipeline == NULL,
                           config, problems, "realtime.size needs a pipeline with a storage"));
    BB_TRY(bb_study_refuse(
        self->targets != 1 && !commands && !slopes, config, problems,
        "realtime.targets = %td: no effect without size, the study's own targets are multiplied",
        self->targets));
    BB_TRY(bb_study_refuse(
        commands && self->gpus > self->size.commands, config, problems,
        "realtime.gpus = %td: expected at most one for each of realtime.size.commands = %td",
        self->gpus, self->size.commands));
    BB_TRY(bb_study_refuse(self->gpus > 1 && device == (int)BB_DEVICE_CPU, config, problems,
                           "realtime.gpus = %td: no effect on the cpu, expected 1", self->gpus));
    BB_TRY(bb_study_refuse(self->telemetry.file == NULL && self->telemetry.dataset != NULL, config,
                           problems,
                           "realtime.telemetry.file is missing: dataset has no effect without it"));
    BB_TRY(bb_study_refuse(self->clock == (int)BB_FRAME_CLOCK_DEVICE && !(self->rate_hz > 0.0),
                           config, problems,
                           "realtime.clock = device: no effect with rate_hz 0, expected host"));
    BB_TRY(bb_study_refuse(!isnan(self->gain) && self->controller == (int)BB_FRAME_CONTROLLER_NONE,
                           config, problems,
                           "realtime.gain: no effect without controller integrator"));
done:
    return status;
}

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
                               "frame_times.frames = %td: no effect unless a pipeline stores its "
                               "reconstructor; give one a storage",
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
