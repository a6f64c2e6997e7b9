// SPDX-License-Identifier: Apache-2.0
//
// Runs of shipped configurations through the built program: the memory announced by `check`, and
// the results of `run`.
#ifndef BB_TESTS_SIM_PRESET_H
#define BB_TESTS_SIM_PRESET_H

#include "sim/output/reader.h"
#include "tests/sim/golden/golden.h"
#include "tests/sim/program.h"

static const double MOST_BYTES = 2e9; // limit of a quick run

// Peak memory announced by `check`, bytes.
static inline double planned_bytes(const char *config)
{
    static const char key[] = "memory on the host";
    CALL_EXPECT(0, key, "check", config, "device=cpu");
    return 1e6 * strtod(strstr(run.printed, key) + strlen(key), NULL);
}

static inline bb_results *run_preset(const char *config)
{
    bb_results *results = NULL;
    double planned = planned_bytes(config);
    CALL_EXPECT(0, "results: preset.h5", "run", config, "device=cpu", "-q", "--force", "--threads",
                "2", "-o", "preset.h5");
    print_message("%s: %.0f MB taken, %.0f MB planned\n", strrchr(config, '/') + 1,
                  1e-6 * run.peak_bytes, 1e-6 * planned);
    if (!program_is_instrumented()) {
        assert_true(run.peak_bytes < MOST_BYTES);
        assert_true(planned < 2.0 * run.peak_bytes && planned > 0.5 * run.peak_bytes);
    }
    check_ok(bb_reader_read("preset.h5", &results));
    return results;
}

#endif
