// SPDX-License-Identifier: Apache-2.0
//
// bitbudget convergence: the orders in space and time that an experiment's physics shows.
#include "sim/command/measure.h"

static bb_measurement of(const bb_experiment *experiment)
{
    return (bb_measurement){.run = experiment->converge};
}

static const char *help(const bb_experiment *experiment)
{
    return experiment->converge_help;
}

bb_status bb_command_convergence(const bb_options *options, const bb_experiment_table *experiments)
{
    return bb_measure_run(options, experiments, of, help, "convergence study");
}
