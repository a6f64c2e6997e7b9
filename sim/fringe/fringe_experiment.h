// SPDX-License-Identifier: Apache-2.0
//
// The fringe experiment: wrong cycles and nanometres of an interferometer's unwrapped phase.
#ifndef BB_SIM_FRINGE_FRINGE_EXPERIMENT_H
#define BB_SIM_FRINGE_FRINGE_EXPERIMENT_H

#include "sim/experiment.h"

extern const bb_experiment bb_fringe_experiment;

#endif
