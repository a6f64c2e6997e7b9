// SPDX-License-Identifier: Apache-2.0
//
// The product experiment: the user's own matrix times vectors.
#ifndef BB_SIM_PRODUCT_PRODUCT_EXPERIMENT_H
#define BB_SIM_PRODUCT_PRODUCT_EXPERIMENT_H

#include "sim/experiment.h"

extern const bb_experiment bb_product_experiment;

#endif
