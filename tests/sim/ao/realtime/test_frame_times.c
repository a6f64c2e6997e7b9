// SPDX-License-Identifier: Apache-2.0
//
// Frame times of stored pipelines in a run: scores with unchanged bits, a clock set by the test,
// the matrices of `bitbudget realtime`, and the plan.
#include "core/interrupt.h"
#include "sim/ao/ao_commands.h"
#include "sim/ao/ao_mcao.h"
#include "sim/ao/realtime/ao_realtime.h"
#include "tests/manual_clock.h"
#include "tests/sim/allocation_walk.h"
#include "tests/sim/dumped.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const times[] = {"frame_p50_us", "frame_p99_us", "frame_max_us"};

static double number(const bb_results *results, int which, const char *pipeline)
{
    return driver_number(results, times[which], pipeline);
}

static void expect_none(const bb_results *results, const char *pipeline)
{
    for (int i = 0; i < 3; ++i) {
        assert_true(isnan(number(results, i, pipeline)));
    }
}

static void expect_times(const bb_results *results, const char *pipeline)
{
    const double p50 = number(results, 0, pipeline);
    const double p99 = number(results, 1, pipeline);
    const double longest = number(results, 2, pipeline);
    print_message("%s: %.1f, %.1f, %.1f us\n", pipeline, p50, p99, longest);
    assert_string_equal(driver_text(results, "status", pipeline), "ok");
    assert_true(p50 > 0.0 && p50 <= p99 && p99 <= longest && isfinite(longest));
}

// Stored matrices have times, with an explicit or a searched storage. Pipelines without a storage,
// after a failure, or with sums that no loop supports have none. All results that are not measured
// stay the same.
TEST_FULL(times_stand_beside_scores)
{
    const char pipelines[] =
        "pipelines=[{name: reference, arithmetic: dp}, {name: int8, arithmetic: dp, storage: "
        "{codec: integer, bits: 8, rounding: sweep}}, {name: fewest, arithmetic: dp, column_scale: "
        "remainder, storage: {codec: quantiser, rounding: sweep}, max_loss: 1e-3}, {name: "
        "fp8, arithmetic: fp8, storage: fp16}, {name: narrow, arithmetic: dp, storage: fp16, "
        "accumulate: fp16, multiply: fp16}]";
    const driver_case timed = {CONFIG_NX456, {"device=cpu", pipelines, "frame_times.frames=50"}};
    const driver_case plain = {CONFIG_NX456, {"device=cpu", pipelines}};
    bb_results *results[2] = {driver_results(&plain), driver_results(&timed)};
    check_same_digest(results[0], results[1]);
    for (int i = 0; i < 3; ++i) {
        char path[64];
        (void)snprintf(path, sizeof path, "results/%s", times[i]);
        assert_null(bb_results_find(results[0], path));
        assert_true(driver_dataset(results[1], times[i])->measured);
    }
    expect_times(results[1], "int8");
    expect_times(results[1], "fewest");
    assert_string_equal(driver_text(results[1], "status", "fp8"), "not_spd");
    assert_string_equal(driver_text(results[1], "status", "narrow"), "ok");
    expect_none(results[1], "reference");
    expect_none(results[1], "fp8");
    expect_none(results[1], "narrow");
    bb_results_destroy(&results[0]);
    bb_results_destroy(&results[1]);
}

#define PIPELINES                                                                                  \
    "pipelines=[{name: reference, arithmetic: dp}, {name: both, arithmetic: dp, storage: {codec: " \
    "integer, bits: 8, rounding: sweep}, filter: means}, {name: sp, arithmetic: sp}, {name: fp16," \
    " arithmetic: dp, storage: fp16, scale: row, slopes: {bits: 10}}]"

// Forces a new computation, because results cached by an earlier run have no clock readings.
static bb_results *on_a_clock(const driver_case *study, bb_index slow, bb_index signalled)
{
    autoptr(bb_config) config = driver_config(study);
    bb_results *results = empty_results();
    manual_clock_start();
    manual_event =
        (manual_events){.slow_sleep = slow, .signal_sleep = signalled, .signal = SIGTERM};
    check_ok(driver_compute(config, results));
    manual_clock_stop();
    return results;
}

