// SPDX-License-Identifier: Apache-2.0
//
// Exact restart by pipeline: after each of them a run resumes with the same bits, without
// recomputing saved pipelines, and any allocation may fail.
#include "sim/pipelines/factor_search.h"
#include "tests/sim/allocation_walk.h"
#include "tests/sim/ao/keeping.h"

// Not all in the order of computation: reference, fp8, hp2, sp, kept.
static const driver_case mixed = {
    CONFIG_AO_SMALL,
    {"sensors.lenslets=3", "guide_stars.2.lenslets=3", "solver.tile=12",
     "pipelines=[" NOT_SPD ", " SEARCHED("kept") ", " REFERENCE ", " DRAWN
                                                 ", {name: sp, arithmetic: sp}]",
     "ensquared_mas=[100.0]", "images=all", "solver.spectrum.matrix=true"}};
static const char *const mixed_order[] = {"reference", "fp8", "hp2", "sp", "kept", NULL};

// Steps that use reconstructors at the end: frames and --dump R.
static const driver_case framed = {
    CONFIG_AO_SMALL,
    {TINY, "correction=glao", "error_terms={fitting: false, aliasing: true}",
     "monte_carlo.frames=2", "monte_carlo.pixels_per_subaperture=8",
     "monte_carlo.screen_oversize=1.5",
     "pipelines=[" REFERENCE ", " NOT_SPD ", " SEARCHED("kept") ", {name: escalated, arithmetic: "
                                                                "fp8, escalate: true}]"}};
static const char *const framed_order[] = {"reference", "fp8", "escalated", "kept", NULL};

// Mirrors with mcao, whose commands are solved and stored again.
static const driver_case joined = {
    CONFIG_AO_SMALL,
    {TINY, "correction=mcao", "mirrors=[{height_m: 0.0}, {height_m: 9000.0, pitch_m: 3.0}]",
     "mirrors_condition=60.0", "monte_carlo.frames=2", "monte_carlo.pixels_per_subaperture=8",
     "monte_carlo.screen_oversize=1.5", "error_terms.wind_m_per_s=[10.0, 20.0]",
     "time_domain={frames: 1, realisations: 2, delay_ms: 2.0, loop: closed, settle_frames: 1}",
     "pipelines=[" REFERENCE
     ", " SEARCHED("kept") ", {name: stored, arithmetic: dp, storage: {codec: "
                           "integer, bits: 8, rounding: sweep}, filter: means, slopes: fp16}]"}};
static const char *const joined_order[] = {"reference", "stored", "kept", NULL};

// Searched storages: of slopes, and of commands with draws; one search fails.
static const driver_case searched = {
    CONFIG_AO_SMALL,
    {TINY, "shake_test_arcsec=0.1", "monte_carlo.frames=2", "monte_carlo.pixels_per_subaperture=8",
     "monte_carlo.screen_oversize=1.5", "frame_times={frames: 9, rate_hz: 0.0}",
     "pipelines=[" FEWEST ", " REFERENCE
     ", {name: drawn, arithmetic: dp, draws: 2, operator: commands, column_scale: remainder, "
     "storage: {codec: quantiser, rounding: sweep}, max_loss: 1e-3}, {name: never, "
     "arithmetic: dp, storage: integer, max_loss: 1e-13}, {name: sp, arithmetic: sp}]"}};
static const char *const searched_order[] = {"reference", "fewest", "drawn", "never", "sp", NULL};

// Restored results have the times of the run that computed them.
static void expect_kept(const bb_results *kept_by, const bb_results *got, const char *const *order,
                        int count)
{
    static const char *const times[] = {"encode_time_s", "solve_time_s", "wall_s", "frame_p50_us",
                                        "frame_max_us"};
    const int asked = bb_results_find(kept_by, "results/frame_p50_us") == NULL ? 3 : 5;
    for (int i = 0; i < count; ++i) {
        for (int t = 0; t < asked; ++t) {
            assert_memory_equal(driver_row(got, times[t], order[i]),
                                driver_row(kept_by, times[t], order[i]), sizeof(double));
        }
    }
}

