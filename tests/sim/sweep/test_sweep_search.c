// SPDX-License-Identifier: Apache-2.0
//
// Searches: the best step follows from the toy's losses and is found in few generations.
#include "sim/sweep/collection.h"
#include "sim/sweep/sweep_search.h"
#include "tests/sim/sweep/toy_sweep.h"

// Runs all generations and returns their number; `points` is the number of points run.
static bb_index search(const char *sweep, const char *folder, bb_index *points, bb_text *answer)
{
    autoptr(bb_sweep_plan) plan = toy_planned(sweep, folder);
    const bb_index count = plan->sweep->point_count;
    bool finished = false;
    bb_index generations = 0;
    autofree bool *wanted = new_zeros(bool, count);
    *points = 0;
    while (!finished) {
        bb_index generation = 0;
        bb_index open = 0;
        bool advanced = false;
        bb_shard_report report;
        check_ok(bb_sweep_search_wanted(plan, wanted, &generation));
        assert_int_equal(generation, generations);
        // Half a generation does not advance the search.
        check_ok(bb_sweep_search_next(plan, &open, &advanced, &finished));
        assert_true(open > 0 && !advanced && !finished);
        const bb_shard_request request = {.plan = plan, .jobs = 1, .threads = 1, .wanted = wanted};
        check_ok(bb_shard_run(&request, &report));
        *points += report.done;
        check_ok(bb_sweep_search_next(plan, &open, &advanced, &finished));
        assert_true(finished || (advanced && open > 0));
        ++generations;
    }
    autorelease(bb_sweep_progress) progress = toy_progress(plan);
    autoptr(bb_collection) collection = NULL;
    check_ok(bb_collection_read(plan, &progress, &collection));
    answer->length = 0;
    check_ok(bb_sweep_search_answer(collection, answer));
    return generations;
}

static void expect(const bb_text *answer, const char *text)
{
    if (strstr(bb_text_string(answer), text) == NULL) {
        print_error("'%s' lacks '%s'\n", bb_text_string(answer), text);
        fail();
    }
}

// The loss r0 / 2^width decreases with width: at r0 = 3 width 12 is the first within 1e-3.
TEST(bisection_finds_the_fewest_bits)
{
    bb_index points = 0;
    autorelease(bb_text) answer = {0};
    const bb_index generations =
        search("sweep: {axes: {air.r0_m: [1, 3]}, shards: 1, search: {minimise: bits_per_value, "
               "over: {pipelines.a.width: {from: 0, to: 40, step: 1}}, "
               "max_loss: 1e-3, across: all}}\n",
               "all", &points, &answer);
    expect(&answer, "pipelines.a.width = 12: bits_per_value 13, error [nm] at worst 0.0007324");
    expect(&answer, "r0_m 3");
    expect(&answer, "11 has 0.001465 at r0_m 3");
    // The ends, then bisection of 40: at most six.
    assert_in_range(generations, 5, 7);
    assert_true(points == 2 * (2 + generations - 1));
}

TEST(each_condition_has_its_own_answer)
{
    bb_index points = 0;
    autorelease(bb_text) answer = {0};
    (void)search("sweep: {axes: {air.r0_m: [1, 3, 100]}, shards: 6, search: {"
                 "over: {pipelines.a.width: {from: 0, to: 40, step: 1}}, "
                 "max_loss: 1e-3, across: each}}\n",
                 "each", &points, &answer);
    expect(&answer, "pipelines.a.width = 10: bits_per_value 11");
    expect(&answer, "pipelines.a.width = 12: bits_per_value 13");
    expect(&answer, "pipelines.a.width = 17: bits_per_value 18");
}

