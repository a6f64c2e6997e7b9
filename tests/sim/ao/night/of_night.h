// SPDX-License-Identifier: Apache-2.0
//
// Datasets of /night.
#ifndef BB_TESTS_SIM_AO_NIGHT_OF_NIGHT_H
#define BB_TESTS_SIM_AO_NIGHT_OF_NIGHT_H

#include "tests/sim/driver.h"

#define ALONE "pipelines=[{name: reference, arithmetic: dp}]"

static inline const bb_dataset *of_night(const bb_results *results, const char *name)
{
    return dataset_in(results, "night", name);
}

#endif
