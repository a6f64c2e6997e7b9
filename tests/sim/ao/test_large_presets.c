// SPDX-License-Identifier: Apache-2.0
//
// The shipped configurations of thousands of measurements.
#include "sim/hdf5_library.h"
#include "sim/output/image.h"
#include "tests/check.h"
#include "tests/sim/preset.h"

static int enter(void **state)
{
    (void)state;
    return bb_hdf5_start() == BB_OK ? fixture_enter() : -1;
}

static int leave(void **state)
{
    return fixture_leave() + driver_leave(state);
}

static void vlt_3136(void **state)
{
    (void)state;
    bb_results *results = run_preset(BB_SOURCE_DIR "/configs/ao/vlt-3136.yaml");
    golden_check(results, "ao-vlt-3136.txt");
    bb_results_destroy(&results);
}

// Its run takes minutes.
static void vlt_17280_is_planned(void **state)
{
    (void)state;
    double planned = planned_bytes(BB_SOURCE_DIR "/configs/ao/vlt-17280.yaml");
    assert_non_null(strstr(preset_run.printed, "17280, truth sensors 2160"));
    assert_true(planned > 1.5e9 && planned < 8e9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vlt_3136),
        cmocka_unit_test(vlt_17280_is_planned),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
