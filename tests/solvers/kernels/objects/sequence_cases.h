// SPDX-License-Identifier: Apache-2.0
//
// Sequences of launches on a device give the bits of launches queued one by one: multigrid cycles
// on small grids, and launches in between that cannot be joined.
#ifndef BB_TESTS_SOLVERS_KERNELS_OBJECTS_SEQUENCE_CASES_H
#define BB_TESTS_SOLVERS_KERNELS_OBJECTS_SEQUENCE_CASES_H

#include "core/memory.h"
#include "core/random.h"
#include "solvers/kernels/emission/emission_sequence.h"
#include "solvers/kernels/objects/kernel_sequence.h"
#include "solvers/kernels/program/evaluation.h"
#include "tests/first_device.h"

static bb_device *device; // of the group

enum { SCENE_MARGIN = 64, SCENE_MARK = 0x5a };
enum { SCENE_FIELDS = 160, SCENE_LAUNCHES = 200, SCENE_LEVELS = 8, SCENE_OPERANDS = 12 };

/// A vector or matrix in device memory followed by a guard margin, and its initial values.
typedef struct scene_field {
    bb_element_type type;
    bb_index columns, rows;
    size_t bytes;
    void *block, *start, *expected, *found;
} scene_field;

/// Fields and launches over them, in order.
typedef struct scene {
    bb_device *device;
    bb_kernel_context *context;
    scene_field fields[SCENE_FIELDS];
    int field_count;
    bb_kernel_launch *launches[SCENE_LAUNCHES];
    int launch_count;
} scene;

static inline void scene_open(scene *made)
{
    *made = (scene){.device = device};
    check_ok(bb_kernel_context_create(device, &made->context));
}

static inline void scene_close(scene *made)
{
    for (int i = 0; i < made->launch_count; ++i) {
        bb_kernel_launch_destroy(&made->launches[i]);
    }
    for (int i = 0; i < made->field_count; ++i) {
        scene_field *field = &made->fields[i];
        bb_device_release(made->device, &field->block);
        bb_memory_release(&field->start);
        bb_memory_release(&field->expected);
        bb_memory_release(&field->found);
    }
    bb_kernel_context_destroy(&made->context);
}

/// A field of positive numbers, determined by its index.
static inline int scene_field_add(scene *made, bb_element_type type, bb_index columns,
                                  bb_index rows)
{
    const int number = made->field_count++;
    scene_field *field = &made->fields[number];
    assert_true(made->field_count <= SCENE_FIELDS);
    *field = (scene_field){.type = type, .columns = columns, .rows = rows};
    const size_t bytes = bb_element_type_row(type)->bytes * (size_t)(columns * rows);
    field->bytes = bytes + SCENE_MARGIN;
    check_ok(bb_device_allocate(made->device, field->bytes, &field->block));
    check_ok(bb_memory_zeroed((bb_index)field->bytes, 1, &field->start));
    check_ok(bb_memory_zeroed((bb_index)field->bytes, 1, &field->expected));
    check_ok(bb_memory_zeroed((bb_index)field->bytes, 1, &field->found));
    memset((char *)field->start + bytes, SCENE_MARK, SCENE_MARGIN);
    for (bb_index k = 0; k < columns * rows; ++k) {
        const uint64_t place = ((uint64_t)number << 32) + (uint64_t)k;
        const double size = fabs(bb_random_normal(5, (bb_stream)0, place));
        bb_evaluation_store(type, field->start, k, (bb_scalar){{size, -size}, (int64_t)size});
    }
    return number;
}

/// Types of a kernel's placeholders, by name; ended by NULL.
typedef struct scene_types {
    const char *names[2 * BB_KERNEL_CONTEXT_TYPES + 1];
} scene_types;

