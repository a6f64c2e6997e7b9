// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "core/store.h"
#include "physics/ao/mirrors/deformable_mirror.h"
#include "physics/ao/subapertures.h"
#include "tests/physics/doubles.h"

#include <cblas.h>
#include <lapacke.h>

TEST(actuators_stand_on_the_lenslet_corners)
{
    autorelease(bb_deformable_mirror) mirror =
        new_struct(bb_deformable_mirror, 39.0, &(bb_pupil){.obstruction = 0.2}, 10, NAN);
    // 100 actuators, 5 modes dropped: independent numbers of the 39 m check case.
    assert_int_equal(mirror.actuator_count, 100);
    assert_int_equal(mirror.dropped_modes, 5);
    assert_int_equal(mirror.measurement_count, 152);
    for (bb_index a = 0; a < 100; ++a) {
        const double rho = hypot((double)mirror.column[a] - 5.0, (double)mirror.row[a] - 5.0) / 5.0;
        assert_true(rho > 0.1 && rho < 1.14);
    }
}

// Without an actuator on an outer corner the subaperture there is not controlled.
TEST(every_corner_of_a_lit_lenslet_has_an_actuator)
{
    enum { LENSLETS = 10, CORNERS = LENSLETS + 1 };
    static const double thresholds[] = {0.3, 0.01};
    for (int k = 0; k < 2; ++k) {
        const bb_pupil pupil = {.by_flux = true, .threshold = thresholds[k]};
        const bb_index count = bb_deformable_mirror_actuators(&pupil, LENSLETS);
        bb_index column[CORNERS * CORNERS], row[CORNERS * CORNERS];
        bool has[CORNERS][CORNERS] = {{false}};
        bb_deformable_mirror_corners(&pupil, LENSLETS, column, row);
        for (bb_index a = 0; a < count; ++a) {
            has[row[a]][column[a]] = true;
        }
        for (bb_index j = 0; j < LENSLETS; ++j) {
            for (bb_index i = 0; i < LENSLETS; ++i) {
                if (bb_subapertures_valid(i, j, LENSLETS, &pupil)) {
                    assert_true(has[j][i] && has[j][i + 1] && has[j + 1][i] && has[j + 1][i + 1]);
                }
            }
        }
    }
}

// Rejected before the first allocation.
TEST(mirrors_beyond_lapack_are_refused)
{
    bb_deformable_mirror mirror = {0};
    check_fails(
        bb_deformable_mirror_create(39.0, &(bb_pupil){.obstruction = 0.0}, 250, NAN, &mirror),
        BB_UNSUPPORTED, "expected at most 46340");
    check_fails(
        bb_deformable_mirror_create(39.0, &(bb_pupil){.obstruction = 0.28}, 300, NAN, &mirror),
        BB_UNSUPPORTED, "a mirror of 300 lenslets");
}

// The truncated pseudo-inverse from the singular values of the whole interaction matrix, two ways.
static void compare_with_singular_values(double obstruction, bb_index lenslets, double condition)
{
    const bb_pupil pupil = {.obstruction = obstruction};
    autorelease(bb_deformable_mirror) mirror =
        new_struct(bb_deformable_mirror, 8.0, &pupil, lenslets, condition);
    const bb_index m = mirror.measurement_count;
    const bb_index k = mirror.actuator_count;
    const bb_index rank = m < k ? m : k;
    autofree double *d = NULL, *u = NULL, *s = NULL, *vt = NULL, *expected = NULL;
    check_ok(BB_ALLOCATE(m * k, &d));
    check_ok(BB_ALLOCATE(m * rank, &u));
    check_ok(BB_ALLOCATE(rank, &s));
    check_ok(BB_ALLOCATE(rank * k, &vt));
    check_ok(BB_ALLOCATE(k * m, &expected));
    check_ok(bb_deformable_mirror_interaction(&mirror, &pupil, d));
    assert_int_equal(LAPACKE_dgesdd(LAPACK_ROW_MAJOR, 'S', (lapack_int)m, (lapack_int)k, d,
                                    (lapack_int)k, s, u, (lapack_int)rank, vt, (lapack_int)k),
                     0);
    bb_index kept = 0;
    while (kept < rank && s[kept] >= s[0] / mirror.condition) {
        cblas_dscal((int)k, 1.0 / s[kept], vt + kept * k, 1);
        ++kept;
    }
    assert_int_equal(mirror.dropped_modes, k - kept);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasTrans, (int)k, (int)m, (int)kept, 1.0, vt, (int)k,
                u, (int)rank, 0.0, expected, (int)m);
    double worst = 0.0;
    double peak = 0.0;
    for (bb_index i = 0; i < k * m; ++i) {
        worst = fmax(worst, fabs(mirror.projector[i] - expected[i]));
        peak = fmax(peak, fabs(expected[i]));
    }
    print_message("%td lenslets, %td of %td modes dropped: %.2g of the peak\n", lenslets, k - kept,
                  k, worst / peak);
    assert_true(worst < 1e-10 * peak);
}

