// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"
#include "core/thread.h"
#include "physics/ao/mirrors/deformable_mirror.h"
#include "physics/ao/mirrors/mirror_commands.h"
#include "tests/physics/ao/cases.h"

#include <cblas.h>

typedef struct scene {
    bb_ao_config config;
    bb_atmosphere atmosphere;
    bb_sensor_array truth[MOST_TARGETS];
    bb_mirror_commands *commands;
    bb_index slopes, actuators; // of a target
} scene;

static void enter(const ao_case *c, scene *s)
{
    const bb_sensor *truths[MOST_TARGETS];
    *s = (scene){.config = case_config(c)};
    check_ok(bb_atmosphere_create(&c->atmosphere, 0.0, &s->atmosphere));
    for (bb_index t = 0; t < c->target_count; ++t) {
        check_ok(bb_sensor_array_create_truth(&s->config, t, &s->atmosphere, &s->truth[t]));
        truths[t] = s->truth[t].sensors;
    }
    check_ok(bb_mirror_commands_create(&s->config, truths, &s->commands));
    s->slopes = s->commands->slopes[0];
    s->actuators = s->commands->stack.actuator_count;
}

static void leave(scene *s)
{
    bb_mirror_commands_destroy(&s->commands);
    for (bb_index t = 0; t < s->config.target_count; ++t) {
        bb_sensor_array_release(&s->truth[t]);
    }
    bb_atmosphere_release(&s->atmosphere);
}

// Two mirrors, the first with 249 actuators.
static ao_case two_mirrors(double condition)
{
    ao_case c = case_mcao();
    add_mirror(&c, 0.0, NAN);
    add_mirror(&c, 11000.0, 0.8);
    c.mirrors_condition = condition;
    return c;
}

// sum_p F w_p D_p^T D_p, [actuators][actuators]: the remaining part of voltages.
static double *kept(const scene *s)
{
    const int k = (int)s->actuators;
    const bb_mirror_commands *commands = s->commands;
    const double *projector = commands->projector;
    double *product = zeros(s->actuators * s->actuators);
    for (bb_index t = 0; t < commands->target_count; ++t) {
        if (commands->weight[t] > 0.0) {
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, k, k, (int)s->slopes, 1.0,
                        projector, (int)commands->slope_count, commands->interaction[t], k, 1.0,
                        product, k);
            projector += s->slopes;
        }
    }
    return product;
}

// Symmetric, idempotent, with the rank of the remaining modes.
TEST(commands_of_what_mirrors_made_are_the_modes_kept)
{
    ao_case c = two_mirrors(55.0);
    c.targets[0].weight = 6.0;
    c.targets[2].weight = 0.0;
    autocall(leave) scene s;
    enter(&c, &s);
    const int k = (int)s.actuators;
    assert_int_equal(s.actuators, 249);
    assert_int_equal(s.commands->slope_count, 4 * s.slopes);
    check_relative(s.commands->weight[0], 6.0 / 9.0, 1e-15);
    assert_true(s.commands->weight[2] == 0.0);
    autofree double *product = kept(&s);
    double sum = 0.0;
    autofree double *square = doubles(s.actuators * s.actuators);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, k, k, k, 1.0, product, k, product, k, 0.0,
                square, k);
    for (int i = 0; i < k; ++i) {
        sum += product[i * k + i];
        for (int j = 0; j < k; ++j) {
            check_close(square[i * k + j], product[i * k + j], 1e-9, 1.0);
        }
    }
    check_relative(sum, (double)(s.actuators - s.commands->dropped_modes), 1e-10);
    assert_true(s.commands->dropped_modes > 0);
}

// For any slopes t_p, the residual of the commands v has no component in the remaining modes: P
// sum_p w_p D_p^T (t_p - D_p v) = 0.
TEST(commands_minimise_the_weighted_residual)
{
    ao_case c = two_mirrors(55.0);
    c.targets[1].weight = 0.3;
    autocall(leave) scene s;
    enter(&c, &s);
    const bb_mirror_commands *commands = s.commands;
    const int k = (int)s.actuators;
    const int m = (int)s.slopes;
    autofree double *t = NULL, *v = NULL, *gradient = NULL, *rest = NULL;
    check_ok(BB_ALLOCATE(commands->slope_count, &t));
    check_ok(BB_ALLOCATE(s.actuators, &v));
    check_ok(BB_ALLOCATE(s.actuators, &rest));
    check_ok(BB_ZEROED(s.actuators, &gradient));
    fill_array(t, commands->slope_count, i, sin(0.7 * (double)(i * i % 1013)));
    cblas_dgemv(CblasRowMajor, CblasNoTrans, k, 5 * m, 1.0, commands->projector, 5 * m, t, 1, 0.0,
                v, 1);
    for (int p = 0; p < 5; ++p) {
        cblas_dgemv(CblasRowMajor, CblasNoTrans, m, k, -1.0, commands->interaction[p], k, v, 1, 1.0,
                    t + p * m, 1);
        cblas_dgemv(CblasRowMajor, CblasTrans, m, k, commands->weight[p], commands->interaction[p],
                    k, t + p * m, 1, 1.0, gradient, 1);
    }
    autofree double *product = kept(&s);
    cblas_dgemv(CblasRowMajor, CblasNoTrans, k, k, 1.0, product, k, gradient, 1, 0.0, rest, 1);
    print_message("gradient %.2g, of kept modes %.2g\n", cblas_dnrm2(k, gradient, 1),
                  cblas_dnrm2(k, rest, 1));
    assert_true(cblas_dnrm2(k, rest, 1) < 1e-10 * cblas_dnrm2(k, v, 1));
    assert_true(cblas_dnrm2(k, v, 1) > 1.0);
}

