// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/mirrors/deformable_mirror.h"

#include "core/memory.h"
#include "core/store.h"
#include "core/text.h"
#include "core/thread.h"
#include "physics/ao/ao_constants.h"
#include "physics/ao/mirrors/mirror_projector.h"
#include "physics/ao/subapertures.h"

#include <math.h>
#include <stdbool.h>

static const double stroke_m = 1.0e-6; // per volt

// LAPACK uses 32-bit indices, also for the items of a square matrix.
static const bb_index most_actuators = 46340;

// moao's sqrt(30), and above ten lenslets the value that keeps the tilts, near 0.38 n, but not the
// next modes.
static double default_condition(bb_index lenslets)
{
    return fmax(sqrt(30.0), 0.5 * (double)lenslets);
}

static bool is_actuator(bb_index i, bb_index j, bb_index lenslets, const bb_pupil *pupil)
{
    const double n = (double)lenslets;
    const double radius = hypot(2.0 * (double)i / n - 1.0, 2.0 * (double)j / n - 1.0);
    if (radius <= pupil->obstruction - 1.0 / n || radius < 1.0 + 1.4 / n) {
        return radius > pupil->obstruction - 1.0 / n;
    }
    return (pupil->by_flux || pupil->mask != NULL) &&
           (bb_subapertures_valid(i - 1, j - 1, lenslets, pupil) ||
            bb_subapertures_valid(i, j - 1, lenslets, pupil) ||
            bb_subapertures_valid(i - 1, j, lenslets, pupil) ||
            bb_subapertures_valid(i, j, lenslets, pupil));
}

bb_index bb_deformable_mirror_actuators(const bb_pupil *pupil, bb_index lenslets)
{
    bb_index count = 0;
    for (bb_index j = 0; j <= lenslets; ++j) {
        for (bb_index i = 0; i <= lenslets; ++i) {
            count += is_actuator(i, j, lenslets, pupil) ? 1 : 0;
        }
    }
    return count;
}

void bb_deformable_mirror_corners(const bb_pupil *pupil, bb_index lenslets, bb_index *column,
                                  bb_index *row)
{
    bb_index count = 0;
    for (bb_index j = 0; j <= lenslets; ++j) {
        for (bb_index i = 0; i <= lenslets; ++i) {
            if (is_actuator(i, j, lenslets, pupil)) {
                column[count] = i;
                row[count++] = j;
            }
        }
    }
}

static bb_status place_actuators(const bb_pupil *pupil, bb_deformable_mirror *mirror)
{
    bb_status status = BB_OK;
    const bb_index corners = mirror->lenslets + 1;
    BB_TRY(BB_ALLOCATE(corners * corners, &mirror->column));
    BB_TRY(BB_ALLOCATE(corners * corners, &mirror->row));
    mirror->actuator_count = bb_deformable_mirror_actuators(pupil, mirror->lenslets);
    bb_deformable_mirror_corners(pupil, mirror->lenslets, mirror->column, mirror->row);
done:
    return status;
}

double bb_deformable_mirror_influence(const bb_deformable_mirror *mirror, double distance_m)
{
    const double rho = distance_m / (0.5 * mirror->diameter_m);
    const double n = (double)mirror->lenslets;
    const double square_width = -2.0 / log(BB_DEFORMABLE_MIRROR_COUPLING) / (n * n);
    return stroke_m * exp(-0.5 * rho * rho / square_width);
}

// Computes the influence along a line, relative to its peak; zero below the fraction of the peak
// that rounding hides in every product.
static double decay_along(double lenslets)
{
    static const double reach = 1.0e-20;
    const double fall = exp(log(BB_DEFORMABLE_MIRROR_COUPLING) * lenslets * lenslets);
    return fall > reach ? fall : 0.0;
}

typedef struct poking {
    const bb_deformable_mirror *mirror;
    const bb_index *column, *row; // [subapertures]
    const double *difference;     // [2 lenslets + 1] across a lenslet, from -lenslets before it
    const double *middle;         // as above, at its centre
    double *matrix;
} poking;

