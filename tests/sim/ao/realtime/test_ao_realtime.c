// SPDX-License-Identifier: Apache-2.0
//
// Realtime loop of an ao study: commands against the dumped reconstructor of a run, variances of
// slopes against the dumped covariance, random matrices, refused settings, plans and reports.
#include "tests/sim/allocation_walk.h"
#include "tests/sim/ao/realtime/frame_rig.h"
#include "tests/sim/dumped.h"

static double *load(const char *file, const char *dataset, bb_index *rows, bb_index *columns)
{
    autoclose(bb_matrix_file) matrix = opened(file, dataset);
    const bb_matrix_source *source = bb_matrix_file_source(matrix);
    *rows = source->rows;
    *columns = source->columns;
    double *values = new_array(double, *rows **columns);
    check_ok(bb_matrix_source_load(source, values));
    return values;
}

// The loop's commands equal the scored matrices times slopes in fp64, for every target, within
// Higham's bound for fp32 products and sums of n terms, and fp32 rounding of slopes, means and
// commands.
static void check_against_dump(rig *self, int pipeline, bb_index number, const float *commands)
{
    const bb_frame_loop *loop = self->loop;
    const float *slopes = loop->slopes + number * loop->matrices.slopes;
    bb_index begin = 0;
    for (int t = 0; t < loop->matrices.count; ++t) {
        char dataset[48];
        bb_index rows, columns;
        (void)snprintf(dataset, sizeof dataset, "/operators/R_%d_%d", pipeline, t);
        autofree double *r = load("scored.h5", dataset, &rows, &columns);
        assert_int_equal(columns, loop->matrices.slopes);
        for (bb_index i = 0; i < rows; ++i) {
            double y = 0.0;
            double magnitude = 0.0;
            for (bb_index j = 0; j < columns; ++j) {
                const double product =
                    r[i * columns + j] * (double)(slopes[j] - loop->reference[j]);
                y += product;
                magnitude += fabs(product);
            }
            check_close((double)commands[begin + i], y, 0x1p-24 * ((double)columns / 16.0 + 40.0),
                        magnitude);
        }
        begin += rows;
    }
    assert_int_equal(begin, loop->matrices.commands);
}

TEST(commands_are_those_of_what_is_scored)
{
    const driver_case commands = {CONFIG_AO_SMALL, {PIPELINES, "realtime.pipeline=scaled"}};
    rig self, scaled;
    bb_index n, columns;
    CALL_OK("run", CONFIG_AO_SMALL, PIPELINES, "device=cpu", "-q", "-o", "scored.h5", "--dump",
            "Cmm,R");
    rig_open(&self, CASE(CONFIG_AO_SMALL, {PIPELINES, "realtime.accumulate=fp32"}), 2);
    assert_string_equal(self.loop->pipeline->name, "both");
    assert_int_equal(self.loop->matrices.count, 2);
    assert_int_equal(self.loop->matrices.group_count, 6);
    for (bb_index k = 0; k < 2; ++k) {
        check_against_dump(&self, 1, k, step(&self, k));
    }
    // Commands of mirrors, with slopes divided by column scales.
    rig_open(&scaled, &commands, 2);
    assert_non_null(scaled.loop->matrices.stored[1].scales);
    assert_true(scaled.loop->matrices.commands != self.loop->matrices.commands);
    check_against_dump(&scaled, 3, 0, step(&scaled, 0));
    rig_close(&scaled);
    // Slopes have the covariance's variances, including the filtered part.
    autofree double *cmm = load("scored.h5", "/operators/Cmm", &n, &columns);
    double common = 0.0;
    for (bb_index j = 0; j < n; ++j) {
        const double own = self.loop->matrices.own[j];
        common = fmax(common, self.loop->matrices.common[j]);
        check_relative(own * own + pow(self.loop->matrices.common[j], 2.0), cmm[j * n + j], 1e-9);
    }
    assert_true(common > 0.0);
    rig_close(&self);
}

// Eight sets of n independent slopes: the mean square over the variance is 1 within
// 5 sqrt(2 / (8 n)).
TEST(slopes_are_spread_as_the_covariance_says)
{
    const driver_case study = {CONFIG_AO_SMALL,
                               {PIPELINES, "realtime.pipeline=fp16", "realtime.delay_frames=2"}};
    autocall(rig_close) rig self;
    double sum = 0.0;
    double distance = NAN;
    rig_open(&self, &study, 1);
    const bb_frame_matrices *matrices = &self.loop->matrices;
    const bb_index n = matrices->slopes;
    for (bb_index k = 0; k < BB_FRAME_SETS * n; ++k) {
        const double slope = (double)(self.loop->slopes[k] - self.loop->reference[k % n]);
        sum += pow(slope / matrices->own[k % n], 2.0) / (double)(BB_FRAME_SETS * n);
        assert_true(matrices->common[k % n] == 0.0);
    }
    check_close(sum, 1.0, 5.0 * sqrt(2.0 / (double)(BB_FRAME_SETS * n)), 1.0);
    check_ok(bb_frame_loop_compare(self.loop, &distance));
    assert_true(distance > 0.0 && distance < 1e-6);
    // After a reset, commands are delayed by two frames.
    assert_true(step(&self, 0)[0] == 0.0F && step(&self, 1)[0] == 0.0F);
    assert_true(step(&self, 2)[0] != 0.0F);
}

