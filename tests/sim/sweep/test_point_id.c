// SPDX-License-Identifier: Apache-2.0
//
// Id of a point: changes that affect it and changes that do not. Also the sealed plan that it comes
// from.
#include "tests/sim/sweep/toy_sweep.h"

// With the files named by earlier points.
static void find_next_id(const char *base, const char *const *overrides, bb_index count,
                         bb_device_kind device, bb_point_files *files, char id[BB_DIGEST_BYTES])
{
    autoptr(bb_config) config = NULL;
    autorelease(bb_problems) problems = {0};
    write_text("id.yaml", base);
    check_ok(bb_experiment_load(&toys, "id.yaml", overrides, count, &problems, &config));
    check_ok(bb_sweep_point_id(config, device, files, id));
}

static void find_id(const char *base, const char *const *overrides, bb_index count,
                    bb_device_kind device, char id[BB_DIGEST_BYTES])
{
    bb_point_files files = {0};
    find_next_id(base, overrides, count, device, &files, id);
}

static void compare(const char *a, const char *b, bool same)
{
    char ids[2][BB_DIGEST_BYTES];
    find_id(toy_base, &a, 1, BB_DEVICE_CPU, ids[0]);
    find_id(toy_base, &b, 1, BB_DEVICE_CPU, ids[1]);
    if ((strcmp(ids[0], ids[1]) == 0) != same) {
        print_error("%s and %s: expected %s ids\n", a, b, same ? "equal" : "different");
        fail();
    }
}

TEST(an_id_is_of_what_is_computed)
{
    compare("length_m=3.10", "length_m=31e-1", true);
    compare("length_m=3.1", "length_m=3.1000000000000005", false);
    compare("title=a", "title=b", true);
    compare("device=auto", "device=cpu", true); // where auto gives the cpu
    compare("seed=1", "seed=2", false);
    compare("pipelines.a.width=1", "pipelines.a.width=2", false);
    compare("pipelines.a.name=a", "pipelines.a.name=z", false);
    char ids[2][BB_DIGEST_BYTES];
    const char *automatic = "device=auto";
    find_id(toy_base, &automatic, 1, BB_DEVICE_CPU, ids[0]);
    find_id(toy_base, &automatic, 1, BB_DEVICE_CUDA, ids[1]);
    assert_string_not_equal(ids[0], ids[1]);
    // The order of keys and comments are irrelevant.
    find_id("pipelines: [{name: reference}]\nlength_m: 4\nexperiment: toy\n", NULL, 0,
            BB_DEVICE_CPU, ids[0]);
    find_id("experiment: toy # a remark\nlength_m: 4.0\npipelines:\n  - name: reference\n", NULL, 0,
            BB_DEVICE_CPU, ids[1]);
    assert_string_equal(ids[0], ids[1]);
}

TEST(a_file_counts_by_its_contents)
{
    char ids[4][BB_DIGEST_BYTES];
    const char *files[] = {"file=first.dat", "file=second.dat", "file=other.dat"};
    write_text("first.dat", "one");
    write_text("second.dat", "one");
    write_text("other.dat", "two");
    for (int i = 0; i < 3; ++i) {
        find_id(toy_base, &files[i], 1, BB_DEVICE_CPU, ids[i]);
    }
    assert_string_equal(ids[0], ids[1]);
    assert_string_not_equal(ids[0], ids[2]);
    write_text("second.dat", "two");
    find_id(toy_base, &files[1], 1, BB_DEVICE_CPU, ids[3]);
    assert_string_equal(ids[3], ids[2]);
}

TEST(files_whose_paths_begin_alike_are_told_apart)
{
    char ids[3][BB_DIGEST_BYTES];
    bb_point_files files = {0};
    const char *const names[] = {"file=rows.dat", "file=rows.dat.old"};
    write_text("rows.dat", "one");
    write_text("rows.dat.old", "two");
    find_id(toy_base, &names[1], 1, BB_DEVICE_CPU, ids[0]);
    find_next_id(toy_base, &names[1], 1, BB_DEVICE_CPU, &files, ids[1]);
    assert_string_equal(ids[0], ids[1]);
    find_next_id(toy_base, &names[0], 1, BB_DEVICE_CPU, &files, ids[2]);
    assert_string_not_equal(ids[0], ids[2]);
    find_next_id(toy_base, &names[1], 1, BB_DEVICE_CPU, &files, ids[1]);
    assert_string_equal(ids[0], ids[1]);
}

TEST(points_are_numbered_with_the_last_axis_fastest)
{
    bb_sweep_plan *plan =
        toy_planned("sweep: {axes: {air.r0_m: [1, 2, 3], length_m: [4, 5]}, seeds: 1..2}\n", NULL);
    autorelease(bb_text) text = {0};
    assert_int_equal(plan->sweep->point_count, 12);
    check_ok(bb_sweep_describe(plan->sweep, 7, plan->sweep->axes.count, &text));
    assert_string_equal(bb_text_string(&text), "r0_m 2, length_m 5, seed 2");
    bb_sweep_plan_destroy(&plan);
}

// Unordered values are listed by their range, without sixteen digits.
TEST(ranges_are_told_by_their_ends)
{
    autoptr(bb_sweep_plan) plan =
        toy_planned("sweep: {zip: {air.r0_m: [0.96899041920525, 2, 0.41]}, "
                    "axes: {count: [7, 5, 6]}}\n",
                    NULL);
    autorelease(bb_text) text = {0};
    check_ok(bb_sweep_plan_list(plan, &text));
    assert_non_null(strstr(bb_text_string(&text), " 3 values, 0.41 to 2\n"));
    assert_non_null(strstr(bb_text_string(&text), " 3 values, 5 to 7\n"));
    bb_text_release(&text);
    bb_sweep_plan_destroy(&plan);
    plan = toy_planned("sweep: {axes: {air.r0_m: [0.96899041920525, 0.41]}}\n", NULL);
    check_ok(bb_sweep_plan_list(plan, &text));
    assert_non_null(strstr(bb_text_string(&text), " 2 values, 0.41 to 0.969\n"));
}

