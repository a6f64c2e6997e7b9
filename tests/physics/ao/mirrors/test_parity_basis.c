// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "core/thread.h"
#include "physics/ao/mirrors/deformable_mirror.h"
#include "physics/ao/mirrors/mirror_projector.h"
#include "tests/physics/doubles.h"

// A mirror and its interaction matrix.
typedef struct scene {
    bb_deformable_mirror mirror;
    bb_index slopes, actuators;
    double *interaction; // [slopes][actuators]
    double *gram;        // [actuators][actuators]
    double *x, *y;       // [actuators] from the axis, in lenslets
} scene;

static void open_scene(const bb_pupil *pupil, bb_index lenslets, scene *out)
{
    *out = (scene){0};
    check_ok(bb_deformable_mirror_create(39.0, pupil, lenslets, NAN, &out->mirror));
    out->slopes = out->mirror.measurement_count;
    out->actuators = out->mirror.actuator_count;
    check_ok(BB_ALLOCATE(out->slopes * out->actuators, &out->interaction));
    check_ok(BB_ZEROED(out->actuators * out->actuators, &out->gram));
    check_ok(BB_ALLOCATE(out->actuators, &out->x));
    check_ok(BB_ALLOCATE(out->actuators, &out->y));
    for (bb_index i = 0; i < out->actuators; ++i) {
        out->x[i] = (double)out->mirror.column[i] - 0.5 * (double)lenslets;
        out->y[i] = (double)out->mirror.row[i] - 0.5 * (double)lenslets;
    }
    check_ok(bb_deformable_mirror_interaction(&out->mirror, pupil, out->interaction));
    for (bb_index s = 0; s < out->slopes; ++s) {
        const double *row = out->interaction + s * out->actuators;
        for (bb_index i = 0; i < out->actuators; ++i) {
            for (bb_index j = 0; j < out->actuators; ++j) {
                out->gram[i * out->actuators + j] += row[i] * row[j];
            }
        }
    }
}

static void close_scene(scene *s)
{
    bb_deformable_mirror_release(&s->mirror);
    BB_RELEASE(&s->interaction);
    BB_RELEASE(&s->gram);
    BB_RELEASE(&s->x);
    BB_RELEASE(&s->y);
}

static bb_actuator_places places_of(const scene *s)
{
    return (bb_actuator_places){s->x, s->y, NULL};
}

// Number of blocks of the basis, which is orthonormal and leaves no part of D^T D outside them.
static int blocks_of(const scene *s)
{
    const bb_actuator_places places = places_of(s);
    const bb_index k = s->actuators;
    autorelease(bb_parity_basis) basis = {0};
    double *block = NULL;
    double inside = 0.0;
    double all = 0.0;
    check_ok(bb_parity_basis_create(k, &places, s->gram, &basis));
    autofree double *rows = zeros(k * k);
    for (bb_index i = 0; i < k; ++i) {
        rows[i * k + i] = 1.0;
    }
    check_ok(bb_parity_basis_forward(&basis, k, rows));
    check_ok(bb_parity_basis_inverse(&basis, k, rows));
    for (bb_index i = 0; i < k * k; ++i) {
        check_close(rows[i], i % (k + 1) == 0 ? 1.0 : 0.0, 1e-15, 1.0);
        all += s->gram[i] * s->gram[i];
    }
    assert_int_equal(basis.first[basis.blocks], k);
    for (int b = 0; b < basis.blocks; ++b) {
        const bb_index size = bb_parity_basis_size(&basis, b);
        check_ok(BB_ALLOCATE(size * size, &block));
        check_ok(bb_parity_basis_fold(&basis, b, s->gram, block));
        for (bb_index i = 0; i < size * size; ++i) {
            inside += block[i] * block[i];
        }
        BB_RELEASE(&block);
    }
    check_relative(inside, all, 1e-12);
    const int blocks = basis.blocks;
    return blocks;
}