TEST(threads_change_no_bit)
{
    const driver_case cases[] = {
        {CONFIG_AO_SMALL, {PIPELINES, "realtime.controller=integrator", "realtime.gain=0.4"}},
        {CONFIG_AO_SMALL, {PIPELINES, DRAWN, "realtime.targets=2"}}};
    for (int c = 0; c < 2; ++c) {
        autofree float *one = NULL;
        for (bb_index threads = 1; threads <= 2; ++threads) {
            autocall(rig_close) rig self;
            const float *commands = NULL;
            rig_open(&self, &cases[c], threads);
            const bb_index count = self.loop->matrices.commands;
            for (bb_index k = 0; k < 3; ++k) {
                commands = step(&self, k);
            }
            if (one == NULL) {
                check_ok(BB_ALLOCATE(count, &one));
                memcpy(one, commands, (size_t)count * sizeof *one);
            }
            assert_memory_equal(one, commands, (size_t)count * sizeof *one);
        }
    }
}

// Rows shared by devices, here two of the CPU, including means and column scales.
TEST(shared_rows_give_the_same_commands)
{
    const driver_case cases[] = {
        {CONFIG_AO_SMALL, {PIPELINES, "realtime.pipeline=both", "realtime.delay_frames=1"}},
        {CONFIG_AO_SMALL, {PIPELINES, "realtime.pipeline=scaled"}},
        {CONFIG_AO_SMALL, {PIPELINES, "realtime.pipeline=fp16"}}};
    for (int c = 0; c < 3; ++c) {
        autocall(rig_close) rig one;
        rig_open(&one, &cases[c], 2);
        bb_device *const devices[2] = {one.cpu, one.cpu};
        rig two = {.cpu = one.cpu};
        check_ok(make_loop(one.loop->study, one.loop->pipeline, 2, devices, &two.loop));
        const bb_index count = one.loop->matrices.commands;
        for (bb_index k = 0; k < 3; ++k) {
            const float *expected = step(&one, k);
            assert_memory_equal(step(&two, k), expected, (size_t)count * sizeof *expected);
        }
        check_close(two.loop->operator_bytes, one.loop->operator_bytes, 1e-3,
                    one.loop->operator_bytes);
        BB_RELEASE(&two.commands);
        bb_frame_loop_destroy(&two.loop);
    }
}

TEST(devices_are_counted)
{
    const driver_case study = {CONFIG_AO_SMALL, {PIPELINES, DRAWN}};
    autocall(rig_close) rig self;
    bb_frame_loop *loop = NULL;
    rig_open(&self, &study, 1);
    check_fails(bb_frame_loop_create(self.loop->study, self.loop->pipeline, 0, &self.cpu,
                                     &self.loop->matrices, &loop),
                BB_INVALID, "0 devices of a frame, expected 1 to 8");
}

// Random matrices: one per target, all different, in the format of the storage.
TEST(drawn_matrices_are_as_they_are_asked_for)
{
    const driver_case study = {CONFIG_AO_SMALL,
                               {PIPELINES, DRAWN, "realtime.pipeline=fp16", "realtime.targets=3"}};
    autocall(rig_close) rig self;
    double distance = NAN;
    double square = 0.0;
    double row[401];
    double other[401];
    rig_open(&self, &study, 2);
    const bb_frame_matrices *matrices = &self.loop->matrices;
    assert_true(matrices->is_drawn);
    assert_int_equal(matrices->count, 3);
    assert_int_equal(matrices->commands, 180);
    assert_true(self.loop->operator_bytes >= 180.0 * 401.0 * 2.0);
    assert_true(self.loop->operator_bytes < 1.02 * 180.0 * 401.0 * 2.0);
    bb_coded_matrix_decode(matrices->stored[0].matrix, 7, 0, 401, row);
    bb_coded_matrix_decode(matrices->stored[1].matrix, 7, 0, 401, other);
    assert_memory_not_equal(row, other, sizeof row);
    // Mean square of an entry: that of 0.05 + 1 / (1 + 100 d^2) over both positions, 0.135 by
    // quadrature, within 5 deviations of 24,060 squared normal numbers.
    double expected = 0.0;
    for (bb_index i = 0; i < 60; ++i) {
        bb_coded_matrix_decode(matrices->stored[2].matrix, i, 0, 401, row);
        for (bb_index j = 0; j < 401; ++j) {
            square += pow(row[j] / bb_coded_matrix_row_scale(matrices->stored[2].matrix, i), 2.0) /
                      (60.0 * 401.0);
        }
        for (int k = 0; k < 1000; ++k) {
            const double d = ((double)i + 0.5) / 60.0 - ((double)k + 0.5) / 1000.0;
            expected += pow(0.05 + 1.0 / (1.0 + 100.0 * d * d), 2.0) / 60000.0;
        }
    }
    check_relative(square, expected, 0.06);
    check_ok(bb_frame_loop_compare(self.loop, &distance));
    assert_true(distance > 0.0 && distance < 1e-6);
}