// A search ended by a signal between or within generations is collected as partial.
TEST(unfinished_searches_are_partial)
{
    static const char sweep[] =
        "sweep: {axes: {air.r0_m: [1, 3]}, shards: 1, search: {minimise: bits_per_value, over: "
        "{pipelines.a.width: {from: 0, to: 40, step: 1}}, max_loss: 1e-3, "
        "across: all}}\n";
    static const bool first_point[2 * 41] = {true};
    autorelease(bb_text) answer = {0};
    autoptr(bb_results) results = NULL;
    bb_shard_report report;
    bb_index open = 0, generation = 0;
    bool advanced = false, finished = false;
    bool wanted[2 * 41];
    autoptr(bb_sweep_plan) plan = toy_planned(sweep, "ended");
    bb_shard_request request = {.plan = plan, .jobs = 1, .threads = 1, .wanted = first_point};
    const bb_sweep_collect_request collect = {.plan = plan, .max_loss = NAN};
    check_ok(bb_shard_run(&request, &report));
    assert_int_equal(report.done, 1);
    request.wanted = wanted;
    for (int stage = 0; stage < 2; ++stage) { // one point, the first generation
        check_ok(bb_sweep_collect_results(&collect, &results));
        assert_string_equal(bb_results_note_text(results, "", "status"), "partial");
        assert_string_equal(bb_results_note_text(results, "", "status_reason"),
                            stage == 0 ? "the search has not ended: 1 of 82 combinations were run"
                                       : "the search has not ended: 4 of 82 combinations were run");
        bb_results_destroy(&results);
        check_ok(bb_sweep_search_wanted(plan, wanted, &generation));
        check_ok(bb_shard_run(&request, &report));
    }
    check_ok(bb_sweep_collect(&collect, &answer));
    expect(&answer,
           "Partial result: the search has not ended; continue it with 'bitbudget sweep run ");
    while (!finished) {
        check_ok(bb_sweep_search_next(plan, &open, &advanced, &finished));
        check_ok(bb_sweep_search_wanted(plan, wanted, &generation));
        check_ok(bb_shard_run(&request, &report));
    }
    check_ok(bb_sweep_collect_results(&collect, &results));
    assert_string_equal(bb_results_note_text(results, "", "status"), "complete");
}

#define LADDER                                                                                     \
    "sweep: {axes: {air.r0_m: [1]}, shards: %d, search: {"                                         \
    "over: {pipelines.a.width: {from: 0, to: 900, step: 1}}, "                                     \
    "max_loss: 1e-3}}\n"

TEST(more_shards_take_fewer_generations)
{
    bb_index points = 0;
    autorelease(bb_text) answer = {0};
    char sweep[400];
    (void)snprintf(sweep, sizeof sweep, LADDER, 1);
    const bb_index alone = search(sweep, "alone", &points, &answer);
    expect(&answer, "pipelines.a.width = 10:");
    (void)snprintf(sweep, sizeof sweep, LADDER, 29);
    const bb_index many = search(sweep, "many", &points, &answer);
    expect(&answer, "pipelines.a.width = 10:");
    assert_in_range(alone, 10, 12);
    assert_in_range(many, 3, 4); // 900 in parts of 30, and those in single steps
}

TEST(what_cannot_be_found_is_said)
{
    bb_index points = 0;
    autorelease(bb_text) answer = {0};
    assert_int_equal(search("sweep: {axes: {air.r0_m: [1]}, search: {"
                            "over: {pipelines.a.width: [0, 1, 2, 3]}, "
                            "max_loss: 1e-3}}\n",
                            "none", &points, &answer),
                     1);
    expect(&answer, "none of 2 steps is within error [nm] 0.001");
    assert_int_equal(points, 2);
    // A list that rises and falls: 10 and 12 are within the limit, 2 between them is not.
    (void)search("sweep: {axes: {air.r0_m: [1]}, shards: 5, search: {"
                 "over: {pipelines.a.width: [30, 2, 12, 3, 10, 4, 0]}, "
                 "max_loss: 1e-3}}\n",
                 "bent", &points, &answer);
    expect(&answer, "pipelines.a.width = 10:");
    expect(&answer, "not monotone");
    // A condition at which a step fails.
    (void)search("sweep: {axes: {breaks_m: [5]}, search: {over: {air.r0_m: [1, 2, 4, 6, 8]}, "
                 "minimise: operator_bytes, max_loss: 100}}\n",
                 "fails", &points, &answer);
    expect(&answer, "air.r0_m = 1: operator_bytes 3e+06");
}

TEST(wrong_searches_are_refused)
{
    static const char *const cases[][2] = {
        {"{max_loss: 1}", "over: missing"},
        {"{over: {air.r0_m: [1, 2]}}", "max_loss: missing"},
        {"{over: {air.r0_m: [1, 2]}, subject_to: {price: {at_most: 1}}}",
         "sweep.search.subject_to.price.at_most: this key is called sweep.search.max_loss now"},
        {"{over: {air.r0_m: [1, 2], count: [1, 2]}, max_loss: 1}", "one key"},
        {"{over: {air.r0_m: [1, 2]}, max_loss: -1}", "max_loss"},
        {"{over: {air.r0_m: [1, 2]}, max_loss: 1, across: some}", "across"},
        {"{over: {nothing: [1, 2]}, max_loss: 1}", "nothing"},
        {"[1]", "search"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char sweep[512];
        (void)snprintf(sweep, sizeof sweep, "sweep: {axes: {count: [1, 2]}, search: %s}\n",
                       cases[i][0]);
        toy_refused(sweep, cases[i][1]);
    }
}

TEST_GROUP(.begin = toy_begin, .has_folder = true);
