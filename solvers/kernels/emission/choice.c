// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/emission/choice.h"

#include "core/memory.h"
#include "solvers/kernels/emission/emission_locals.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_GROUP_ITEMS = 1024,
    MOST_POINTS = 16,
    MOST_LANES = 16,   ///< most lanes per work-item
    LEAST_CHUNK = 512, ///< with this size four levels of chunks suffice for any sum
    MOST_CHUNK = 1 << 20,
    LEAST_TILE = 16,
    MOST_TILE = 65536,
    MOST_SUM_TILE = 4096,
    MOST_LINES = 1024,
    NUMBER_BYTES = 24,
};

/// Properties of the sums that teams compute: sums with lanes, or the sum over the space. All 0:
/// none.
typedef struct team_sums {
    bb_index fewest, most; ///< number of lanes
    bb_index chunk;        ///< chunk of the last sum
} team_sums;

static void add_sum(team_sums *sums, bb_reduction_order order)
{
    sums->fewest = sums->fewest == 0 || order.lanes < sums->fewest ? order.lanes : sums->fewest;
    sums->most = order.lanes > sums->most ? order.lanes : sums->most;
    sums->chunk = order.chunk;
}

// Order of a sum under a choice; the order of the program if the choice is NULL.
static bb_reduction_order order_under(const bb_choice *choice, const bb_reduction *reduction)
{
    return choice != NULL && choice->order.lanes > 0 && reduction->order.lanes > 1
               ? choice->order
               : reduction->order;
}

static team_sums team_sums_of(const bb_program *program, const bb_choice *choice)
{
    team_sums sums = {0};
    if (program->has_reduction) {
        add_sum(&sums, order_under(choice, &program->reduction));
    }
    for (int i = 0; i < program->iterator_count && !program->has_reduction; ++i) {
        if (program->iterators[i].reduction.order.lanes > 1) {
            add_sum(&sums, order_under(choice, &program->iterators[i].reduction));
        }
    }
    return sums;
}

bb_index bb_choice_lanes(const bb_program *program)
{
    return team_sums_of(program, NULL).fewest;
}

// True if some sum has lanes that another order may replace; includes sums inside a reduction over
// the space.
static bool any_lanes(const bb_program *program)
{
    bool any = program->has_reduction && program->reduction.order.lanes > 1;
    for (int i = 0; i < program->iterator_count; ++i) {
        any = any || program->iterators[i].reduction.order.lanes > 1;
    }
    return any;
}

bb_form bb_choice_form(const bb_program *program)
{
    // A team of lanes would need values written by other work-items.
    bool is_shared = false;
    for (int i = 0; i < program->object_count; ++i) {
        is_shared = is_shared || (program->objects[i].is_read && program->objects[i].is_written);
    }
    return program->has_reduction                       ? BB_FORM_SPACE
           : bb_choice_lanes(program) > 0 && !is_shared ? BB_FORM_LANES
                                                        : BB_FORM_POINTS;
}

bb_status bb_choice_apply(const bb_choice *choice, const bb_program *program, bb_program *out)
{
    bb_status status = BB_OK;
    bb_iterator *iterators = NULL;
    BB_TRY(BB_ALLOCATE(program->iterator_count + 1, &iterators));
    *out = *program;
    out->iterators = iterators;
    for (int i = 0; i < program->iterator_count; ++i) {
        iterators[i] = program->iterators[i];
        iterators[i].reduction.order = order_under(choice, &program->iterators[i].reduction);
    }
    if (program->has_reduction) {
        out->reduction.order = order_under(choice, &program->reduction);
    }
done:
    return status;
}

void bb_choice_release_program(bb_program *program)
{
    BB_RELEASE(&program->iterators);
    *program = (bb_program){.name = NULL};
}

// Records the reason of the first violation.
typedef struct refusal {
    char *why;
    size_t bytes;
} refusal;

static bool refuse(const refusal *told, const char *why)
{
    (void)snprintf(told->why, told->bytes, "%s", why);
    return false;
}

static bool is_power(bb_index number)
{
    return number > 0 && (number & (number - 1)) == 0;
}

static bool can_skip_points(const bb_program *program)
{
    bool any = false;
    for (int i = 0; i < program->body.count; ++i) {
        const bb_step *step = &program->steps[program->body.steps[i]];
        any = any || (step->kind == BB_STEP_READ && step->boundary == BB_BOUNDARY_SKIP);
    }
    return any;
}

