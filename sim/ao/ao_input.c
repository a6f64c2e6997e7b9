// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_input.h"

#include "core/log.h"
#include "core/memory.h"
#include "physics/ao/ao_check.h"
#include "sim/input/fits_image.h"
#include "sim/input/map_file.h"
#include "sim/input/matrix_file.h"
#include "sim/input/unit.h"
#include "sim/run/study.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double same_spacing =
    1e-6; // relative tolerance between the key and the file's attribute
static const double slowest_value_s = 4e-8;

static bb_index count_values(const bb_influence_cube *cube)
{
    return cube->actuator_count * cube->rows * cube->columns;
}

// Converts the values from the file's unit to that of the physics.
static bb_status convert(const char *unit, bb_influence_cube *cube)
{
    bb_status status = BB_OK;
    const char *name = NULL;
    double factor = 1.0;
    BB_TRY(bb_unit_find(BB_QUANTITY_INFLUENCE, unit, &name, &factor));
    if (unit[0] == '\0') {
        bb_log_detail("influence functions have no unit: assuming %s", name);
    }
    for (bb_index i = 0; factor != 1.0 && i < count_values(cube); ++i) {
        cube->values[i] *= factor;
    }
done:
    return status;
}

// Sample spacing from the key or the dataset; both must agree where both are given.
static bb_status find_spacing(const bb_influence_config *keys, double attribute_m, double *out)
{
    bb_status status = BB_OK;
    const bool given = !isnan(keys->spacing_m);
    BB_REQUIRE(given || attribute_m != 0.0, BB_INVALID,
               "spacing_m is missing, and dataset '%s' of '%s' has no attribute spacing_m",
               keys->dataset == NULL ? BB_INFLUENCE_DATASET : keys->dataset, keys->file);
    BB_REQUIRE(!given || attribute_m == 0.0 ||
                   fabs(attribute_m - keys->spacing_m) <= same_spacing * keys->spacing_m,
               BB_INVALID, "spacing_m = %.9g, dataset '%s' of '%s' has %.9g, expected the same",
               keys->spacing_m, keys->dataset == NULL ? BB_INFLUENCE_DATASET : keys->dataset,
               keys->file, attribute_m);
    *out = given ? keys->spacing_m : attribute_m;
done:
    return status;
}

static bb_status load_cube(const bb_influence_config *keys, bb_influence_cube *cube)
{
    bb_status status = BB_OK;
    const bb_map_request request = {.file = keys->file,
                                    .dataset = keys->dataset == NULL ? BB_INFLUENCE_DATASET
                                                                     : keys->dataset,
                                    .cube = "actuator",
                                    .attribute = "spacing_m"};
    bb_map_file map = {0};
    BB_TRY(bb_map_file_read(&request, &map));
    *cube =
        (bb_influence_cube){.actuator_count = map.steps, .rows = map.rows, .columns = map.columns};
    BB_TRY(find_spacing(keys, map.attribute, &cube->spacing_m));
    BB_TRY(BB_ALLOCATE(count_values(cube), &cube->values));
    memcpy(cube->values, map.values, (size_t)count_values(cube) * sizeof *cube->values);
    BB_TRY(convert(map.unit, cube));
done:
    bb_map_file_release(&map);
    return status;
}

bb_status bb_ao_input_influences(const bb_ao_study *study, bb_ao_config *physics,
                                 bb_influence_cube **cubes)
{
    bb_status status = BB_OK;
    const bb_conjugate_config *mirrors = study->mirrors.items;
    const bb_index count = study->mirrors.count;
    bb_index named = 0;
    bb_influence_cube *found = NULL;
    *cubes = NULL;
    for (bb_index k = 0; k < count; ++k) {
        named += mirrors[k].influence.file != NULL ? 1 : 0;
    }
    if (named == 0) {
        goto done;
    }
    BB_TRY(BB_ZEROED(count, &found));
    for (bb_index k = 0; k < count; ++k) {
        const bb_influence_config *keys = &mirrors[k].influence;
        if (keys->file != NULL) {
            BB_TRY(bb_status_prefix(load_cube(keys, &found[k]), "mirrors[%td].influence", k));
        }
    }
    physics->influences = found;
    BB_TRY(bb_ao_check(physics));
    *cubes = found;
    found = NULL;
done:
    bb_ao_input_influences_release(study, &found);
    return status;
}

void bb_ao_input_influences_release(const bb_ao_study *study, bb_influence_cube **cubes)
{
    for (bb_index k = 0; *cubes != NULL && k < study->mirrors.count; ++k) {
        BB_RELEASE(&(*cubes)[k].values);
    }
    BB_RELEASE(cubes);
}

bb_need bb_ao_input_influences_resident(const bb_ao_config *physics)
{
    double values = 0.0;
    for (bb_index k = 0; physics->influences != NULL && k < physics->mirror_count; ++k) {
        values += (double)count_values(&physics->influences[k]);
    }
    return (bb_need){.host_bytes = sizeof(double) * values +
                                   (double)physics->mirror_count * sizeof(bb_influence_cube)};
}

