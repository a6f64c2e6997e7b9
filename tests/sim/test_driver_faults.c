// SPDX-License-Identifier: Apache-2.0
//
// Every allocation of a whole run of each driver fails once, with every codec family: an error of
// memory, nothing kept, no crash. On two threads, where the order is another one each time, runs
// are walked in strides.
#include "tests/sim/allocation_walk.h"
#include "tests/sim/driver.h"

typedef struct loaded_run {
    const bb_config *config;
    bb_index threads;
} loaded_run;

static bb_status run_loaded(void *context)
{
    const loaded_run *run = context;
    bb_results *results = NULL;
    bb_status status = driver_run_loaded(run->config, run->threads, &results);
    bb_results_destroy(&results);
    return status;
}

// Sanitizers make a run ten times as long: they see every third failure.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { EVERY = 3 };
#else
enum { EVERY = 1 };
#endif

static void walk(const char *what, const driver_case *of, bb_index threads, bb_index stride)
{
    bb_config *config = NULL;
    check_ok(driver_load(of, &config));
    loaded_run run = {config, threads};
    allocation_walk(what, run_loaded, &run, stride, stride == EVERY ? 100 : 4);
    bb_config_destroy(&config);
}

static void an_ao_run(void **state)
{
    (void)state;
    const driver_case of = {
        CONFIG_AO_SMALL,
        {"sensors.lenslets=3", "guide_stars.2.lenslets=3", "solver.tile=12",
          "wavelengths_um=[1.65]", "targets=[{x_arcsec: 3.0, y_arcsec: 1.0}]",
          "pipelines=[{name: reference, arithmetic: dp}, {name: hp2, arithmetic: hp2}]"}
    };
    walk("ao", &of, 1, EVERY);
    walk("ao on two threads", &of, 2, 37);
}

// Frames, pairs, error terms and a shared correction.
static void an_ao_run_with_frames(void **state)
{
    (void)state;
    const driver_case of = {
        CONFIG_AO_SMALL,
        {"sensors.lenslets=3", "guide_stars.2.lenslets=3", "solver.tile=12",
          "wavelengths_um=[1.65]", "correction=glao", "ensquared_mas=[100.0]",
          "error_terms={fitting: true, aliasing: true}", "monte_carlo.frames=2",
          "monte_carlo.pixels_per_subaperture=8", "monte_carlo.screen_oversize=1.5",
          "pipelines=[{name: reference, arithmetic: dp}]"}
    };
    walk("ao with frames", &of, 1, 97);
    walk("ao with frames on two threads", &of, 2, 499);
}

// Long shear lags keep the tables of the kernel short.
#define WAFER_TINY                                                                                 \
    "mesh.spacing_mm=10.0",                                                                        \
        "clamp={spacing_mm: 10.0, tangential_stiffness_n_per_m3: 1.0e+9, "                         \
        "normal_stiffness_n_per_m3: 1.0e+4}",                                                      \
        "scan={fields: [1], light_steps: 2, dark_steps: 1}", "metrology={columns: 2, rows: 2}",    \
        "response.grid={columns: 8, rows: 7}", "response.slit_points={columns: 2, rows: 3}"

#define PIPELINE(name, storage)                                                                    \
    ", {name: " name ", storage: " storage ", multiply: fp32, accumulate: fp64}"
#define REFERENCE "{name: reference, storage: fp64, multiply: fp64, accumulate: fp64}"
#define ZFP(dimensions)                                                                            \
    "{codec: zfp, mode: accuracy, tolerance_of_range: 1.0e-3, dimensions: " #dimensions "}"

static void a_wafer_run_of_plain_and_block_formats(void **state)
{
    (void)state;
    const driver_case of = {
        CONFIG_WAFER_SMALL,
        {WAFER_TINY, "pipelines=[" REFERENCE PIPELINE("e4m3", "e4m3, scale: row")
                         PIPELINE("bfp8", "{codec: bfp, bits: 8}, scale: row") PIPELINE(
                             "quantiser", "{codec: quantiser, tolerance_of_range: 1.0e-3}") "]"}
    };
    walk("wafer, plain, bfp and quantiser", &of, 1, EVERY);
    walk("wafer, plain, bfp and quantiser, on two threads", &of, 2, 37);
}

static void a_wafer_run_of_zfp(void **state)
{
    (void)state;
    const driver_case of = {
        CONFIG_WAFER_SMALL,
        {WAFER_TINY, "response.axes=[x, y]",
          "pipelines=[" REFERENCE PIPELINE("zfp1", ZFP(1)) PIPELINE("zfp2", ZFP(2))
             PIPELINE("zfp3", ZFP(3)) PIPELINE("zfp4", ZFP(4))
                 PIPELINE("rate", "{codec: zfp, mode: rate, bits: 8}") "]"}
    };
    walk("wafer, zfp", &of, 1, EVERY);
    walk("wafer, zfp, on two threads", &of, 2, 37);
}

static void a_finite_element_run(void **state)
{
    (void)state;
    const driver_case of = {
        CONFIG_WAFER_SMALL,
        {WAFER_TINY, "response.generator=fem", "response.axes=[x, y]",
          "pipelines=[" REFERENCE "]"}
    };
    walk("wafer, fem", &of, 1, EVERY);
    walk("wafer, fem, on two threads", &of, 2, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ao_run),
        cmocka_unit_test(an_ao_run_with_frames),
        cmocka_unit_test(a_wafer_run_of_plain_and_block_formats),
        cmocka_unit_test(a_wafer_run_of_zfp),
        cmocka_unit_test(a_finite_element_run),
    };
    bb_log_set_level(BB_LOG_QUIET);
    return cmocka_run_group_tests(tests, NULL, driver_leave);
}