static void project(const scene *s, const bb_actuator_places *places, double *projector,
                    bb_index *dropped)
{
    autofree double *copy = doubles(s->slopes * s->actuators);
    memcpy(copy, s->interaction, (size_t)(s->slopes * s->actuators) * sizeof *copy);
    check_ok(bb_mirror_projector_make(s->slopes, s->actuators, s->mirror.condition, places, copy,
                                      projector, dropped, NULL));
}

// The projector with parities against that without, and its bits with another number of threads.
static void compare(const scene *s)
{
    const bb_actuator_places places = places_of(s);
    const bb_index items = s->slopes * s->actuators;
    double worst = 0.0;
    double peak = 0.0;
    bb_index dropped[2];
    autofree double *plain = doubles(items);
    autofree double *folded = doubles(items);
    project(s, NULL, plain, &dropped[0]);
    project(s, &places, folded, &dropped[1]);
    assert_int_equal(dropped[0], dropped[1]);
    for (bb_index i = 0; i < items; ++i) {
        worst = fmax(worst, fabs(plain[i] - folded[i]));
        peak = fmax(peak, fabs(plain[i]));
    }
    print_message("%td actuators, %td modes dropped: %.2g of the peak\n", s->actuators, dropped[0],
                  worst / peak);
    assert_true(worst < 1e-11 * peak);
    check_ok(bb_threads_set(3));
    project(s, &places, plain, &dropped[0]);
    check_ok(bb_threads_set(1));
    assert_memory_equal(plain, folded, (size_t)items * sizeof *plain);
}

TEST_FULL(an_annulus_has_four_blocks)
{
    check_ok(bb_threads_set(1)); // and as many BLAS threads
    static const bb_index lenslets[] = {3, 10, 17, 24};
    for (size_t i = 0; i < sizeof lenslets / sizeof lenslets[0]; ++i) {
        autocall(close_scene) scene s;
        open_scene(&(bb_pupil){.obstruction = 0.2}, lenslets[i], &s);
        assert_int_equal(blocks_of(&s), 4);
        compare(&s);
    }
}

// A full square without some of its pixels: their positions determine the remaining symmetry.
static int blocks_without(const bb_index (*missing)[2], bb_index count)
{
    enum { EDGE = 12 };
    double mask[EDGE * EDGE];
    autocall(close_scene) scene s;
    fill_array(mask, EDGE * EDGE, i, 1.0);
    for (bb_index i = 0; i < count; ++i) {
        mask[missing[i][1] * EDGE + missing[i][0]] = 0.0;
    }
    const bb_pupil pupil = {.mask = mask, .edge = EDGE, .threshold = 0.5};
    open_scene(&pupil, EDGE, &s);
    const int blocks = blocks_of(&s);
    compare(&s);
    return blocks;
}

TEST(a_mask_has_what_its_shape_leaves)
{
    static const bb_index corner[][2] = {{2, 3}};
    static const bb_index beside[][2] = {{2, 3}, {9, 3}};
    static const bb_index above[][2] = {{2, 3}, {2, 8}};
    static const bb_index turned[][2] = {{2, 3}, {9, 8}};
    static const bb_index all[][2] = {{2, 3}, {9, 3}, {2, 8}, {9, 8}};
    check_ok(bb_threads_set(1));
    assert_int_equal(blocks_without(corner, 1), 1);
    assert_int_equal(blocks_without(beside, 2), 2);
    assert_int_equal(blocks_without(above, 2), 2);
    assert_int_equal(blocks_without(turned, 2), 2);
    assert_int_equal(blocks_without(all, 4), 4);
}

TEST(equal_modes_leave_none_weak)
{
    double interaction[4] = {2.0, 0.0, 0.0, 2.0};
    double projector[4];
    bb_index dropped = -1;
    autorelease(bb_weak_modes) weak = {.margin = 3.0};
    check_ok(bb_mirror_projector_make(2, 2, 10.0, NULL, interaction, projector, &dropped, &weak));
    assert_true(dropped == 0 && weak.count == 0);
    check_close(projector[0], 0.5, 1e-15, 1.0);
}
