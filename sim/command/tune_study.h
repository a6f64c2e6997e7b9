// SPDX-License-Identifier: Apache-2.0
//
// `tune --for STUDY`: numbers of the slots of an experiment's pipelines, and variants of the
// kernels that its run launches, chosen by what the study is for.
#ifndef BB_SIM_COMMAND_TUNE_STUDY_H
#define BB_SIM_COMMAND_TUNE_STUDY_H

#include "sim/command.h"

/// Searches, prints what was tried, writes the study with what was found, tunes its kernels and
/// confirms it by whole runs in draws that the search did not see. Errors: those of a run,
/// BB_INVALID (an experiment without slots), BB_IO.
BB_CHECKED bb_status bb_tune_study_run(const bb_options *options,
                                       const bb_experiment_table *experiments);

#endif
