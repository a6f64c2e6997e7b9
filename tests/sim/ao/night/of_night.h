// SPDX-License-Identifier: Apache-2.0
//
// Datasets of /night.
#ifndef BB_TESTS_SIM_AO_NIGHT_OF_NIGHT_H
#define BB_TESTS_SIM_AO_NIGHT_OF_NIGHT_H

#include "tests/sim/driver.h"

#define ALONE "pipelines=[{name: reference, arithmetic: dp}]"

static inline const bb_dataset *of_night(const bb_results *results, const char *name)
{
    char path[64];
    (void)snprintf(path, sizeof path, "night/%s", name);
    const bb_dataset *dataset = bb_results_find(results, path);
    if (dataset == NULL) {
        print_error("no dataset %s\n", path);
        fail();
    }
    return dataset;
}

#endif
