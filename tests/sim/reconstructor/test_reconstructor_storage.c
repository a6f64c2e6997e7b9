// SPDX-License-Identifier: Apache-2.0
//
// A user's estimators stored with few bits: traces of the residual covariance agree with numpy for
// the same roundings.
#include "tests/sim/program.h"
#include "tests/sim/reconstructor/matrices.h"

static const driver_case stored = {
    "mine.yaml",
    {"pipelines=[{name: reference, arithmetic: dp}, {name: nearest, arithmetic: dp, storage: "
     "{codec: integer, bits: 8}}, {name: sweep, arithmetic: dp, storage: {codec: integer, bits: 8, "
     "rounding: sweep}}, {name: slopes, arithmetic: dp, slopes: {bits: 10}}, {name: sums, "
     "arithmetic: dp, accumulate: fp16, accumulate_run: 16}, {name: products, arithmetic: dp, "
     "multiply: fp16, accumulate: fp16}]",
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
        "s = l @ numpy.random.default_rng(1).standard_normal((len(c), 40000))\n"
        "half = lambda v: v.astype(numpy.float16).astype(float)\n"
        "sums, run, prods = (numpy.zeros((len(r), s.shape[1])) for _ in range(3))\n"
        "for j in range(len(c)):\n"
        "    run = half(run + r[:, j, None] * s[j])\n"
        "    prods = half(prods + half(r[:, j, None] * s[j]))\n"
        "    if j % 16 == 15 or j + 1 == len(c):\n"
        "        sums, run = sums + run, 0 * run\n"
        "power = lambda v: ((v - r @ s) ** 2).mean(1).sum()\n"
        "d = (10 * c.diagonal().max() ** 0.5 / 1024) ** 2 / 12\n"
        "with open('traces', 'w') as out:\n"
        "    for v in trace(r), trace(near), trace(q), trace(r) + d * (r * r).sum(), power(sums), "
        "power(prods):\n"
        "        print(repr(float(v)), file=out)\n";
    run_python(script);
    FILE *file = fopen("traces", "r");
    assert_non_null(file);
    for (int i = 0; i < count; ++i) {
        assert_int_equal(fscanf(file, "%lf", &traces[i]), 1);
    }
    assert_int_equal(fclose(file), 0);
}

TEST_FULL(stored_estimators_have_the_traces_of_numpy)
{
    static const char *const names[] = {"reference", "nearest", "sweep", "slopes"};
    static const char *const summed[] = {"sums", "products"};
    double peers[6];
    find_peers(peers, 6);
    autoptr(bb_results) results = driver_results(&stored);
    for (int i = 0; i < 4; ++i) {
        const double trace = driver_number(results, "residual_trace", names[i]);
        print_message("%-10s %.9e, numpy %.9e\n", names[i], trace, peers[i]);
        check_relative(trace, peers[i], 1e-9);
    }
    for (int i = 0; i < 2; ++i) { // random in both, one of them 2048 times
        const double added = driver_number(results, "residual_trace", summed[i]) -
                             driver_number(results, "residual_trace", "reference");
        print_message("%-10s %.3e added, numpy %.3e\n", summed[i], added, peers[4 + i]);
        check_relative(added, peers[4 + i], 0.08);
    }
    assert_true(peers[2] < peers[1]);
    check_relative(driver_number(results, "reconstructor_bytes", "sweep"), 7.0 * (128.0 + 4.0),
                   1e-15);
    assert_true(isnan(driver_number(results, "reconstructor_bits", "reference")));
}

// nx456 with reversed columns, so that the sweep starts with column 0, after 16 measurements of
// nothing, so that blocks of 32 contain the same columns as in nx456.
static void reverse_nx456(void)
{
    static const char script[] =
        "import h5py, numpy\n"
        "o = h5py.File('nx.h5')['operators']\n"
        "c, m, t = o['Cmm'][:], o['Ctm_0'][:], o['Ctt_0'][:]\n"
        "n = len(c)\n"
        "wide = numpy.eye(n + 16)\n"
        "wide[16:, 16:] = c[::-1, ::-1]\n"
        "with h5py.File('reversed.h5', 'w') as file:\n"
        "    file['Cmm'], file['Ctt'] = wide, t\n"
        "    file['Ctm'] = numpy.hstack([numpy.zeros((len(m), 16)), m[:, ::-1]])\n";
    CALL_EXPECT(0, "nx.h5", "run", CONFIG_NX456, "--device", "cpu", "--dump", "Cmm,Ctm,Ctt", "-o",
                "nx.h5", "-q", "pipelines=[{name: reference, arithmetic: dp}]");
    run_python(script);
}

// numpy with feedback from column 0 on: residual trace over the exact one. Exponents of a block
// come from its values when the sweep reaches it; those of the unrounded values would give 5.4
// instead of 1.45. Best clips are on the ladder of integer_codec.c; the 1.30 of another computation
// uses tenths of the largest value (numpy: 1.3009 down to 0.5 of it, 1.2965 down to 0.3).
TEST(the_first_column_may_be_the_first)
{
    static const struct {
        const char *storage;
        double trace, tolerance; // of the excess
    } cases[] = {
        {"{codec: bf16, rounding: sweep}", 1.000365, 0.002},
        {"{codec: e4m3, rounding: sweep}, scale: row", 1.084, 0.01},
        {"{codec: e5m2, rounding: sweep}, scale: row", 1.35, 0.015}, // known to two digits
        {"{codec: bfp, bits: 8, rounding: sweep}", 1.0261160, 1e-5},
        {"{codec: bfp, bits: 6, rounding: sweep}", 1.4521701, 1e-5},
        {"{codec: integer, bits: 8, rounding: sweep}", 1.0051, 0.01},
        {"{codec: integer, bits: 6, rounding: sweep}", 1.0503, 0.01},
        {"{codec: integer, bits: 4, rounding: sweep}", 1.5268195, 1e-5},
        {"{codec: integer, bits: 4, rounding: sweep, clip: best}", 1.2898785, 1e-5},
        {"{codec: integer, bits: 6, rounding: sweep, clip: best}", 1.0430623, 1e-5},
    };
    enum { CASES = sizeof cases / sizeof *cases };
    char pipelines[1536] = "pipelines=[{name: reference, arithmetic: dp}";
    reverse_nx456();
    for (int i = 0; i < CASES; ++i) {
        const size_t length = strlen(pipelines);
        (void)snprintf(pipelines + length, sizeof pipelines - length,
                       ", {name: p%d, arithmetic: dp, storage: %s}", i, cases[i].storage);
    }
    strcat(pipelines, "]");
    autoptr(bb_results) results = driver_results(&(driver_case){
        "mine.yaml",
        {"covariance={file: reversed.h5, dataset: Cmm}",
         "cross_covariance={file: reversed.h5, dataset: Ctm}",
         "truth_covariance={file: reversed.h5, dataset: Ctt}", "solver.tile=128", pipelines}});
    const double exact = driver_number(results, "residual_trace", "reference");
    for (int i = 0; i < CASES; ++i) {
        char name[16];
        (void)snprintf(name, sizeof name, "p%d", i);
        const double trace = driver_number(results, "residual_trace", name) / exact;
        print_message("%-44s x %.6f\n", cases[i].storage, trace);
        check_relative(trace - 1.0, cases[i].trace - 1.0, cases[i].tolerance);
    }
}

TEST_GROUP(.begin = matrices_begin, .has_folder = true);