// Computes the slopes of subapertures begin..end for a volt on each actuator.
static bb_status poke(void *context, bb_index begin, bb_index end)
{
    const poking *work = context;
    const bb_deformable_mirror *mirror = work->mirror;
    const bb_index subapertures = mirror->measurement_count / 2;
    const bb_index actuators = mirror->actuator_count;
    const double volt =
        stroke_m * BB_ARCSEC_PER_RADIAN * (double)mirror->lenslets / mirror->diameter_m;
    for (bb_index i = begin; i < end; ++i) {
        double *x_slopes = work->matrix + i * actuators;
        double *y_slopes = work->matrix + (subapertures + i) * actuators;
        for (bb_index k = 0; k < actuators; ++k) {
            const bb_index x = work->column[i] - mirror->column[k] + mirror->lenslets;
            const bb_index y = work->row[i] - mirror->row[k] + mirror->lenslets;
            x_slopes[k] = volt * work->difference[x] * work->middle[y];
            y_slopes[k] = volt * work->middle[x] * work->difference[y];
        }
    }
    return BB_OK;
}

bb_status bb_deformable_mirror_interaction(const bb_deformable_mirror *mirror,
                                           const bb_pupil *pupil, double *matrix)
{
    bb_status status = BB_OK;
    const bb_index subapertures = mirror->measurement_count / 2;
    const bb_index offsets = 2 * mirror->lenslets + 1;
    bb_index *places = NULL; // [2][subapertures]
    double *falls = NULL;    // [2][offsets]
    BB_TRY(BB_ALLOCATE(2 * subapertures, &places));
    BB_TRY(BB_ALLOCATE(2 * offsets, &falls));
    bb_subapertures_lenslets(mirror->lenslets, pupil, places, places + subapertures);
    for (bb_index k = 0; k < offsets; ++k) {
        const double from = (double)(k - mirror->lenslets); // actuator to lenslet edge
        falls[k] = decay_along(from + 1.0) - decay_along(from);
        falls[offsets + k] = decay_along(from + 0.5);
    }
    poking work = {mirror, places, places + subapertures, falls, falls + offsets, matrix};
    BB_TRY(bb_thread_ranges(subapertures, 32, poke, &work));
done:
    BB_RELEASE(&places);
    BB_RELEASE(&falls);
    return status;
}

static bool moves(const double *interaction, bb_index items)
{
    bb_index i = 0;
    while (i < items && interaction[i] == 0.0) {
        ++i;
    }
    return i < items;
}

// Cache key for the annulus only: a mask has no text form.
static bb_status describe(const bb_deformable_mirror *mirror, const bb_pupil *pupil, bb_text *key)
{
    return bb_text_add(key,
                       "mirror of %td lenslets: diameter %a, condition %a, obstruction %a, %s %a",
                       mirror->lenslets, mirror->diameter_m, mirror->condition, pupil->obstruction,
                       pupil->by_flux ? "flux" : "centre", pupil->threshold);
}

// Looks up a projector cached by an earlier study of the same process.
static bb_status find_projector(const char *key, bb_deformable_mirror *mirror, bool *found)
{
    bb_status status = BB_OK;
    const bb_index items = mirror->actuator_count * mirror->measurement_count;
    bb_index bytes = 0;
    const double *kept = bb_store_find(key, &bytes);
    *found = kept != NULL;
    if (*found) {
        BB_REQUIRE(bytes == (items + 1) * (bb_index)sizeof *kept, BB_INTERNAL,
                   "a projector of %td values was cached as %td bytes", items, bytes);
        BB_TRY(bb_thread_copy(mirror->projector, kept, (size_t)items * sizeof *kept));
        mirror->dropped_modes = (bb_index)kept[items];
    }
done:
    return status;
}

static bb_status cache_projector(const char *key, const bb_deformable_mirror *mirror)
{
    bb_status status = BB_OK;
    const bb_index items = mirror->actuator_count * mirror->measurement_count;
    const bb_index bytes = (items + 1) * (bb_index)sizeof(double);
    double *block = NULL;
    if (bb_store_has_room((double)bytes)) {
        BB_TRY(BB_ALLOCATE(items + 1, &block));
        BB_TRY(bb_thread_copy(block, mirror->projector, (size_t)items * sizeof *block));
        block[items] = (double)mirror->dropped_modes;
        (void)bb_store_insert(key, (void **)&block, bytes);
    }
done:
    BB_RELEASE(&block);
    return status;
}

