// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/ao_constants.h"
#include "physics/ao/mirrors/mirror_surface.h"
#include "physics/ao/score/pair_strehl.h"
#include "tests/physics/ao/chain.h"

enum { WAVELENGTHS = 2 };
static const double wavelengths_m[WAVELENGTHS] = {1.65e-6, 2.2e-6};

// A residual that is not stationary: two stars next to the target, unequal lenslet counts.
static ao_case small_case(bb_index lenslets)
{
    ao_case c = case_without_stars(4.0, lenslets);
    add_star(&c, BB_GUIDE_STAR_NGS, 14.0, 5.0);
    add_star(&c, BB_GUIDE_STAR_NGS, -9.0, -21.0);
    c.stars[0].settings.magnitude = 11.0;
    c.stars[1].settings.magnitude = 12.0;
    add_target(&c, 2.0, -4.0);
    return c;
}

typedef struct optics {
    chain k;
    bb_point_spread *spread;
    double *voltages, *correlation;
    bb_index actuators;
} optics;

static optics make(const ao_case *c, const bb_pupil *pupil)
{
    optics o = {.k = chain_run(c, true)};
    check_ok(bb_point_spread_create(c->telescope.diameter_m, pupil, c->sensors.lenslets, NAN,
                                    &o.spread));
    const bb_point_spread_grid *grid = bb_point_spread_layout(o.spread);
    o.actuators = grid->actuator_count;
    check_ok(BB_ALLOCATE(o.actuators * o.actuators, &o.voltages));
    check_ok(BB_ALLOCATE(grid->pixels * grid->pixels, &o.correlation));
    check_ok(bb_point_spread_voltages(o.spread, o.k.cee, o.voltages));
    return o;
}

static void release(optics *o)
{
    bb_point_spread_destroy(&o->spread);
    chain_release(&o->k);
    BB_RELEASE(&o->voltages);
    BB_RELEASE(&o->correlation);
}

typedef struct price {
    double strehl[WAVELENGTHS], rms_m;
} price;

static price rate(optics *o, bb_index step)
{
    price out;
    autorelease(bb_pair_strehl) pairs = {0};
    check_ok(
        bb_pair_strehl_create(o->spread, o->voltages, step, WAVELENGTHS, wavelengths_m, &pairs));
    for (bb_index w = 0; w < WAVELENGTHS; ++w) {
        check_ok(bb_pair_strehl_correlation(&pairs, w, o->correlation));
        out.strehl[w] = bb_point_spread_strehl(o->spread, o->correlation, wavelengths_m[w]);
    }
    out.rms_m = sqrt(pairs.variance_m2);
    return out;
}

// All points that transmit: their light, and C of the residual between them.
typedef struct point_list {
    int count;
    double *weight;     // [count]
    double *covariance; // [count][count]
} point_list;

static point_list draw_points(const optics *o)
{
    const bb_point_spread_grid *grid = bb_point_spread_layout(o->spread);
    const double *pupil = bb_point_spread_transmission(o->spread);
    const bb_index points = grid->pupil_points;
    const bb_index middle = points / 2;
    const int actuators = (int)o->actuators;
    autofree double *shapes = NULL; // F [count][actuators]
    autofree double *half = NULL;   // F Cvv
    autorelease(bb_mirror_shape) shape = {0};
    point_list out = {0};
    autofree double *position = doubles(points);
    fill_array(position, points, i, grid->pixel_m * (double)(i - middle));
    check_ok(bb_mirror_shape_create(bb_point_spread_mirror(o->spread), points, position, &shape));
    check_ok(BB_ALLOCATE(grid->pupil_pixels * actuators, &shapes));
    check_ok(BB_ALLOCATE(grid->pupil_pixels * actuators, &half));
    check_ok(BB_ALLOCATE(grid->pupil_pixels, &out.weight));
    check_ok(BB_ALLOCATE(grid->pupil_pixels * grid->pupil_pixels, &out.covariance));
    for (bb_index k = 0; k < points * points; ++k) {
        if (pupil[k] > 0.0) {
            bb_mirror_shape_influences(&shape, k % points, k / points,
                                       shapes + out.count * actuators);
            out.weight[out.count++] = pupil[k];
        }
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, out.count, actuators, actuators, 1.0,
                shapes, actuators, o->voltages, actuators, 0.0, half, actuators);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, out.count, out.count, actuators, 1.0, half,
                actuators, shapes, actuators, 0.0, out.covariance, out.count);
    return out;
}