/// Adds a launch; `operands` are fields, ended by -1. As vectors if `is_flat`.
static inline void scene_launch(scene *made, const char *file, scene_types types,
                                const int *operands, bool is_flat, const bb_scalar *parameters)
{
    bb_kernel_use use = {.file = file};
    bb_program_data data[SCENE_OPERANDS] = {{0}};
    void *blocks[SCENE_OPERANDS] = {NULL};
    for (int i = 0; types.names[2 * i] != NULL; ++i) {
        use.types[use.type_count++] = (bb_type_binding){types.names[2 * i], types.names[2 * i + 1]};
    }
    for (int i = 0; operands[i] >= 0; ++i) {
        const scene_field *field = &made->fields[operands[i]];
        data[i] = (bb_program_data){is_flat ? field->columns * field->rows : field->columns,
                                    is_flat ? 1 : field->rows, NULL};
        blocks[i] = field->block;
    }
    assert_true(made->launch_count < SCENE_LAUNCHES);
    check_ok(bb_kernel_launch_create(made->context, &use, data, parameters, blocks,
                                     &made->launches[made->launch_count++]));
}

static inline void scene_start(const scene *made)
{
    for (int i = 0; i < made->field_count; ++i) {
        const scene_field *field = &made->fields[i];
        check_ok(bb_device_upload(made->device, field->block, field->start, field->bytes));
    }
    check_ok(bb_device_wait(made->device));
}

static inline void scene_fetch(const scene *made, bool as_expected)
{
    for (int i = 0; i < made->field_count; ++i) {
        const scene_field *field = &made->fields[i];
        check_ok(bb_device_download(made->device, as_expected ? field->expected : field->found,
                                    field->block, field->bytes));
    }
}

/// Results of the launches run one by one, `rounds` times.
static inline void scene_expect(const scene *made, int rounds)
{
    scene_start(made);
    for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < made->launch_count; ++i) {
            check_ok(bb_kernel_launch_queue(made->launches[i]));
        }
    }
    scene_fetch(made, true);
}

/// Every field equals the expected one; returns the number of fields that changed.
static inline int scene_compare(const scene *made)
{
    int changed = 0;
    scene_fetch(made, false);
    for (int i = 0; i < made->field_count; ++i) {
        const scene_field *field = &made->fields[i];
        if (memcmp(field->expected, field->found, field->bytes) != 0) {
            print_error("field %d of %td x %td\n", i, field->columns, field->rows);
        }
        assert_memory_equal(field->expected, field->found, field->bytes);
        changed += memcmp(field->start, field->found, field->bytes) != 0;
    }
    return changed;
}

/// A sequence of all launches, joined and queued twice, equals the launches; returns its number of
/// runs.
static inline bb_index scene_check(const scene *made)
{
    autoptr(bb_kernel_sequence) sequence = NULL;
    check_ok(bb_kernel_sequence_join(made->launches, made->launch_count, &sequence));
    const bb_index runs = bb_kernel_sequence_runs(sequence);
    scene_expect(made, 2);
    scene_start(made);
    check_ok(bb_kernel_sequence_queue(sequence));
    check_ok(bb_kernel_sequence_queue(sequence));
    assert_true(scene_compare(made) > 0);
    return runs;
}

/// Types of a cycle: the solution, right-hand sides, weights, arithmetic.
typedef struct cycle_types {
    bb_element_type u, f, w;
    const char *work;
} cycle_types;

/// Fields of a grid, by colour.
typedef struct cycle_level {
    int u[2], f[2], wx[2], wy[2], plain, framed;
} cycle_level;

static inline const char *type_name(bb_element_type type)
{
    return bb_element_type_row(type)->name;
}

static inline bb_scalar whole_scalar(int64_t number)
{
    return (bb_scalar){.parts = {(double)number, 0.0}, .integer = number};
}

static inline cycle_level cycle_level_add(scene *made, const cycle_types *types, bb_index columns,
                                          bb_index rows)
{
    const bb_index half = (columns + 1) / 2 + 3;
    cycle_level grid;
    for (int colour = 0; colour < 2; ++colour) {
        grid.u[colour] = scene_field_add(made, types->u, half, rows + 3);
        grid.f[colour] = scene_field_add(made, types->f, half, rows + 3);
        grid.wx[colour] = scene_field_add(made, types->w, half, rows + 3);
        grid.wy[colour] = scene_field_add(made, types->w, half, rows + 3);
    }
    grid.plain = scene_field_add(made, types->u, columns, rows);
    grid.framed = scene_field_add(made, types->u, columns + 2, rows + 2);
    return grid;
}