static bb_status make_projector(const bb_pupil *pupil, bb_deformable_mirror *mirror)
{
    bb_status status = BB_OK;
    double *interaction = NULL;
    double *from_axis = NULL; // [2][actuators] in lenslets
    BB_TRY(BB_ALLOCATE(mirror->measurement_count * mirror->actuator_count, &interaction));
    BB_TRY(bb_deformable_mirror_interaction(mirror, pupil, interaction));
    BB_REQUIRE(moves(interaction, mirror->measurement_count * mirror->actuator_count), BB_INVALID,
               "no actuator of a mirror of %td lenslets moves a slope: all are too far from the "
               "valid subapertures",
               mirror->lenslets);
    BB_TRY(BB_ALLOCATE(2 * mirror->actuator_count, &from_axis));
    for (bb_index i = 0; i < mirror->actuator_count; ++i) {
        from_axis[i] = (double)mirror->column[i] - 0.5 * (double)mirror->lenslets;
        from_axis[mirror->actuator_count + i] =
            (double)mirror->row[i] - 0.5 * (double)mirror->lenslets;
    }
    const bb_actuator_places places = {from_axis, from_axis + mirror->actuator_count, NULL};
    BB_TRY(bb_mirror_projector_make(mirror->measurement_count, mirror->actuator_count,
                                    mirror->condition, &places, interaction, mirror->projector,
                                    &mirror->dropped_modes, NULL));
done:
    BB_RELEASE(&interaction);
    BB_RELEASE(&from_axis);
    return status;
}

bb_status bb_deformable_mirror_create(double diameter_m, const bb_pupil *pupil, bb_index lenslets,
                                      double condition, bb_deformable_mirror *out)
{
    bb_status status = BB_OK;
    bb_deformable_mirror mirror = {.diameter_m = diameter_m,
                                   .lenslets = lenslets,
                                   .condition =
                                       isnan(condition) ? default_condition(lenslets) : condition,
                                   .measurement_count = 2 * bb_subapertures_count(lenslets, pupil)};
    bb_text key = {0};
    bool found = false;
    BB_REQUIRE(isnan(condition) || condition > 1.0, BB_INVALID,
               "mirror condition %g, expected more than 1", condition);
    const bb_index actuators = bb_deformable_mirror_actuators(pupil, lenslets);
    BB_REQUIRE(
        actuators <= most_actuators, BB_UNSUPPORTED,
        "a mirror of %td lenslets has %td actuators, expected at most %td (240 lenslets "
        "without obstruction): the size of a larger matrix overflows LAPACK's 32-bit integers",
        lenslets, actuators, most_actuators);
    BB_TRY(place_actuators(pupil, &mirror));
    BB_REQUIRE(mirror.measurement_count > 0 && mirror.actuator_count > 0, BB_INVALID,
               "a mirror of %td lenslets with obstruction %g has %td actuators and %td slopes",
               lenslets, pupil->obstruction, mirror.actuator_count, mirror.measurement_count);
    BB_TRY(BB_ALLOCATE(mirror.actuator_count * mirror.measurement_count, &mirror.projector));
    if (pupil->mask == NULL) {
        BB_TRY(describe(&mirror, pupil, &key));
        BB_TRY(find_projector(bb_text_string(&key), &mirror, &found));
    }
    if (!found) {
        BB_TRY(make_projector(pupil, &mirror));
    }
    if (!found && pupil->mask == NULL) {
        BB_TRY(cache_projector(bb_text_string(&key), &mirror));
    }
    *out = mirror;
    mirror = (bb_deformable_mirror){0};
done:
    bb_text_release(&key);
    bb_deformable_mirror_release(&mirror);
    return status;
}

bb_need bb_deformable_mirror_resident(const bb_pupil *pupil, bb_index lenslets)
{
    const double slopes = 2.0 * (double)bb_subapertures_count(lenslets, pupil);
    const double corners = (double)lenslets + 1.0;
    return (bb_need){.host_bytes = 2.0 * corners * corners * sizeof(bb_index) +
                                   (double)bb_deformable_mirror_actuators(pupil, lenslets) *
                                       slopes * sizeof(double)};
}

bb_need bb_deformable_mirror_need(const bb_pupil *pupil, bb_index lenslets)
{
    const bb_index slopes = 2 * bb_subapertures_count(lenslets, pupil);
    const bb_index actuators = bb_deformable_mirror_actuators(pupil, lenslets);
    const bb_need interaction = {.host_bytes =
                                     ((double)slopes + 2.0) * (double)actuators * sizeof(double)};
    return bb_need_together(
        bb_need_together(bb_deformable_mirror_resident(pupil, lenslets), interaction),
        bb_mirror_projector_need(actuators, pupil->mask == NULL));
}

void bb_deformable_mirror_release(bb_deformable_mirror *mirror)
{
    BB_RELEASE(&mirror->column);
    BB_RELEASE(&mirror->row);
    BB_RELEASE(&mirror->projector);
}