// With the condition of a single mirror its projector is the limit for all directions and weights.
TEST(one_mirror_at_the_pupil_has_the_projector_of_one)
{
    autorelease(bb_deformable_mirror) mirror =
        new_struct(bb_deformable_mirror, 8.0, &(bb_pupil){.obstruction = 0.2}, 10, NAN);
    for (int directions = 1; directions <= 5; directions += 4) {
        ao_case c = case_mcao();
        autocall(leave) scene s;
        c.target_count = directions;
        add_mirror(&c, 0.0, NAN);
        c.mirrors_condition = sqrt(30.0);
        enter(&c, &s);
        assert_int_equal(s.commands->dropped_modes, mirror.dropped_modes);
        double peak = 0.0;
        double worst = 0.0;
        for (bb_index a = 0; a < s.actuators; ++a) {
            for (bb_index i = 0; i < s.commands->slope_count; ++i) {
                const double expected = mirror.projector[a * s.slopes + i % s.slopes] / directions;
                const double got = s.commands->projector[a * s.commands->slope_count + i];
                worst = fmax(worst, fabs(got - expected));
                peak = fmax(peak, fabs(expected));
            }
        }
        print_message("%d direction(s): %.2g of the peak\n", directions, worst / peak);
        assert_true(worst < 1e-10 * peak);
    }
}

// Dense sources of arbitrary numbers, with plain products.
TEST(sides_and_estimates_are_products)
{
    enum { N = 300 };
    ao_case c = two_mirrors(100.0);
    c.targets[1].weight = 0.0;
    autocall(leave) scene s;
    enter(&c, &s);
    const bb_index items = s.slopes * N;
    double *values[5] = {NULL};
    bb_view view[5];
    bb_matrix_source source[5];
    const bb_matrix_source *ctm[5];
    autofree double *out = NULL, *again = NULL, *seen = NULL;
    check_ok(BB_ALLOCATE(s.actuators * N, &out));
    check_ok(BB_ALLOCATE(s.actuators * N, &again));
    check_ok(BB_ALLOCATE(items, &seen));
    for (int p = 0; p < 5; ++p) {
        check_ok(BB_ALLOCATE(items, &values[p]));
        for (bb_index i = 0; i < items; ++i) {
            values[p][i] = cos((double)((i + p) * (i + 3) % 997));
        }
        view[p] = bb_view_matrix(values[p], s.slopes, N);
        source[p] = bb_matrix_source_dense(&view[p], "Ctm", "1");
        ctm[p] = &source[p];
    }
    check_ok(bb_threads_set(1));
    check_ok(bb_mirror_commands_gather(s.commands, ctm, out));
    check_ok(bb_threads_set(3));
    check_ok(bb_mirror_commands_gather(s.commands, ctm, again));
    assert_memory_equal(out, again, (size_t)(s.actuators * N) * sizeof *out);
    for (bb_index a = 0; a < s.actuators; a += 31) {
        for (bb_index j = 0; j < N; j += 17) {
            const double *row = s.commands->projector + a * s.commands->slope_count;
            double sum = 0.0;
            for (int p = 0; p < 5; ++p) {
                for (bb_index i = 0; p != 1 && i < s.slopes; ++i) {
                    sum += *row++ * values[p][i * N + j];
                }
            }
            check_close(out[a * N + j], sum, 1e-9, 1.0);
        }
    }
    check_ok(bb_mirror_commands_apply_influence(s.commands, 1, N, out, seen));
    for (bb_index i = 0; i < s.slopes; i += 23) {
        double sum = 0.0;
        for (bb_index a = 0; a < s.actuators; ++a) {
            sum += s.commands->interaction[1][i * s.actuators + a] * out[a * N + 11];
        }
        check_close(seen[i * N + 11], sum, 1e-9, 1.0);
    }
    for (int p = 0; p < 5; ++p) {
        BB_RELEASE(&values[p]);
    }
}