// sum_ij P_i P_j exp(-D_ij / 2) / (sum P)^2 and the variance without piston, point by point.
static price rate_directly(const optics *o)
{
    price out = {.rms_m = 0.0};
    point_list all = draw_points(o);
    double sums[WAVELENGTHS] = {0.0};
    double total = 0.0;
    double variance = 0.0;
    double piston = 0.0;
    for (bb_index i = 0; i < all.count; ++i) {
        const double *line = all.covariance + i * all.count;
        total += all.weight[i];
        variance += all.weight[i] * line[i];
        for (bb_index j = 0; j < all.count; ++j) {
            const double pair = all.weight[i] * all.weight[j];
            const double structure = line[i] + all.covariance[j * (all.count + 1)] - 2.0 * line[j];
            piston += pair * line[j];
            for (int w = 0; w < WAVELENGTHS; ++w) {
                const double wavenumber = 2.0 * BB_PI / wavelengths_m[w];
                sums[w] += pair * exp(-0.5 * wavenumber * wavenumber * structure);
            }
        }
    }
    fill_array(out.strehl, WAVELENGTHS, w, sums[w] / (total * total));
    out.rms_m = sqrt(variance / total - piston / (total * total));
    BB_RELEASE(&all.weight);
    BB_RELEASE(&all.covariance);
    return out;
}

// Two thirds of a small pupil's points, apodised: few enough to sum over all of their pairs.
TEST(all_points_make_the_direct_sum)
{
    enum { EDGE = 48 };
    double mask[EDGE * EDGE] = {0.0};
    for (int k = 0; k < EDGE * EDGE; ++k) {
        const int x = k % EDGE;
        const int y = k / EDGE;
        mask[k] = x > 9 && x < 24 && y > 15 && y < 28 ? 1.0 - 0.02 * x : 0.0;
    }
    const bb_pupil pupil = {.obstruction = 0.25, .mask = mask, .edge = EDGE, .threshold = 0.1};
    autocall(release) optics o = {0};
    check_ok(bb_point_spread_create(4.0, &pupil, 6, NAN, &o.spread));
    const bb_point_spread_grid *grid = bb_point_spread_layout(o.spread);
    o.actuators = grid->actuator_count;
    check_ok(BB_ALLOCATE(o.actuators * o.actuators, &o.voltages));
    check_ok(BB_ALLOCATE(grid->pixels * grid->pixels, &o.correlation));
    for (bb_index k = 0; k < o.actuators * o.actuators; ++k) { // a sum of three modes
        const bb_index row = k / o.actuators;
        const bb_index column = k % o.actuators;
        const double a = (double)row;
        const double b = (double)column;
        o.voltages[k] = 4e-3 * (a * b / 1e3 + sin(0.9 * a) * sin(0.9 * b) + cos(a) * cos(b));
    }
    const price direct = rate_directly(&o);
    const price got = rate(&o, 1);
    print_message("Strehl %.6f and %.6f, rms %.3f nm; point by point %.6f, %.6f, %.3f nm\n",
                  got.strehl[0], got.strehl[1], 1e9 * got.rms_m, direct.strehl[0], direct.strehl[1],
                  1e9 * direct.rms_m);
    check_all_relative(got.strehl, direct.strehl, WAVELENGTHS, 1e-11);
    check_relative(got.rms_m, direct.rms_m, 1e-11);
}

// Effect of the comb used in scores; the finer one has 1.5 times as many points.
TEST(few_points_a_lenslet_do)
{
    static const bb_index lenslets[] = {2, 5, 10, 16};
    for (size_t i = 0; i < sizeof lenslets / sizeof *lenslets; ++i) {
        const ao_case c = small_case(lenslets[i]);
        autocall(release) optics o = make(&c, &(bb_pupil){.obstruction = 0.2});
        const bb_index step =
            bb_pair_strehl_step(lenslets[i], bb_point_spread_layout(o.spread)->pixels_per_lenslet);
        const price fine = rate(&o, step - 1);
        const price got = rate(&o, step);
        print_message("%td lenslets: Strehl %.6f, finer %.6f; rms %.3f, finer %.3f nm\n",
                      lenslets[i], got.strehl[0], fine.strehl[0], 1e9 * got.rms_m,
                      1e9 * fine.rms_m);
        assert_true(step > 1);
        check_close(got.strehl[0], fine.strehl[0], 1e-4, 1.0);
        check_relative(got.rms_m, fine.rms_m, 1e-3);
    }
}