static bool check_loops(const bb_choice *choice, bb_device_kind kind, const bb_program *program,
                        const refusal *told)
{
    const bb_form form = bb_choice_form(program);
    if (choice->group[0] != 1 || choice->group[1] != 1 || choice->points != 1 ||
        choice->distribution != BB_DISTRIBUTION_INTERLEAVED || choice->is_split ||
        choice->is_local) {
        return refuse(told, "loops allow only a tile, rows and an order of sums");
    }
    if (!is_power(choice->rows) || choice->rows > MOST_LINES) {
        return refuse(told, "rows must be a power of two up to 1024");
    }
    if (choice->rows > 1 && (program->space.dimensions == 1 || form == BB_FORM_SPACE)) {
        return refuse(told, "rows need a second dimension and no reduction over the space");
    }
    if (form == BB_FORM_SPACE) {
        return choice->tile == (kind == BB_DEVICE_OPENCL) ||
               refuse(told, "with a reduction over the space the tile is a chunk: use tile 1, on "
                            "the cpu no tile");
    }
    if (choice->tile < LEAST_TILE || choice->tile > MOST_TILE) {
        return refuse(told, "tiles must have 16 to 65536 points");
    }
    if (form == BB_FORM_POINTS && program->iterator_count > 0 && choice->tile > MOST_SUM_TILE) {
        return refuse(told, "tiles of points with sums must have at most 4096 points");
    }
    return true;
}

static bool check_lanes(const bb_choice *choice, const bb_program *program, const refusal *told)
{
    const team_sums sums = team_sums_of(program, choice);
    if (choice->points != 1 || choice->rows != 1) {
        return refuse(told, "work-items that process lanes cannot have points or rows");
    }
    if (choice->group[1] > 1 && can_skip_points(program)) {
        return refuse(told, "points that may be skipped need separate work-groups");
    }
    if (choice->group[0] > sums.fewest) {
        return refuse(told, "more work-items than lanes");
    }
    if (choice->group[0] * MOST_LANES < sums.most) {
        return refuse(told, "more than 16 lanes per work-item");
    }
    if (choice->is_split && sums.chunk == 0) {
        return refuse(told, "this order of sums has no chunks");
    }
    return true;
}

static bool check_points(const bb_choice *choice, const bb_program *program, const refusal *told)
{
    if (!is_power(choice->points) || choice->points > MOST_POINTS || !is_power(choice->rows) ||
        choice->rows > MOST_POINTS) {
        return refuse(told, "points and rows must be powers of two up to 16");
    }
    if (program->space.dimensions == 1 && (choice->group[1] != 1 || choice->rows != 1)) {
        return refuse(told, "the space has no second dimension");
    }
    return true;
}

// True if the program has a single sum in chunks, and other steps use only its result. A work-item
// that computes a point alone does not distribute lanes.
static bool can_split(const bb_program *program)
{
    if (program->has_reduction || program->iterator_count != 1 || can_skip_points(program) ||
        program->iterators[0].reduction.order.chunk == 0 ||
        (bb_choice_form(program) == BB_FORM_POINTS &&
         program->iterators[0].reduction.order.lanes > 1)) {
        return false;
    }
    for (int i = 0; i < program->iterators[0].steps.count; ++i) {
        if (program->steps[program->iterators[0].steps.steps[i]].kind == BB_STEP_WRITE) {
            return false;
        }
    }
    for (int i = 0; i < program->body.count; ++i) {
        const bb_step *step = &program->steps[program->body.steps[i]];
        if (step->kind == BB_STEP_ITERATOR) {
            return true;
        }
        if (step->kind == BB_STEP_WRITE) {
            return false;
        }
    }
    return false;
}

static bool check_order(const bb_choice *choice, const bb_program *program, const refusal *told)
{
    const bb_reduction_order order = choice->order;
    if (order.lanes == 0) {
        return order.chunk == 0 || refuse(told, "an order needs lanes");
    }
    if (!is_power(order.lanes) || order.lanes > BB_PROGRAM_LANES ||
        order.chunk % order.lanes != 0 || (order.chunk != 0 && order.chunk < LEAST_CHUNK) ||
        order.chunk > MOST_CHUNK) {
        return refuse(told, "an order needs a power of two of at most 128 lanes, and chunks of 512 "
                            "to 2^20 items in multiples of it");
    }
    return any_lanes(program)
               ? order.lanes > 1 ||
                     refuse(told, "the sum has lanes, so the order needs more than one")
               : refuse(told, "the program has no sum with lanes");
}

bool bb_choice_is_legal(const bb_choice *choice, bb_device_kind kind, const bb_program *program,
                        char *why, size_t why_bytes)
{
    const refusal told = {why, why_bytes};
    if (!check_order(choice, program, &told)) {
        return false;
    }
    if (kind == BB_DEVICE_CPU || (kind == BB_DEVICE_OPENCL && choice->tile != 0)) {
        return check_loops(choice, kind, program, &told);
    }
    if (choice->tile != 0) {
        return refuse(&told, "tiles are for processors only");
    }
    if (!is_power(choice->group[0]) || !is_power(choice->group[1]) ||
        choice->group[0] * choice->group[1] > MOST_GROUP_ITEMS) {
        return refuse(&told, "work-group sizes must be powers of two, with up to 1024 work-items");
    }
    if (choice->is_split && !can_split(program)) {
        return refuse(&told, "split needs a single sum in chunks whose result the other steps use");
    }
    if (choice->is_local && (bb_choice_form(program) != BB_FORM_POINTS || choice->is_split ||
                             !bb_emission_locals_exist(program))) {
        return refuse(&told, "local needs a tile of points with reads that a work-group repeats");
    }
    return bb_choice_form(program) == BB_FORM_POINTS ? check_points(choice, program, &told)
                                                     : check_lanes(choice, program, &told);
}

