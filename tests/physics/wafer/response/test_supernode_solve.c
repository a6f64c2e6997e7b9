// SPDX-License-Identifier: Apache-2.0
//
// The panel solve against cholmod_l_solve on the stiffness of a coarse coupled plate, sparse
// right-hand sides against dense ones, and inconsistent index arrays.
#include "physics/wafer/response/plate_assembly.h"
#include "physics/wafer/response/plate_factor.h"
#include "tests/physics/wafer/wafer_defaults.h"

#include <cholmod.h>

enum { WIDTH = 7 };

typedef struct setup {
    bb_disc_mesh *mesh;
    bb_upper_triangle matrix;
    bb_plate_factor *factor;
    const bb_supernodes *view;
} setup;

static setup make(void)
{
    setup scene = {0};
    bb_plate plate = bb_plate_make(&SILICON, &CLAMP);
    bb_plate_element element;
    check_ok(bb_disc_mesh_create(0.150, 0.006, &scene.mesh));
    bb_plate_element_make(&plate, scene.mesh->spacing, &element);
    check_ok(bb_plate_assemble(scene.mesh, &element, NULL, &scene.matrix));
    autofree int64_t *order = new_array(int64_t, scene.matrix.unknowns);
    check_ok(bb_plate_order(scene.mesh, order));
    check_ok(bb_plate_factor_create(&scene.matrix, order, &scene.factor));
    scene.view = bb_plate_factor_supernodes(scene.factor);
    return scene;
}

static void drop(setup *scene)
{
    bb_plate_factor_destroy(&scene->factor);
    bb_upper_triangle_release(&scene->matrix);
    bb_disc_mesh_destroy(&scene->mesh);
}

static double entry(bb_index i, bb_index column)
{
    return sin(1.0 + 0.7 * (double)i + 2.3 * (double)column);
}

// CHOLMOD's own solution, column-major.
static void solve_by_cholmod(const setup *scene, double *out)
{
    cholmod_common common;
    bb_index n = scene->matrix.unknowns;
    (void)cholmod_l_start(&common);
    common.supernodal = CHOLMOD_SUPERNODAL;
    cholmod_sparse sparse = {.nrow = (size_t)n,
                             .ncol = (size_t)n,
                             .nzmax = (size_t)scene->matrix.start[n],
                             .p = scene->matrix.start,
                             .i = scene->matrix.row,
                             .x = scene->matrix.value,
                             .stype = 1,
                             .itype = CHOLMOD_LONG,
                             .xtype = CHOLMOD_REAL,
                             .dtype = CHOLMOD_DOUBLE,
                             .sorted = 1,
                             .packed = 1};
    cholmod_factor *factor = cholmod_l_analyze(&sparse, &common);
    (void)cholmod_l_factorize(&sparse, factor, &common);
    cholmod_dense *right =
        cholmod_l_allocate_dense((size_t)n, WIDTH, (size_t)n, CHOLMOD_REAL, &common);
    for (bb_index i = 0; i < n * WIDTH; ++i) {
        ((double *)right->x)[i] = entry(i % n, i / n);
    }
    cholmod_dense *x = cholmod_l_solve(CHOLMOD_A, factor, right, &common);
    memcpy(out, x->x, (size_t)(n * WIDTH) * sizeof *out);
    (void)cholmod_l_free_dense(&x, &common);
    (void)cholmod_l_free_dense(&right, &common);
    (void)cholmod_l_free_factor(&factor, &common);
    (void)cholmod_l_finish(&common);
}

TEST(answers_are_cholmods)
{
    autocall(drop) setup scene = make();
    bb_index n = scene.matrix.unknowns;
    autofree double *x = doubles(n * WIDTH);
    autofree double *expected = doubles(n * WIDTH);
    const int64_t *place = bb_plate_factor_places(scene.factor);
    for (bb_index i = 0; i < n * WIDTH; ++i) {
        x[place[i / WIDTH] * WIDTH + i % WIDTH] = entry(i / WIDTH, i % WIDTH);
    }
    check_ok(bb_supernodes_solve(scene.view, WIDTH, 0, NULL, x));
    solve_by_cholmod(&scene, expected);
    double worst = 0.0;
    for (bb_index column = 0; column < WIDTH; ++column) {
        double error = 0.0;
        double norm = 0.0;
        for (bb_index i = 0; i < n; ++i) {
            double e = expected[column * n + i];
            error = fmax(error, fabs(x[place[i] * WIDTH + column] - e));
            norm = fmax(norm, fabs(e));
        }
        worst = fmax(worst, error / norm);
    }
    print_message("%lld unknowns, %lld supernodes: CHOLMOD's answers to %.1e\n", (long long)n,
                  (long long)scene.view->count, worst);
    assert_true(worst < 1e-12);
}