static void spoil(const char *path, const char *old, const char *spoilt)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    char *found = strstr(text, old);
    assert_non_null(found);
    assert_int_equal(strlen(old), strlen(spoilt));
    memcpy(found, spoilt, strlen(spoilt));
    write_text(path, text);
}

TEST(a_sealed_plan_is_as_it_was)
{
    bb_sweep_plan *plan = toy_planned("sweep: {axes: {air.r0_m: [1, 2]}}\n", "sealed");
    bb_sweep_plan *opened = NULL;
    check_ok(bb_sweep_plan_open(&toys, "sealed", &opened));
    assert_string_equal(opened->id, plan->id);
    assert_int_equal(opened->shards, plan->shards);
    bb_sweep_plan_destroy(&opened);
    // The same plan is accepted again; another one is not.
    check_ok(bb_sweep_plan_write(plan, "sealed"));
    bb_sweep_plan_destroy(&plan);
    check_fails(toy_try_plan(toy_base, "sweep: {axes: {air.r0_m: [1, 3]}}\n", "sealed", &plan),
                BB_IO, "has plan");
    spoil("sealed/plan.json", "air.r0_m", "air.r0_n");
    check_fails(bb_sweep_plan_open(&toys, "sealed", &opened), BB_IO, "changed after it was");
    write_text("sealed/plan.json", "{\"plan\": 3");
    check_fails(bb_sweep_plan_open(&toys, "sealed", &opened), BB_IO, "is not the plan of a sweep");
    check_fails(bb_sweep_plan_open(&toys, "nowhere", &opened), BB_IO, "no plan.json");
}

// Plan with other numerics, sealed again.
TEST(other_numerics_are_refused)
{
    char command[1000];
    bb_sweep_plan *plan = toy_planned("sweep: {axes: {air.r0_m: [1, 2]}}\n", "numerics");
    bb_sweep_plan *opened = NULL;
    bb_sweep_plan_destroy(&plan);
    (void)snprintf(command, sizeof command, "sed -i 's/\"numerics\": %d/\"numerics\": %d/' %s",
                   BB_NUMERICS, BB_NUMERICS + 1, "numerics/plan.json");
    assert_int_equal(system(command), 0);
    check_fails(bb_sweep_plan_open(&toys, "numerics", &opened), BB_IO, "changed after it was");
    // The message gives the digest of its contents: with that id it is sealed, but still refused.
    const char *id = strstr(bb_status_message(), "of its contents ");
    assert_non_null(id);
    (void)snprintf(command, sizeof command,
                   "sed -i 's/\"plan\": \"[0-9a-f]*\"/\"plan\": \"%.32s\"/' numerics/plan.json",
                   id + strlen("of its contents "));
    assert_int_equal(system(command), 0);
    check_fails(bb_sweep_plan_open(&toys, "numerics", &opened), BB_IO, "for numerics 2");
}

TEST(files_may_go_once_it_is_planned)
{
    bb_sweep_plan *plan = NULL;
    autoptr(bb_sweep_plan) opened = NULL;
    write_text("below.yaml", toy_base);
    write_text("values.csv", "air.r0_m,length_m\n1,7\n2,8\n");
    check_ok(toy_try_plan("base: below.yaml\n", "sweep: {table: values.csv, seeds: 1..2}\n", "kept",
                          &plan));
    bb_sweep_plan_destroy(&plan);
    assert_int_equal(unlink("below.yaml") + unlink("values.csv") + unlink("plan.yaml"), 0);
    check_ok(bb_sweep_plan_open(&toys, "kept", &opened));
    assert_int_equal(toy_run_all(opened, 1).done, 4);
}

TEST(a_named_file_that_changed_stops_the_run)
{
    autoptr(bb_sweep_plan) plan = NULL;
    bb_shard_report report;
    write_text("data.dat", "one");
    char base[1000];
    (void)snprintf(base, sizeof base, "file: data.dat\n%s", toy_base);
    check_ok(toy_try_plan(base, "sweep: {axes: {air.r0_m: [1, 2]}}\n", "changed", &plan));
    write_text("data.dat", "two");
    const bb_shard_request request = {.plan = plan, .jobs = 1, .threads = 1};
    check_fails(bb_shard_run(&request, &report), BB_INVALID, "changed since the sweep was planned");
}

TEST(a_random_seed_is_drawn_when_it_is_planned)
{
    autoptr(bb_sweep_plan) plan = NULL;
    bb_sweep_plan *opened = NULL;
    char base[1000];
    bb_index seeds[3];
    (void)snprintf(base, sizeof base, "seed: random\n%s", toy_base);
    check_ok(toy_try_plan(base, "sweep: {axes: {air.r0_m: [1, 2]}}\n", "random", &plan));
    for (int i = 0; i < 3; ++i) {
        bb_problems problems = {0};
        autoptr(bb_config) config = NULL;
        check_ok(bb_sweep_plan_open(&toys, "random", &opened));
        check_ok(bb_sweep_bind(i == 2 ? plan->sweep : opened->sweep, i % 2, &problems, &config));
        seeds[i] = ((const bb_study *)bb_config_study(config))->seed;
        bb_sweep_plan_destroy(&opened);
    }
    assert_true(seeds[0] == seeds[1] && seeds[0] == seeds[2]);
}

TEST_GROUP(.begin = toy_begin, .has_folder = true);