TEST(what_a_loop_cannot_do_is_said)
{
    static const char *const plain[] = {PIPELINES, "learn.source=profile", NULL};
    const driver_case narrow = {
        CONFIG_AO_SMALL, {PIPELINES, "realtime.pipeline=fp16", "pipelines.2.accumulate=fp16"}};
    autorelease(bb_text) table = {0};
    autoptr(bb_config) config = driver_config(CASE(CONFIG_AO_SMALL, {NULL}));
    check_fails(bb_ao_realtime_run(bb_config_study(config), NULL, &table), BB_INVALID,
                "realtime needs a pipeline with an explicit `storage:`");
    bb_config_destroy(&config);
    check_ok(driver_load(CASE(CONFIG_AO_SMALL, {plain[0], plain[1]}), &config));
    check_fails(bb_ao_realtime_run(bb_config_study(config), NULL, &table), BB_UNSUPPORTED,
                "learn.source: the realtime loop needs the reconstructor of the true profile");
    bb_config_destroy(&config);
    check_ok(driver_load(&narrow, &config));
    check_fails(bb_ao_realtime_run(bb_config_study(config), NULL, &table), BB_UNSUPPORTED,
                "pipeline fp16, accumulate = fp16: the realtime loop sums in fp64 or fp32");
}

// The command, its table and its file, which state that matrices and slopes are random.
TEST(the_command_prints_and_writes)
{
    CALL_EXPECT(0, "60 commands from 401 slopes, integer 8 in the sweep", "realtime",
                CONFIG_AO_SMALL, PIPELINES, PACED, "-o", "frames.h5", "-q");
    program_expect(&run, 0, "1 random matrix, for timing only: nothing is solved");
    program_expect(&run, 0, "means of 16 groups of slopes are multiplied separately, in fp32");
    program_expect(&run, 0, "40 frames, released every 1 ms, by the host's clock");
    CALL_EXPECT(0, "10 frames, released back to back", "realtime", CONFIG_AO_SMALL, PIPELINES,
                "realtime.frames=10", "realtime.rate_hz=0");
    assert_null(strstr(run.printed, "drawn"));
    CALL_OK("plot", "frames.h5", "--kind", "latency", "-o", "frames.svg");
}

TEST(reports_are_declared)
{
    autorelease(bb_realtime_measurement) measured;
    autorelease(bb_text) table = {0};
    autocall(rig_close) rig self;
    rig_open(&self, CASE(CONFIG_AO_SMALL, {PIPELINES, PACED, "realtime.rate_hz=0"}), 1);
    check_ok(bb_frame_loop_measure(self.loop, &measured));
    autoptr(bb_results) results = empty_results();
    check_ok(bb_ao_realtime_report(self.loop, &measured, results, &table));
    driver_check_declared(bb_experiment_find(&bb_experiments, "ao"), results);
    assert_true(bb_results_find(results, "results/steps")->numbers[0] == 40.0);
    assert_true(bb_results_find(results, "results/commands")->numbers[0] == 60.0);
    assert_true(isnan(bb_results_find(results, "results/period_us")->numbers[0]));
    const bb_dataset *stages = bb_results_find(results, "results/stage_p50_us");
    assert_int_equal(stages->count, BB_FRAME_STAGES);
    check_close(stages->numbers[BB_COMMAND_PRODUCT],
                1e6 * measured.records[0].stage[BB_COMMAND_PRODUCT], 1e6, 1.0);
    assert_int_equal(bb_results_find(results, "worst/stage_us")->count,
                     BB_REALTIME_WORST * BB_FRAME_STAGES);
    measured.count = 0;
    check_fails(bb_ao_realtime_report(self.loop, &measured, results, &table), BB_INVALID,
                "interrupted before the first measured frame");
}

