// SPDX-License-Identifier: Apache-2.0
//
// The search of a promise over a callback with known prices: what is tried, what is found, and that
// no draw is left out.
#include "sim/pipelines/promise.h"
#include "tests/sim/fixture.h"

enum { STEPS = 9, DRAWS = 4 };

// A candidate is an index; each has a price a draw and a cost.
typedef struct shelf {
    double prices[STEPS][DRAWS], costs[STEPS];
    double wrong[DRAWS]; // of every step
    bb_index draw;       // the last
    int last, adopted, computed;
    bb_status answer;
} shelf;

static bb_status evaluate(void *context, const void *pipeline, bb_index draw, double *price)
{
    shelf *goods = context;
    goods->last = draw == 0 ? *(const int *)pipeline : goods->last;
    goods->draw = draw;
    ++goods->computed;
    *price = goods->prices[*(const int *)pipeline][draw];
    return goods->answer;
}

static double cost(void *context)
{
    const shelf *goods = context;
    return goods->costs[goods->last];
}

static double wrong(void *context)
{
    const shelf *goods = context;
    return goods->wrong[goods->draw];
}

static void adopt(void *context)
{
    shelf *goods = context;
    goods->adopted = goods->last;
}

static void make(void *context, int step, bb_promise_candidate *out)
{
    static const char *const names[STEPS] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    int *steps = context;
    *out = (bb_promise_candidate){names[step], 0.5 * step, &steps[step]};
}

// Prices halve and costs grow from step to step, all draws alike.
static shelf halving(void)
{
    shelf goods = {.last = -1, .adopted = -1};
    for (int s = 0; s < STEPS; ++s) {
        goods.costs[s] = 1.0 + s;
        for (int d = 0; d < DRAWS; ++d) {
            goods.prices[s][d] = ldexp(1.0, -s);
        }
    }
    return goods;
}

static bb_promise_search search_of(shelf *goods, bb_promise_trials *trials, double limit,
                                   bb_index draws)
{
    return (bb_promise_search){.trials = trials,
                               .pipeline = 1,
                               .name = "asks",
                               .limit = limit,
                               .draws = draws,
                               .context = goods,
                               .evaluate = evaluate,
                               .cost = cost,
                               .adopt = adopt};
}

static int steps[STEPS] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
static const bb_promise_ladder ladder = {STEPS, steps, make};

TEST(a_ladder_is_bisected_for_its_first_step)
{
    for (int first = 0; first <= STEPS; ++first) {
        shelf goods = halving();
        autoptr(bb_promise_trials) trials = new_object(bb_promise_trials, STEPS);
        bb_promise_search search = search_of(&goods, trials, ldexp(1.0, -first), 1);
        check_ok(bb_promise_bisect(&search, &ladder));
        assert_int_equal(search.found, first < STEPS);
        assert_int_equal(goods.adopted, first < STEPS ? first : -1);
        assert_in_range(search.trial_count, 3, 4); // of 9 steps and none
        if (search.found) {
            assert_true(search.best.price == search.limit && search.best.kept);
            assert_true(search.best.cost == 1.0 + first && search.best.tolerance == 0.5 * first);
        }
    }
}

// Where the price is not monotone the cheapest of those that were tried counts, not the last.
TEST(the_cheapest_that_was_tried_is_found)
{
    shelf goods = halving();
    goods.costs[0] = 9.0;
    autoptr(bb_promise_trials) trials = new_object(bb_promise_trials, 3);
    bb_promise_search search = search_of(&goods, trials, 1.0, 1);
    for (int s = 0; s < 3; ++s) {
        bb_promise_candidate candidate;
        bool kept = false;
        make(steps, (s + 1) % 3, &candidate); // 1, 2, 0
        check_ok(bb_promise_try(&search, &candidate, &kept));
        assert_true(kept);
    }
    assert_int_equal(goods.adopted, 1);
    assert_string_equal(search.best.name, "b");
    bb_promise_candidate candidate;
    bool kept = false;
    make(steps, 3, &candidate);
    assert_int_equal(bb_promise_try(&search, &candidate, &kept), BB_INTERNAL); // no room
    bb_status_clear();
}

