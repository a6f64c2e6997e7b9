// SPDX-License-Identifier: Apache-2.0
//
// Slope models through the program: the default of tilt sensors, and the warning if a study selects
// point differences for them.
#include "tests/sim/driver.h"
#include "tests/sim/program.h"

#define STUDY BB_SOURCE_DIR "/tests/configs/small/ao.yaml"
#define ONE   "pipelines=[{name: reference, arithmetic: dp}]"
#define WARNS "warning: slope_model: point_difference over "

// 6 x 6 lenslets of 1.33 m, 5 x 5 of 1.6 m, two targets.
TEST(point_differences_of_large_lenslets_are_warned_of)
{
    CALL_EXPECT(0, "Strehl ratio", "run", STUDY, ONE, "-o", "a.h5");
    assert_null(strstr(run.printed, WARNS));
    CALL_EXPECT(0, WARNS "5 lenslets of 1.6 m in guide_stars[2] and 0 other sensor(s)", "run",
                STUDY, ONE, "guide_stars.2.slope_model=point_difference", "-o", "b.h5");
    CALL_EXPECT(0, WARNS "6 lenslets of 1.33 m in guide_stars[0] and 4 other sensor(s)", "run",
                STUDY, ONE, "sensors.slope_model=point_difference", "-o", "c.h5");
    CALL_EXPECT(0, "Strehl ratio", "run", STUDY, ONE, "sensors.lenslets=8",
                "sensors.slope_model=point_difference", "guide_stars.2.lenslets=8", "-o", "d.h5");
    assert_null(strstr(run.printed, WARNS));
}

#define MCAO BB_SOURCE_DIR "/tests/configs/small/mcao.yaml"
#define FEW                                                                                        \
    "guide_stars.1.lenslets=2", "guide_stars.2.lenslets=2", "guide_stars.3.lenslets=2",            \
        "pipelines=[{name: reference, arithmetic: dp}]"

static void read_strehl(const char *model, double strehl[5])
{
    autoptr(bb_results) results = driver_results(CASE(MCAO, {FEW, model}));
    memcpy(strehl, driver_dataset(results, "strehl_by")->numbers, 5 * sizeof *strehl);
}

// Three natural stars of 2 x 2 lenslets of 4 m: averaged gradients, the default there, raise the
// Strehl ratio by 0.08 through the tilts; the other sensors use point differences.
TEST(tilt_sensors_of_mcao_average_their_gradients)
{
    double tilts[5];
    double points[5];
    double means[5];
    read_strehl(NULL, tilts);
    read_strehl("sensors.slope_model=point_difference", points);
    read_strehl("sensors.slope_model=averaged_gradient", means);
    for (int q = 0; q < 5; ++q) {
        print_message("%.4f by default, %.4f of points, %.4f of means\n", tilts[q], points[q],
                      means[q]);
        assert_true(tilts[q] > points[q] + 0.07);
        assert_true(tilts[q] != means[q]);
    }
}

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true);
