// SPDX-License-Identifier: Apache-2.0
#include "sim/ao/ao_pupil.h"

#include "core/memory.h"
#include "physics/ao/ao_check.h"
#include "sim/input/fits_image.h"
#include "sim/input/matrix_file.h"
#include "sim/study.h"

enum { MOST_PIXELS = 8192 }; // along an edge: 512 MiB in memory

// "'pupil' in 'mask.h5'", or a FITS file by its name alone.
static bb_status label(const bb_pupil_config *config, bb_text *out)
{
    return bb_fits_image_recognised(config->file)
               ? bb_text_add(out, "'%s'", config->file)
               : bb_text_add(out, "'%s' in '%s'", config->dataset, config->file);
}

static bb_status hold_shape(const bb_pupil_config *config, bb_index rows, bb_index columns)
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

static bb_status load_dataset(const bb_pupil_config *config, bb_index *edge, double **values)
{
    bb_status status = BB_OK;
    const bb_matrix_place place = {.file = config->file, .dataset = config->dataset};
    bb_matrix_file *file = NULL;
    BB_TRY(bb_matrix_file_open(&place, false, "pupil", &file));
    BB_TRY(bb_matrix_file_expect(file, BB_QUANTITY_FRACTION));
    const bb_matrix_source *source = bb_matrix_file_source(file);
    BB_TRY(hold_shape(config, source->rows, source->columns));
    BB_TRY(BB_ALLOCATE(source->rows * source->columns, values));
    BB_TRY(bb_matrix_source_load(source, *values));
    *edge = source->rows;
done:
    bb_matrix_file_close(&file);
    return status;
}

static bb_status load_image(const bb_pupil_config *config, bb_index *edge, double **values)
{
    bb_status status = BB_OK;
    bb_index columns = 0;
    BB_TRY(bb_fits_image_read(config->file, MOST_PIXELS, edge, &columns, values));
    BB_TRY(hold_shape(config, *edge, columns));
done:
    return status;
}

bb_status bb_ao_pupil_load(const bb_ao_study *study, bb_ao_config *physics, double **mask)
{
    bb_status status = BB_OK;
    const bb_pupil_config *config = &study->telescope.pupil;
    bb_index edge = 0;
    double *values = NULL;
    *mask = NULL;
    if (config->file == NULL) {
        goto done;
    }
    BB_TRY(bb_study_name_failure((bb_fits_image_recognised(config->file)
                                      ? load_image
                                      : load_dataset)(config, &edge, &values),
                                 "telescope.pupil"));
    physics->pupil_mask = values;
    physics->pupil_edge = edge;
    BB_TRY(bb_ao_check(physics));
    *mask = values;
    values = NULL;
done:
    BB_RELEASE(&values);
    return status;
}

bb_status bb_ao_pupil_note(const bb_ao_config *physics, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_pupil_config *config = &physics->telescope->pupil;
    bb_value_digest *state = NULL;
    bb_text text = {0};
    char digest[BB_DIGEST_BYTES];
    if (physics->pupil_mask == NULL) {
        BB_TRY(bb_results_note(results, "provenance", "pupil", "annulus"));
    } else {
        BB_TRY(bb_value_digest_create(&state));
        bb_value_digest_add(state, physics->pupil_mask, physics->pupil_edge * physics->pupil_edge);
        bb_value_digest_text(state, digest);
        BB_TRY(bb_fits_image_recognised(config->file)
                   ? bb_text_add(&text, "%s", config->file)
                   : bb_text_add(&text, "%s in %s", config->dataset, config->file));
        BB_TRY(bb_results_note(results, "provenance", "pupil", bb_text_string(&text)));
        BB_TRY(bb_results_note(results, "provenance", "pupil_digest", digest));
    }
done:
    bb_text_release(&text);
    bb_value_digest_destroy(&state);
    return status;
}
