// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_row_metadata.h"

#include "core/log.h"
#include "core/memory.h"
#include "sim/config/difference.h"
#include "sim/config/emission.h"

#include <string.h>

enum { GROUPS = 4, MOST_KEYS = 10 };

// Keys that decide rows. The generator is not among them: a study that reads rows has `file`.
static const struct {
    const char *group;
    const char *keys[MOST_KEYS];
} deciding[GROUPS] = {
    {"wafer",
     {"diameter_mm", "thickness_um", "expansion_per_k", "youngs_modulus_gpa", "poisson_ratio",
      "elasticity", "c11_gpa", "c12_gpa", "c44_gpa"}},
    {"clamp", {"tangential_stiffness_n_per_m3", "normal_stiffness_n_per_m3", "burls"}},
    {"scan", {"field_width_mm", "field_height_mm"}},
    {"response", {"burl_stiffness_scatter"}},
};

static const bb_key *find_key(const bb_schema *schema, const char *name)
{
    for (bb_index k = 0; k < schema->key_count; ++k) {
        if (strcmp(schema->keys[k].name, name) == 0) {
            return &schema->keys[k];
        }
    }
    return NULL;
}

static bb_status write_keys(const bb_wafer_study *study, bb_text *out)
{
    bb_status status = BB_OK;
    bb_key groups[GROUPS];
    bb_schema parts[GROUPS];
    bb_key keys[GROUPS][MOST_KEYS];
    const bb_schema schema = {"origin", sizeof *study, groups, GROUPS};
    for (int g = 0; g < GROUPS; ++g) {
        const bb_key *group = find_key(&bb_wafer_study_schema, deciding[g].group);
        BB_REQUIRE(group != NULL, BB_INTERNAL, "no group %s", deciding[g].group);
        parts[g] = (bb_schema){group->name, group->schema->bytes, keys[g], 0};
        for (int k = 0; k < MOST_KEYS && deciding[g].keys[k] != NULL; ++k) {
            const bb_key *key = find_key(group->schema, deciding[g].keys[k]);
            BB_REQUIRE(key != NULL, BB_INTERNAL, "no key %s.%s", group->name, deciding[g].keys[k]);
            keys[g][parts[g].key_count++] = *key;
        }
        groups[g] = *group;
        groups[g].schema = &parts[g];
    }
    BB_TRY(bb_emission_write(&schema, study, false, out));
done:
    return status;
}

bb_status bb_wafer_row_metadata_make(const bb_wafer_study *study, const bb_wafer_problem *problem,
                                     bb_index index, bb_matrix_metadata *out)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    const bb_field *field = bb_wafer_problem_field(problem, index);
    *out = (bb_matrix_metadata){.mesh_columns = (double)study->response.grid.columns,
                                .mesh_rows = (double)study->response.grid.rows,
                                .row_columns = (double)problem->slit.columns,
                                .row_rows = (double)problem->slit.field_rows};
    BB_TRY(write_keys(study, &text));
    BB_TRY(
        bb_text_add(&text, "field:\n  centre_mm: [%.9g, %.9g]\n", 1e3 * field->x, 1e3 * field->y));
    bb_matrix_metadata_say(out, bb_text_string(&text));
done:
    bb_text_release(&text);
    return status;
}

static bb_status check_size(const bb_matrix_place *place, const char *name, double there,
                            double here, const char *what)
{
    bb_status status = BB_OK;
    BB_REQUIRE(there == 0.0 || there == here, BB_INVALID,
               "'%s', dataset '%s': made with %s = %.9g, expected the %.0f %s", place->file,
               place->dataset, name, there, here, what);
done:
    return status;
}

bb_status bb_wafer_row_metadata_check(const bb_wafer_study *study, const bb_wafer_problem *problem,
                                      bb_index index, const bb_matrix_place *place,
                                      const bb_matrix_metadata *metadata, bool warns)
{
    bb_status status = BB_OK;
    bb_matrix_metadata matrix_metadata;
    bb_text difference = {0};
    BB_TRY(bb_wafer_row_metadata_make(study, problem, index, &matrix_metadata));
    BB_TRY(check_size(place, "mesh_columns", metadata->mesh_columns, matrix_metadata.mesh_columns,
                      "columns of response.grid"));
    BB_TRY(check_size(place, "mesh_rows", metadata->mesh_rows, matrix_metadata.mesh_rows,
                      "rows of response.grid"));
    BB_TRY(check_size(place, "row_columns", metadata->row_columns, matrix_metadata.row_columns,
                      "columns of slit points"));
    BB_TRY(check_size(place, "row_rows", metadata->row_rows, matrix_metadata.row_rows,
                      "rows of slit points in a field"));
    if (warns && metadata->made_for[0] != '\0' &&
        strcmp(metadata->made_for, matrix_metadata.made_for) != 0) {
        BB_TRY(bb_difference_write(metadata->made_for, matrix_metadata.made_for, &difference));
        bb_log_warning("'%s', dataset '%s' was made for another study: %s", place->file,
                       place->dataset, bb_text_string(&difference));
    }
done:
    bb_text_release(&difference);
    return status;
}