TEST(projector_is_the_truncated_pseudo_inverse)
{
    compare_with_singular_values(0.2, 10, NAN);
    compare_with_singular_values(0.16, 16, NAN);
    compare_with_singular_values(0.2, 10, 20.0);
    compare_with_singular_values(0.0, 3, 2.0);
    compare_with_singular_values(0.2, 28, NAN); // blocks of actuators that share no slope
}

TEST(an_actuator_moves_its_neighbourhood_alone)
{
    enum { LENSLETS = 20 };
    const bb_pupil pupil = {.obstruction = 0.0};
    autorelease(bb_deformable_mirror) mirror =
        new_struct(bb_deformable_mirror, 8.0, &pupil, LENSLETS, NAN);
    const bb_index half = mirror.measurement_count / 2;
    autofree double *d = doubles(2 * half * mirror.actuator_count);
    autofree bb_index *column = NULL, *row = NULL;
    check_ok(BB_ALLOCATE(half, &column));
    check_ok(BB_ALLOCATE(half, &row));
    bb_subapertures_lenslets(LENSLETS, &pupil, column, row);
    check_ok(bb_deformable_mirror_interaction(&mirror, &pupil, d));
    for (bb_index s = 0; s < half; ++s) {
        for (bb_index a = 0; a < mirror.actuator_count; ++a) {
            const double x = fabs((double)(column[s] - mirror.column[a]) + 0.5);
            const double y = fabs((double)(row[s] - mirror.row[a]) + 0.5);
            assert_true((d[s * mirror.actuator_count + a] != 0.0) == (x < 6.0 && y < 5.0));
            assert_true((d[(half + s) * mirror.actuator_count + a] != 0.0) == (x < 5.0 && y < 6.0));
        }
    }
}

TEST(influence_couples_a_fifth_to_the_neighbour)
{
    bb_deformable_mirror mirror = {.diameter_m = 8.0, .lenslets = 16};
    check_relative(bb_deformable_mirror_influence(&mirror, 0.0), 1e-6, 1e-15);
    // rho = 2/n at the neighbour: exp(-(4/n^2) n^2 ln(1/c) / 4) = c.
    check_relative(bb_deformable_mirror_influence(&mirror, 0.5), 0.2e-6, 1e-13);
    check_relative(bb_deformable_mirror_influence(&mirror, 1.0), 0.2e-6 * 0.008, 1e-13);
}

TEST(interaction_is_the_point_difference)
{
    autorelease(bb_deformable_mirror) mirror =
        new_struct(bb_deformable_mirror, 6.0, &(bb_pupil){.obstruction = 0.0}, 3, NAN);
    // 3 x 3 lenslets of 2 m, all nine centres inside (0.943), 16 corners without the four far ones.
    assert_int_equal(mirror.measurement_count, 18);
    assert_int_equal(mirror.actuator_count, 16);
    autofree double *interaction = doubles(18 * 16);
    check_ok(
        bb_deformable_mirror_interaction(&mirror, &(bb_pupil){.obstruction = 0.0}, interaction));
    // Subaperture 4 is centred on (0, 0); actuator 10 at (1, 1) m.
    const double near = bb_deformable_mirror_influence(&mirror, 1.0);
    const double far = bb_deformable_mirror_influence(&mirror, sqrt(5.0));
    const double slope = (near - far) / 2.0 * 206264.806247;
    check_relative(interaction[4 * 16 + 10], slope, 1e-10);
    check_relative(interaction[(9 + 4) * 16 + 10], slope, 1e-10);
    check_relative(interaction[4 * 16 + 5], -slope, 1e-10);
}

