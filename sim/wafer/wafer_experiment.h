// SPDX-License-Identifier: Apache-2.0
//
// The wafer experiment: heat of exposures, its overlay error, and the feed-forward that is coded.
#ifndef BB_SIM_WAFER_WAFER_EXPERIMENT_H
#define BB_SIM_WAFER_WAFER_EXPERIMENT_H

#include "sim/experiment.h"

extern const bb_experiment bb_wafer_experiment;

#endif
