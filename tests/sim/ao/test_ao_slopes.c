// SPDX-License-Identifier: Apache-2.0
//
// Slope models through the program: the default of tilt sensors, and the warning where a study asks
// for point differences of theirs.
#include "tests/sim/program.h"

#define STUDY BB_SOURCE_DIR "/tests/configs/small/ao.yaml"
#define ONE   "pipelines=[{name: reference, arithmetic: dp}]"
#define WARNS "warning: slope_model: point_difference over "

// 6 x 6 lenslets of 1.33 m, 5 x 5 of 1.6 m, two targets.
TEST(point_differences_of_large_lenslets_are_warned_of)
{
    static program_run run;
    CALL("run", STUDY, ONE, "-o", "a.h5");
    program_expect(&run, 0, "Strehl ratio");
    assert_null(strstr(run.printed, WARNS));
    CALL("run", STUDY, ONE, "guide_stars.2.slope_model=point_difference", "-o", "b.h5");
    program_expect(&run, 0, WARNS "5 lenslets of 1.6 m in guide_stars[2] and 0 other sensor(s)");
    CALL("run", STUDY, ONE, "sensors.slope_model=point_difference", "-o", "c.h5");
    program_expect(&run, 0, WARNS "6 lenslets of 1.33 m in guide_stars[0] and 4 other sensor(s)");
    CALL("run", STUDY, ONE, "sensors.lenslets=8", "sensors.slope_model=point_difference",
         "guide_stars.2.lenslets=8", "-o", "d.h5");
    program_expect(&run, 0, "Strehl ratio");
    assert_null(strstr(run.printed, WARNS));
}