// A run with a checkpoint after every pipeline, and after `before` stages before the first, gives
// the same results as one without, and resuming from each checkpoint gives them again.
static void resume_everywhere(const driver_case *study, int before, const char *const *order,
                              const char *dump)
{
    autoptr(bb_results) results = NULL;
    autoptr(bb_results) kept_by = NULL;
    char name[32];
    int count = 0;
    autoptr(bb_config) config = driver_config(study);
    const bb_run_options plain = {.threads = 2, .dump = dump};
    const bb_run_options keeping = {.threads = 2, .dump = dump, .checkpoint = "steps"};
    check_ok(driver_run_with(config, &plain, &results));
    collected = 0;
    check_ok(driver_run_with(config, &keeping, &kept_by));
    driver_expect_same(results, kept_by);
    while (order[count] != NULL) {
        ++count;
    }
    count += before;
    assert_int_equal(collected, count);
    collected = -1;
    for (int k = 1; k <= count; ++k) {
        autoptr(bb_results) got = NULL;
        (void)snprintf(name, sizeof name, "seen-%d", k);
        // Every other run writes checkpoints too.
        const bb_run_options resuming = {.threads = 1 + k % 3,
                                         .dump = dump,
                                         .resume = name,
                                         .checkpoint = k % 2 == 0 ? "more" : NULL};
        check_ok(driver_run_with(config, &resuming, &got));
        driver_expect_same(results, got);
        expect_kept(kept_by, got, order, k - before);
    }
}

TEST_FULL(every_pipeline_is_gone_on_from)
{
    autoptr(bb_results) results = driver_results(&mixed);
    assert_string_equal(driver_text(results, "status", "fp8"), "not_spd");
    assert_string_equal(driver_text(results, "status", "kept"), "ok");
    assert_true(driver_number(results, "draws", "hp2") == 3.0);
    resume_everywhere(&mixed, 0, mixed_order, NULL);
}

// A checkpoint has no reconstructors: needed ones are solved again, a search's as the candidate
// found, an escalated one through its failures.
TEST_FULL(frames_and_operators_are_the_same)
{
    resume_everywhere(&framed, 0, framed_order, "R");
    resume_everywhere(&joined, 0, joined_order, "R");
    resume_everywhere(&searched, 0, searched_order, "R");
}

// Reads "seen-1", which has a profile and no pipeline, and writes it as "forged" with its first
// layer twice as strong.
static void forge_profile(void)
{
    enum { STRENGTH = 4, LAYERS = 2 };
    double strength[LAYERS];
    autorelease(parts) all = {.count = 0};
    take_parts("seen-1", &all);
    assert_int_equal(all.pieces[STRENGTH].bytes, sizeof strength);
    memcpy(strength, all.pieces[STRENGTH].data, sizeof strength);
    strength[0] *= 2.0;
    parts forged = all;
    forged.pieces[STRENGTH].data = strength;
    write_parts("forged", &forged);
}

// A restored profile is used as it is, not learned again.
TEST(kept_profiles_are_taken)
{
    static const driver_case study = {CONFIG_AO_SMALL,
                                      {TINY, "learn.source=profile",
                                       "learn.heights_m=[30.0, 8000.0]",
                                       "pipelines=[" REFERENCE "]"}};
    bb_results *results[2] = {NULL, NULL};
    autoptr(bb_config) config = driver_config(&study);
    keep(&study);
    forge_profile();
    static const char *const paths[2] = {"seen-1", "forged"};
    for (int r = 0; r < 2; ++r) {
        const bb_run_options options = {.threads = 1, .resume = paths[r]};
        check_ok(driver_run_with(config, &options, &results[r]));
    }
    const double *strength = bb_results_find(results[0], "learn/strength")->numbers;
    const double *forged = bb_results_find(results[1], "learn/strength")->numbers;
    assert_true(forged[0] == 2.0 * strength[0] && forged[1] == strength[1]);
    assert_true(driver_number(results[0], "strehl", "reference") !=
                driver_number(results[1], "strehl", "reference"));
    bb_results_destroy(&results[0]);
    bb_results_destroy(&results[1]);
}