// Peak memory of a loop of random matrices, from creation to comparison, is within the plan and
// over half of it.
TEST(a_plan_holds_what_a_loop_takes)
{
    static const char *const storages[] = {"realtime.pipeline=fp16", "realtime.pipeline=both"};
    for (size_t s = 0; s < 2; ++s) {
        const driver_case study = {CONFIG_AO_SMALL,
                                   {PIPELINES, storages[s], "realtime.frames=100",
                                    "realtime.size={commands: 300, slopes: 4001}",
                                    "realtime.targets=2"}};
        const bb_ao_extent extent = {.threads = 2.0};
        autorelease(bb_realtime_measurement) measured;
        autocall(rig_close) rig self;
        const double peak = rig_peak(&self, &study, &measured);
        const double need =
            bb_ao_realtime_need(bb_config_study(self.config), &extent, 0, (bb_need){0}).host_bytes;
        print_message("%s: peak %.0f, need %.0f\n", storages[s], peak, need);
        assert_true(peak <= need && need <= 2.0 * peak);
    }
}

#define STORED(storage)                                                                            \
    "pipelines=[{name: reference, arithmetic: dp}, {name: p, arithmetic: dp, storage: " storage "}]"
#define OF_THE_CPU                                                                                 \
    "pipelines=[{name: reference, arithmetic: dp}, {name: p, arithmetic: dp, storage: fp16, "      \
    "device: cpu}]"

TEST(gpus_of_the_cpu_are_refused)
{
    CALL_EXPECT(2, "realtime.gpus = 2: no effect on the cpu, expected 1", "realtime",
                CONFIG_AO_SMALL, PIPELINES, DRAWN, "realtime.gpus=2", "realtime.frames=10",
                "device=cpu", "-q");
    CALL_EXPECT(2, "realtime.gpus = 2: pipeline p runs on the cpu, expected 1", "realtime",
                CONFIG_AO_SMALL, OF_THE_CPU, DRAWN, "realtime.gpus=2", "device=auto", "-q");
    CALL_EXPECT(2,
                "realtime.gpus = 4: expected at most one for each of "
                "realtime.size.commands = 3",
                "check", CONFIG_AO_SMALL, PIPELINES, "realtime.size={commands: 3, slopes: 40}",
                "realtime.gpus=4");
}

// Each GPU has its share of the rows, but a form that can only be copied whole has all of them.
TEST(a_plan_deals_the_rows)
{
    static const struct {
        const char *pipelines;
        double share;
    } cases[] = {{STORED("fp16"), 0.5}, {STORED("{codec: low_rank, tolerance: 1e-3}"), 1.0}};
    for (int c = 0; c < 2; ++c) {
        double bytes[2];
        for (int k = 0; k < 2; ++k) {
            const bb_ao_extent extent = {.threads = 2.0};
            autoptr(bb_config) config = driver_config(
                CASE(CONFIG_AO_SMALL, {cases[c].pipelines, "device=cuda", "solver.tile=128",
                                       "realtime.size={commands: 3000, slopes: 4001}",
                                       k == 0 ? "realtime.gpus=1" : "realtime.gpus=2"}));
            bytes[k] =
                bb_ao_realtime_need(bb_config_study(config), &extent, 0, (bb_need){0}).device_bytes;
        }
        check_close(bytes[1] / bytes[0], cases[c].share, 0.1, 1.0);
    }
}

// A plan's sizes are those of the loop, for slopes, commands and random matrices.
TEST(a_plan_names_the_sizes)
{
    static const char *const asked[] = {"realtime.pipeline=both", "realtime.pipeline=scaled",
                                        "correction=ltao", DRAWN};
    for (int k = 0; k < 4; ++k) {
        const driver_case study = {
            CONFIG_AO_SMALL, {PIPELINES, asked[k], k == 2 ? "realtime.pipeline=both" : "title=x"}};
        autorelease(bb_plan) plan = {0};
        char line[80];
        autocall(rig_close) rig self;
        rig_open(&self, &study, 1);
        check_ok(driver_plan_loaded(self.config, 1, &plan));
        (void)snprintf(line, sizeof line, "%td commands from %td slopes",
                       self.loop->matrices.commands, self.loop->matrices.slopes);
        assert_non_null(strstr(bb_text_string(&plan.lines), line));
    }
}

// Every failed allocation is an error and leaves no partial result.
static bb_status run_alone(void *context)
{
    bb_status status = BB_OK;
    autoptr(bb_results) results = NULL;
    autorelease(bb_text) table = {0};
    BB_TRY(bb_results_create(&results));
    BB_TRY(bb_ao_realtime_run(bb_config_study(context), results, &table));
done:
    return status;
}

TEST_FULL(no_failed_allocation_is_lost)
{
    check_ok(bb_threads_set(1));
    autoptr(bb_config) config = driver_config(
        CASE(CONFIG_AO_SMALL, {PIPELINES, "realtime.frames=2", "realtime.warm_up_frames=0",
                               "realtime.rate_hz=0", "realtime.size={commands: 5, slopes: 40}"}));
    allocation_walk("a loop of frames", run_alone, config, 1, 20);
}

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true);