// Step by step, prices from anywhere: a bisection ends within its bound whatever they are, at a
// step that kept the promise after one that did not; where none keeps it, past the last.
TEST(a_bisection_ends_within_its_bound)
{
    enum { MOST = 50 };
    for (int count = 0; count <= MOST; ++count) {
        const int bound = count == 0 ? 0 : 1 + (int)floor(log2(count));
        for (unsigned pattern = 0; pattern < 200; ++pattern) {
            bool known[MOST] = {false};
            bool keeps[MOST];
            for (int s = 0; s < count; ++s) {
                keeps[s] = pattern == 0   ? false
                           : pattern == 1 ? true
                                          : ((pattern * 2654435761U) >> (s % 29) & 1) != 0;
            }
            bb_promise_bisection bisection = {-1, count};
            int tried = 0;
            int step = bb_promise_bisection_step(&bisection);
            for (; step >= 0; step = bb_promise_bisection_step(&bisection)) {
                assert_in_range(step, 0, count - 1);
                assert_false(known[step]); // none twice
                known[step] = true;
                bb_promise_bisection_take(&bisection, keeps[step]);
                ++tried;
            }
            assert_true(tried <= bound);
            assert_int_equal(bisection.failed, bisection.kept - 1);
            assert_true(bisection.kept == count ||
                        (known[bisection.kept] && keeps[bisection.kept]));
            assert_true(bisection.failed < 0 ||
                        (known[bisection.failed] && !keeps[bisection.failed]));
        }
    }
}

// What was computed elsewhere is compared and adopted as what the callback computes.
TEST(candidates_that_were_computed_are_taken)
{
    const struct {
        double price, cost;
        bool kept, adopted;
    } cases[] = {
        {0.6, 1.0, false, false}, {NAN, NAN, false, false}, {0.5, 3.0, true, true},
        {0.1, 4.0, true, false},  {0.4, 2.0, true, true},   {0.7, 0.5, false, false},
    };
    enum { CASES = sizeof cases / sizeof *cases };
    shelf goods = halving();
    autoptr(bb_promise_trials) trials = new_object(bb_promise_trials, CASES);
    bb_promise_search search = search_of(&goods, trials, 0.5, 1);
    for (int i = 0; i < CASES; ++i) {
        const bb_promise_candidate candidate = {"goods", 0.0, NULL};
        bool kept = false;
        goods.last = i;
        check_ok(bb_promise_take(&search, &candidate, cases[i].price, cases[i].cost, &kept));
        assert_int_equal(kept, cases[i].kept);
        assert_int_equal(goods.adopted == i, cases[i].adopted);
    }
    assert_int_equal(goods.computed, 0);
    assert_true(search.found && search.best.cost == 2.0 && search.best.price == 0.4);
    assert_int_equal(search.trial_count, CASES);
    assert_true(search.nearest.price == 0.6); // of those that kept nothing
}

