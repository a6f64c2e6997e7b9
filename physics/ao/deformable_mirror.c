// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/deformable_mirror.h"

#include "core/memory.h"
#include "physics/ao/ao_constants.h"
#include "physics/ao/subapertures.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdbool.h>

static const double stroke_m = 1.0e-6; // per volt
static const double coupling = 0.2;

// dgesdd counts its workspace in 32 bits: 4 k^2 + 7 k doubles for k actuators and over 11/6 k
// slopes, of which a mirror has 1.97 k.
static const bb_index most_actuators = 23169;

// moao's sqrt(30), and above ten lenslets what keeps the tilts, near 0.38 n, but not what follows.
static double usual_condition(bb_index lenslets)
{
    return fmax(sqrt(30.0), 0.5 * (double)lenslets);
}

static bool is_actuator(bb_index i, bb_index j, bb_index lenslets, double obstruction)
{
    const double n = (double)lenslets;
    const double radius = hypot(2.0 * (double)i / n - 1.0, 2.0 * (double)j / n - 1.0);
    return radius > obstruction - 1.0 / n && radius < 1.0 + 1.4 / n;
}

static bb_index count_actuators(bb_index lenslets, double obstruction)
{
    bb_index count = 0;
    for (bb_index j = 0; j <= lenslets; ++j) {
        for (bb_index i = 0; i <= lenslets; ++i) {
            count += is_actuator(i, j, lenslets, obstruction) ? 1 : 0;
        }
    }
    return count;
}

static bb_status place_actuators(double obstruction, bb_deformable_mirror *mirror)
{
    bb_status status = BB_OK;
    const bb_index corners = mirror->lenslets + 1;
    BB_TRY(BB_ALLOCATE(corners * corners, &mirror->column));
    BB_TRY(BB_ALLOCATE(corners * corners, &mirror->row));
    for (bb_index j = 0; j < corners; ++j) {
        for (bb_index i = 0; i < corners; ++i) {
            if (is_actuator(i, j, mirror->lenslets, obstruction)) {
                mirror->column[mirror->actuator_count] = i;
                mirror->row[mirror->actuator_count] = j;
                ++mirror->actuator_count;
            }
        }
    }
done:
    return status;
}

double bb_deformable_mirror_influence(const bb_deformable_mirror *mirror, double distance_m)
{
    const double rho = distance_m / (0.5 * mirror->diameter_m);
    const double n = (double)mirror->lenslets;
    const double square_width = -2.0 / log(coupling) / (n * n);
    return stroke_m * exp(-0.5 * rho * rho / square_width);
}

bb_status bb_deformable_mirror_interaction(const bb_deformable_mirror *mirror,
                                           const bb_pupil *pupil, double *matrix)
{
    bb_status status = BB_OK;
    const bb_index subapertures = mirror->measurement_count / 2;
    const bb_index actuators = mirror->actuator_count;
    const double size = mirror->diameter_m / (double)mirror->lenslets;
    double *x = NULL;
    double *y = NULL;
    BB_TRY(BB_ALLOCATE(subapertures, &x));
    BB_TRY(BB_ALLOCATE(subapertures, &y));
    bb_subapertures_centres(mirror->lenslets, pupil, x, y);
    for (bb_index i = 0; i < subapertures; ++i) {
        double *x_slopes = matrix + i * actuators;
        double *y_slopes = matrix + (subapertures + i) * actuators;
        for (bb_index k = 0; k < actuators; ++k) {
            const double dx =
                0.5 * mirror->diameter_m * (x[i] + 1.0) - size * (double)mirror->column[k];
            const double dy =
                0.5 * mirror->diameter_m * (y[i] + 1.0) - size * (double)mirror->row[k];
            x_slopes[k] = (bb_deformable_mirror_influence(mirror, hypot(dx + 0.5 * size, dy)) -
                           bb_deformable_mirror_influence(mirror, hypot(dx - 0.5 * size, dy))) *
                          BB_ARCSEC_PER_RADIAN / size;
            y_slopes[k] = (bb_deformable_mirror_influence(mirror, hypot(dx, dy + 0.5 * size)) -
                           bb_deformable_mirror_influence(mirror, hypot(dx, dy - 0.5 * size))) *
                          BB_ARCSEC_PER_RADIAN / size;
        }
    }
done:
    BB_RELEASE(&x);
    BB_RELEASE(&y);
    return status;
}

