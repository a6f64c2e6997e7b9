// SPDX-License-Identifier: Apache-2.0
#ifndef BB_SIM_COMMAND_MEASURE_H
#define BB_SIM_COMMAND_MEASURE_H

#include "sim/command.h"

/// A member of bb_experiment that fills results and a table for the user.
/// What an experiment can measure of itself.
typedef struct bb_measurement {
    bb_status (*run)(const void *study, bb_results *results, bb_text *table); ///< NULL: nothing
    const char *absent; ///< why this build has none, where others do; NULL: no build has
    /// The same of a stream; NULL: `run` measures.
    bb_status (*live)(const void *study, const bb_live_options *options, bb_results *results,
                      bb_text *table);
} bb_measurement;

/// Loads the study, measures it by what `of` finds in its experiment, prints the table and with -o
/// writes the results. `help` is that member's text, `missing` names what an experiment
/// without it lacks. Errors: BB_INVALID
/// (that), those of the configuration, the measurement and the file.
BB_CHECKED bb_status bb_measure_run(const bb_options *options,
                                    const bb_experiment_table *experiments,
                                    bb_measurement (*of)(const bb_experiment *experiment),
                                    bb_experiment_text help, const char *missing);

#endif