static inline void cycle_sweep(scene *made, const cycle_types *types, const cycle_level *grid,
                               int colour)
{
    const int next = 1 - colour;
    const bb_scalar parameter = whole_scalar(colour);
    scene_launch(made, "unwrap_sweep.kernel",
                 (scene_types){{"U", type_name(types->u), "F", type_name(types->f), "W",
                                type_name(types->w), "WORK", types->work}},
                 (const int[]){grid->u[colour], grid->u[next], grid->f[colour], grid->wx[colour],
                               grid->wx[next], grid->wy[colour], grid->wy[next], -1},
                 false, &parameter);
}

/// To a format of four significand bits, with parameters in double.
static inline void cycle_round(scene *made, const cycle_types *types, int field)
{
    const bb_scalar parameters[] = {
        {.parts = {8.0}}, {.parts = {0x1p-60}}, {.parts = {1e6}}, {.parts = {INFINITY}}};
    scene_launch(made, "unwrap_round.kernel", (scene_types){{"T", type_name(types->u)}},
                 (const int[]){field, -1}, false, parameters);
}

static inline void cycle_down(scene *made, const cycle_types *types, const cycle_level *fine,
                              const cycle_level *coarse)
{
    const bb_scalar zero = whole_scalar(0);
    for (int colour = 0; colour < 2; ++colour) {
        const bb_scalar parameter = whole_scalar(colour);
        scene_launch(made, "unwrap_coarsen.kernel",
                     (scene_types){
                         {"W", type_name(types->w), "C", type_name(types->w), "WORK", types->work}},
                     (const int[]){fine->wx[0], fine->wx[1], fine->wy[0], fine->wy[1],
                                   coarse->wx[colour], coarse->wy[colour], -1},
                     false, &parameter);
        scene_launch(
            made, "unwrap_restrict.kernel",
            (scene_types){{"U", type_name(types->u), "F", type_name(types->f), "W",
                           type_name(types->w), "R", type_name(types->f), "WORK", types->work}},
            (const int[]){fine->u[0], fine->u[1], fine->f[0], fine->wx[0], fine->wx[1], fine->wy[0],
                          fine->wy[1], coarse->f[colour], -1},
            false, &parameter);
        scene_launch(made, "fill.kernel", (scene_types){{"T", type_name(types->u)}},
                     (const int[]){coarse->u[colour], -1}, true, &zero);
    }
}

static inline void cycle_up(scene *made, const cycle_types *types, const cycle_level *fine,
                            const cycle_level *coarse)
{
    const char *type = type_name(types->u);
    scene_launch(made, "unwrap_unpack.kernel", (scene_types){{"U", type}},
                 (const int[]){coarse->u[0], coarse->u[1], coarse->plain, -1}, false, NULL);
    scene_launch(made, "unwrap_frame.kernel", (scene_types){{"U", type}},
                 (const int[]){coarse->plain, coarse->framed, -1}, false, NULL);
    for (int colour = 0; colour < 2; ++colour) {
        const bb_scalar parameter = whole_scalar(colour);
        scene_launch(made, "unwrap_prolong.kernel", (scene_types){{"U", type, "WORK", types->work}},
                     (const int[]){coarse->framed, fine->u[colour], -1}, false, &parameter);
    }
}

/// A V-cycle down to at most 2 x 2 points.
static inline void cycle_add(scene *made, const cycle_types *types, bb_index columns, bb_index rows)
{
    cycle_level levels[SCENE_LEVELS];
    int count = 0;
    bool is_coarsest = false;
    while (!is_coarsest) {
        levels[count++] = cycle_level_add(made, types, columns, rows);
        is_coarsest = columns <= 2 && rows <= 2;
        columns = (columns + 1) / 2;
        rows = (rows + 1) / 2;
    }
    for (int level = 0; level < count; ++level) {
        for (int sweep = 0; sweep < 4; ++sweep) {
            cycle_sweep(made, types, &levels[level], sweep % 2);
        }
        if (level + 1 < count) {
            cycle_down(made, types, &levels[level], &levels[level + 1]);
        }
    }
    for (int level = count - 2; level >= 0; --level) {
        cycle_up(made, types, &levels[level], &levels[level + 1]);
        cycle_sweep(made, types, &levels[level], 1);
        cycle_round(made, types, levels[level].u[1]);
        cycle_sweep(made, types, &levels[level], 0);
    }
}

