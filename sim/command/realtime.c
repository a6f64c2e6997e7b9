// SPDX-License-Identifier: Apache-2.0
//
// bitbudget realtime: latencies of an experiment's control loop, step by step.
#include "sim/command/measure.h"

static bb_measurement of(const bb_experiment *experiment)
{
    return (bb_measurement){.run = experiment->realtime, .absent = experiment->realtime_absent};
}

static const char *help(const bb_experiment *experiment)
{
    return experiment->realtime_help;
}

bb_status bb_command_realtime(const bb_options *options, const bb_experiment_table *experiments)
{
    return bb_measure_run(options, experiments, of, help, "control loop");
}
