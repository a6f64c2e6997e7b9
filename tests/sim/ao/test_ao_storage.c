// SPDX-License-Identifier: Apache-2.0
//
// Stored reconstructors of nx456 and vlt-3136 against an independent computation in numpy: trace of
// the residual covariance over the exact one, and Strehl ratio lost at 1.65 um, with rounding to
// nearest and in the sweep, filtered means, rounded slopes, and a shaking telescope.
#include "tests/sim/driver.h"

enum { TEXT = 2048 };

typedef struct expected {
    const char *storage; ///< and further keys of the pipeline
    double trace, loss;  ///< NaN: known to two digits of the excess, or unknown
} expected;

// One study with a pipeline for each; excess of the trace within 1 %, loss within 3 %.
static void hold(const char *path, const char *const *settings, const expected *cases, int count)
{
    char pipelines[TEXT] = "pipelines=[{name: reference, arithmetic: dp, storage: fp64}";
    driver_case study = {path, {"device=cpu", "score=stationary", "error_terms.fitting=false"}};
    autoptr(bb_results) results = NULL;
    int place = 3;
    for (int k = 0; settings[k] != NULL; ++k) {
        study.overrides[place++] = settings[k];
    }
    for (int i = 0; i < count; ++i) {
        const size_t length = strlen(pipelines);
        (void)snprintf(pipelines + length, sizeof pipelines - length,
                       ", {name: p%d, arithmetic: dp, storage: %s}", i, cases[i].storage);
    }
    strcat(pipelines, "]");
    study.overrides[place] = pipelines;
    results = driver_results(&study);
    const double exact = driver_row(results, "residual_trace_arcsec2", "reference")[0];
    for (int i = 0; i < count; ++i) {
        char name[16];
        (void)snprintf(name, sizeof name, "p%d", i);
        const double excess = driver_row(results, "residual_trace_arcsec2", name)[0] / exact - 1.0;
        const double loss = driver_number(results, "strehl_loss", name);
        print_message("%-52s x %.5f, %.3e\n", cases[i].storage, 1.0 + excess, loss);
        if (!isnan(cases[i].trace)) {
            check_relative(excess, cases[i].trace - 1.0, 0.01);
        }
        if (!isnan(cases[i].loss)) {
            check_relative(loss, cases[i].loss, 0.03);
        }
    }
}

TEST(nearest_rounding_pays_what_is_known)
{
    static const char *const none[] = {NULL};
    static const expected cases[] = {
        {"fp16", NAN, 1.0e-4},
        {"bf16", NAN, 6.6e-3},
        {"e4m3, scale: row", 7.73, 0.66},
        {"{codec: bfp, bits: 10}", NAN, 3.4e-2},
        {"{codec: bfp, bits: 8}", 4.32, 0.53},
        {"{codec: integer, bits: 8}", 11.20, 0.751},
        {"fp16, filter: means", NAN, 1.2e-6},
        {"e4m3, scale: row, filter: means", NAN, 1.7e-2},
        {"{codec: bfp, bits: 8}, filter: means", NAN, 6.5e-3},
        {"{codec: integer, bits: 8}, filter: means", 1.15, 4.3e-2},
    };
    hold(CONFIG_NX456, none, cases, 10);
}

// The first and the last also by 20,000 random vectors of slopes.
TEST(rounded_slopes_pay_what_is_known)
{
    static const char *const none[] = {NULL};
    static const expected cases[] = {
        {"fp64, slopes: fp16", NAN, 7.0e-5},
        {"fp64, slopes: e4m3", NAN, 0.61},
        {"fp64, slopes: {bits: 12}", NAN, 1.2e-3},
        {"fp64, slopes: {bits: 12}, filter: means", NAN, 1.1e-5},
    };
    hold(CONFIG_NX456, none, cases, 4);
}

// Sums in fp16 of products rounded to it: within 5 to 15 % of losses from fewer draws in numpy, of
// which only one digit is known.
TEST_FULL(narrow_sums_pay_what_is_known)
{
    static const struct {
        const char *sums;
        double loss;
    } cases[] = {
        {"accumulate: fp16", 2.4e-3},
        {"accumulate: fp16, accumulate_run: 32", 2.1e-3},
        {"accumulate: fp16, accumulate_run: 8", 7.8e-4},
        {"accumulate: fp16, filter: means", 7.2e-4},
        {"accumulate: fp16, accumulate_run: 32, filter: means", 1.9e-5},
        {"accumulate: fp16, accumulate_run: 8, filter: means", 8e-6},
    };
    char pipelines[TEXT] = "pipelines=[{name: reference, arithmetic: dp, storage: fp64}";
    for (int i = 0; i < 6; ++i) {
        const size_t length = strlen(pipelines);
        (void)snprintf(pipelines + length, sizeof pipelines - length,
                       ", {name: p%d, arithmetic: dp, storage: fp16, slopes: fp16, multiply: fp16, "
                       "%s}",
                       i, cases[i].sums);
    }
    strcat(pipelines, "]");
    autoptr(bb_results) results = driver_results(&(driver_case){
        CONFIG_NX456, {"device=cpu", "score=stationary", "error_terms.fitting=false", pipelines}});
    for (int i = 0; i < 6; ++i) {
        char name[16];
        (void)snprintf(name, sizeof name, "p%d", i);
        const double loss = driver_number(results, "strehl_loss", name);
        print_message("%-52s %.3e, known %.1e\n", cases[i].sums, loss, cases[i].loss);
        check_relative(loss, cases[i].loss, 0.17);
    }
}