// Dx D is the orthogonal projector on the remaining modes: symmetric, idempotent, with a trace
// equal to their number.
TEST(projector_inverts_the_modes_kept)
{
    autorelease(bb_deformable_mirror) mirror =
        new_struct(bb_deformable_mirror, 8.0, &(bb_pupil){.obstruction = 0.2}, 8, NAN);
    const bb_index a = mirror.actuator_count;
    const bb_index m = mirror.measurement_count;
    autofree double *interaction = doubles(m * a);
    autofree double *product = zeros(a * a);
    check_ok(
        bb_deformable_mirror_interaction(&mirror, &(bb_pupil){.obstruction = 0.2}, interaction));
    double trace = 0.0;
    for (bb_index i = 0; i < a; ++i) {
        for (bb_index k = 0; k < m; ++k) {
            for (bb_index j = 0; j < a; ++j) {
                product[i * a + j] += mirror.projector[i * m + k] * interaction[k * a + j];
            }
        }
        trace += product[i * a + i];
    }
    check_close(trace, (double)(a - mirror.dropped_modes), 1e-10, 1.0);
    assert_true(mirror.dropped_modes >= 1); // at least piston
    for (bb_index i = 0; i < a; ++i) {
        for (bb_index j = 0; j < a; ++j) {
            double square = 0.0;
            for (bb_index k = 0; k < a; ++k) {
                square += product[i * a + k] * product[k * a + j];
            }
            check_close(square, product[i * a + j], 1e-12, 1.0);
            check_close(product[j * a + i], product[i * a + j], 1e-12, 1.0);
        }
    }
}

// Fraction of a plane's voltages that the projector recovers.
static double tilt_kept(bb_index lenslets, double condition)
{
    autorelease(bb_deformable_mirror) mirror =
        new_struct(bb_deformable_mirror, 8.0, &(bb_pupil){.obstruction = 0.2}, lenslets, condition);
    const bb_index m = mirror.measurement_count;
    const bb_index a = mirror.actuator_count;
    autofree double *interaction = doubles(m * a);
    check_ok(
        bb_deformable_mirror_interaction(&mirror, &(bb_pupil){.obstruction = 0.2}, interaction));
    double got = 0.0;
    double total = 0.0;
    for (bb_index k = 0; k < m; ++k) {
        double slope = 0.0;
        double answer = 0.0;
        for (bb_index i = 0; i < a; ++i) {
            const double x = (double)(2 * mirror.column[i] - lenslets);
            slope += interaction[k * a + i] * x;
            answer += mirror.projector[i * m + k] * x;
            total += k == 0 ? x * x : 0.0;
        }
        got += slope * answer;
    }
    return got / total;
}

TEST(the_usual_condition_keeps_the_tilts)
{
    static const bb_index lenslets[] = {6, 10, 11, 15, 16, 23};
    for (size_t i = 0; i < sizeof lenslets / sizeof lenslets[0]; ++i) {
        assert_true(tilt_kept(lenslets[i], NAN) > 0.95);
    }
    assert_true(tilt_kept(16, sqrt(30.0)) < 0.1);
}

TEST(no_subaperture_is_an_error)
{
    bb_deformable_mirror mirror = {0};
    check_fails(bb_deformable_mirror_create(8.0, &(bb_pupil){.obstruction = 0.8}, 1, NAN, &mirror),
                BB_INVALID, "a mirror of 1 lenslets");
}

// In a process that caches projectors a second equal mirror adds none; one of another pupil does.
TEST(a_projector_is_found_by_what_it_depends_on)
{
    const bb_pupil pupil = {.obstruction = 0.2};
    const bb_pupil other = {.obstruction = 0.3};
    bb_store_allow(1e6);
    autorelease(bb_deformable_mirror) first =
        new_struct(bb_deformable_mirror, 39.0, &pupil, 10, NAN);
    const bb_index blocks = bb_memory_blocks();
    autorelease(bb_deformable_mirror) second =
        new_struct(bb_deformable_mirror, 39.0, &pupil, 10, NAN);
    assert_int_equal(bb_memory_blocks(), blocks + 3); // row, column and projector, nothing cached
    assert_memory_equal(first.projector, second.projector,
                        (size_t)(first.actuator_count * first.measurement_count) *
                            sizeof *first.projector);
    assert_int_equal(first.dropped_modes, second.dropped_modes);
    autorelease(bb_deformable_mirror) third =
        new_struct(bb_deformable_mirror, 39.0, &other, 10, NAN);
    assert_int_equal(bb_memory_blocks(), blocks + 7); // and its own is cached
    bb_store_allow(0.0);
}
