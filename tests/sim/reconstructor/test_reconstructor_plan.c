// SPDX-License-Identifier: Apache-2.0
//
// Planned resources of a study with the user's matrices.
#include "solvers/factor/residual_covariance.h"
#include "tests/sim/reconstructor/matrices.h"

// So many rows that scoring needs more GPU memory than the factorization; most of the file is
// sparse.
static int write_many_rows(void)
{
    static const char script[] = "import h5py\n"
                                 "with h5py.File('mine.h5', 'a') as file:\n"
                                 "    for name, columns in ('many', 120), ('manytt', 6000):\n"
                                 "        file.create_dataset(name, (6000, columns), 'f8', "
                                 "chunks=(100, 100))[:100, :100] = 1\n";
    const int code = matrices_begin();
    run_python(script);
    return code;
}

TEST(scores_on_a_gpu_are_planned)
{
    autorelease(bb_plan) plan = {0};
    check_ok(driver_plan(CASE("mine.yaml", {"device=cuda", "solver.tile=128",
                                            "cross_covariance={file: mine.h5, dataset: many}",
                                            "truth_covariance={file: mine.h5, dataset: manytt}"}),
                         1, &plan));
    const double scores = bb_residual_covariance_device_need(1, 120, 6000, 0, 0).device_bytes;
    assert_true(scores > 5e8);
    check_close(plan.device_bytes, scores, 0.5, 1.0);
}

TEST_GROUP(.begin = write_many_rows, .has_folder = true);
