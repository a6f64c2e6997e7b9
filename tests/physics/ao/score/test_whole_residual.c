// SPDX-License-Identifier: Apache-2.0
//
// The whole residual between points of the pupil, compared with plain sums of the structure
// function, and its Strehl ratio, compared with known images.
#include "core/memory.h"
#include "physics/ao/ao_constants.h"
#include "physics/ao/score/whole_residual.h"
#include "physics/ao/target_commands.h"
#include "tests/physics/ao/chain.h"

enum { LAYERS = 2 };

static const bb_error_terms_config fitting = {.fitting = true, .fitting_coefficient = 0.2740};
static const double drift[LAYERS][2] = {{0.05, -0.02}, {-0.11, 0.08}};
static const bb_whole_look carried = {1.0, drift};
static const bb_whole_look still = {1.0, NULL};
static const double wavelength_m = 1.65e-6;

// A problem, a suboptimal reconstructor and its residual.
typedef struct scene {
    ao_case c;
    bb_ao_config config;
    bb_tomography *problem;
    bb_index n, m, actuators;
    double *cmm, *ctm, *ctt; // dense
    double *r;               // [m][n]
    double *commands;        // M [actuators][n]
    double *product;         // M Cmm M^T
    double *cee, *voltages;
} scene;

static double *dense(const bb_matrix_source *source)
{
    double *values = doubles(source->rows * source->columns);
    check_ok(bb_matrix_source_load(source, values));
    return values;
}

// out [rows][columns] = alpha A B^T + beta out.
static void add_product(double alpha, const double *a, const double *b, bb_index rows,
                        bb_index columns, bb_index depth, double beta, double *out)
{
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)columns, (int)depth, alpha,
                a, (int)depth, b, (int)depth, beta, out, (int)columns);
}

static void set_residual(scene *s, double gain)
{
    autofree double *half = doubles((s->m > s->actuators ? s->m : s->actuators) * s->n);
    for (bb_index i = 0; i < s->m * s->n; ++i) {
        s->r[i] = gain * s->ctm[i] / (s->cmm[0] * (1.0 + 0.01 * (double)(i % 7)));
    }
    add_product(1.0, s->r, s->cmm, s->m, s->n, s->n, 0.0, half);
    memcpy(s->cee, s->ctt, (size_t)(s->m * s->m) * sizeof *s->cee);
    add_product(1.0, half, s->r, s->m, s->m, s->n, 1.0, s->cee);
    add_product(-1.0, s->r, s->ctm, s->m, s->m, s->n, 1.0, s->cee);
    add_product(-1.0, s->ctm, s->r, s->m, s->m, s->n, 1.0, s->cee);
    check_ok(bb_target_commands_project(s->problem, 0, s->n, s->r, NULL, s->commands));
    add_product(1.0, s->commands, s->cmm, s->actuators, s->n, s->n, 0.0, half);
    add_product(1.0, half, s->commands, s->actuators, s->actuators, s->n, 0.0, s->product);
    check_ok(bb_tomography_project(s->problem, 0, s->cee, s->voltages));
}

// `mirrors`: one at 0 m replaces the target's own.
static void open_scene(bool mirrors, scene *s)
{
    *s = (scene){.c = case_without_stars(4.0, 5)};
    add_star(&s->c, BB_GUIDE_STAR_LGS, 17.0, 3.0);
    add_star(&s->c, BB_GUIDE_STAR_NGS, -9.0, 21.0);
    s->c.stars[1].lenslets = 4;
    add_target(&s->c, 6.0, -4.0);
    if (mirrors) {
        add_mirror(&s->c, 0.0, NAN);
        s->c.mirrors_condition = sqrt(30.0);
    }
    s->config = case_config(&s->c);
    s->config.error_terms = &fitting;
    check_ok(bb_tomography_create(&s->config, BB_LGS_TILT_CONSTANT_BLOCK, &s->problem));
    const bb_tomography_target *target = &s->problem->targets[0];
    s->n = s->problem->cmm->rows;
    s->m = target->ctm->rows;
    s->actuators = bb_target_commands_mirror(s->problem, 0)->actuator_count;
    s->cmm = dense(s->problem->cmm);
    s->ctm = dense(target->ctm);
    s->ctt = dense(target->ctt);
    s->r = doubles(s->m * s->n);
    s->cee = doubles(s->m * s->m);
    s->commands = doubles(s->actuators * s->n);
    s->product = doubles(s->actuators * s->actuators);
    s->voltages = doubles(s->actuators * s->actuators);
    set_residual(s, 0.3);
}