// projector [actuators][measurements] = V diag(1 / s) U^T over the singular values kept.
static bb_status invert(double *interaction, bb_deformable_mirror *mirror)
{
    bb_status status = BB_OK;
    const bb_index rows = mirror->measurement_count;
    const bb_index columns = mirror->actuator_count;
    const bb_index rank = rows < columns ? rows : columns;
    double *u = NULL; // [rows][rank]
    double *s = NULL;
    double *vt = NULL; // [rank][columns]
    BB_TRY(BB_ALLOCATE(rows * rank, &u));
    BB_TRY(BB_ALLOCATE(rank, &s));
    BB_TRY(BB_ALLOCATE(rank * columns, &vt));
    const lapack_int info =
        LAPACKE_dgesdd(LAPACK_ROW_MAJOR, 'S', (lapack_int)rows, (lapack_int)columns, interaction,
                       (lapack_int)columns, s, u, (lapack_int)rank, vt, (lapack_int)columns);
    BB_REQUIRE(info == 0, info == LAPACK_WORK_MEMORY_ERROR ? BB_MEMORY : BB_INTERNAL,
               "singular values of the %td x %td interaction matrix: dgesdd returned %d", rows,
               columns, (int)info);
    BB_REQUIRE(s[0] > 0.0, BB_INVALID,
               "no actuator of a mirror of %td lenslets moves a slope: all stand too far from the "
               "valid subapertures",
               mirror->lenslets);
    bb_index kept = 0;
    while (kept < rank && s[kept] >= s[0] / mirror->condition) {
        cblas_dscal((int)columns, 1.0 / s[kept], vt + kept * columns, 1);
        ++kept;
    }
    mirror->dropped_modes = columns - kept;
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasTrans, (int)columns, (int)rows, (int)kept, 1.0, vt,
                (int)columns, u, (int)rank, 0.0, mirror->projector, (int)rows);
done:
    BB_RELEASE(&u);
    BB_RELEASE(&s);
    BB_RELEASE(&vt);
    return status;
}

bb_status bb_deformable_mirror_create(double diameter_m, const bb_pupil *pupil, bb_index lenslets,
                                      double condition, bb_deformable_mirror *out)
{
    bb_status status = BB_OK;
    bb_deformable_mirror mirror = {.diameter_m = diameter_m,
                                   .lenslets = lenslets,
                                   .condition =
                                       isnan(condition) ? usual_condition(lenslets) : condition,
                                   .measurement_count = 2 * bb_subapertures_count(lenslets, pupil)};
    double *interaction = NULL;
    BB_REQUIRE(isnan(condition) || condition > 1.0, BB_INVALID,
               "mirror condition %g, expected more than 1", condition);
    const bb_index actuators = count_actuators(lenslets, pupil->obstruction);
    BB_REQUIRE(actuators <= most_actuators, BB_UNSUPPORTED,
               "a mirror of %td lenslets has %td actuators, expected at most %td (170 lenslets "
               "without obstruction): the workspace of its singular values overflows LAPACK's "
               "32 bits",
               lenslets, actuators, most_actuators);
    BB_TRY(place_actuators(pupil->obstruction, &mirror));
    BB_REQUIRE(mirror.measurement_count > 0 && mirror.actuator_count > 0, BB_INVALID,
               "a mirror of %td lenslets with obstruction %g has %td actuators and %td slopes",
               lenslets, pupil->obstruction, mirror.actuator_count, mirror.measurement_count);
    BB_TRY(BB_ALLOCATE(mirror.measurement_count * mirror.actuator_count, &interaction));
    BB_TRY(BB_ALLOCATE(mirror.actuator_count * mirror.measurement_count, &mirror.projector));
    BB_TRY(bb_deformable_mirror_interaction(&mirror, pupil, interaction));
    BB_TRY(invert(interaction, &mirror));
    *out = mirror;
    mirror = (bb_deformable_mirror){0};
done:
    BB_RELEASE(&interaction);
    bb_deformable_mirror_release(&mirror);
    return status;
}

void bb_deformable_mirror_release(bb_deformable_mirror *mirror)
{
    BB_RELEASE(&mirror->column);
    BB_RELEASE(&mirror->row);
    BB_RELEASE(&mirror->projector);
}