// Texts of variants

/// Words of a text, in the order in which they are written.
enum { GROUP, TILE, POINTS, ROWS, BLOCKED, SPLIT, LOCAL, ORDER, WORDS };
static const struct {
    const char *name;
    int numbers;
} words[WORDS] = {
    [GROUP] = {"group", 2}, [TILE] = {"tile", 1},       [POINTS] = {"points", 1},
    [ROWS] = {"rows", 1},   [BLOCKED] = {"blocked", 0}, [SPLIT] = {"split", 0},
    [LOCAL] = {"local", 0}, [ORDER] = {"order", 2},
};

/// Numbers after each word; a word without a number has 1 if it occurs.
typedef struct choice_words {
    bb_index numbers[WORDS][2];
} choice_words;

static choice_words words_of(const bb_choice *choice)
{
    return (choice_words){{[GROUP] = {choice->group[0], choice->group[1]},
                           [TILE] = {choice->tile},
                           [POINTS] = {choice->points},
                           [ROWS] = {choice->rows},
                           [BLOCKED] = {choice->distribution == BB_DISTRIBUTION_BLOCKED},
                           [SPLIT] = {choice->is_split},
                           [LOCAL] = {choice->is_local},
                           [ORDER] = {choice->order.lanes, choice->order.chunk}}};
}

static bb_choice choice_of(const choice_words *said)
{
    const bb_index(*numbers)[2] = said->numbers;
    return (bb_choice){.group = {numbers[GROUP][0], numbers[GROUP][1]},
                       .points = (int)numbers[POINTS][0],
                       .rows = (int)numbers[ROWS][0],
                       .distribution = numbers[BLOCKED][0] != 0 ? BB_DISTRIBUTION_BLOCKED
                                                                : BB_DISTRIBUTION_INTERLEAVED,
                       .is_split = numbers[SPLIT][0] != 0,
                       .is_local = numbers[LOCAL][0] != 0,
                       .order = {numbers[ORDER][0], numbers[ORDER][1]},
                       .tile = numbers[TILE][0]};
}

static const bb_choice unsaid = {.group = {1, 1}, .points = 1, .rows = 1};

void bb_choice_write(const bb_choice *choice, char text[BB_CHOICE_TEXT_BYTES])
{
    const choice_words said = words_of(choice);
    const choice_words usual = words_of(&unsaid);
    size_t length = 0;
    for (int i = 0; i < WORDS; ++i) {
        char numbers[2][NUMBER_BYTES] = {"", ""};
        if (i == GROUP ? choice->tile != 0 : said.numbers[i][0] == usual.numbers[i][0]) {
            continue;
        }
        for (int k = 0; k < words[i].numbers; ++k) {
            (void)snprintf(numbers[k], NUMBER_BYTES, k == 0 ? "%td" : "x%td", said.numbers[i][k]);
        }
        length += (size_t)snprintf(text + length, BB_CHOICE_TEXT_BYTES - length, "%s%s%s%s",
                                   length > 0 ? "-" : "", words[i].name, numbers[0], numbers[1]);
    }
}

// Parses a number of digits below 2^31 and advances the text.
static bool read_number(const char **text, bb_index *out)
{
    char *end = NULL;
    if (**text < '0' || **text > '9') {
        return false;
    }
    const long long number = strtoll(*text, &end, 10);
    *text = end;
    *out = (bb_index)number;
    return number <= INT_MAX;
}

// Parses one word of a text with its numbers and advances the text. Returns WORDS if there is none.
static int read_word(const char **text, bb_index numbers[2])
{
    for (int i = 0; i < WORDS; ++i) {
        const size_t length = strlen(words[i].name);
        const char *place = *text + length;
        bool sound = strncmp(*text, words[i].name, length) == 0;
        for (int k = 0; sound && k < words[i].numbers; ++k) {
            sound = (k == 0 || *place++ == 'x') && read_number(&place, &numbers[k]);
        }
        if (sound && (*place == '-' || *place == '\0')) {
            *text = place;
            return i;
        }
    }
    return WORDS;
}

bb_status bb_choice_read(const char *text, bb_choice *out)
{
    bb_status status = BB_OK;
    choice_words said = words_of(&unsaid);
    bool is_known[WORDS] = {false};
    const char *place = text;
    do {
        bb_index numbers[2] = {1, 0};
        const int word = read_word(&place, numbers);
        BB_REQUIRE(
            word < WORDS && !is_known[word], BB_INVALID,
            "'%.80s' is not a variant: use words as in group64x4-points4-blocked or tile512, each "
            "at most once, from: group tile points rows blocked split local order",
            text);
        is_known[word] = true;
        memcpy(said.numbers[word], numbers, sizeof numbers);
    } while (*place++ == '-');
    *out = choice_of(&said);
done:
    return status;
}

bool bb_choice_equal(const bb_choice *choice, const bb_choice *other)
{
    char texts[2][BB_CHOICE_TEXT_BYTES];
    bb_choice_write(choice, texts[0]);
    bb_choice_write(other, texts[1]);
    return strcmp(texts[0], texts[1]) == 0;
}