TEST(every_draw_keeps_the_promise)
{
    const struct {
        double prices[DRAWS];
        bool kept;
        double worst;
        int computed;
    } cases[] = {
        {{0.1, 0.4, 0.2, 0.3}, true, 0.4, 4},
        {{0.1, 0.6, 0.2, 0.3}, false, 0.6, 2}, // no draw more than it takes
        {{0.1, 0.2, 0.2, NAN}, false, NAN, 4},
        {{NAN, 0.2, 0.2, 0.1}, false, NAN, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        bb_promise_candidate candidate;
        bool kept = false;
        shelf goods = halving();
        memcpy(goods.prices[2], cases[i].prices, sizeof cases[i].prices);
        autoptr(bb_promise_trials) trials = new_object(bb_promise_trials, 1);
        bb_promise_search search = search_of(&goods, trials, 0.5, DRAWS);
        make(steps, 2, &candidate);
        check_ok(bb_promise_try(&search, &candidate, &kept));
        assert_int_equal(kept, cases[i].kept);
        assert_int_equal(search.found, cases[i].kept);
        assert_int_equal(goods.computed, cases[i].computed);
        assert_true(!kept || search.best.price == cases[i].worst);
    }
}

// What is wrong has a limit of its own, in every draw, whatever the price.
TEST(no_draw_is_wrong_beyond_its_limit)
{
    const struct {
        double wrong[DRAWS], limit;
        bool kept;
        double worst;
        int computed;
    } cases[] = {
        {{0.0, 0.0, 0.0, 0.0}, 0.0, true, 0.0, 4},
        {{0.0, 1.0, 0.0, 0.0}, 0.0, false, 1.0, 2},
        {{2.0, 1.0, 0.0, 3.0}, 3.0, true, 3.0, 4},
        {{0.0, 0.0, NAN, 0.0}, 9.0, false, NAN, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        bb_promise_candidate candidate;
        bool kept = false;
        shelf goods = halving();
        memcpy(goods.wrong, cases[i].wrong, sizeof cases[i].wrong);
        autoptr(bb_promise_trials) trials = new_object(bb_promise_trials, 1);
        bb_promise_search search = search_of(&goods, trials, 0.5, DRAWS);
        search.wrong = wrong;
        search.wrong_limit = cases[i].limit;
        make(steps, 2, &candidate);
        check_ok(bb_promise_try(&search, &candidate, &kept));
        assert_int_equal(kept, cases[i].kept);
        assert_int_equal(search.found, cases[i].kept);
        assert_int_equal(goods.computed, cases[i].computed);
        assert_true(!kept || search.best.wrong == cases[i].worst);
    }
}

TEST(errors_of_the_callback_end_the_search)
{
    shelf goods = halving();
    goods.answer = BB_IO;
    autoptr(bb_promise_trials) trials = new_object(bb_promise_trials, STEPS);
    bb_promise_search search = search_of(&goods, trials, 0.5, 1);
    assert_int_equal(bb_promise_bisect(&search, &ladder), BB_IO);
    assert_int_equal(goods.computed, 1);
    assert_int_equal(search.trial_count, 0);
}

TEST(trials_are_listed_as_the_experiment_declares)
{
    static const char *const names[] = {"reference", "asks"};
    static const bb_output rows[] = {
        {"goods", "trial", NULL, "what was tried", .member = offsetof(bb_promise_row, candidate)},
        {"bytes", "trial", "byte", "size", .member = offsetof(bb_promise_row, cost)},
        {"loss", "trial", "nm", "what it lost", .member = offsetof(bb_promise_row, price)},
        {"wrong", "trial", "1", "what is wrong", .member = offsetof(bb_promise_row, wrong)},
    };
    static const bb_output_table candidates = {
        .title = bb_promise_title, .group = "promise", .axes = "trial", .rows = rows, .count = 2};
    static const bb_output_table price = {.title = bb_promise_title,
                                          .group = "promise",
                                          .axes = "trial",
                                          .rows = rows + 2,
                                          .count = 2};
    static const bb_promise_tables tables = {&candidates, &price};
    shelf goods = halving();
    autoptr(bb_promise_trials) trials = new_object(bb_promise_trials, STEPS);
    autoptr(bb_results) results = empty_results();
    check_ok(bb_promise_trials_publish(trials, names, &tables, results));
    assert_null(bb_results_find(results, "promise/trial"));
    bb_promise_search search = search_of(&goods, trials, 0.25, 1);
    search.wrong = wrong;
    search.wrong_limit = 7.0;
    goods.wrong[0] = 7.0;
    check_ok(bb_promise_bisect(&search, &ladder));
    check_ok(bb_promise_trials_publish(trials, names, &tables, results));
    const bb_dataset *loss = bb_results_find(results, "promise/loss");
    const bb_dataset *bytes = bb_results_find(results, "promise/bytes");
    assert_int_equal(loss->count, search.trial_count);
    assert_string_equal(loss->unit, "nm");
    assert_string_equal(bb_results_find(results, "promise/pipeline")->texts[0], "asks");
    assert_string_equal(bb_results_find(results, "promise/goods")->texts[0], "e");
    assert_true(loss->numbers[0] == 0.0625 && bytes->numbers[0] == 5.0);
    assert_true(bb_results_find(results, "promise/kept")->numbers[0] == 1.0);
    assert_true(bb_results_find(results, "promise/wrong")->numbers[0] == 7.0);
}