static void close_scene(scene *s)
{
    bb_tomography_destroy(&s->problem);
    BB_RELEASE(&s->cmm);
    BB_RELEASE(&s->ctm);
    BB_RELEASE(&s->ctt);
    BB_RELEASE(&s->r);
    BB_RELEASE(&s->cee);
    BB_RELEASE(&s->commands);
    BB_RELEASE(&s->product);
    BB_RELEASE(&s->voltages);
}

// F of the own mirror's actuators at a point, by their distances.
static void influences(const scene *s, double x, double y, double *out)
{
    const bb_deformable_mirror *mirror = bb_target_commands_mirror(s->problem, 0);
    const double pitch = mirror->diameter_m / (double)mirror->lenslets;
    for (bb_index a = 0; a < s->actuators; ++a) {
        const double dx = x + 0.5 * mirror->diameter_m - pitch * (double)mirror->column[a];
        const double dy = y + 0.5 * mirror->diameter_m - pitch * (double)mirror->row[a];
        out[a] = bb_deformable_mirror_influence(mirror, hypot(dx, dy));
    }
}

// F_p <v phi_q>, slope by slope from D between ends and the point carried there by the wind.
static double cross(const scene *s, const double *influence, double x, double y)
{
    const bb_atmosphere *air = &s->problem->atmosphere;
    const bb_sensor *truth = &s->problem->targets[0].truth.sensors[0];
    const double wave_m = BB_R0_WAVELENGTH_M / (2.0 * BB_PI);
    double sum = 0.0;
    for (bb_index j = 0; j < s->n; ++j) {
        const bb_sensor *sensor =
            &s->problem->guides.sensors[j < 2 * s->problem->guides.sensors[0].count ? 0 : 1];
        const bb_index place = j - sensor->first;
        const int axis = place < sensor->count ? BB_AXIS_X : BB_AXIS_Y;
        const bb_slope_ends *ends = &sensor->ends[axis];
        double slope = 0.0;
        double weight = 0.0;
        for (bb_index l = 0; l < air->layer_count; ++l) {
            const double px = x + truth->layer[l].offset_x_m - drift[l][0];
            const double py = y + truth->layer[l].offset_y_m - drift[l][1];
            for (int side = -1; side <= 1; side += 2) {
                const bb_index end = (side < 0 ? ends->minus : ends->plus)[place % sensor->count];
                const double r = hypot(px - ends->layer_x_m[l * ends->count + end],
                                       py - ends->layer_y_m[l * ends->count + end]);
                slope -=
                    0.5 * side * air->strength[l] * bb_structure_function(r, air->outer_scale_m);
            }
        }
        for (bb_index a = 0; a < s->actuators; ++a) {
            weight += influence[a] * s->commands[a * s->n + j];
        }
        sum += weight * slope * wave_m * wave_m * BB_ARCSEC_PER_RADIAN / sensor->size_m;
    }
    return sum;
}

static double bilinear(const scene *s, const double *matrix, const double *a, const double *b)
{
    double sum = 0.0;
    for (bb_index i = 0; i < s->actuators; ++i) {
        for (bb_index j = 0; j < s->actuators; ++j) {
            sum += a[i] * matrix[i * s->actuators + j] * b[j];
        }
    }
    return sum;
}