TEST_FULL(the_sweep_pays_what_is_known)
{
    static const char *const bare[] = {"rounding_inflation.tilt_arcsec2=0", NULL};
    static const expected condition_2e7[] = {
        {"{codec: integer, bits: 8, rounding: sweep}", 1.00719, 2.67e-3},
    };
    static const expected large[] = {
        {"{codec: integer, bits: 8}", 1.0278, 6.36e-3},
        {"{codec: integer, bits: 8, rounding: sweep}", 1.00225, 5.72e-4},
    };
    static const expected more[] = {
        // losses are not known separately
        {"{codec: quantiser, tolerance: 1e-4, rounding: sweep}, column_scale: remainder", 1.0350033,
         NAN},
        {"{codec: quantiser, tolerance: 5e-5, rounding: sweep}, column_scale: remainder", 1.0106134,
         NAN},
        {"{codec: bfp, bits: 6, rounding: sweep}", 1.56112, NAN},
    };
    hold(CONFIG_NX456, bare, condition_2e7, 1);
    hold(CONFIG_NX456, bare, more, 3);
    hold(BB_SOURCE_DIR "/configs/ao/vlt-3136.yaml", bare, large, 2);
}

static double shaken_loss(const char *inflation)
{
    autoptr(bb_results) results = driver_results(&(driver_case){
        CONFIG_NX456,
        {"device=cpu", "score=stationary", "error_terms.fitting=false",
         "error_terms.shake_arcsec=0.5", "atmosphere.profile=eris-10", inflation,
         "pipelines=[{name: reference, arithmetic: dp, storage: fp64}, {name: p0, arithmetic: dp, "
         "storage: {codec: integer, bits: 8, rounding: sweep}}]"}});
    const double loss = driver_number(results, "strehl_loss", "p0");
    return loss;
}

// Rounding errors go into modes with small covariance, which a shaking telescope excites.
TEST(the_sweep_minds_what_the_covariance_does_not_know)
{
    check_relative(shaken_loss("rounding_inflation.tilt_arcsec2=0"), 0.231, 0.03);
    check_relative(shaken_loss("rounding_inflation.tilt_arcsec2=0.1"), 0.020, 0.05);
}

// Commands in fp64 score as their slopes do, also with shake and rounded slopes. Rounding them
// moves actuators in modes that the projector leaves out, which frames confirm.
TEST_FULL(commands_of_a_target_are_scored_as_such)
{
    static const char *const corrections[] = {"correction=moao", "correction=ltao",
                                              "correction=glao"};
    static const char pipelines[] =
        "pipelines=[{name: reference, arithmetic: dp}, {name: slopes, arithmetic: dp, storage: "
        "fp64, slopes: {bits: 9}}, {name: commands, arithmetic: dp, operator: commands, storage: "
        "fp64, slopes: {bits: 9}}, {name: nearest, arithmetic: dp, operator: commands, storage: "
        "{codec: integer, bits: 6}}, {name: sweep, arithmetic: dp, operator: commands, storage: "
        "{codec: integer, bits: 6, rounding: sweep}}]";
    for (int c = 0; c < 3; ++c) {
        autoptr(bb_results) results = driver_results(
            &(driver_case){BB_SOURCE_DIR "/tests/configs/small/ao.yaml",
                           {corrections[c], "error_terms.shake_arcsec=0.05", "score=pairs",
                            c == 0 ? "monte_carlo.frames=60" : "monte_carlo.frames=0", pipelines}});
        const double *slopes = driver_row(results, "strehl_by", "slopes");
        const double *commands = driver_row(results, "strehl_by", "commands");
        for (int i = 0; i < 4; ++i) { // targets and wavelengths
            check_relative(commands[i], slopes[i], 1e-11);
        }
        assert_true(driver_number(results, "strehl_loss", "slopes") > 1e-6);
        assert_true(isnan(driver_number(results, "residual_trace_arcsec2", "nearest")));
        const double nearest = driver_number(results, "strehl_loss", "nearest");
        const double sweep = driver_number(results, "strehl_loss", "sweep");
        print_message("%s: %.3e by nearest, %.3e in the sweep\n", corrections[c], nearest, sweep);
        assert_true(sweep > 0.0 && sweep < 0.1 * nearest);
        for (int i = 0; c == 0 && i < 4; ++i) {
            const double sigmas = driver_row(results, "strehl_monte_carlo_sigmas", "nearest")[i];
            print_message("frames: %.2f errors off\n", sigmas);
            assert_true(fabs(sigmas) < 4.0);
            check_relative(driver_row(results, "strehl_monte_carlo", "commands")[i],
                           driver_row(results, "strehl_monte_carlo", "slopes")[i], 1e-11);
        }
    }
}

