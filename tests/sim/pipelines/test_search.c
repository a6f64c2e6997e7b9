// SPDX-License-Identifier: Apache-2.0
//
// Strategies of a search, with callbacks of known losses: the candidates tried, the result, and
// complete draws.
#include "sim/pipelines/search.h"
#include "tests/sim/fixture.h"

enum { STEPS = 9, DRAWS = 4 };

// A candidate is an index; each has a loss per draw and a cost.
typedef struct shelf {
    double losses[STEPS][DRAWS], costs[STEPS];
    double wrong[DRAWS]; // of every step
    bb_index draw;       // the last
    int last, adopted, computed;
    bb_status answer;
} shelf;

static bb_status evaluate(void *context, const void *pipeline, bb_index draw, double *loss)
{
    shelf *goods = context;
    goods->last = draw == 0 ? *(const int *)pipeline : goods->last;
    goods->draw = draw;
    ++goods->computed;
    *loss = goods->losses[*(const int *)pipeline][draw];
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

static void make(void *context, int step, bb_search_candidate *out)
{
    static const char *const names[STEPS] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    int *steps = context;
    *out = (bb_search_candidate){names[step], 0.5 * step, &steps[step]};
}

// Losses halve and costs grow from step to step, all draws alike.
static shelf halving(void)
{
    shelf goods = {.last = -1, .adopted = -1};
    for (int s = 0; s < STEPS; ++s) {
        goods.costs[s] = 1.0 + s;
        for (int d = 0; d < DRAWS; ++d) {
            goods.losses[s][d] = ldexp(1.0, -s);
        }
    }
    return goods;
}

// A step is accepted by the bits of a pattern.
typedef struct random_goods {
    unsigned pattern;
    int last, accepted, rejected; // the bracket
} random_goods;

static bb_status evaluate_random(void *context, const void *pipeline, bb_index draw, double *loss)
{
    random_goods *goods = context;
    const int step = *(const int *)pipeline;
    assert_in_range(step, goods->rejected + 1, goods->accepted - 1); // none twice
    assert_int_equal(draw, 0);
    const bool is_good =
        goods->pattern == 1 ||
        (goods->pattern > 1 && ((goods->pattern * 2654435761U) >> (step % 29) & 1) != 0);
    *(is_good ? &goods->accepted : &goods->rejected) = step;
    *loss = is_good ? 0.1 : 3.0;
    return BB_OK;
}

static double cost_random(void *context)
{
    (void)context;
    return 1.0;
}

static void make_number(void *context, int step, bb_search_candidate *out)
{
    int *numbers = context;
    numbers[step] = step;
    *out = (bb_search_candidate){"number", NAN, &numbers[step]};
}

static bb_search search_of(shelf *goods, bb_search_trials *trials, double limit, bb_index draws)
{
    return (bb_search){.trials = trials,
                       .pipeline = 1,
                       .name = "asks",
                       .max_loss = limit,
                       .draws = draws,
                       .context = goods,
                       .evaluate = evaluate,
                       .cost = cost,
                       .adopt = adopt};
}

static int steps[STEPS] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
static const bb_search_ladder ladder = {.steps = STEPS, .context = steps, .make = make};

TEST(a_ladder_is_bisected_for_its_first_step)
{
    for (int first = 0; first <= STEPS; ++first) {
        shelf goods = halving();
        autoptr(bb_search_trials) trials = new_object(bb_search_trials, STEPS);
        bb_search search = search_of(&goods, trials, ldexp(1.0, -first), 1);
        check_ok(bb_search_run_ladder(&search, &ladder));
        assert_int_equal(search.found, first < STEPS);
        assert_int_equal(goods.adopted, first < STEPS ? first : -1);
        assert_in_range(search.trial_count, 3, 4); // of 9 steps and none
        if (search.found) {
            assert_true(search.best.loss == search.max_loss && search.best.accepted);
            assert_true(search.best.cost == 1.0 + first && search.best.tolerance == 0.5 * first);
        }
    }
}

// With random losses a bisection ends within its bound, at an accepted step after a rejected one,
// or after the last if none is accepted; also with predicted trials.
TEST(a_ladder_ends_within_its_bound)
{
    enum { MOST = 50 };
    static int numbers[MOST];
    for (int count = 0; count <= MOST; ++count) {
        const int bound = count == 0 ? 0 : 1 + (int)floor(log2(count));
        for (unsigned pattern = 0; pattern < 200; ++pattern) {
            random_goods goods = {.pattern = pattern};
            const bb_search_ladder all = {.steps = count,
                                          .bit = pattern % 2 == 0 ? 0.0 : 3.0,
                                          .context = numbers,
                                          .make = make_number};
            bb_search search = {.max_loss = 0.5,
                                .draws = 1,
                                .context = &goods,
                                .evaluate = evaluate_random,
                                .cost = cost_random};
            goods.accepted = count;
            goods.rejected = -1;
            check_ok(bb_search_run_ladder(&search, &all));
            assert_true(search.trial_count <= bound + (pattern % 2 == 0 ? 0 : BB_SEARCH_GUESSES));
            assert_int_equal(goods.rejected, goods.accepted - 1);
        }
    }
}

// The cheapest accepted trial is adopted in any order, and the nearest rejected one is listed.
TEST(the_cheapest_accepted_trial_is_found)
{
    const struct {
        double loss, cost;
        bool accepted, adopted;
    } cases[] = {
        {0.6, 1.0, false, false}, {NAN, NAN, false, false}, {0.5, 3.0, true, true},
        {0.1, 4.0, true, false},  {0.4, 2.0, true, true},   {0.7, 0.5, false, false},
    };
    enum { CASES = sizeof cases / sizeof *cases };
    shelf goods = halving();
    autoptr(bb_search_trials) trials = new_object(bb_search_trials, CASES);
    bb_search search = search_of(&goods, trials, 0.5, 1);
    for (int i = 0; i < CASES; ++i) {
        bb_search_candidate candidate;
        bool accepted = false;
        goods.losses[i][0] = cases[i].loss;
        goods.costs[i] = cases[i].cost;
        make(steps, i, &candidate);
        check_ok(bb_search_try(&search, &candidate, &accepted));
        assert_int_equal(accepted, cases[i].accepted);
        assert_int_equal(goods.adopted == i, cases[i].adopted);
    }
    assert_true(search.found && search.best.cost == 2.0 && search.best.loss == 0.4);
    assert_int_equal(search.trial_count, CASES);
    assert_true(search.nearest.loss == 0.6);
}

// The count of errors has a separate limit, in every draw, whatever the loss.
TEST(every_draw_is_within_both_limits)
{
    const struct {
        double losses[DRAWS], wrong[DRAWS], max_wrong;
        bool accepted;
        double worst, worst_wrong;
        int computed;
    } cases[] = {
        {{0.1, 0.4, 0.2, 0.3}, {0.0}, 0.0, true, 0.4, 0.0, 4},
        {{0.1, 0.6, 0.2, 0.3}, {0.0}, 0.0, false, 0.6, 0.0, 2}, // no more draws than needed
        {{0.1, 0.2, 0.2, NAN}, {0.0}, 0.0, false, NAN, 0.0, 4},
        {{NAN, 0.2, 0.2, 0.1}, {0.0}, 0.0, false, NAN, 0.0, 1},
        {{0.1, 0.1, 0.1, 0.1}, {0.0, 1.0, 0.0, 0.0}, 0.0, false, 0.1, 1.0, 2},
        {{0.1, 0.1, 0.1, 0.1}, {2.0, 1.0, 0.0, 3.0}, 3.0, true, 0.1, 3.0, 4},
        {{0.1, 0.1, 0.1, 0.1}, {0.0, 0.0, NAN, 0.0}, 9.0, false, 0.1, NAN, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        bb_search_candidate candidate;
        bool accepted = false;
        shelf goods = halving();
        memcpy(goods.losses[2], cases[i].losses, sizeof cases[i].losses);
        memcpy(goods.wrong, cases[i].wrong, sizeof cases[i].wrong);
        autoptr(bb_search_trials) trials = new_object(bb_search_trials, 1);
        bb_search search = search_of(&goods, trials, 0.5, DRAWS);
        search.wrong = wrong;
        search.max_wrong = cases[i].max_wrong;
        make(steps, 2, &candidate);
        check_ok(bb_search_try(&search, &candidate, &accepted));
        assert_int_equal(accepted, cases[i].accepted);
        assert_int_equal(search.found, cases[i].accepted);
        assert_int_equal(goods.computed, cases[i].computed);
        assert_true(!accepted || search.best.loss == cases[i].worst);
        assert_true(!accepted || search.best.wrong == cases[i].worst_wrong);
        assert_int_equal(bb_search_try(&search, &candidate, &accepted), BB_INTERNAL); // no space
        bb_status_clear();
    }
}

TEST(errors_of_the_callback_end_the_search)
{
    shelf goods = halving();
    goods.answer = BB_IO;
    autoptr(bb_search_trials) trials = new_object(bb_search_trials, STEPS);
    bb_search search = search_of(&goods, trials, 0.5, 1);
    assert_int_equal(bb_search_run_ladder(&search, &ladder), BB_IO);
    assert_int_equal(goods.computed, 1);
    assert_int_equal(search.trial_count, 0);
}

TEST(trials_are_listed_as_the_experiment_declares)
{
    static const char *const names[] = {"reference", "asks"};
    static const bb_output rows[] = {
        {"goods", "trial", NULL, "what was tried", .member = offsetof(bb_search_row, candidate)},
        {"bytes", "trial", "byte", "size", .member = offsetof(bb_search_row, cost)},
        {"loss", "trial", "nm", "what it lost", .member = offsetof(bb_search_row, loss)},
        {"wrong", "trial", "1", "what is wrong", .member = offsetof(bb_search_row, wrong)},
    };
    static const bb_output_table candidates = {
        .title = bb_search_title, .group = "search", .axes = "trial", .rows = rows, .count = 2};
    static const bb_output_table losses = {
        .title = bb_search_title, .group = "search", .axes = "trial", .rows = rows + 2, .count = 2};
    shelf goods = halving();
    autoptr(bb_search_trials) trials = new_object(bb_search_trials, STEPS);
    autoptr(bb_results) results = empty_results();
    check_ok(bb_search_trials_publish(trials, names, sizeof *names, &candidates, &losses, results));
    assert_null(bb_results_find(results, "search/trial"));
    bb_search search = search_of(&goods, trials, 0.25, 1);
    search.wrong = wrong;
    search.max_wrong = 7.0;
    goods.wrong[0] = 7.0;
    check_ok(bb_search_run_ladder(&search, &ladder));
    check_ok(bb_search_trials_publish(trials, names, sizeof *names, &candidates, &losses, results));
    const bb_dataset *loss = bb_results_find(results, "search/loss");
    const bb_dataset *bytes = bb_results_find(results, "search/bytes");
    assert_int_equal(loss->count, search.trial_count);
    assert_string_equal(loss->unit, "nm");
    assert_string_equal(bb_results_find(results, "search/pipeline")->texts[0], "asks");
    assert_string_equal(bb_results_find(results, "search/goods")->texts[0], "e");
    assert_true(loss->numbers[0] == 0.0625 && bytes->numbers[0] == 5.0);
    assert_true(bb_results_find(results, "search/accepted")->numbers[0] == 1.0);
    assert_true(bb_results_find(results, "search/wrong")->numbers[0] == 7.0);
}

// Slots with several formats, each of so many bytes; format 2 stores as much as 1.
enum { SLOTS = 3, NUMBERS = 4, TRIALS = 40 };

static const double values[SLOTS] = {10.0, 1.0, 3.0};
static const double widths[NUMBERS] = {8.0, 4.0, 4.0, 1.0};

typedef struct problem {
    double errors[SLOTS][NUMBERS];
    double limit;
    int coupled; // slot that must be at 0 once slot 0 is lowered; -1: none
    int tried[TRIALS][SLOTS + 1];
    int count, last[SLOTS];
} problem;

static double state_bytes(const void *study, const int *state)
{
    double bytes = 0.0;
    (void)study;
    for (int s = 0; s < SLOTS; ++s) {
        bytes += values[s] * widths[state[s]];
    }
    return bytes;
}

static bb_status evaluate_state(void *context, const void *pipeline, bb_index draw, double *loss)
{
    problem *self = context;
    const int *state = pipeline;
    double error = 0.0;
    (void)draw;
    assert_true(self->count < TRIALS);
    for (int s = 0; s < SLOTS; ++s) {
        error += self->errors[s][state[s]];
        self->tried[self->count][s] = state[s];
    }
    memcpy(self->last, state, sizeof self->last);
    const bool breaks = self->coupled >= 0 && state[0] > 0 && state[self->coupled] > 0;
    *loss = breaks ? (double)NAN : error;
    return self->limit < -1.0 ? bb_status_set(BB_DEVICE, __FILE__, __LINE__, "broken") : BB_OK;
}

static double cost_state(void *context)
{
    return state_bytes(NULL, ((const problem *)context)->last);
}

static void note_slot(void *context, int slot, const int *state, bool accepted)
{
    problem *self = context;
    (void)state;
    (void)accepted;
    self->tried[self->count++][SLOTS] = slot;
}

static const char *const slot_names[17] = {"a", "b", "c"};
static const char *const number_names[NUMBERS] = {"0", "1", "2", "3"};
static const bb_slot_table slot_table = {.slots = slot_names,
                                         .slot_count = SLOTS,
                                         .numbers = number_names,
                                         .number_count = NUMBERS,
                                         .bytes = state_bytes};

static bb_search search_slots(problem *made)
{
    return (bb_search){.max_loss = made->limit,
                       .draws = 1,
                       .context = made,
                       .evaluate = evaluate_state,
                       .cost = cost_state};
}

static void check_state(const int *state, int first, int second, int third)
{
    const int expected[SLOTS] = {first, second, third};
    assert_memory_equal(state, expected, sizeof expected);
}

// 1: 0.5 of slot 0 is too much, so 2 with the same bytes is tried; then slot 2, then slot 1.
TEST(what_saves_most_is_tried_first)
{
    problem made = {.errors = {{0, 0.5, 0.1, 9}, {0, 0.1, 0.1, 0.1}, {0, 0.1, 0.1, 0.4}},
                    .limit = 0.35,
                    .coupled = -1};
    bb_search search = search_slots(&made);
    bb_search_slots slots = {.table = &slot_table, .tried = note_slot};
    check_ok(bb_search_run_slots(&search, &slots));
    assert_true(search.found);
    check_state(slots.state, 2, 3, 1);
    static const int expected[][SLOTS + 1] = {
        {0, 0, 0, -1}, // the start
        {3, 0, 0, 0},  // 70 bytes
        {1, 0, 0, 0},  // 40
        {2, 0, 0, 0},  // 40, accepted
        {2, 0, 3, 2},  // 21
        {2, 0, 1, 2},  // 12, accepted
        {2, 3, 1, 1},  // 7, accepted
    };
    assert_int_equal(made.count, 7);
    assert_int_equal(search.trial_count, 7);
    assert_memory_equal(made.tried, expected, sizeof expected);
    // Undone in reverse order.
    assert_true(bb_search_slots_retreat(&slots));
    check_state(slots.state, 2, 0, 1);
    assert_true(bb_search_slots_retreat(&slots));
    check_state(slots.state, 2, 0, 0);
    assert_true(bb_search_slots_retreat(&slots));
    check_state(slots.state, 0, 0, 0);
    assert_false(bb_search_slots_retreat(&slots));
}

// Every format but the last is rejected: every slot is tried with every one.
TEST(no_search_tries_more_than_its_most)
{
    problem made = {.errors = {{0, 9, 9, 9}, {0, 9, 9, 9}, {0, 9, 9, 9}}, .coupled = -1};
    bb_search search = search_slots(&made);
    bb_search_slots slots = {.table = &slot_table, .tried = note_slot};
    check_ok(bb_search_run_slots(&search, &slots));
    assert_int_equal(search.trial_count, 10);
    assert_int_equal(bb_search_slots_most(&slot_table), 10);
}

// Each change alone is accepted, both together are not.
TEST(slots_need_not_add_up)
{
    problem made = {.limit = 0.0, .coupled = 2};
    bb_search search = search_slots(&made);
    bb_search_slots slots = {.table = &slot_table, .tried = note_slot};
    check_ok(bb_search_run_slots(&search, &slots));
    check_state(slots.state, 3, 3, 0);
    assert_int_equal(slots.change_count, 2);
}

TEST(a_start_that_fails_ends_the_search)
{
    problem made = {.limit = -1.0, .coupled = -1};
    bb_search search = search_slots(&made);
    bb_search_slots slots = {.table = &slot_table, .tried = note_slot};
    check_ok(bb_search_run_slots(&search, &slots));
    assert_false(search.found);
    assert_int_equal(made.count, 1);
    made.limit = search.max_loss = -2.0;
    check_fails(bb_search_run_slots(&search, &slots), BB_DEVICE, "broken");
    bb_slot_table large = slot_table;
    large.slot_count = BB_SEARCH_SLOTS + 1;
    slots.table = &large;
    check_fails(bb_search_run_slots(&search, &slots), BB_INVALID, "17 slots with 4 formats");
}

TEST(states_are_told_slot_by_slot)
{
    static const char *const slots[] = {"gradient", "smoother"};
    static const char *const numbers[] = {"DP", "fp16"};
    static const int chosen[] = {1, 0};
    const bb_slot_table table = {.slots = slots, .slot_count = 2, .numbers = numbers};
    char text[BB_SEARCH_NAME];
    bb_slot_table_describe(&table, chosen, text);
    assert_string_equal(text, "gradient fp16, smoother DP");
}

TEST(long_states_end)
{
    enum { MANY = 30 };
    static const char *const numbers[] = {"DP"};
    const char *slots[MANY];
    int chosen[MANY];
    char text[BB_SEARCH_NAME + 1];
    for (int i = 0; i < MANY; ++i) {
        slots[i] = "gradient";
        chosen[i] = 0;
    }
    const bb_slot_table table = {.slots = slots, .slot_count = MANY, .numbers = numbers};
    text[BB_SEARCH_NAME] = 'x';
    bb_slot_table_describe(&table, chosen, text);
    assert_int_equal(strlen(text), BB_SEARCH_NAME - 1);
    assert_int_equal(text[BB_SEARCH_NAME], 'x');
}