// D between two points of the pupil by plain sums.
static double expected(const scene *s, const double from[2], const double to[2])
{
    const bb_atmosphere *air = &s->problem->atmosphere;
    const double wave_m = BB_R0_WAVELENGTH_M / (2.0 * BB_PI);
    autofree double *a = doubles(s->actuators);
    autofree double *b = doubles(s->actuators);
    influences(s, from[0], from[1], a);
    influences(s, to[0], to[1], b);
    double sum = 0.0;
    for (bb_index l = 0; l < air->layer_count; ++l) {
        sum += wave_m * wave_m * air->strength[l] *
               bb_structure_function(hypot(from[0] - to[0], from[1] - to[1]), air->outer_scale_m);
    }
    sum += bilinear(s, s->product, a, a) + bilinear(s, s->product, b, b) -
           2.0 * bilinear(s, s->product, a, b);
    sum -= 2.0 * (cross(s, a, from[0], from[1]) + cross(s, b, to[0], to[1]) -
                  cross(s, a, to[0], to[1]) - cross(s, b, from[0], from[1]));
    return sum;
}

// Point k of the comb with light, and its row and column.
static void find_point(const bb_pair_comb *comb, bb_index k, bb_index *row, bb_index *column)
{
    *row = 0;
    while (comb->first[*row + 1] <= k) {
        ++*row;
    }
    *column = comb->column[k];
}

static double dot(const double *a, const double *b, bb_index count)
{
    return cblas_ddot((int)count, a, 1, b, 1);
}

// D of a field between points k and l of its comb, with the error terms added back.
static double found(const scene *s, const bb_pair_field *field, bb_index k, bb_index l)
{
    const bb_tomography_target *target = &s->problem->targets[0];
    const bb_index count = field->actuators;
    const bb_index pixels = bb_point_spread_layout(target->spread)->pixels;
    const double *f[2] = {field->influence + k * count, field->influence + l * count};
    const double *z[2] = {field->twisted + k * count, field->twisted + l * count};
    bb_index row[2];
    bb_index column[2];
    find_point(field->comb, k, &row[0], &column[0]);
    find_point(field->comb, l, &row[1], &column[1]);
    const bb_index y = labs(row[0] - row[1]);
    const bb_index x = labs(column[0] - column[1]);
    const double terms = target->terms[y * field->comb->step * pixels + x * field->comb->step];
    return dot(f[0], z[0], count) + dot(f[1], z[1], count) - dot(f[0], z[1], count) -
           dot(f[1], z[0], count) + 2.0 * (field->stationary[y * field->comb->edge + x] + terms);
}

TEST(pairs_have_the_residual_of_plain_sums)
{
    autocall(close_scene) scene s;
    autofree double *twisted = NULL;
    bb_pair_field field = {0};
    open_scene(false, &s);
    autoptr(bb_whole_residual) whole =
        new_object(bb_whole_residual, s.problem, 0, NULL, 1, &carried);
    const bb_whole_estimate estimate = {.whole = whole, .r = s.r};
    check_ok(bb_whole_residual_field(&estimate, s.voltages, &twisted, &field));
    const bb_pair_comb *comb = field.comb;
    for (bb_index k = 1; k < comb->count; k += comb->count / 5) {
        const bb_index l = (7 * k + 3) % comb->count;
        bb_index row[2];
        bb_index column[2];
        find_point(comb, k, &row[0], &column[0]);
        find_point(comb, l, &row[1], &column[1]);
        const double from[2] = {comb->position_m[column[0]], comb->position_m[row[0]]};
        const double to[2] = {comb->position_m[column[1]], comb->position_m[row[1]]};
        check_relative(found(&s, &field, k, l), expected(&s, from, to), 1e-9);
    }
}

