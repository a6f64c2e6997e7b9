// SPDX-License-Identifier: Apache-2.0
//
// Collections: every number of every point at its position, and the statistics of choices.
#include "sim/input/hdf5_library.h"
#include "sim/output/reader.h"
#include "sim/sweep/choice_statistics.h"
#include "tests/sim/sweep/toy_sweep.h"

#include <sys/wait.h>

typedef struct gathered {
    bb_sweep_plan *plan;
    bb_sweep_progress progress;
    bb_collection *collection;
} gathered;

static void gather(gathered *all, const char *sweep, const char *folder)
{
    all->plan = toy_planned(sweep, folder);
    (void)toy_run_all(all->plan, 2);
    all->progress = toy_progress(all->plan);
    check_ok(bb_collection_read(all->plan, &all->progress, &all->collection));
}

static void release(gathered *all)
{
    bb_collection_destroy(&all->collection);
    bb_sweep_progress_release(&all->progress);
    bb_sweep_plan_destroy(&all->plan);
}

TEST(a_full_sweep_is_dense)
{
    autocall(release) gathered all;
    gather(&all,
           "sweep: {axes: {air.r0_m: [1, 2, 4], pipelines.a.width: [3, 5]}, "
           "keep: [series]}\n",
           "dense");
    assert_true(all.collection->dense);
    autoptr(bb_results) results = empty_results();
    check_ok(bb_collection_publish(all.collection, results));
    const bb_dataset *error = dataset_at(results, "results/toy_error");
    assert_int_equal(error->rank, 3);
    assert_string_equal(error->axes[0], "r0_m");
    assert_string_equal(error->axes[1], "width");
    assert_string_equal(error->axes[2], "pipeline");
    const double r0[] = {1.0, 2.0, 4.0};
    for (int i = 0; i < 3; ++i) {
        for (int w = 0; w < 2; ++w) {
            const double *row = error->numbers + (2 * i + w) * 3;
            assert_true(row[0] == r0[i] && row[1] == r0[i] / (w == 0 ? 8.0 : 32.0) &&
                        row[2] == r0[i] / 4.0);
        }
    }
    const bb_dataset *axis = dataset_at(results, "r0_m");
    assert_true(axis->is_axis && strcmp(axis->unit, "m") == 0);
    assert_memory_equal(axis->numbers, r0, sizeof r0);
    const bb_dataset *series = dataset_at(results, "results/series");
    assert_int_equal(series->rank, 4);
    assert_string_equal(series->axes[3], "step");
    assert_true(series->numbers[((2 * 2 + 1) * 3 + 1) * 3 + 2] == 106.0);
    assert_true(dataset_at(results, "step")->numbers[2] == 30.0);
    assert_true(dataset_at(results, "results/toy_time_s")->measured);
    assert_string_equal(dataset_at(results, "results/status")->texts[17], "ok");
    assert_int_equal(dataset_at(results, "results/length_seen")->rank, 2);
    assert_int_equal(strlen(dataset_at(results, "results/point_id")->texts[5]), 32);
}

TEST(excluded_and_failed_points_leave_runs_and_nan)
{
    autorelease(bb_text) text = {0};
    autocall(release) gathered all;
    gather(&all,
           "sweep: {axes: {air.r0_m: [1, 2], act: [0, 7]}, "
           "exclude: [{air.r0_m: 1, act: 7}]}\n",
           "runs");
    assert_false(all.collection->dense);
    autoptr(bb_results) results = empty_results();
    check_ok(bb_collection_publish(all.collection, results));
    const bb_dataset *error = dataset_at(results, "results/toy_error");
    assert_true(error->rank == 2 && error->shape[0] == 3 && error->shape[1] == 3);
    assert_string_equal(error->axes[0], "run");
    assert_true(error->numbers[0] == 1.0 && error->numbers[3] == 2.0 && isnan(error->numbers[6]));
    assert_true(dataset_at(results, "run")->numbers[2] == 3.0); // the number of the point
    assert_true(dataset_at(results, "r0_m")->numbers[2] == 2.0 &&
                dataset_at(results, "act")->numbers[2] == 7.0);
    assert_true(dataset_at(results, "r0_m")->is_coordinate &&
                dataset_at(results, "act")->is_coordinate);
    assert_string_equal(dataset_at(results, "results/point_status")->texts[2], "internal");
    assert_string_equal(dataset_at(results, "results/status")->texts[8], "");
    check_ok(bb_collection_list(all.collection, &text));
    assert_non_null(strstr(bb_text_string(&text), "point,r0_m,act,point_status,pipeline,"));
    assert_non_null(strstr(bb_text_string(&text), "\n2,2,0,done,b,"));
    assert_non_null(strstr(bb_text_string(&text), "\n3,2,7,internal,reference,"));
}