// Frames of 2.5, 1.5 and 0.5 ms among 200: the third longest is the 99th percentile, with rank 198.
// Warm-up frames are run but not counted.
TEST_FULL(frames_are_released_at_their_rate)
{
    const driver_case paced = {CONFIG_AO_SMALL,
                               {PIPELINES, "frame_times={frames: 200, warm_up_frames: 5}"}};
    const driver_case warmed = {CONFIG_AO_SMALL,
                                {PIPELINES, "frame_times={frames: 200, warm_up_frames: 50}"}};
    autoptr(bb_results) results = on_a_clock(&paced, 5 + 21, 0);
    assert_int_equal(manual_event.sleeps, 2 * 205 - 2); // two late frames do not sleep
    check_close(number(results, 0, "both"), 0.5, 4.5, 1.0);
    check_close(number(results, 1, "both"), 500.0, 5.0, 1.0);
    check_close(number(results, 2, "both"), 2500.0, 5.0, 1.0);
    check_close(number(results, 2, "fp16"), 0.5, 4.5, 1.0);
    expect_none(results, "reference");
    expect_none(results, "sp");
    bb_results_destroy(&results);
    results = on_a_clock(&warmed, 5 + 21, 0);
    check_close(number(results, 2, "both"), 0.5, 4.5, 1.0);
    bb_results_destroy(&results);
    results = on_a_clock(
        CASE(CONFIG_AO_SMALL, {PIPELINES, "frame_times={frames: 200, rate_hz: 0.0}"}), 0, 0);
    assert_int_equal(manual_event.sleeps, 0);
    assert_true(number(results, 2, "fp16") > 0.0);
}

// A signal during timed frames ends the run, because partial times are not reported.
TEST(a_signal_among_frames_ends_the_run)
{
    int how = 0;
    bb_threads_stop(); // a child process has no pool threads
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        check_ok(bb_interrupt_install());
        (void)on_a_clock(CASE(CONFIG_AO_SMALL, {PIPELINES, "frame_times.frames=40"}), 0, 30);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 143);
}

// Study solved as in a run, and its matrices stored as for a loop.
typedef struct rig {
    bb_config *config;
    const bb_ao_study *study;
    bb_factor_pipeline pipeline;
    bb_tomography *problem;
    const bb_matrix_source *ctm[2];
    double *noise;
    bb_ao_mcao *mcao;
    bb_factor_problem posed;
    bb_ao_storage storage;
    bb_ao_evaluation evaluation;
    bb_device *cpu;
    bb_frame_matrices matrices;
    bb_frame_loop *loop;
} rig;

static void rig_pose(rig *self, const driver_case *study)
{
    *self = (rig){0};
    check_ok(bb_threads_set(2));
    check_ok(driver_load(study, &self->config));
    const bb_ao_study *ao = self->study = bb_config_study(self->config);
    const bb_factor_pipeline *pipelines = ao->pipelines.items;
    self->pipeline = pipelines[bb_ao_realtime_config_pipeline(&ao->realtime, &ao->pipelines)];
    const bb_ao_config physics = bb_ao_study_physics(ao);
    check_ok(bb_tomography_create(&physics, (bb_lgs_tilt)ao->solver.lgs_tilt, &self->problem));
    bb_tomography *problem = self->problem;
    fill_array(self->ctm, problem->target_count, t, problem->targets[t].ctm);
    check_ok(bb_measurement_noise_bounds(&problem->guides, &problem->noise, &self->noise));
    self->posed = (bb_factor_problem){
        .solver = &ao->solver.common,
        .matrix = problem->cmm_core,
        .part = {problem->tilts.columns, problem->tilts.vectors, problem->tilts.variance},
        .target_count = ao->correction == (int)BB_AO_CORRECTION_LTAO ? 1 : problem->target_count,
        .sides = self->ctm,
        .noise = self->noise,
        .seed = (uint64_t)ao->common.seed};
    check_ok(bb_ao_mcao_create(problem, self->ctm, &self->mcao));
    bb_ao_mcao_set_sides(self->mcao, &self->posed);
    check_ok(bb_factor_problem_prepare(&self->posed));
    check_ok(bb_ao_storage_open(&self->posed, ao->common.device, problem, &ao->inflation,
                                &self->storage));
}

static void rig_solve(rig *self)
{
    const bb_ao_study *ao = self->study;
    const int correction = ao->correction;
    bb_ao_evaluation *evaluation = &self->evaluation;
    check_ok(bb_ao_evaluation_create(self->pipeline.name, ao->targets.count, 1, 0, 1, evaluation));
    evaluation->level = self->pipeline;
    evaluation->shared =
        correction == (int)BB_AO_CORRECTION_LTAO || correction == (int)BB_AO_CORRECTION_GLAO;
    evaluation->common.device = BB_DEVICE_CPU;
    check_ok(
        bb_ao_storage_solve(&self->storage, &self->posed, &self->pipeline, correction, evaluation));
    check_ok(bb_ao_commands_replace_estimates(self->problem, &self->pipeline, evaluation));
    check_ok(bb_device_open(BB_DEVICE_CPU, 0, &self->cpu));
}