static const cycle_types cycle_single = {BB_ELEMENT_SP, BB_ELEMENT_SP, BB_ELEMENT_SP, "SP"};
static const cycle_types cycle_double = {BB_ELEMENT_DP, BB_ELEMENT_DP, BB_ELEMENT_DP, "DP"};

TEST(cycles_have_the_bits_of_single_launches)
{
    static const cycle_types mixed = {BB_ELEMENT_SP, BB_ELEMENT_DP, BB_ELEMENT_SP, "DP"};
    const cycle_types types[] = {cycle_single, cycle_double, mixed};
    static const bb_index sizes[][2] = {{1, 1}, {1, 9},   {13, 1}, {5, 7},
                                        {8, 8}, {33, 20}, {64, 64}};
    scene made;
    for (size_t t = 0; t < sizeof types / sizeof types[0]; ++t) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
            scene_open(&made);
            cycle_add(&made, &types[t], sizes[s][0], sizes[s][1]);
            assert_int_equal(scene_check(&made), 1);
            scene_close(&made);
        }
    }
}

/// The source is compiled once for all numbers of steps; the records name its compiler.
TEST(steps_share_a_text)
{
    autocall(scene_close) scene made;
    bb_kernel_sequence *sequences[2] = {NULL, NULL};
    scene_open(&made);
    cycle_add(&made, &cycle_single, 16, 16);
    const int count = made.launch_count;
    cycle_add(&made, &cycle_single, 32, 32);
    assert_true(made.launch_count > 2 * count);
    assert_string_equal(bb_kernel_context_compiler(made.context), "");
    check_ok(bb_kernel_sequence_join(made.launches, count, &sequences[0]));
    check_ok(
        bb_kernel_sequence_join(made.launches + count, made.launch_count - count, &sequences[1]));
    assert_string_equal(bb_kernel_sequence_source(sequences[0]),
                        bb_kernel_sequence_source(sequences[1]));
    scene_start(&made);
    check_ok(bb_kernel_sequence_queue(sequences[0]));
    check_ok(bb_kernel_sequence_queue(sequences[1]));
    assert_int_equal(bb_kernel_context_readied(made.context), 1);
    bb_kernel_sequence_destroy(&sequences[0]);
    bb_kernel_sequence_destroy(&sequences[1]);
    assert_true(bb_kernel_context_compiler(made.context)[0] != '\0');
}

/// Sums, many points and numbers that exceed 32 bits run separately, in their places.
TEST(what_does_not_serve_stands_alone)
{
    enum { FEW = BB_EMISSION_SEQUENCE_POINTS };
    autocall(scene_close) scene made;
    const bb_scalar numbers[] = {whole_scalar(3), whole_scalar(4), whole_scalar(5)};
    const scene_types single = {{"T", "SP"}};
    scene_open(&made);
    const int few = scene_field_add(&made, BB_ELEMENT_SP, FEW, 1);
    const int many = scene_field_add(&made, BB_ELEMENT_SP, FEW + 1, 1);
    const int square = scene_field_add(&made, BB_ELEMENT_SP, 6, 6);
    const int product = scene_field_add(&made, BB_ELEMENT_SP, 6, 6);
    const int norm = scene_field_add(&made, BB_ELEMENT_SP, 1, 1);
    const cycle_level grid = cycle_level_add(&made, &cycle_single, 9, 7);
    scene_launch(&made, "fill.kernel", single, (const int[]){few, -1}, false, &numbers[0]);
    scene_launch(&made, "scale.kernel", single, (const int[]){square, square, -1}, true,
                 &numbers[0]);
    cycle_sweep(&made, &cycle_single, &grid, 0);
    scene_launch(&made, "fill.kernel", single, (const int[]){many, -1}, false, &numbers[1]);
    cycle_sweep(&made, &cycle_single, &grid, 1);
    scene_launch(&made, "l2norm.kernel", single, (const int[]){few, norm, -1}, false, NULL);
    scene_launch(&made, "scale.kernel", single, (const int[]){few, few, -1}, false, &numbers[1]);
    cycle_sweep(&made, &cycle_single, &grid, 0);
    scene_launch(&made, "scale.kernel", single, (const int[]){norm, norm, -1}, false, &numbers[2]);
    scene_launch(&made, "gemm.kernel", single, (const int[]){square, square, product, -1}, false,
                 NULL);
    cycle_sweep(&made, &cycle_single, &grid, 1);
    // 3 joined, many, 1, norm, 3 joined, product, 1
    assert_int_equal(scene_check(&made), 7);
}

