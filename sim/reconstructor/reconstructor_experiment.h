// SPDX-License-Identifier: Apache-2.0
//
// The reconstructor experiment: the user's own covariances.
#ifndef BB_SIM_RECONSTRUCTOR_RECONSTRUCTOR_EXPERIMENT_H
#define BB_SIM_RECONSTRUCTOR_RECONSTRUCTOR_EXPERIMENT_H

#include "sim/experiment.h"

extern const bb_experiment bb_reconstructor_experiment;

#endif