// The learned profile is saved before any pipeline; if learning failed, every pipeline fails.
TEST_FULL(learned_profiles_are_the_same)
{
    static const char *const order[] = {"reference", "kept", NULL};
    static const driver_case learned = {CONFIG_AO_SMALL,
                                        {TINY, "learn.source=profile",
                                         "learn.heights_m=[30.0, 8000.0]",
                                         "pipelines=[" REFERENCE ", " SEARCHED("kept") "]"}};
    static const driver_case failed = {CONFIG_AO_SMALL,
                                       {TINY, "learn.source=profile",
                                        "learn.heights_m=[30.0, 12500.0, 12501.0]",
                                        "pipelines=[" REFERENCE ", " SEARCHED("kept") "]"}};
    resume_everywhere(&learned, 1, order, NULL);
    resume_everywhere(&failed, 1, order, "R");
}

static const driver_case walked = {CONFIG_AO_SMALL,
                                   {TINY, "targets=[{x_arcsec: 3.0, y_arcsec: 1.0}]",
                                    "pipelines=[" REFERENCE
                                    ", {name: hp2, arithmetic: hp2, draws: 2}]"}};

// Runs a study; a file left under the name afterwards must be complete.
static bb_status run_and_keep(void *config)
{
    bb_results *results = NULL;
    const bb_run_options options = {.threads = 1, .checkpoint = "walked"};
    bb_status status = driver_run_with(config, &options, &results);
    bb_results_destroy(&results);
    if (bb_memory_failure_happened() != 0) {
        bb_status_record record;
        bb_status_save(&record);
        if (access("walked", F_OK) == 0) {
            check_ok(open_as(&walked, "walked"));
        }
        assert_int_equal(count_parts(), 0);
        bb_status_restore(&record);
    }
    return status;
}

static bb_status go_on(void *config)
{
    autoptr(bb_results) results = NULL;
    const bb_run_options options = {.threads = 1, .resume = "seen-1", .dump = "R"};
    bb_status status = driver_run_with(config, &options, &results);
    return status;
}

// Only the checkpoint: all of it is read and written again.
static bb_status read_and_write(void *config)
{
    enum { PIPELINES = 2 };
    bb_status status = BB_OK;
    static const bb_index order[PIPELINES] = {0, 1};
    const bb_ao_study *study = bb_config_study(config);
    bb_ao_study resolved = *study;
    const bb_factor_pipeline *pipelines = study->pipelines.items;
    const bb_run_options options = {.resume = "seen-2", .checkpoint = "walked"};
    bb_ao_evaluation evaluations[PIPELINES] = {0};
    bb_restart restart = {0};
    bb_ao_work work = {.study = &resolved, .evaluations = evaluations};
    BB_TRY(bb_search_trials_create(BB_FACTOR_SEARCH_TRIALS, &work.trials));
    for (int p = 0; p < PIPELINES; ++p) {
        BB_TRY(bb_ao_evaluation_create(pipelines[p].name, study->targets.count,
                                       study->wavelengths_um.count, study->ensquared_mas.count,
                                       bb_ao_study_images(study), &evaluations[p]));
    }
    BB_TRY(bb_pipeline_restart_open(&bb_ao_study_schema, study, &options, &restart));
    BB_TRY(bb_pipeline_restart_restore_tile(&restart, &study->pipelines, study->common.device,
                                            false, &resolved.solver.common));
    bb_pipeline_state state = bb_ao_solve_state(&work, order);
    BB_TRY(bb_pipeline_restart_load(&restart, "seen-2", &state));
    BB_TRY(bb_pipeline_restart_save(&restart, &state));
done:
    for (int p = 0; p < PIPELINES; ++p) {
        bb_ao_evaluation_release(&evaluations[p], study->targets.count);
    }
    bb_search_trials_destroy(&work.trials);
    bb_restart_release(&restart);
    return status;
}

TEST_FULL(any_allocation_may_fail)
{
    autoptr(bb_config) config = driver_config(&walked);
    keep(&walked);
    allocation_walk("a checkpoint", read_and_write, config, 1, 30);
    assert_int_equal(system("cmp walked seen-2"), 0);
    allocation_walk("ao with checkpoints", run_and_keep, config, 211, 9);
    allocation_walk("ao gone on", go_on, config, 211, 9);
}

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true, .is_quiet = true);