static void rig_store(rig *self)
{
    check_ok(bb_frame_matrices_store(&self->storage, &self->pipeline, &self->evaluation,
                                     &self->matrices));
    check_ok(bb_frame_loop_create(self->study, &self->pipeline, 1, &self->cpu, &self->matrices,
                                  &self->loop));
    assert_null(self->matrices.stored[0].matrix);
}

static void rig_close(rig *self)
{
    bb_frame_loop_destroy(&self->loop);
    bb_frame_matrices_release(&self->matrices);
    bb_device_close(&self->cpu);
    bb_ao_evaluation_release(&self->evaluation, self->study->targets.count);
    bb_ao_storage_release(&self->storage);
    bb_factor_problem_release(&self->posed);
    bb_ao_mcao_destroy(&self->mcao);
    bb_tomography_destroy(&self->problem);
    BB_RELEASE(&self->noise);
    bb_config_destroy(&self->config);
}

static void step(bb_frame_loop *loop, bb_index frame, float *commands)
{
    bb_command_frame report;
    bb_frame_loop_set_slopes(loop, frame);
    check_ok(bb_command_loop_step(loop->frames, 0, &report));
    assert_true(report.slopes_finite && report.products_finite);
    bb_command_loop_commands(loop->frames, commands);
}

// The loop of matrices stored for scoring has the slopes and commands of `bitbudget realtime`. The
// estimates left for scoring are those of bb_ao_storage_round.
static void commands_are_those_of_realtime(const driver_case *study, int matrices)
{
    autocall(rig_close) rig self;
    autocall(rig_close) rig other;
    rig_pose(&self, study);
    rig_solve(&self);
    rig_store(&self);
    autoptr(bb_frame_loop) realtime = NULL;
    autorelease(bb_frame_matrices) made = {0};
    check_ok(bb_frame_matrices_make(self.study, &self.pipeline, &made));
    check_ok(bb_frame_loop_create(self.study, &self.pipeline, 1, &self.cpu, &made, &realtime));
    const bb_index commands = realtime->matrices.commands;
    const bb_index slopes = realtime->matrices.slopes;
    autofree float *expected = new_array(float, commands);
    autofree float *got = new_array(float, commands);
    assert_int_equal(self.loop->matrices.count, matrices);
    assert_int_equal(self.loop->matrices.commands, commands);
    assert_int_equal(self.loop->matrices.slopes, slopes);
    assert_true(self.loop->operator_bytes == realtime->operator_bytes);
    assert_memory_equal(self.loop->slopes, realtime->slopes,
                        (size_t)(BB_FRAME_SETS * slopes) * sizeof(float));
    for (bb_index k = 0; k < 3; ++k) {
        step(realtime, k, expected);
        step(self.loop, k, got);
        assert_true(expected[0] != 0.0F && expected[commands - 1] != 0.0F);
        assert_memory_equal(got, expected, (size_t)commands * sizeof(float));
    }
    rig_pose(&other, study);
    rig_solve(&other);
    check_ok(bb_ao_storage_round(&other.storage, &other.pipeline, 0, &other.evaluation));
    for (bb_index t = 0; t < self.study->targets.count; ++t) {
        const bb_index rows = bb_ao_commands_rows(self.problem, &self.evaluation, t);
        assert_true((self.evaluation.r[t] == NULL) == (other.evaluation.r[t] == NULL));
        if (self.evaluation.r[t] != NULL) {
            assert_memory_equal(self.evaluation.r[t], other.evaluation.r[t],
                                (size_t)(rows * slopes) * sizeof(double));
        }
    }
    assert_true(self.evaluation.common.operator_bytes == other.evaluation.common.operator_bytes);
}

TEST_FULL(what_is_stored_runs)
{
    const char commands[] =
        "pipelines=[{name: reference, arithmetic: dp}, {name: scaled, arithmetic: dp, operator: "
        "commands, storage: {codec: integer, bits: 12, rounding: sweep}, column_scale: remainder, "
        "filter: means}]";
    const char mirrors[] = "mirrors=[{height_m: 0.0}, {height_m: 9000.0, pitch_m: 3.0}]";
    const driver_case nx456 = {
        CONFIG_NX456,
        {"device=cpu", "pipelines=[{name: reference, arithmetic: dp}, {name: int8, arithmetic: dp, "
                       "storage: {codec: integer, bits: 8, rounding: sweep}}]"}};
    const driver_case mcao = {CONFIG_AO_SMALL,
                              {PIPELINES, "correction=mcao", mirrors, "mirrors_condition=60.0"}};
    commands_are_those_of_realtime(&nx456, 1);
    commands_are_those_of_realtime(CASE(CONFIG_AO_SMALL, {PIPELINES}), 2);
    commands_are_those_of_realtime(CASE(CONFIG_AO_SMALL, {PIPELINES, "realtime.pipeline=fp16"}), 2);
    commands_are_those_of_realtime(CASE(CONFIG_AO_SMALL, {commands}), 2);
    commands_are_those_of_realtime(CASE(CONFIG_AO_SMALL, {PIPELINES, "correction=ltao"}), 1);
    commands_are_those_of_realtime(CASE(CONFIG_AO_SMALL, {PIPELINES, "correction=glao"}), 1);
    commands_are_those_of_realtime(&mcao, 1);
}

