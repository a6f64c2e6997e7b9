// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/mirrors/plate_scale.h"

#include "core/memory.h"

#include <cblas.h>
#include <math.h>
#include <stdbool.h>

enum { POLYNOMIALS = 6 };

// Of the square of a mode's strokes: of the polynomials, where it is one of plate scale, and of one
// mirror among them, where it is not opposed.
static const double least_share = 0.5;
static const double most_alone = 0.9;

const char *const bb_plate_shape_names[BB_PLATE_SHAPES] = {"piston", "tilt", "curvature"};

static const bb_plate_shape shapes[POLYNOMIALS] = {BB_PLATE_PISTONS,    BB_PLATE_TILTS,
                                                   BB_PLATE_TILTS,      BB_PLATE_CURVATURES,
                                                   BB_PLATE_CURVATURES, BB_PLATE_CURVATURES};

// Orthonormal polynomials over the actuators of a mirror, [POLYNOMIALS][count]: Gram and Schmidt,
// twice. Of few actuators the last ones are zero.
static void make_polynomials(const bb_conjugate_mirror *mirror, double *basis)
{
    const int count = (int)mirror->count;
    const double step = mirror->cube != NULL ? mirror->cube->spacing_m : mirror->pitch_m;
    for (int a = 0; a < count; ++a) {
        const double x = mirror->x_m[a] / step;
        const double y = mirror->y_m[a] / step;
        const double values[POLYNOMIALS] = {1.0, x, y, x * x + y * y, x * x - y * y, x * y};
        for (int k = 0; k < POLYNOMIALS; ++k) {
            basis[k * count + a] = values[k];
        }
    }
    for (int k = 0; k < POLYNOMIALS; ++k) {
        double *row = basis + k * count;
        const double before = cblas_dnrm2(count, row, 1);
        for (int i = 0; i < 2 * k; ++i) {
            const double *other = basis + i % k * count;
            cblas_daxpy(count, -cblas_ddot(count, row, 1, other, 1), other, 1, row, 1);
        }
        const double norm = cblas_dnrm2(count, row, 1);
        cblas_dscal(count, norm > 1e-9 * before ? 1.0 / norm : 0.0, row, 1);
    }
}

// The square of a mode's strokes, volts times the most that one makes, over that of the first
// mirror: mirrors of unlike strokes oppose each other by unlike volts.
static double measure_strokes(const bb_mirror_stack *stack, const double *volts)
{
    double sum = 0.0;
    for (bb_index k = 0; k < stack->mirror_count; ++k) {
        const bb_conjugate_mirror *mirror = &stack->mirrors[k];
        const double stroke = mirror->stroke_m / stack->mirrors[0].stroke_m *
                              cblas_dnrm2((int)mirror->count, volts + mirror->first, 1);
        sum += stroke * stroke;
    }
    return sum;
}

// Adds the shares of one mirror to those of every weak mode.
static bb_status add_shares(const bb_mirror_commands *commands, bb_index k, bb_plate_mode *modes)
{
    bb_status status = BB_OK;
    const bb_mirror_stack *stack = &commands->stack;
    const bb_conjugate_mirror *mirror = &stack->mirrors[k];
    const double stroke = mirror->stroke_m / stack->mirrors[0].stroke_m;
    const int count = (int)mirror->count;
    double *basis = NULL;
    BB_TRY(BB_ALLOCATE(POLYNOMIALS * mirror->count, &basis));
    make_polynomials(mirror, basis);
    for (bb_index q = 0; q < commands->weak.count; ++q) {
        const double *volts = commands->weak.volts + q * stack->actuator_count;
        const double scale = stroke / sqrt(measure_strokes(stack, volts));
        double sum = 0.0;
        for (int p = 0; p < POLYNOMIALS; ++p) {
            const double part =
                scale * cblas_ddot(count, volts + mirror->first, 1, basis + p * count, 1);
            modes[q].share[shapes[p]] += part * part;
            sum += part * part;
        }
        modes[q].alone = fmax(modes[q].alone, sum);
    }
done:
    BB_RELEASE(&basis);
    return status;
}

// Completes a mode; whether it is of plate scale and stands by the condition.
static bool matters(const bb_mirror_commands *commands, bb_plate_mode *mode)
{
    const double step = mode->ratio * commands->condition;
    double sum = 0.0;
    for (int s = 0; s < BB_PLATE_SHAPES; ++s) {
        sum += mode->share[s];
        mode->shape = mode->share[s] > mode->share[mode->shape] ? (bb_plate_shape)s : mode->shape;
    }
    mode->opposed = mode->alone < most_alone * sum;
    return commands->stack.mirror_count > 1 && sum > least_share && step < commands->weak.margin &&
           step * commands->weak.margin > 1.0;
}

bb_status bb_plate_scale_find(const bb_mirror_commands *commands, bb_plate_mode **out,
                              bb_index *count)
{
    bb_status status = BB_OK;
    const bb_weak_modes *weak = &commands->weak;
    bb_plate_mode *modes = NULL; // [weak->count], those found first
    bb_index found = 0;
    BB_TRY(BB_ZEROED(weak->count, &modes));
    for (bb_index k = 0; k < commands->stack.mirror_count; ++k) {
        BB_TRY(add_shares(commands, k, modes));
    }
    for (bb_index q = 0; q < weak->count; ++q) {
        bb_plate_mode mode = modes[q];
        mode.ratio = weak->ratios[q];
        mode.dropped = q < commands->dropped_modes;
        if (matters(commands, &mode)) {
            modes[found++] = mode;
        }
    }
    *out = modes;
    *count = found;
    modes = NULL;
done:
    BB_RELEASE(&modes);
    return status;
}
