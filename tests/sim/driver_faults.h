// SPDX-License-Identifier: Apache-2.0
//
// Allocations of a whole run of each driver fail in turn, with every codec family: an error of
// memory, nothing kept, no crash. On two threads, where the order is another one each time, runs
// are always walked in strides.
#ifndef BB_TESTS_SIM_DRIVER_FAULTS_H
#define BB_TESTS_SIM_DRIVER_FAULTS_H

#include "tests/precision/codec_rows.h"
#include "tests/sim/allocation_walk.h"
#include "tests/sim/driver.h"
#include "tests/turn.h"

typedef struct faults_loaded {
    const bb_config *config;
    bb_index threads;
} faults_loaded;

static inline bb_status faults_run(void *context)
{
    const faults_loaded *run = context;
    bb_results *results = NULL;
    bb_status status = driver_run_loaded(run->config, run->threads, &results);
    bb_results_destroy(&results);
    return status;
}

/// How far apart the failures of a program's walks are.
typedef struct fault_strides {
    bb_index alone;    ///< of runs on one thread
    bb_index frames;   ///< of those with frames, which take ten times as long
    bb_index pair;     ///< on two threads
    bb_index fem_pair; ///< of finite elements on two
    test_turn turn;    ///< which of those failures are tried
} fault_strides;

static inline void faults_walk(const char *what, const driver_case *study, bb_index threads,
                               const test_turn *turn, bb_index stride)
{
    const bb_index minimum = (stride <= 3 ? 100 : 4) / turn->stride;
    bb_config *config = NULL;
    check_ok(driver_load(study, &config));
    faults_loaded run = {config, threads};
    allocation_walk_from(turn->first * stride, what, faults_run, &run, turn->stride * stride,
                         minimum);
    bb_config_destroy(&config);
}

static inline void faults_of_ao(const fault_strides *every)
{
    const driver_case study = {
        CONFIG_AO_SMALL,
        {"sensors.lenslets=3", "guide_stars.2.lenslets=3", "solver.tile=12",
         "wavelengths_um=[1.65]", "targets=[{x_arcsec: 3.0, y_arcsec: 1.0}]",
         "pipelines=[{name: reference, arithmetic: dp}, {name: hp2, arithmetic: hp2}]"}};
    faults_walk("ao", &study, 1, &every->turn, every->alone);
    faults_walk("ao on two threads", &study, 2, &every->turn, every->pair);
}

// A closed loop in time of few lenslets.
#define IN_TIME                                                                                    \
    "sensors.lenslets=3", "guide_stars.2.lenslets=3", "solver.tile=12", "wavelengths_um=[1.65]",   \
        "correction=ltao", "error_terms.wind_m_per_s=[10.0, 20.0]",                                \
        "monte_carlo={pixels_per_subaperture: 8, screen_oversize: 1.5}",                           \
        "time_domain={frames: 1, realisations: 2, delay_ms: 2.0, loop: closed, settle_frames: 1}"

// Frames, pairs, error terms and a shared correction; a closed loop in time.
static inline void faults_of_frames(const fault_strides *every)
{
    const driver_case study = {CONFIG_AO_SMALL,
                               {"sensors.lenslets=3", "guide_stars.2.lenslets=3", "solver.tile=12",
                                "wavelengths_um=[1.65]", "correction=glao", "ensquared_mas=[100.0]",
                                "error_terms={fitting: false, aliasing: true}",
                                "monte_carlo.frames=2", "monte_carlo.pixels_per_subaperture=8",
                                "monte_carlo.screen_oversize=1.5",
                                "pipelines=[{name: reference, arithmetic: dp}]"}};
    faults_walk("ao with frames", &study, 1, &every->turn, every->frames);
    faults_walk("ao with frames on two threads", &study, 2, &every->turn, 499);
    const driver_case timed = {CONFIG_AO_SMALL,
                               {IN_TIME, "pipelines=[{name: reference, arithmetic: dp}]"}};
    faults_walk("ao in time", &timed, 1, &every->turn, every->frames);
}

// What is stored, in a study, in time and over a night: clips and tiles in the norm of a covariance
// that is told of what it does not know, commands, rounded slopes and narrow sums.
static inline void faults_of_storage(const fault_strides *every)
{
    static const char *const pipelines =
        "pipelines=[{name: reference, arithmetic: dp}, {name: clips, arithmetic: dp, storage: "
        "{codec: integer, bits: 4, rounding: sweep, clip: best}}, {name: tiles, arithmetic: dp, "
        "storage: {codec: low_rank, tolerance: 1.0e-3, norm: covariance}}, {name: sums, "
        "arithmetic: dp, operator: commands, filter: means, storage: fp16, slopes: {bits: 10}, "
        "accumulate: fp16, accumulate_run: 8}]";
    static const char *const inflation =
        "rounding_inflation={sodium_height_m2: 1000.0, reference_nm2: 100.0}";
    const driver_case timed = {CONFIG_AO_SMALL, {IN_TIME, inflation, pipelines}};
    const driver_case aged = {
        CONFIG_AO_SMALL,
        {"sensors.lenslets=3", "guide_stars.2.lenslets=3", "solver.tile=12",
         "wavelengths_um=[1.65]", "targets=[{x_arcsec: 3.0, y_arcsec: 1.0}]",
         "night={source: file, hours: 0.5, sample_minutes: 30.0, policies: [snapshot], "
         "ages_minutes: [], latency_s: [0.0], layers: [{time_s: 0.0, height_m: 30.0, strength: "
         "28.5, wind_m_per_s: 7.0}]}",
         "pipelines=[{name: reference, arithmetic: dp}, {name: commands, arithmetic: dp, operator: "
         "commands, storage: {codec: integer, bits: 8, rounding: sweep}}]"}};
    faults_walk("ao, storage in time", &timed, 1, &every->turn, 3 * every->frames);
    faults_walk("ao, storage over a night", &aged, 1, &every->turn, every->frames);
}

