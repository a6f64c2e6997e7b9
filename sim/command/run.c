// SPDX-License-Identifier: Apache-2.0
//
// bitbudget run: configuration in, result table and HDF5 file out.
#include "core/memory.h"
#include "core/team.h"
#include "sim/command/execution.h"
#include "sim/device_choice.h"

bb_status bb_command_run(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    bb_config *config = NULL;
    bb_results *results = NULL;
    char *path = NULL;
    BB_TRY(bb_device_choice_require(bb_command_device(options)));
    BB_TRY(bb_command_load(options, experiments, bb_device_choice_require, &config));
    const bb_experiment *experiment =
        bb_experiment_find(experiments, bb_config_schema(config)->name);
    BB_TRY(bb_command_output(options, experiment, &path));
    BB_TRY(bb_results_create(&results));
    const bool writes = bb_team_joined()->rank == 0;
    const bb_execution work = {options, experiments, config, writes ? path : NULL, NULL};
    BB_TRY(bb_execution_run(&work, results));
done:
    BB_RELEASE(&path);
    bb_results_destroy(&results);
    bb_config_destroy(&config);
    return status;
}
