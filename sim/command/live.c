// SPDX-License-Identifier: Apache-2.0
//
// bitbudget live: a stream of frames through pipelines of a study.
#include "sim/command/measure.h"

static bb_measurement of(const bb_experiment *experiment)
{
    return (bb_measurement){.live = experiment->live};
}

static const char *help(const bb_experiment *experiment)
{
    return experiment->live_help;
}

bb_status bb_command_live(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_options streamed = *options;
    streamed.live.pipelines = options->pipeline;
    return bb_measure_run(&streamed, experiments, of, help, "stream");
}
