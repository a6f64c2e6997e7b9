// SPDX-License-Identifier: Apache-2.0
//
// The ao experiment: tomography of a large telescope, and the reconstructor that is factored.
#ifndef BB_SIM_AO_AO_EXPERIMENT_H
#define BB_SIM_AO_AO_EXPERIMENT_H

#include "sim/experiment.h"

extern const bb_experiment bb_ao_experiment;

#endif