// Peak memory of matrices, operators, loop and records of the largest pipeline is within the plan
// and over half of it.
TEST(a_plan_holds_what_frames_take)
{
    const driver_case study = {
        CONFIG_NX456,
        {"device=cpu", "frame_times.frames=100",
         "pipelines=[{name: reference, arithmetic: dp}, {name: both, arithmetic: dp, storage: "
         "{codec: integer, bits: 8, rounding: sweep}, column_scale: remainder, filter: means}]"}};
    autocall(rig_close) rig self;
    bb_realtime_measurement measured = {0};
    rig_pose(&self, &study);
    rig_solve(&self);
    const bb_tomography *problem = self.problem;
    const double rows = (double)problem->targets[0].ctm->rows;
    const bb_ao_extent extent = {
        .n = problem->cmm->rows, .m = rows, .residual.most_rows = rows, .threads = 2.0};
    // A first run, so that the factors exist.
    check_ok(
        bb_frame_matrices_store(&self.storage, &self.pipeline, &self.evaluation, &self.matrices));
    bb_frame_matrices_release(&self.matrices);
    self.matrices = (bb_frame_matrices){0};
    const size_t bare = bb_memory_bytes();
    check_ok(
        bb_frame_matrices_store(&self.storage, &self.pipeline, &self.evaluation, &self.matrices));
    bb_memory_peak_reset();
    bb_ao_study timed = *self.study;
    timed.realtime = bb_frame_times_config_loop(&timed.frame_times, &timed.realtime);
    assert_int_equal(timed.realtime.frames, 100);
    assert_int_equal(timed.realtime.warm_up_frames, 20);
    assert_true(timed.realtime.rate_hz == 1000.0);
    check_ok(
        bb_frame_loop_create(&timed, &self.pipeline, 1, &self.cpu, &self.matrices, &self.loop));
    check_ok(bb_frame_loop_run(self.loop, &measured));
    const double peak = (double)(bb_memory_peak_bytes() - bare);
    const bb_need need = bb_ao_realtime_times_need(self.study, &extent);
    print_message("peak %.0f, need %.0f\n", peak, need.host_bytes);
    assert_true(peak <= need.host_bytes && need.host_bytes <= 2.0 * peak);
    check_close(need.seconds, 0.12, 0.01, 1.0);
    bb_realtime_measurement_release(&measured);
    timed.frame_times.frames = 0;
    assert_true(bb_ao_realtime_times_need(&timed, &extent).host_bytes == 0.0);
}

TEST(tables_and_plans_have_them)
{
    CALL_EXPECT(0, "30 frames of each storage at 1000 Hz", "check", CONFIG_AO_SMALL, PIPELINES,
                "frame_times.frames=30");
    CALL_OK("run", CONFIG_AO_SMALL, PIPELINES, "frame_times.frames=30", "-q", "-o", "timed.h5");
    CALL_EXPECT(0, "frame_p50_us [us]", "show", "timed.h5", "--columns", "frame_p50_us");
}

// Every failed allocation is an error and leaves no partial result.
static bb_status store_and_run(void *context)
{
    rig *self = context;
    return bb_ao_realtime_store_timed(self->study, &self->storage, &self->evaluation);
}

TEST(no_failed_allocation_is_lost)
{
    autocall(rig_close) rig self;
    rig_pose(&self, CASE(CONFIG_AO_SMALL,
                         {"sensors.lenslets=3", "guide_stars.2.lenslets=3", "solver.tile=12",
                          "frame_times={frames: 2, warm_up_frames: 0, rate_hz: 0.0}", PIPELINES,
                          "realtime.pipeline=fp16"}));
    rig_solve(&self);
    check_ok(bb_threads_set(1));
    allocation_walk("frame times", store_and_run, &self, 1, 20);
    assert_true(self.evaluation.frame_times_s[0] > 0.0);
}

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true);