TEST(pipelines_and_datasets_may_differ_from_point_to_point)
{
    autocall(release) gathered all;
    gather(&all,
           "sweep: {zip: {pipelines: [[{name: x}], [{name: y, width: 1}, "
           "{name: x, width: 2}]], air.r0_m: [8, 8]}, seeds: 1..2}\n",
           "differ");
    const bb_collection *them = all.collection;
    assert_int_equal(them->pipeline_count, 2);
    assert_string_equal(them->pipelines[0], "x");
    assert_true(bb_collection_number(them, "toy_error", 0, 0) == 8.0);
    assert_true(isnan(bb_collection_number(them, "toy_error", 0, 1)));
    assert_null(bb_collection_text(them, "status", 0, 1));
    assert_true(bb_collection_number(them, "toy_error", 3, 0) == 2.0);
    assert_true(bb_collection_number(them, "toy_error", 3, 1) == 4.0);
    release(&all);
    // A dataset that only the third point has.
    gather(&all, "sweep: {zip: {act: [0, 0, 9, 0], length_m: [1, 2, 3, 4]}}\n", "more");
    assert_true(bb_collection_number(all.collection, "more", 2, 1) == 3.0);
    assert_true(isnan(bb_collection_number(all.collection, "more", 1, 1)));
    assert_true(isnan(bb_collection_number(all.collection, "more", 3, 1)));
}

TEST(what_is_not_there_cannot_be_kept)
{
    bb_shard_report report;
    autoptr(bb_sweep_plan) plan = toy_planned("sweep: {seeds: 1..2, keep: [nothing]}\n", "nothing");
    const bb_shard_request request = {.plan = plan, .jobs = 1, .threads = 1};
    check_fails(bb_shard_run(&request, &report), BB_INVALID, "no dataset 'nothing'");
}

TEST(incomplete_plans_are_collected_on_request_only)
{
    autorelease(bb_text) answer = {0};
    bb_shard_report report;
    const bb_index first = 1;
    autoptr(bb_sweep_plan) plan = toy_planned("sweep: {seeds: 1..4, shards: 2}\n", "part");
    bb_sweep_collect_request collect = {
        .plan = plan, .csv = "part.csv", .output = "part.h5", .max_loss = NAN};
    autoptr(bb_results) results = NULL;
    check_ok(bb_hdf5_library_start());
    check_fails(bb_sweep_collect(&collect, &answer), BB_INVALID, "no point has been run");
    const bb_shard_request request = {
        .plan = plan, .shards = &first, .shard_count = 1, .jobs = 1, .threads = 1};
    check_ok(bb_shard_run(&request, &report));
    check_fails(bb_sweep_collect(&collect, &answer), BB_INVALID, "2 points are missing");
    assert_int_not_equal(access("part.csv", F_OK), 0);
    collect.partial = true;
    check_ok(bb_sweep_collect(&collect, &answer));
    assert_non_null(strstr(bb_text_string(&answer), "2 of 4 done, 2 to do"));
    assert_non_null(strstr(bb_text_string(&answer),
                           "finish at every condition that was run.\n"
                           "Partial result: 2 of 4 planned points were run.\n"));
    assert_int_equal(access("part.csv", F_OK), 0);
    check_ok(bb_reader_read_all("part.h5", "", &results));
    assert_string_equal(bb_results_note_text(results, "", "status"), "partial");
    assert_string_equal(bb_results_note_text(results, "", "status_reason"),
                        "2 of 4 planned points were run");
    assert_true(isnan(
        dataset_at(results, "statistics/safe")->numbers[0])); // two pending points may still fail
    run_python("import h5py\na = h5py.File('part.h5').attrs\n"
               "assert a['points_planned'] == 4 and a['points_run'] == 2\n");
}

