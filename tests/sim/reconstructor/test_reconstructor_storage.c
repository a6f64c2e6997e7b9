// SPDX-License-Identifier: Apache-2.0
//
// Estimators of the user's, stored in few bits: traces of the residual covariance are those that
// numpy finds for the same roundings.
#include "tests/sim/driver.h"
#include "tests/sim/reconstructor/matrices.h"

#include <stdio.h>

static const driver_case stored = {
    "mine.yaml",
    {"pipelines=[{name: reference, arithmetic: dp}, {name: nearest, arithmetic: dp, storage: "
     "{codec: integer, bits: 8}}, {name: sweep, arithmetic: dp, storage: {codec: integer, bits: 8, "
     "rounding: sweep}}, {name: slopes, arithmetic: dp, slopes: {bits: 10}}]",
     NULL}};

// Traces by name, in the order of `stored`.
static void find_peers(double *traces, int count)
{
    static const char script[] =
        "import h5py, numpy\n"
        "f = h5py.File('mine.h5')\n"
        "c, m, t = f['Cmm'][:], f['Ctm'][:], f['Ctt'][:]\n"
        "r, l = numpy.linalg.solve(c, m.T).T, numpy.linalg.cholesky(c)\n"
        "step = numpy.float32(abs(r).max(1) / 127).astype(float)\n"
        "whole = lambda v: numpy.clip(numpy.rint(v / step), -127, 127) * step\n"
        "trace = lambda q: numpy.trace(t - q @ m.T - m @ q.T + q @ c @ q.T)\n"
        "near = numpy.stack([whole(v) for v in r.T], 1)\n"
        "q = numpy.zeros_like(r)\n"
        "for k in reversed(range(r.shape[1])):\n"
        "    e = (q[:, k + 1:] - r[:, k + 1:]) @ l[k + 1:, k]\n"
        "    q[:, k] = whole(r[:, k] - e / l[k, k])\n"
        "d = (10 * c.diagonal().max() ** 0.5 / 1024) ** 2 / 12\n"
        "with open('traces', 'w') as out:\n"
        "    for v in trace(r), trace(near), trace(q), trace(r) + d * (r * r).sum():\n"
        "        print(repr(float(v)), file=out)\n";
    FILE *file = fopen("peer.py", "w");
    assert_non_null(file);
    (void)fputs(script, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(system("/usr/bin/python3 peer.py"), 0);
    file = fopen("traces", "r");
    assert_non_null(file);
    for (int i = 0; i < count; ++i) {
        assert_int_equal(fscanf(file, "%lf", &traces[i]), 1);
    }
    assert_int_equal(fclose(file), 0);
}

static void stored_estimators_have_the_traces_of_numpy(void **state)
{
    (void)state;
    static const char *const names[] = {"reference", "nearest", "sweep", "slopes"};
    double peers[4];
    find_peers(peers, 4);
    bb_results *results = driver_results(&stored);
    for (int i = 0; i < 4; ++i) {
        const double trace = driver_number(results, "residual_trace", names[i]);
        print_message("%-10s %.9e, numpy %.9e\n", names[i], trace, peers[i]);
        check_relative(trace, peers[i], 1e-9);
    }
    assert_true(peers[2] < peers[1]);
    check_relative(driver_number(results, "reconstructor_bytes", "sweep"), 7.0 * (128.0 + 4.0),
                   1e-15);
    assert_true(isnan(driver_number(results, "reconstructor_bits", "reference")));
    bb_results_destroy(&results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_estimators_have_the_traces_of_numpy),
    };
    return cmocka_run_group_tests(tests, matrices_enter, matrices_leave);
}
