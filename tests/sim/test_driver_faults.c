// SPDX-License-Identifier: Apache-2.0
//
// Failing allocations in whole runs of each driver, with every codec family: each gives a memory
// error, no leak and no crash. On two threads the order of allocations varies from run to run.
#include "tests/precision/codec_rows.h"
#include "tests/sim/allocation_walk.h"
#include "tests/sim/driver.h"

typedef struct faults_loaded {
    const bb_config *config;
    bb_index threads;
} faults_loaded;

static bb_status faults_run(void *context)
{
    const faults_loaded *run = context;
    autoptr(bb_results) results = NULL;
    bb_status status = driver_run_loaded(run->config, run->threads, &results);
    return status;
}

// Distances between failing allocations.
typedef struct fault_strides {
    bb_index alone;    ///< runs on one thread
    bb_index frames;   ///< runs with frames, which take ten times as long
    bb_index pair;     ///< runs on two threads
    bb_index fem_pair; ///< finite-element runs on two threads
} fault_strides;

#ifdef BB_SANITIZED // sanitized runs take ten times as long
static const fault_strides every = {3, 97, 37, 5};
#else
static const fault_strides every = {1, 97, 37, 5};
#endif

static void walk(const char *what, const driver_case *study, bb_index threads, bb_index stride)
{
    autoptr(bb_config) config = driver_config(study);
    faults_loaded run = {config, threads};
    allocation_walk(what, faults_run, &run, stride, stride <= 3 ? 100 : 2);
}

TEST(an_ao_run)
{
    const driver_case study = {
        CONFIG_AO_SMALL,
        {"sensors.lenslets=3", "guide_stars.2.lenslets=3", "solver.tile=12",
         "wavelengths_um=[1.65]", "targets=[{x_arcsec: 3.0, y_arcsec: 1.0}]",
         "pipelines=[{name: reference, arithmetic: dp}, {name: hp2, arithmetic: hp2}]"}};
    walk("ao", &study, 1, every.alone);
    walk("ao on two threads", &study, 2, every.pair);
}

// A small closed loop in the time domain.
#define IN_TIME                                                                                    \
    "sensors.lenslets=3", "guide_stars.2.lenslets=3", "solver.tile=12", "wavelengths_um=[1.65]",   \
        "correction=ltao", "error_terms.wind_m_per_s=[10.0, 20.0]",                                \
        "monte_carlo={pixels_per_subaperture: 8, screen_oversize: 1.5}",                           \
        "time_domain={frames: 1, realisations: 2, delay_ms: 2.0, loop: closed, settle_frames: 1}"

// Frames, pairs, error terms and a shared correction; a closed loop in the time domain.
TEST_FULL(an_ao_run_with_frames)
{
    const driver_case study = {CONFIG_AO_SMALL,
                               {"sensors.lenslets=3", "guide_stars.2.lenslets=3", "solver.tile=12",
                                "wavelengths_um=[1.65]", "correction=glao", "ensquared_mas=[100.0]",
                                "error_terms={fitting: false, aliasing: true}",
                                "monte_carlo.frames=2", "monte_carlo.pixels_per_subaperture=8",
                                "monte_carlo.screen_oversize=1.5",
                                "pipelines=[{name: reference, arithmetic: dp}]"}};
    walk("ao with frames", &study, 1, every.frames);
    walk("ao with frames on two threads", &study, 2, 499);
    const driver_case timed = {CONFIG_AO_SMALL,
                               {IN_TIME, "pipelines=[{name: reference, arithmetic: dp}]"}};
    walk("ao in time", &timed, 1, every.frames);
}

// Storage options in the time domain and over a night: clipping, tiles in the norm of an inflated
// covariance, commands, rounded slopes and narrow accumulators.
TEST_FULL(an_ao_run_with_storage)
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
    walk("ao, storage in time", &timed, 1, 3 * every.frames);
    walk("ao, storage over a night", &aged, 1, every.frames);
}

// Two deformable mirrors, a learned profile and a policy search.
TEST_FULL(an_ao_run_with_mirrors)
{
    const driver_case study = {CONFIG_AO_SMALL,
                               {"sensors.lenslets=3", "guide_stars.2.lenslets=3", "solver.tile=12",
                                "correction=mcao", "wavelengths_um=[1.65]",
                                "mirrors=[{height_m: 0.0}, {height_m: 9000.0, pitch_m: 3.0}]",
                                "learn.source=profile",
                                "pipelines=[{name: reference, arithmetic: dp}, {name: kept, "
                                "arithmetic: hp1, max_loss: 0.5, search: {inside: sp}}]"}};
    walk("ao with mirrors", &study, 1, every.frames);
}

// Long shear lags keep the kernel tables short.
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

// One pipeline for each codec row in [first, past), row-scaled where possible. Plain formats share
// their code and the widest zfp has its own walks.
static void faults_of_rows(int first, int past)
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
            bb_codec_allows_row_scale(&rows.configs[0]) ? "row" : "none");
    }
    (void)snprintf(pipelines + length, sizeof pipelines - length, "]");
    const driver_case study = {CONFIG_WAFER_SMALL, {WAFER_TINY, pipelines}};
    walk("wafer, codecs", &study, 1, every.alone);
    walk("wafer, codecs, on two threads", &study, 2, every.pair);
}

TEST(a_wafer_run_of_plain_and_block_formats)
{
    faults_of_rows(BB_FORMAT_E4M3, bb_codec_find("zfp"));
}

TEST(a_wafer_run_of_codecs_after_zfp)
{
    faults_of_rows(bb_codec_find("zfp") + 1, bb_codec_count());
}

TEST(a_wafer_run_of_zfp)
{
    const driver_case study = {
        CONFIG_WAFER_SMALL,
        {WAFER_TINY, "response.axes=[x, y]",
         "pipelines=[" REFERENCE PIPELINE("zfp1", ZFP(1)) PIPELINE("zfp2", ZFP(2))
             PIPELINE("zfp3", ZFP(3)) PIPELINE("zfp4", ZFP(4))
                 PIPELINE("rate", "{codec: zfp, mode: rate, bits: 8}") "]"}};
    walk("wafer, zfp", &study, 1, every.alone);
    walk("wafer, zfp, on two threads", &study, 2, every.pair);
}

TEST(a_finite_element_run)
{
    const driver_case study = {CONFIG_WAFER_SMALL,
                               {WAFER_TINY, "response.generator=fem", "response.axes=[x, y]",
                                "pipelines=[" REFERENCE "]"}};
    walk("wafer, fem", &study, 1, every.alone);
    walk("wafer, fem, on two threads", &study, 2, every.fem_pair);
}

TEST_GROUP(.is_quiet = true);