// Every loss is known at point 0; at point 1 that of the reference is unknown.
TEST(a_pipeline_with_an_unknown_loss_has_not_failed)
{
    static const char line[] =
        "\"seconds\":1,\"id\":\"%032d\",\"digest\":\"%032d\",\"pipelines\":[\"reference\",\"a\"],"
        "\"datasets\":[{\"name\":\"status\",\"axes\":[\"pipeline\"],\"shape\":[2],\"text\":true},"
        "{\"name\":\"toy_error\",\"axes\":[\"pipeline\"],\"shape\":[2],\"unit\":\"nm\"},"
        "{\"name\":\"operator_bytes\",\"axes\":[\"pipeline\"],\"shape\":[2],\"unit\":\"byte\"}],"
        "\"numbers\":{\"toy_error\":[%s,2],\"operator_bytes\":[1e6,2e6]},"
        "\"texts\":{\"status\":[\"ok\",\"%s\"]}}";
    autorelease(bb_text) lines = {0}, text = {0};
    autorelease(bb_choices) choices;
    autocall(release)
        gathered all = {.plan = toy_planned("sweep: {seeds: 1..2, shards: 1}\n", "without_loss")};
    check_ok(bb_text_add(&lines, "{\"plan\":\"%s\",\"shard\":1}\n", all.plan->id));
    for (int p = 0; p < 2; ++p) {
        const bb_point_record head = {p, BB_POINT_DONE, 0, 1};
        char rest[1024];
        (void)snprintf(rest, sizeof rest, line, p + 1, p + 1, p == 0 ? "1" : "null",
                       p == 0 ? "ok" : "not_spd");
        check_ok(bb_point_record_write(&head, 1.0, rest, &lines));
    }
    write_text("without_loss/shards/1.local.0.0.jsonl", bb_text_string(&lines));
    all.progress = toy_progress(all.plan);
    check_ok(bb_collection_read(all.plan, &all.progress, &all.collection));
    check_ok(bb_choices_find(all.collection, &choices));
    const bb_choice *reference = &choices.choices[0], *a = &choices.choices[1];
    assert_true(reference->points == 2 && reference->failed == 0 && reference->without_loss == 1);
    assert_true(reference->loss_worst == 1.0 && reference->operator_bytes == 1e6);
    assert_true(a->failed == 1 && a->without_loss == 0 && a->loss_worst == 2.0);
    check_ok(bb_choices_list(&choices, all.collection, 5.0, &text));
    assert_non_null(strstr(bb_text_string(&text),
                           "1 of 2 choices finish at every condition.\n"
                           "Loss unknown: reference (1 of 2).\n"
                           "None stays within error [nm] 5 at every condition.\n"));
    autoptr(bb_results) results = empty_results();
    check_ok(bb_choices_publish(&choices, "nm", results));
    assert_true(dataset_at(results, "statistics/points_without_loss")->numbers[0] == 1.0);
    assert_true(dataset_at(results, "statistics/safe")->numbers[0] == 1.0);
    bb_text_release(&text);
}

// Records of an earlier version, with the former names of datasets.
TEST(former_names_of_datasets_are_read)
{
    static const char rest[] =
        "\"seconds\":1,\"id\":\"%032d\",\"digest\":\"%032d\",\"pipelines\":[\"reference\",\"a\"],"
        "\"datasets\":[{\"name\":\"status\",\"axes\":[\"pipeline\"],\"shape\":[2],\"text\":true},"
        "{\"name\":\"draws\",\"axes\":[\"pipeline\"],\"shape\":[2],\"unit\":\"1\"},"
        "{\"name\":\"price_worst\",\"axes\":[\"pipeline\"],\"shape\":[2],\"unit\":\"nm\"}],"
        "\"numbers\":{\"draws\":[4,4],\"price_worst\":[0.5,2]},"
        "\"texts\":{\"status\":[\"ok\",\"ok\"]}}";
    autorelease(bb_text) lines = {0};
    autorelease(bb_choices) choices;
    autocall(release)
        gathered all = {.plan = toy_planned("sweep: {seeds: 1..1, shards: 1}\n", "former")};
    const bb_point_record head = {0, BB_POINT_DONE, 0, 1};
    char text[1024];
    (void)snprintf(text, sizeof text, rest, 1, 1);
    check_ok(bb_text_add(&lines, "{\"plan\":\"%s\",\"shard\":1}\n", all.plan->id));
    check_ok(bb_point_record_write(&head, 1.0, text, &lines));
    write_text("former/shards/1.local.0.0.jsonl", bb_text_string(&lines));
    all.progress = toy_progress(all.plan);
    check_ok(bb_collection_read(all.plan, &all.progress, &all.collection));
    assert_true(bb_collection_number(all.collection, "loss_worst", 0, 1) == 2.0);
    assert_true(bb_collection_number(all.collection, "price_worst", 0, 1) == 2.0); // of a plan
    check_ok(bb_choices_find(all.collection, &choices));
    assert_true(choices.choices[0].loss_worst == 0.5 && choices.choices[1].loss_worst == 2.0);
    autoptr(bb_results) results = empty_results();
    check_ok(bb_collection_publish(all.collection, results));
    assert_null(bb_results_find(results, "results/price_worst"));
    assert_non_null(bb_results_find(results, "results/loss_worst"));
}

