// SPDX-License-Identifier: Apache-2.0
//
// Example configurations with thousands of measurements.
#include "sim/input/hdf5_library.h"
#include "tests/sim/preset.h"

TEST_FULL(vlt_3136)
{
    autoptr(bb_results) results = run_preset(BB_SOURCE_DIR "/configs/ao/vlt-3136.yaml");
    golden_check(results, "ao-vlt-3136.txt");
}

// Its run takes minutes.
TEST(vlt_17280_is_planned)
{
    double planned = planned_bytes(BB_SOURCE_DIR "/configs/ao/vlt-17280.yaml");
    assert_non_null(strstr(run.printed, "17280, truth sensors 2160"));
    assert_true(planned > 1.5e9 && planned < 8e9);
}

// Sizes of the cases of Doucet et al.; they need a GPU or hours.
TEST(seed_cases_are_planned)
{
    double planned = planned_bytes(BB_SOURCE_DIR "/configs/ao/elt-49664.yaml");
    assert_non_null(strstr(run.printed, "49664, truth sensors 6208"));
    assert_true(planned > 1e10 && planned < 3e10);
    planned = planned_bytes(BB_SOURCE_DIR "/configs/ao/mosaic-100368.yaml");
    assert_non_null(strstr(run.printed, "100368, truth sensors 11152"));
    assert_true(planned > 4e10 && planned < 1e11);
    assert_true(planned_bytes(BB_SOURCE_DIR "/configs/ao/fig2-13248.yaml") > 1e9);
    assert_non_null(strstr(run.printed, "13248, truth sensors 1656"));
}

// An instrument's preset with lenslets that take a second.
static bb_results *run_few(const char *path)
{
    return driver_results(CASE(path, {"device=cpu", "sensors.lenslets=8", "solver.tile=64",
                                      "pipelines=[{name: reference, arithmetic: dp}]"}));
}

// One correction for all directions: best where it was optimised, and without neglecting any
// direction.
TEST(ltao_decays_off_the_axis)
{
    autoptr(bb_results) results = run_few(BB_SOURCE_DIR "/configs/ao/ltao.yaml");
    const bb_dataset *dataset = driver_dataset(results, "strehl_by");
    assert_int_equal(dataset->shape[1], 4);
    for (bb_index t = 1; t < 4; ++t) {
        assert_true(dataset->numbers[2 * t] < dataset->numbers[2 * (t - 1)]);
    }
}

// Ground layer only: low Strehl ratio, but energy in a box over the whole field.
TEST_FULL(glao_serves_the_whole_field)
{
    autoptr(bb_results) glao = run_few(BB_SOURCE_DIR "/configs/ao/glao.yaml");
    const bb_dataset *energy = driver_dataset(glao, "ensquared_energy");
    assert_int_equal(energy->shape[1], 5);
    for (bb_index i = 0; i < energy->count; i += 3) {
        assert_true(energy->numbers[i] > 0.02 && energy->numbers[i + 2] > energy->numbers[i]);
    }
    autoptr(bb_results) moao = run_few(BB_SOURCE_DIR "/configs/ao/mosaic-wide.yaml");
    assert_true(driver_number(moao, "strehl", "reference") > 0.0);
}

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true);
