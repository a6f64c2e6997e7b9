// SPDX-License-Identifier: Apache-2.0
//
// A user's covariance in a file, and a study of it, for tests of `experiment: reconstructor`.
#ifndef BB_TESTS_SIM_RECONSTRUCTOR_MATRICES_H
#define BB_TESTS_SIM_RECONSTRUCTOR_MATRICES_H

#include "sim/input/hdf5_library.h"
#include "tests/sim/driver.h"

// mine.h5: correlations that decrease with distance, not stationary, with little noise; the
// estimates lie between the measurements.
static inline int matrices_begin(void)
{
    static const char script[] =
        "import h5py, numpy\n"
        "def c(x, y):\n"
        "    x, y = x[:, None], y[None, :]\n"
        "    return 1.0 / (1.0 + ((x - y) * (1.0 + (x + y) / 240.0) / 9.0) ** 2)\n"
        "x, t = numpy.arange(120.0), numpy.linspace(3.3, 110.7, 7)\n"
        "with h5py.File('mine.h5', 'w') as file:\n"
        "    file['Cmm'] = c(x, x) + 6e-4 * numpy.eye(120)\n"
        "    file['lost'] = c(x, x) - 0.5 * numpy.eye(120)\n"
        "    file['Ctm'] = c(t, x)\n"
        "    file['Ctt'] = c(t, t)\n";
    static const char study[] = "experiment: reconstructor\ndevice: cpu\n"
                                "covariance: {file: mine.h5, dataset: Cmm}\n"
                                "cross_covariance: {file: mine.h5, dataset: Ctm}\n"
                                "truth_covariance: {file: mine.h5, dataset: Ctt}\n"
                                "solver: {tile: 16}\npipelines:\n"
                                "  - {name: reference, arithmetic: dp}\n";
    check_ok(bb_hdf5_library_start());
    write_text("mine.yaml", study);
    run_python(script);
    return 0;
}

#endif