static const bb_choice *find_choice(const bb_choices *choices, const char *name,
                                    const char *setting)
{
    for (bb_index i = 0; i < choices->count; ++i) {
        if (strcmp(choices->choices[i].name, name) == 0 &&
            strcmp(choices->choices[i].setting, setting) == 0) {
            return &choices->choices[i];
        }
    }
    print_error("no choice %s (%s)\n", name, setting);
    fail();
    return NULL;
}

// Ten conditions r0 = 1 ... 10; b and a fail above 8.
TEST(choices_have_the_statistics_that_a_hand_gives_them)
{
    autorelease(bb_choices) choices;
    autorelease(bb_text) text = {0};
    autocall(release) gathered all;
    gather(&all,
           "sweep: {axes: {pipelines.a.width: [1, 3], "
           "air.r0_m: {from: 1, to: 10, step: 1}, breaks_m: [8]}}\n",
           "choices");
    check_ok(bb_choices_find(all.collection, &choices));
    assert_int_equal(choices.count, 4); // reference, a with two widths, b
    const bb_choice *reference = find_choice(&choices, "reference", "");
    assert_true(reference->points == 20 && reference->failed == 0);
    assert_true(reference->loss_median == 5.5 && reference->loss_worst == 10.0);
    const bb_choice *wide = find_choice(&choices, "a", "width 3");
    assert_true(wide->points == 10 && wide->failed == 2 && wide->share_failed == 0.2);
    // Losses 1/8 ... 8/8: the median is half-way, and 99 % of seven gaps is 6.93.
    check_relative(wide->loss_median, 4.5 / 8.0, 1e-14);
    check_relative(wide->loss_p99, (1.0 + 6.93) / 8.0, 1e-14);
    assert_true(wide->loss_worst == 1.0 && wide->worst_point == 10 + 7);
    assert_true(wide->bits_per_value == 4.0 && wide->operator_bytes == 4e6);
    // Clopper and Pearson's bound for 2 of 10, 95 % one-sided, is 0.5069.
    check_close(wide->failure_bound, 0.50690, 1e-5, 1.0);
    assert_true(find_choice(&choices, "b", "")->failed == 4);
    check_ok(bb_choices_list(&choices, all.collection, 20.0, &text));
    assert_non_null(strstr(bb_text_string(&text), "1 of 4 choices finish at every condition"));
    assert_non_null(strstr(bb_text_string(&text), "at every condition: reference, at worst 10 ("));
    text.length = 0;
    check_ok(bb_choices_list(&choices, all.collection, 0.5, &text));
    assert_non_null(strstr(bb_text_string(&text), "None stays within error [nm] 0.5"));
}

TEST(many_settings_are_told_apart)
{
    autorelease(bb_choices) choices;
    autocall(release) gathered all;
    gather(&all,
           "sweep: {axes: {pipelines.a.width: {from: 0, to: 19, step: 1}, "
           "pipelines.b.width: {from: 0, to: 19, step: 1}}}\n",
           "settings");
    check_ok(bb_choices_find(all.collection, &choices));
    assert_int_equal(choices.count, 1 + 20 + 20);
    for (bb_index i = 0; i < choices.count; ++i) {
        assert_int_equal(choices.choices[i].points, i == 0 ? 400 : 20);
        assert_true(choices.choices[i].loss_median == choices.choices[i].loss_worst);
    }
    assert_true(find_choice(&choices, "b", "pipelines_b_width 7")->loss_worst == 1.0 / 128.0);
}

// Adds a line as written by a worker, for a point on a grid of 100 x 100.
static void add_line(bb_index point, bb_text *out)
{
    const double r0 = 1.0 + (double)(point / 100);
    const bb_index width = point % 100;
    static const char described[] =
        "\"datasets\":[{\"name\":\"status\",\"axes\":[\"pipeline\"],\"shape\":[2],\"text\":true},"
        "{\"name\":\"toy_error\",\"axes\":[\"pipeline\"],\"shape\":[2],\"unit\":\"nm\","
        "\"long_name\":\"error\"},"
        "{\"name\":\"compression_ratio\",\"axes\":[\"pipeline\"],\"shape\":[2],\"unit\":\"1\"},"
        "{\"name\":\"operator_bytes\",\"axes\":[\"pipeline\"],\"shape\":[2],\"unit\":\"byte\"}],";
    const bb_point_record head = {point, BB_POINT_DONE, 0, 1};
    autorelease(bb_text) rest = {0};
    check_ok(
        bb_text_add(&rest,
                    "\"seconds\":0.25,\"id\":\"%032tx\",\"digest\":\"%032tx\","
                    "\"pipelines\":[\"reference\",\"a\"],%s"
                    "\"numbers\":{\"toy_error\":[%.17g,%.17g],\"compression_ratio\":[32,%.17g],"
                    "\"operator_bytes\":[8,%.17g]},\"texts\":{\"status\":[\"ok\",\"ok\"]}}",
                    point, 3 * point, point < 10 ? described : "", r0, r0 / (double)(width + 1),
                    32.0 / (double)(width + 1), (double)(width + 1)));
    check_ok(bb_point_record_write(&head, 0.25, bb_text_string(&rest), out));
}

