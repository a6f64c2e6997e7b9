// SPDX-License-Identifier: Apache-2.0
//
// Golden numbers: a file of lines "dataset pipeline item value relative absolute" (# starts a
// comment) is held against results. |got - value| <= relative * |value| + absolute.
//
// The numbers are what this program gave when they were written, no truth: they are there to notice
// a change. Tolerances bear what other BLAS kernels, which other processors choose, do to them.
#ifndef BB_TESTS_SIM_GOLDEN_H
#define BB_TESTS_SIM_GOLDEN_H

#include "tests/sim/driver.h"

static inline bool golden_holds(const bb_results *results, const char *line)
{
    char dataset[64];
    char pipeline[64];
    int item = 0;
    double value = NAN;
    double relative = 0.0;
    double absolute = 0.0;
    assert_int_equal(sscanf(line, "%63s %63s %d %lf %lf %lf", dataset, pipeline, &item, &value,
                            &relative, &absolute),
                     6);
    double got = driver_row(results, dataset, pipeline)[item];
    bool holds = fabs(got - value) <= relative * fabs(value) + absolute;
    if (!holds) {
        print_error("golden: %s of %s [%d] is %.10g, expected %.10g within %.3g\n", dataset,
                    pipeline, item, got, value, relative * fabs(value) + absolute);
    }
    return holds;
}

/// Holds tests/sim/golden/`name` against the results; prints every number that is off.
static inline void golden_check(const bb_results *results, const char *name)
{
    char path[256];
    char line[256];
    bb_index count = 0;
    bb_index off = 0;
    (void)snprintf(path, sizeof path, "%s/tests/sim/golden/%s", BB_SOURCE_DIR, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] != '#' && line[0] != '\n') {
            ++count;
            off += !golden_holds(results, line);
        }
    }
    (void)fclose(file);
    print_message("%s: %td numbers, %td off\n", name, count, off);
    assert_true(count > 10);
    assert_int_equal(off, 0);
}

#endif