// Commands instead of slopes, and one mirror at 0 m instead of the target's own, give the same
// residual: W follows from the residual, or is given.
TEST(commands_leave_what_slopes_do)
{
    autocall(close_scene) scene own;
    autocall(close_scene) scene together;
    bb_whole_residual *whole[2] = {NULL, NULL};
    double *twisted[3] = {NULL, NULL, NULL};
    bb_pair_field field[3] = {{0}, {0}, {0}};
    open_scene(false, &own);
    open_scene(true, &together);
    check_ok(bb_whole_residual_create(own.problem, 0, NULL, 1, &still, &whole[0]));
    check_ok(bb_whole_residual_create(together.problem, 0, NULL, 1, &still, &whole[1]));
    const bb_whole_estimate estimates[3] = {
        {.whole = whole[0], .r = own.r},
        {.whole = whole[0], .r = own.commands, .kind = BB_RESIDUAL_COMMANDS},
        {.whole = whole[1], .r = own.commands, .product = own.product}};
    for (int k = 0; k < 3; ++k) {
        check_ok(bb_whole_residual_field(&estimates[k], own.voltages, &twisted[k], &field[k]));
        for (bb_index i = 2; i < field[0].comb->count; i += 97) {
            check_relative(found(&own, &field[k], i, 1), found(&own, &field[0], i, 1), 1e-9);
        }
    }
    for (int k = 0; k < 3; ++k) {
        BB_RELEASE(&twisted[k]);
    }
    bb_whole_residual_destroy(&whole[0]);
    bb_whole_residual_destroy(&whole[1]);
}

// A flat mirror leaves the turbulence: the image is seeing limited.
TEST(without_a_correction_the_image_is_seeing_limited)
{
    autocall(close_scene) scene s;
    double strehl = NAN;
    bb_outcome outcome = {0};
    open_scene(false, &s);
    set_residual(&s, 0.0);
    autoptr(bb_whole_residual) whole =
        new_object(bb_whole_residual, s.problem, 0, NULL, 1, &carried);
    const bb_whole_estimate estimate = {.whole = whole, .r = s.r};
    bb_tomography_score score = {.kind = BB_SCORE_PAIRS, .estimate = &estimate, .strehl = &strehl};
    check_ok(bb_tomography_rate(s.problem, 0, s.cee, 1, &wavelength_m, &score, &outcome));
    const bb_point_spread *spread = s.problem->targets[0].spread;
    const bb_point_spread_grid *grid = bb_point_spread_layout(spread);
    const bb_index edge = grid->pixels;
    const double wave_m = BB_R0_WAVELENGTH_M / (2.0 * BB_PI);
    autofree double *half = doubles(edge * edge);
    autofree double *correlation = doubles(edge * edge);
    for (bb_index k = 0; k < edge * edge; ++k) {
        const bb_index y = k / edge <= edge / 2 ? k / edge : edge - k / edge;
        const bb_index x = k % edge <= edge / 2 ? k % edge : edge - k % edge;
        half[k] = 0.5 * wave_m * wave_m * pow(s.problem->atmosphere.r0_m, -5.0 / 3.0) *
                  bb_structure_function(grid->pixel_m * hypot((double)x, (double)y),
                                        s.problem->atmosphere.outer_scale_m);
        correlation[k] = -half[k];
    }
    check_close(strehl, bb_point_spread_strehl(spread, correlation, wavelength_m), 1e-6, 1.0);
    check_relative(score.residual_rms, sqrt(bb_point_spread_variance(spread, half)), 2e-3);
}