TEST(ten_thousand_points_are_collected)
{
    autorelease(bb_text) answer = {0};
    autocall(release)
        gathered all = {.plan = toy_planned("sweep: {axes: {air.r0_m: {from: 1, to: 100, step: 1}, "
                                            "pipelines.a.width: {from: 0, to: 99, step: 1}}, "
                                            "shards: 10}\n",
                                            "large")};
    for (bb_index shard = 0; shard < 10; ++shard) {
        autorelease(bb_text) lines = {0};
        char path[64];
        check_ok(bb_text_add(&lines, "{\"plan\":\"%s\",\"shard\":%td}\n", all.plan->id, shard + 1));
        for (bb_index p = shard; p < 10000; p += 10) {
            add_line(p, &lines);
        }
        (void)snprintf(path, sizeof path, "large/shards/%td.local.0.0.jsonl", shard + 1);
        write_text(path, bb_text_string(&lines));
    }
    all.progress = toy_progress(all.plan);
    assert_int_equal(all.progress.counts[BB_POINT_DONE], 10000);
    assert_int_equal(all.progress.open + all.progress.torn, 0);
    check_ok(bb_collection_read(all.plan, &all.progress, &all.collection));
    assert_true(all.collection->dense);
    const bb_collected *error = bb_collection_find(all.collection, "toy_error");
    for (bb_index p = 0; p < 10000; ++p) {
        const double r0 = 1.0 + (double)(p / 100);
        assert_true(error->numbers[2 * p] == r0);
        assert_true(error->numbers[2 * p + 1] == r0 / (double)(p % 100 + 1));
        assert_string_equal(bb_collection_text(all.collection, "status", p, 1), "ok");
    }
    const bb_sweep_collect_request collect = {
        .plan = all.plan, .csv = "large.csv", .max_loss = 1.0};
    check_ok(bb_sweep_collect(&collect, &answer));
    // For width 99 the worst is 100 / 100: only it stays within 1.
    assert_non_null(
        strstr(bb_text_string(&answer), "at every condition: a (width 99), at worst 1"));
    assert_int_equal(system("test $(wc -l < large.csv) -eq 20001"), 0);
}

// Plans, runs and collects a sweep into a file.
static void collect_file(const char *sweep, const char *folder, const char *file)
{
    autorelease(bb_text) answer = {0};
    char program[] = "bitbudget";
    char *arguments[] = {program};
    autoptr(bb_sweep_plan) plan = toy_planned(sweep, folder);
    (void)toy_run_all(plan, 1);
    const bb_sweep_collect_request request = {.plan = plan,
                                              .output = file,
                                              .max_loss = NAN,
                                              .argument_count = 1,
                                              .arguments = arguments,
                                              .threads = 1};
    check_ok(bb_sweep_collect(&request, &answer));
}

TEST(xarray_opens_a_collection_with_both_engines)
{
    check_ok(bb_hdf5_library_start());
    collect_file("sweep: {axes: {air.r0_m: [1, 2], pipelines.a.width: [3, 5, 7]}, "
                 "keep: [series]}\n",
                 "opened", "all.h5");
    collect_file("sweep: {lhs: {samples: 4, keys: {air.r0_m: {from: 1, to: 2}}}, "
                 "zip: {length_m: [1, 2], count: [3, 4]}}\n",
                 "samples", "samples.h5");
    collect_file("sweep: {axes: {count: [3, 4]}, seeds: 1..2}\n", "seeds", "seeds.h5");
    const int how = system("/usr/bin/python3 '" BB_SOURCE_DIR
                           "/tests/sim/sweep/read_collection.py' all.h5 samples.h5 seeds.h5");
    if (WIFEXITED(how) && (WEXITSTATUS(how) == 77 || WEXITSTATUS(how) == 127)) {
        skip();
    }
    assert_int_equal(how, 0);
}

TEST_GROUP(.begin = toy_begin, .has_folder = true);