// Two mirrors, a learned profile and a promise.
static inline void faults_of_mirrors(const fault_strides *every)
{
    const driver_case study = {
        CONFIG_AO_SMALL,
        {"sensors.lenslets=3", "guide_stars.2.lenslets=3", "solver.tile=12", "correction=mcao",
         "wavelengths_um=[1.65]", "mirrors=[{height_m: 0.0}, {height_m: 9000.0, pitch_m: 3.0}]",
         "learn.source=profile",
         "pipelines=[{name: reference, arithmetic: dp}, {name: kept, arithmetic: hp1, policy: "
         "{kind: promise, inside: sp, price: 0.5}}]"}};
    faults_walk("ao with mirrors", &study, 1, &every->turn, every->frames);
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

// One pipeline of every row of the codec table from `first` on, rows scaled where they may be; the
// plain formats are alike, the widest zfp has walks of its own.
static inline void faults_of_rows(int first, int past, const fault_strides *every)
{
    static char pipelines[2048];
    size_t length = (size_t)snprintf(pipelines, sizeof pipelines, "pipelines=[%s", REFERENCE);
    for (int codec = first; codec < past; ++codec) {
        static codec_rows rows;
        char storage[160];
        rows = (codec_rows){.width = {.brief = true, .of_range = true}};
        codec_rows_add(&rows, codec);
        codec_rows_write(&rows.configs[0], storage, sizeof storage);
        length += (size_t)snprintf(
            pipelines + length, sizeof pipelines - length,
            ", {name: %s, storage: %s, scale: %s, multiply: fp32, accumulate: fp64}",
            bb_codec_name(codec), storage,
            bb_codec_takes_row_scale(&rows.configs[0]) ? "row" : "none");
    }
    (void)snprintf(pipelines + length, sizeof pipelines - length, "]");
    const driver_case study = {CONFIG_WAFER_SMALL, {WAFER_TINY, pipelines}};
    faults_walk("wafer, codecs", &study, 1, &every->turn, every->alone);
    faults_walk("wafer, codecs, on two threads", &study, 2, &every->turn, every->pair);
}

static inline void faults_of_formats(const fault_strides *every)
{
    faults_of_rows(BB_FORMAT_E4M3, bb_codec_find("zfp"), every);
}

static inline void faults_of_codecs(const fault_strides *every)
{
    faults_of_rows(bb_codec_find("zfp") + 1, bb_codec_count(), every);
}

static inline void faults_of_zfp(const fault_strides *every)
{
    const driver_case study = {
        CONFIG_WAFER_SMALL,
        {WAFER_TINY, "response.axes=[x, y]",
         "pipelines=[" REFERENCE PIPELINE("zfp1", ZFP(1)) PIPELINE("zfp2", ZFP(2))
             PIPELINE("zfp3", ZFP(3)) PIPELINE("zfp4", ZFP(4))
                 PIPELINE("rate", "{codec: zfp, mode: rate, bits: 8}") "]"}};
    faults_walk("wafer, zfp", &study, 1, &every->turn, every->alone);
    faults_walk("wafer, zfp, on two threads", &study, 2, &every->turn, every->pair);
}

static inline void faults_of_elements(const fault_strides *every)
{
    const driver_case study = {CONFIG_WAFER_SMALL,
                               {WAFER_TINY, "response.generator=fem", "response.axes=[x, y]",
                                "pipelines=[" REFERENCE "]"}};
    faults_walk("wafer, fem", &study, 1, &every->turn, every->alone);
    faults_walk("wafer, fem, on two threads", &study, 2, &every->turn, every->fem_pair);
}

/// As tests, whose state is the strides.
#define FAULTS_TEST(name, of)                                                                      \
    static void name(void **state)                                                                 \
    {                                                                                              \
        faults_of_##of(*state);                                                                    \
    }
FAULTS_TEST(an_ao_run, ao)
FAULTS_TEST(an_ao_run_with_frames, frames)
FAULTS_TEST(an_ao_run_with_storage, storage)
FAULTS_TEST(an_ao_run_with_mirrors, mirrors)
FAULTS_TEST(a_wafer_run_of_plain_and_block_formats, formats)
FAULTS_TEST(a_wafer_run_of_codecs_after_zfp, codecs)
FAULTS_TEST(a_wafer_run_of_zfp, zfp)
FAULTS_TEST(a_finite_element_run, elements)

/// Walks them all.
static inline int faults_run_all(fault_strides every)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(an_ao_run, &every),
        cmocka_unit_test_prestate(an_ao_run_with_frames, &every),
        cmocka_unit_test_prestate(an_ao_run_with_storage, &every),
        cmocka_unit_test_prestate(an_ao_run_with_mirrors, &every),
        cmocka_unit_test_prestate(a_wafer_run_of_plain_and_block_formats, &every),
        cmocka_unit_test_prestate(a_wafer_run_of_codecs_after_zfp, &every),
        cmocka_unit_test_prestate(a_wafer_run_of_zfp, &every),
        cmocka_unit_test_prestate(a_finite_element_run, &every),
    };
    bb_log_set_level(BB_LOG_QUIET);
    return cmocka_run_group_tests(tests, NULL, driver_leave);
}

#endif