// With mcao, commands are stored and affect every target.
TEST(commands_are_stored_too)
{
    autoptr(bb_results) results = driver_results(&(driver_case){
        BB_SOURCE_DIR "/tests/configs/small/mcao.yaml",
        {"pipelines=[{name: reference, arithmetic: dp, storage: fp64}, {name: fp16, arithmetic: "
         "dp, storage: fp16}, {name: nearest, arithmetic: dp, storage: {codec: integer, bits: 8}}, "
         "{name: sweep, arithmetic: dp, storage: {codec: integer, bits: 8, rounding: sweep}}]"}});
    const double commands = 249.0 * 1064.0;
    check_relative(driver_number(results, "reconstructor_bytes", "reference"), 8.0 * commands,
                   1e-15);
    check_relative(driver_number(results, "reconstructor_bytes", "fp16"), 2.0 * commands, 1e-15);
    for (int t = 0; t < 5; ++t) {
        const double exact = driver_row(results, "residual_trace_arcsec2", "reference")[t];
        const double nearest = driver_row(results, "residual_trace_arcsec2", "nearest")[t] - exact;
        const double sweep = driver_row(results, "residual_trace_arcsec2", "sweep")[t] - exact;
        print_message("direction %d: %.3e by nearest, %.3e in the sweep, of %.3e\n", t, nearest,
                      sweep, exact);
        assert_true(sweep > 0.0 && sweep < 0.02 * nearest);
    }
}

#define TILES                                                                                      \
    "storage: {codec: low_rank, norm: covariance, tolerance: 3e-3, tile_columns: 1024, "           \
    "tile_rows: 1, band_lines: 16"
#define STORED "{name: stored, arithmetic: dp, storage: {codec: integer, bits: 8}}"
#define OTHER  "{name: other, arithmetic: x3, storage: fp16}"

// Tiles of all columns in the norm of the covariance leave as much of the trace as the tolerance
// allows, also with column scales and filtered means.
TEST(low_rank_is_held_in_the_norm)
{
    static const char *const names[] = {"plain", "scaled", "apart"};
    const double tolerance = 3e-3;
    const double limit = tolerance * tolerance * 152.0 * 912.0;
    autoptr(bb_results) results = driver_results(
        CASE(CONFIG_NX456,
             {"rounding_inflation.tilt_arcsec2=0", "score=stationary",
              "pipelines=[{name: reference, arithmetic: dp}, {name: plain, arithmetic: dp, " TILES
              "}}, {name: scaled, arithmetic: dp, column_scale: deviation, " TILES
              "}}, {name: apart, arithmetic: dp, filter: means, " TILES "}}]"}));
    const double exact = driver_number(results, "residual_trace_arcsec2", "reference");
    for (int k = 0; k < 3; ++k) {
        const double excess = driver_number(results, "residual_trace_arcsec2", names[k]) - exact;
        print_message("%s: %.3g of %.3g, %.2f bits\n", names[k], excess, limit,
                      driver_number(results, "reconstructor_bits", names[k]));
        assert_true(excess <= limit && excess > 0.3 * limit);
    }
}

// R is solved once for pipelines that differ only in storage, with the same bits; another
// arithmetic is solved separately.
TEST(what_is_solved_alike_is_solved_once)
{
    static const char *const names[] = {"kept", "stored"};
    const driver_case cases[] = {
        {CONFIG_NX456,
         {"device=cpu",
          "pipelines=[{name: reference, arithmetic: dp}, " OTHER ", {name: kept, arithmetic: dp, "
          "storage: fp16}, {name: again, arithmetic: x3, storage: fp16}, " STORED "]"}},
        {CONFIG_NX456,
         {"device=cpu",
          "pipelines=[{name: reference, arithmetic: dp, escalate: true}, " OTHER ", " STORED "]"}},
    };
    autoptr(bb_results) shared = driver_results(&cases[0]);
    autoptr(bb_results) alone = driver_results(&cases[1]);
    const double solved_s = driver_number(shared, "solve_time_s", "reference");
    for (int p = 0; p < 2; ++p) {
        assert_true(driver_number(shared, "solve_time_s", names[p]) == solved_s);
    }
    assert_true(driver_number(shared, "solve_time_s", "other") != solved_s);
    assert_true(driver_number(shared, "solve_time_s", "again") ==
                driver_number(shared, "solve_time_s", "other"));
    assert_true(driver_number(alone, "strehl", "stored") ==
                driver_number(shared, "strehl", "stored"));
    assert_true(driver_number(alone, "strehl", "other") ==
                driver_number(shared, "strehl", "other"));
}

TEST_GROUP(.threads = 2);