// The reader holds a second copy of the largest cube.
bb_need bb_ao_input_influences_need(const bb_ao_config *physics)
{
    bb_need need = bb_ao_input_influences_resident(physics);
    double values = 0.0;
    double largest = 0.0;
    for (bb_index k = 0; physics->influences != NULL && k < physics->mirror_count; ++k) {
        const double own = (double)count_values(&physics->influences[k]);
        values += own;
        largest = fmax(largest, own);
    }
    need.host_bytes += sizeof(double) * largest;
    need.seconds = slowest_value_s * values;
    return need;
}

bb_status bb_ao_input_influences_check(const bb_ao_study *study, const bb_config *config,
                                       bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_conjugate_config *mirrors = study->mirrors.items;
    for (bb_index k = 0; k < study->mirrors.count; ++k) {
        const bb_influence_config *keys = &mirrors[k].influence;
        BB_TRY(bb_study_refuse(
            keys->file != NULL && bb_fits_image_recognised(keys->file) && isnan(keys->spacing_m),
            config, problems,
            "mirrors[%td].influence.spacing_m is missing: a FITS file does not contain it", k));
    }
done:
    return status;
}

enum { MOST_PIXELS = 8192 }; // most points along an edge: 512 MiB in memory

// Adds "'pupil' in 'mask.h5'", or the name of a FITS file alone.
static bb_status label(const bb_pupil_config *config, bb_text *out)
{
    return bb_fits_image_recognised(config->file)
               ? bb_text_add(out, "'%s'", config->file)
               : bb_text_add(out, "'%s' in '%s'", config->dataset, config->file);
}

static bb_status check_shape(const bb_pupil_config *config, bb_index rows, bb_index columns)
{
    bb_status status = BB_OK;
    bb_text name = {0};
    BB_TRY(label(config, &name));
    BB_REQUIRE(rows == columns, BB_INVALID, "%s has %td x %td pixels, expected a square",
               bb_text_string(&name), rows, columns);
    BB_REQUIRE(rows <= MOST_PIXELS, BB_INVALID,
               "%s has %td x %td pixels, expected at most %d along an edge", bb_text_string(&name),
               rows, columns, MOST_PIXELS);
done:
    bb_text_release(&name);
    return status;
}

static bb_status load_mask(const bb_pupil_config *config, bb_index *edge, double **values)
{
    bb_status status = BB_OK;
    const bb_matrix_place place = {.file = config->file, .dataset = config->dataset};
    bb_matrix_file *file = NULL;
    BB_TRY(bb_matrix_file_open(&place, false, "pupil", &file));
    BB_TRY(bb_matrix_file_expect(file, BB_QUANTITY_FRACTION));
    const bb_matrix_source *source = bb_matrix_file_source(file);
    BB_TRY(check_shape(config, source->rows, source->columns));
    BB_TRY(BB_ALLOCATE(source->rows * source->columns, values));
    BB_TRY(bb_matrix_source_load(source, *values));
    *edge = source->rows;
done:
    bb_matrix_file_close(&file);
    return status;
}

bb_status bb_ao_input_pupil(const bb_ao_study *study, bb_ao_config *physics, double **mask)
{
    bb_status status = BB_OK;
    const bb_pupil_config *config = &study->telescope.pupil;
    bb_index edge = 0;
    double *values = NULL;
    *mask = NULL;
    if (config->file == NULL) {
        goto done;
    }
    BB_TRY(bb_status_prefix(load_mask(config, &edge, &values), "telescope.pupil"));
    physics->pupil_mask = values;
    physics->pupil_edge = edge;
    BB_TRY(bb_ao_check(physics));
    *mask = values;
    values = NULL;
done:
    BB_RELEASE(&values);
    return status;
}

bb_status bb_ao_input_note_pupil(const bb_ao_config *physics, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_pupil_config *config = &physics->telescope->pupil;
    bb_digest *state = NULL;
    bb_text text = {0};
    char digest[BB_DIGEST_BYTES];
    if (physics->pupil_mask == NULL) {
        BB_TRY(bb_results_note(results, "provenance", "pupil", "annulus"));
    } else {
        BB_TRY(bb_digest_create(&state));
        bb_digest_add_values(state, physics->pupil_mask, physics->pupil_edge * physics->pupil_edge);
        bb_digest_text(state, digest);
        BB_TRY(bb_fits_image_recognised(config->file)
                   ? bb_text_add(&text, "%s", config->file)
                   : bb_text_add(&text, "%s in %s", config->dataset, config->file));
        BB_TRY(bb_results_note(results, "provenance", "pupil", bb_text_string(&text)));
        BB_TRY(bb_results_note(results, "provenance", "pupil_digest", digest));
    }
done:
    bb_text_release(&text);
    bb_digest_destroy(&state);
    return status;
}