// The square of a weak mode's ratio is its fraction of the largest eigenvalue: from the slopes of
// the mode in all directions.
static double strength(const scene *s, const double *volts)
{
    const int k = (int)s->actuators;
    const int m = (int)s->slopes;
    double sum = 0.0;
    autofree double *made = doubles(s->slopes);
    for (bb_index t = 0; t < s->commands->target_count; ++t) {
        cblas_dgemv(CblasRowMajor, CblasNoTrans, m, k, 1.0, s->commands->interaction[t], k, volts,
                    1, 0.0, made, 1);
        sum += s->commands->weight[t] * cblas_ddot(m, made, 1, made, 1);
    }
    return sqrt(sum);
}

// Independent numbers of the two mirrors: ratios 0.0015, 0.010, 0.016, 0.020, 0.020. Two pistons of
// the lower mirror, one of the upper, two opposed tilts.
TEST(weak_modes_are_those_of_plate_scale)
{
    static const double expected[5] = {0.0015, 0.010, 0.016, 0.020, 0.020};
    ao_case c = two_mirrors(45.0);
    autocall(leave) scene s;
    autofree bb_plate_mode *modes = NULL;
    bb_index count = 0;
    enter(&c, &s);
    assert_int_equal(s.commands->dropped_modes, 5);
    const bb_weak_modes *weak = &s.commands->weak;
    assert_true(weak->count >= 5);
    const double largest = strength(&s, weak->volts + 4 * s.actuators) / weak->ratios[4];
    for (int q = 0; q < 5; ++q) {
        const double ratio = strength(&s, weak->volts + q * s.actuators) / largest;
        check_close(weak->ratios[q], expected[q], 5.1e-4, 1.0);
        check_relative(ratio, weak->ratios[q], 1e-6);
    }
    // A condition of 45 is 11 % below two opposed tilts, at 50.
    check_ok(bb_plate_modes_find(s.commands, &modes, &count));
    assert_int_equal(count, 2);
    for (int q = 0; q < 2; ++q) {
        assert_int_equal(modes[q].shape, BB_PLATE_TILTS);
        assert_true(modes[q].opposed && modes[q].dropped && modes[q].share[BB_PLATE_TILTS] > 0.9);
        check_relative(modes[q].ratio, 0.020, 0.01);
    }
}

// Reported modes; the shape of the first, and whether it is opposed.
static bb_index told(const ao_case *c, bb_plate_shape *shape, bool *opposed)
{
    autocall(leave) scene s;
    autofree bb_plate_mode *modes = NULL;
    bb_index count = 0;
    enter(c, &s);
    check_ok(bb_plate_modes_find(s.commands, &modes, &count));
    *shape = count > 0 ? modes[0].shape : BB_PLATE_SHAPES;
    *opposed = count > 0 && modes[0].opposed;
    return count;
}

// Between the opposed curvatures at 1/17.3 and the opposed tilts at 1/49.9 there is room for 30 and
// 40; at 1/61.8 is a piston of the upper mirror. A single mirror has no plate-scale modes.
TEST(a_condition_apart_from_plate_scale_is_not_told_of)
{
    ao_case c = two_mirrors(30.0);
    bb_plate_shape shape;
    bool opposed;
    assert_int_equal(told(&c, &shape, &opposed), 0);
    c.mirrors_condition = 40.0;
    assert_int_equal(told(&c, &shape, &opposed), 0);
    c.mirrors_condition = 16.3;
    assert_int_equal(told(&c, &shape, &opposed), 2);
    assert_true(shape == BB_PLATE_CURVATURES && opposed);
    c.mirrors_condition = 70.0;
    assert_int_equal(told(&c, &shape, &opposed), 1);
    assert_true(shape == BB_PLATE_PISTONS && !opposed);
    c.mirror_count = 1;
    for (double condition = 3.0; condition < 300.0; condition *= 1.3) {
        c.mirrors_condition = condition;
        assert_int_equal(told(&c, &shape, &opposed), 0);
    }
}

// The only actuator is at the centre of the only subaperture.
TEST(mirrors_that_move_nothing_are_refused)
{
    ao_case c = case_mcao();
    autorelease(bb_sensor_array) truth = {0};
    bb_mirror_commands *commands = NULL;
    c.telescope.obstruction = 0.0;
    c.sensors.lenslets = 1;
    c.target_count = 1;
    c.mirrors_condition = 100.0;
    add_mirror(&c, 0.0, 20.0);
    const bb_ao_config config = case_config(&c);
    autorelease(bb_atmosphere) atmosphere = new_struct(bb_atmosphere, &c.atmosphere, 0.0);
    check_ok(bb_sensor_array_create_truth(&config, 0, &atmosphere, &truth));
    const bb_sensor *const truths[1] = {truth.sensors};
    check_fails(bb_mirror_commands_create(&config, truths, &commands), BB_INVALID,
                "none of 1 actuators moves a slope");
    c.mirrors[0].pitch_m = 3.0;
    check_ok(bb_mirror_commands_check(&config, truths));
}
