// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/score/tilt_variance.h"
#include "tests/physics/ao/cases.h"

enum { WAVELENGTHS = 1 };
static const double wavelengths_m[WAVELENGTHS] = {1.65e-6};

typedef struct optics {
    bb_point_spread *spread;
    bb_pair_comb comb;
} optics;

static optics make(void)
{
    optics o = {0};
    const bb_pupil pupil = {.obstruction = 0.0};
    check_ok(bb_point_spread_create(4.0, &pupil, 8, NAN, &o.spread));
    check_ok(bb_pair_comb_create(
        o.spread, bb_pair_strehl_step(8, bb_point_spread_layout(o.spread)->pixels_per_lenslet),
        &o.comb));
    return o;
}

static void release(optics *o)
{
    bb_pair_comb_release(&o->comb);
    bb_point_spread_destroy(&o->spread);
}

static double total(const optics *o, const bb_pair_field *field)
{
    autorelease(bb_pair_strehl) pairs = {0};
    check_ok(bb_pair_strehl_create_field(o->spread, field, WAVELENGTHS, wavelengths_m, &pairs));
    return pairs.variance_m2;
}

// Noll 1976: of Kolmogorov turbulence over a disc, D_ij = 6.88 (r/r0)^(5/3), the variance is 1.0299
// (D/r0)^(5/3) without piston and 0.134 of it without tip and tilt.
TEST(kolmogorov_turbulence_is_nolls)
{
    autocall(release) optics o = make();
    double *stationary = NULL;
    double *zeros = NULL;
    check_ok(BB_ALLOCATE(o.comb.edge * o.comb.edge, &stationary));
    check_ok(BB_ZEROED(o.comb.count, &zeros));
    const double pitch = o.comb.position_m[1] - o.comb.position_m[0];
    for (bb_index y = 0; y < o.comb.edge; ++y) {
        for (bb_index x = 0; x < o.comb.edge; ++x) {
            stationary[y * o.comb.edge + x] =
                3.44 * pow(pitch * hypot((double)x, (double)y) / 4.0, 5.0 / 3.0);
        }
    }
    const bb_pair_field field = {.comb = &o.comb,
                                 .actuators = 1,
                                 .influence = zeros,
                                 .twisted = zeros,
                                 .stationary = stationary};
    double tilt;
    check_ok(bb_tilt_variance(&field, &tilt));
    check_relative(total(&o, &field), 1.0299, 0.01);
    check_relative(tilt, 1.0299 - 0.134, 0.01);
    BB_RELEASE(&stationary);
    BB_RELEASE(&zeros);
}

// A residual a x + b y of random a, b with variances 2 and 3 m^2/m^2 and covariance 1: F = (x, y),
// z = F W. All of it is tip and tilt; a piston is none.
TEST(a_tilted_residual_is_all_tilt)
{
    autocall(release) optics o = make();
    double *memory = NULL;
    const bb_index count = o.comb.count;
    check_ok(BB_ZEROED(o.comb.edge * o.comb.edge + 6 * count, &memory));
    double *influence = memory + o.comb.edge * o.comb.edge;
    double *twisted = influence + 3 * count;
    for (bb_index y = 0; y < o.comb.edge; ++y) {
        for (bb_index k = o.comb.first[y]; k < o.comb.first[y + 1]; ++k) {
            const double at[2] = {o.comb.position_m[o.comb.column[k]], o.comb.position_m[y]};
            influence[3 * k] = at[0];
            influence[3 * k + 1] = at[1];
            influence[3 * k + 2] = 1.0;
            twisted[3 * k] = 2.0 * at[0] + 1.0 * at[1];
            twisted[3 * k + 1] = 1.0 * at[0] + 3.0 * at[1];
            twisted[3 * k + 2] = 5.0;
        }
    }
    bb_pair_field field = {.comb = &o.comb,
                           .actuators = 3,
                           .influence = influence,
                           .twisted = twisted,
                           .stationary = memory};
    double tilt;
    check_ok(bb_tilt_variance(&field, &tilt));
    check_relative(tilt, total(&o, &field), 1e-10);
    check_relative(tilt, 5.0 * 4.0 * 4.0 / 16.0, 0.02); // <x^2> = D^2/16
    field.twisted = NULL;
    check_ok(bb_tilt_variance(&field, &tilt));
    assert_true(isnan(tilt));
    BB_RELEASE(&memory);
}