// The whole residual exceeds its correctable part, which remains that of the slopes.
TEST(the_correctable_part_stays)
{
    autocall(close_scene) scene s;
    double strehl[2] = {NAN, NAN};
    double correctable[2] = {NAN, NAN};
    double rms[2];
    bb_outcome outcome = {0};
    open_scene(false, &s);
    autoptr(bb_whole_residual) whole = new_object(bb_whole_residual, s.problem, 0, NULL, 1, &still);
    const bb_whole_estimate estimate = {.whole = whole, .r = s.r};
    for (int k = 0; k < 2; ++k) {
        bb_tomography_score score = {.kind = BB_SCORE_PAIRS,
                                     .estimate = k == 0 ? NULL : &estimate,
                                     .strehl = &strehl[k],
                                     .correctable = &correctable[k]};
        check_ok(bb_tomography_rate(s.problem, 0, s.cee, 1, &wavelength_m, &score, &outcome));
        rms[k] = score.correctable_rms;
        assert_true(score.residual_rms > score.correctable_rms);
        assert_true(strehl[k] < correctable[k]);
    }
    assert_true(correctable[0] == correctable[1]);
    check_relative(rms[1], rms[0], 5e-3); // on combs with other steps
    assert_true(strehl[0] != strehl[1]);
}

// Residual rms over the pupil of commands `m`, with M Cmm M^T their `product`.
static double residual_of(const scene *s, const bb_whole_residual *whole, const double *m,
                          const double *product)
{
    double strehl = NAN;
    bb_outcome outcome = {0};
    autofree double *nothing = zeros(s->actuators * s->actuators);
    const bb_whole_estimate estimate = {
        .whole = whole, .r = m, .product = product, .kind = BB_RESIDUAL_COMMANDS};
    bb_tomography_score score = {.kind = BB_SCORE_PAIRS,
                                 .residual = BB_RESIDUAL_COMMANDS,
                                 .estimate = &estimate,
                                 .strehl = &strehl};
    check_ok(bb_tomography_rate(s->problem, 0, nothing, 1, &wavelength_m, &score, &outcome));
    return score.residual_rms;
}

// B Cmm^-1 has the smallest variance: the excess of other commands is the variance of the
// difference, M Cmm M^T = B M^T.
TEST(projected_phases_lead_to_the_least_variance)
{
    autocall(close_scene) scene s;
    open_scene(false, &s);
    autoptr(bb_whole_residual) whole =
        new_object(bb_whole_residual, s.problem, 0, NULL, 1, &carried);
    const bb_index items = s.actuators * s.n;
    const int n = (int)s.n;
    const int actuators = (int)s.actuators;
    autofree double *b = doubles(items);
    autofree double *m = doubles(items);
    autofree double *half = doubles(items);
    autofree double *product = doubles(s.actuators * s.actuators);
    autofree double *factor = doubles(s.n * s.n);
    check_ok(bb_whole_residual_project(whole, b));
    memcpy(m, b, (size_t)items * sizeof *m);
    memcpy(factor, s.cmm, (size_t)(s.n * s.n) * sizeof *factor);
    assert_int_equal(LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'U', n, factor, n), 0);
    assert_int_equal(LAPACKE_dpotrs(LAPACK_COL_MAJOR, 'U', n, actuators, factor, n, m, n), 0);
    add_product(1.0, b, m, s.actuators, s.actuators, s.n, 0.0, product);
    const double least = residual_of(&s, whole, m, product);
    for (int k = 0; k < 2; ++k) { // one command increased and decreased
        const double scale = k == 0 ? 1.2 : 0.8;
        autofree double *other = doubles(items);
        memcpy(other, m, (size_t)items * sizeof *other);
        for (bb_index j = 0; j < s.n; ++j) {
            other[7 * s.n + j] *= scale;
        }
        add_product(1.0, other, s.cmm, s.actuators, s.n, s.n, 0.0, half);
        autofree double *own = doubles(s.actuators * s.actuators);
        add_product(1.0, half, other, s.actuators, s.actuators, s.n, 0.0, own);
        autofree double *only = zeros(s.actuators * s.actuators);
        only[7 * s.actuators + 7] = 0.04 * product[7 * s.actuators + 7];
        const double excess = bb_whole_residual_variance(whole, only);
        const double found = residual_of(&s, whole, other, own);
        check_relative(found * found - least * least, excess, 0.01);
    }
}