/// Colours count modulo 2: a colour far from 0 has the same effect, but sums with it need more than
/// 32 bits.
TEST(far_numbers_stand_alone)
{
    autocall(scene_close) scene made;
    const bb_scalar colours[] = {whole_scalar(0), whole_scalar(INT32_MAX - 1)};
    scene_open(&made);
    const int framed = scene_field_add(&made, BB_ELEMENT_DP, 8, 8);
    const int u = scene_field_add(&made, BB_ELEMENT_DP, 6, 9);
    for (int i = 0; i < 4; ++i) {
        scene_launch(&made, "unwrap_prolong.kernel", (scene_types){{"U", "DP", "WORK", "DP"}},
                     (const int[]){framed, u, -1}, false, &colours[i / 2]);
    }
    assert_int_equal(scene_check(&made), 3);
}

/// Skipped points, boundaries at one size and none at the next, complex factors.
TEST(points_that_are_left_out_stay)
{
    autocall(scene_close) scene made;
    const bb_scalar factor = {.parts = {0.75, -1.5}};
    const cycle_types types = cycle_single;
    scene_open(&made);
    for (int i = 0; i < 3; ++i) {
        const cycle_level grid = cycle_level_add(&made, &types, 8 + i % 2, 5);
        scene_launch(&made, "unwrap_unpack.kernel", (scene_types){{"U", "SP"}},
                     (const int[]){grid.u[0], grid.u[1], grid.plain, -1}, false, NULL);
    }
    for (bb_element_type type = BB_ELEMENT_SP2; type <= BB_ELEMENT_DP2; ++type) {
        const int a = scene_field_add(&made, type, 2500, 1);
        const int b = scene_field_add(&made, type, 2500, 1);
        scene_launch(&made, "scale.kernel", (scene_types){{"T", type_name(type)}},
                     (const int[]){a, b, -1}, false, &factor);
    }
    assert_int_equal(scene_check(&made), 1);
}

static inline bb_status queue_sequence(void *context)
{
    return bb_kernel_sequence_queue(context);
}

/// A recorded sequence repeats the launches.
TEST(sequences_are_recorded)
{
    autocall(scene_close) scene made;
    autoptr(bb_kernel_sequence) sequence = NULL;
    scene_open(&made);
    cycle_add(&made, &cycle_double, 12, 10);
    check_ok(bb_kernel_sequence_join(made.launches, made.launch_count, &sequence));
    scene_expect(&made, 2);
    scene_start(&made);
    autoptr(bb_device_graph) graph =
        new_object(bb_device_graph, made.device, queue_sequence, sequence);
    scene_start(&made);
    check_ok(bb_device_graph_replay(graph));
    check_ok(bb_device_graph_replay(graph));
    assert_true(scene_compare(&made) > 0);
}

TEST(short_sequences_are_what_they_are)
{
    autocall(scene_close) scene made;
    scene_open(&made);
    autoptr(bb_kernel_sequence) sequence = new_object(bb_kernel_sequence, NULL, 0);
    check_ok(bb_kernel_sequence_queue(sequence));
    assert_int_equal(bb_kernel_sequence_runs(sequence), 0);
    bb_kernel_sequence_destroy(&sequence);
    const cycle_level grid = cycle_level_add(&made, &cycle_single, 5, 4);
    cycle_sweep(&made, &cycle_single, &grid, 0);
    assert_int_equal(scene_check(&made), 1);
    check_ok(bb_kernel_sequence_join(made.launches, 1, &sequence));
    assert_string_equal(bb_kernel_sequence_source(sequence), "");
}

static inline int sequence_cases_begin(bb_device_kind kind)
{
    return first_device_open(kind, &device);
}

static inline void sequence_cases_end(void)
{
    bb_device_close(&device);
}

#endif
