// SPDX-License-Identifier: Apache-2.0
#include "physics/fringe/fringe_check.h"

#include "physics/fringe/surface.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const bb_key *find_key(const bb_schema *schema, const char *name)
{
    const bb_key *key = schema->keys;
    while (strcmp(key->name, name) != 0) {
        ++key;
    }
    return key;
}

static bb_status check_choice(const bb_schema *schema, const char *name, int value,
                              const char *path)
{
    bb_status status = BB_OK;
    const char *const *choices = find_key(schema, name)->choices;
    int count = 0;
    while (choices[count] != NULL) {
        ++count;
    }
    BB_REQUIRE(value >= 0 && value < count, BB_INVALID, "%s.%s = %d, expected 0..%d", path, name,
               value, count - 1);
done:
    return status;
}

static bb_status check_step(const bb_surface_step *step, const char *path)
{
    bb_status status = BB_OK;
    const bb_schema *schema = find_key(&bb_fringe_surface_schema, "steps")->schema;
    BB_TRY(check_choice(schema, "kind", step->kind, path));
    const char *kind = find_key(schema, "kind")->choices[step->kind];
    BB_TRY(bb_schema_check(schema, step, path));
    BB_REQUIRE(step->kind != BB_SURFACE_STEP_SHEAR || isnan(step->x), BB_INVALID,
               "%s.x does not apply to a step of kind %s", path, kind);
    BB_REQUIRE(step->kind != BB_SURFACE_STEP_EDGE || isnan(step->y), BB_INVALID,
               "%s.y does not apply to a step of kind %s", path, kind);
    BB_REQUIRE(step->kind == BB_SURFACE_STEP_MESA || isnan(step->width), BB_INVALID,
               "%s.width does not apply to a step of kind %s", path, kind);
done:
    return status;
}

static bb_status check_lists(const bb_fringe_surface_config *surface)
{
    bb_status status = BB_OK;
    const bb_zernike_term *terms = surface->zernike.items;
    const bb_surface_step *steps = surface->steps.items;
    char path[64];
    BB_REQUIRE(surface->zernike.count >= 0 && surface->steps.count >= 0, BB_INVALID,
               "surface: %td polynomials and %td steps, expected 0 or more", surface->zernike.count,
               surface->steps.count);
    for (bb_index t = 0; t < surface->zernike.count; ++t) {
        (void)snprintf(path, sizeof path, "surface.zernike[%td]", t);
        BB_TRY(bb_schema_check(find_key(&bb_fringe_surface_schema, "zernike")->schema, &terms[t],
                               path));
        for (bb_index s = 0; s < t; ++s) {
            BB_REQUIRE(terms[s].j != terms[t].j, BB_INVALID,
                       "%s.j = %td is also that of surface.zernike[%td], expected each polynomial "
                       "once",
                       path, terms[t].j, s);
        }
    }
    for (bb_index s = 0; s < surface->steps.count; ++s) {
        (void)snprintf(path, sizeof path, "surface.steps[%td]", s);
        BB_TRY(check_step(&steps[s], path));
    }
done:
    return status;
}

static bb_status check_surface(const bb_fringe_config *config)
{
    bb_status status = BB_OK;
    const bb_fringe_surface_config *surface = &config->surface;
    const bb_spectrum_config *spectrum = &surface->spectrum;
    const bb_residue_config *pairs = &surface->residue_pairs;
    const bb_index shorter =
        config->size.columns < config->size.rows ? config->size.columns : config->size.rows;
    BB_TRY(check_lists(surface));
    BB_REQUIRE(spectrum->low_cycles < spectrum->high_cycles, BB_INVALID,
               "surface.spectrum.high_cycles = %g, expected more than low_cycles = %g",
               spectrum->high_cycles, spectrum->low_cycles);
    BB_REQUIRE(spectrum->rms_nm == 0.0 || bb_surface_has_waves(config), BB_INVALID,
               "surface.spectrum: no wave of %td x %td pixels lies between low_cycles = %g and "
               "high_cycles = %g",
               config->size.columns, config->size.rows, spectrum->low_cycles,
               spectrum->high_cycles);
    BB_REQUIRE(pairs->count == 0 || pairs->separation_px <= (double)(shorter - 2), BB_INVALID,
               "surface.residue_pairs.separation_px = %g, expected at most %td: two less than the "
               "shorter side of %td x %td pixels",
               pairs->separation_px, shorter - 2, config->size.columns, config->size.rows);
done:
    return status;
}

static bb_status check_pupil(const bb_fringe_pupil_config *pupil)
{
    bb_status status = BB_OK;
    BB_TRY(check_choice(&bb_fringe_pupil_schema, "kind", pupil->kind, "pupil"));
    BB_REQUIRE(pupil->kind != BB_FRINGE_PUPIL_ANNULUS || pupil->obstruction > 0.0, BB_INVALID,
               "pupil.obstruction is missing: an annulus needs it");
    BB_REQUIRE(pupil->kind == BB_FRINGE_PUPIL_ANNULUS || pupil->obstruction == 0.0, BB_INVALID,
               "pupil.obstruction = %g does not apply to a pupil of kind %s", pupil->obstruction,
               find_key(&bb_fringe_pupil_schema, "kind")->choices[pupil->kind]);
done:
    return status;
}

// Beyond 2 / (window + 1) cycles a pixel the window lets nothing through: neither the mean of the
// frame, which demodulation moves to the carrier, nor the fringes' mirror image at twice that.
static bb_status check_carrier(const bb_fringe_carrier_config *carrier)
{
    bb_status status = BB_OK;
    const double edge = 2.0 / (double)(carrier->window_px + 1);
    const double mean = fmax(fabs(carrier->x), fabs(carrier->y));
    const double image = fmax(fabs(2.0 * carrier->x - rint(2.0 * carrier->x)),
                              fabs(2.0 * carrier->y - rint(2.0 * carrier->y)));
    BB_REQUIRE(carrier->window_px % 2 == 1, BB_INVALID,
               "detection.carrier.window_px = %td, expected an odd number", carrier->window_px);
    BB_REQUIRE(fmin(mean, image) >= edge - 1e-12, BB_INVALID,
               "detection.carrier.x = %g and y = %g 1/px, expected one of them at least %g, 2 over "
               "window_px + 1, from 0, and twice one of them as far from a whole number",
               carrier->x, carrier->y, edge);
done:
    return status;
}

bb_status bb_fringe_check(const bb_fringe_config *config)
{
    bb_status status = BB_OK;
    const bb_fringe_detection_config *detection = &config->detection;
    BB_TRY(bb_schema_check(&bb_fringe_schema, config, ""));
    BB_TRY(check_pupil(&config->pupil));
    BB_TRY(check_surface(config));
    BB_TRY(
        check_choice(&bb_fringe_detection_schema, "algorithm", detection->algorithm, "detection"));
    BB_REQUIRE(detection->algorithm != BB_DETECTION_CARRE || detection->steps == 4, BB_INVALID,
               "detection.steps = %td, expected 4: Carre's formula takes four frames",
               detection->steps);
    if (detection->algorithm == BB_DETECTION_CARRIER) {
        BB_TRY(check_carrier(&detection->carrier));
    }
done:
    return status;
}