// Skipped supernodes are zero: the values are the same, not only close.
TEST(sparse_sides_give_the_same)
{
    autocall(drop) setup scene = make();
    bb_index n = scene.matrix.unknowns;
    autofree double *dense = zeros(n * WIDTH);
    autofree double *sparse = zeros(n * WIDTH);
    const int64_t touched[4] = {0, n / 3, n / 3, n - 1};
    for (int k = 0; k < 4; ++k) {
        dense[touched[k] * WIDTH + k] = sparse[touched[k] * WIDTH + k] = 1.0 + k;
    }
    check_ok(bb_supernodes_solve(scene.view, WIDTH, 0, NULL, dense));
    check_ok(bb_supernodes_solve(scene.view, WIDTH, 4, touched, sparse));
    check_all_close(dense, sparse, n * WIDTH, 0.0, 1.0);
    assert_true(dense[0] > 0.0);
}

// Eight digits less than single precision.
static void round_coarsely(float *values, bb_index count)
{
    for (bb_index i = 0; i < count; ++i) {
        int exponent = 0;
        const float fraction = frexpf(values[i], &exponent);
        values[i] = ldexpf(rintf(fraction * 0x1p16F) * 0x1p-16F, exponent);
    }
}

// Largest error of a narrow solve over the largest value.
static double narrow_error(const setup *scene, bb_operand_rounding round)
{
    const bb_index n = scene->matrix.unknowns;
    autofree double *exact = zeros(n * WIDTH);
    autofree double *narrow = zeros(n * WIDTH);
    bb_narrow_factor *factor = NULL;
    const int64_t touched[2] = {n / 3, n - 1};
    for (int k = 0; k < 2; ++k) {
        exact[touched[k] * WIDTH + k] = narrow[touched[k] * WIDTH + k] = 1.0 + k;
    }
    check_ok(bb_narrow_factor_create(scene->view, round, &factor));
    check_ok(bb_narrow_factor_solve(NULL, scene->view, WIDTH, 2, touched, exact));
    check_ok(bb_narrow_factor_solve(factor, scene->view, WIDTH, 2, touched, narrow));
    bb_narrow_factor_destroy(&factor);
    double error = 0.0;
    double norm = 0.0;
    for (bb_index i = 0; i < n * WIDTH; ++i) {
        assert_true(narrow[i] == (double)(float)narrow[i]);
        error = fmax(error, fabs(narrow[i] - exact[i]));
        norm = fmax(norm, fabs(exact[i]));
    }
    return error / norm;
}

TEST(narrow_solves_lose_the_digits_of_their_operands)
{
    autocall(drop) setup scene = make();
    const double single = narrow_error(&scene, NULL);
    const double coarse = narrow_error(&scene, round_coarsely);
    print_message("errors: %.1e in single precision, %.1e with 16 bits\n", single, coarse);
    assert_true(single > 1e-9 && single < 1e-4);
    assert_true(coarse > 30.0 * single && coarse < 1e4 * single);
}

TEST(a_factor_beyond_single_precision_is_refused)
{
    autocall(drop) setup scene = make();
    bb_supernodes large = *scene.view;
    bb_narrow_factor *factor = NULL;
    autofree double *values = doubles(large.value_count);
    memcpy(values, large.value, (size_t)large.value_count * sizeof *values);
    values[0] = 1e39;
    large.value = values;
    check_fails(bb_narrow_factor_create(&large, NULL, &factor), BB_UNSUPPORTED,
                "outside the range of single precision");
    assert_null(factor);
}

TEST(broken_indices_are_refused)
{
    autocall(drop) setup scene = make();
    bb_supernodes broken = *scene.view;
    check_ok(bb_supernodes_check(scene.view));
    broken.unknowns += 1;
    check_fails(bb_supernodes_check(&broken), BB_INVALID, "do not cover its unknowns");
    broken = *scene.view;
    autofree int64_t *first = new_array(int64_t, broken.count + 1);
    memcpy(first, broken.first, (size_t)(broken.count + 1) * sizeof *first);
    first[3] = first[2];
    broken.first = first;
    check_fails(bb_supernodes_check(&broken), BB_INVALID, "supernode 2 of the factor");
    broken = *scene.view;
    autofree int64_t *row = new_array(int64_t, broken.row_count);
    memcpy(row, broken.row, (size_t)broken.row_count * sizeof *row);
    row[broken.row_start[1] - 1] = broken.unknowns;
    broken.row = row;
    check_fails(bb_supernodes_check(&broken), BB_INVALID, "out of order");
    memcpy(row, broken.permutation, (size_t)broken.unknowns * sizeof *row);
    row[5] = -1;
    broken = *scene.view;
    broken.permutation = row;
    check_fails(bb_supernodes_check(&broken), BB_INVALID, "entry 5");
}
