// SPDX-License-Identifier: Apache-2.0
//
// User-defined kernel, tuned on the host's OpenCL device: every variant is correct, and a run uses
// the winner.
#include "tests/first_device.h"
#include "tests/sim/fixture.h"
#include "tests/sim/program.h"

static const char text[] = "kernel Coarsen (fine, coarse: matrix T)\n"
                           "for X in coarse.columns, Y in coarse.rows\n"
                           "  s = sum (i in 2, j in 2) fine[2*X + i, 2*Y + j]\n"
                           "  coarse[X, Y] = s / 4\n";

#define SIZES "--set", "fine=600x400,coarse=300x200", "--wisdom", "o.yaml"

TEST_FULL(what_is_tuned_is_taken)
{
    int tried = 0;
    int right = 0;
    int wrong = -1;
    write_text("coarsen.kernel", text);
    const char *const tune[PROGRAM_ARGUMENTS] = {"tune",     "coarsen.kernel", "T=SP", SIZES,
                                                 "--device", "opencl",         "-q"};
    program_call(tune, &run);
    program_expect(&run, 0, "\ncoarsen             SP   own ");
    const char *row = strstr(run.printed, "\ncoarsen ");
    assert_int_equal(sscanf(row, " coarsen SP own %d %d %d", &tried, &right, &wrong), 3);
    assert_true(tried > 5 && right == tried && wrong == 0);
    program_call(tune, &run);
    program_expect(&run, 0, "recorded");
    CALL_EXPECT(0, "from: wisdom exact, set own of o.yaml\n", "kernel", "explain", "coarsen.kernel",
                "T=SP", SIZES, "--device", "opencl");
    CALL_EXPECT(0, " for another device\n", "kernel", "explain", "coarsen.kernel", "T=SP", SIZES);
}

TEST_GROUP(.begin = needs_opencl, .has_folder = true);
