// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_rows.h"

#include "core/log.h"
#include "core/memory.h"
#include "core/thread.h"
#include "precision/scaling.h"
#include "sim/config/binding.h"
#include "sim/config/difference.h"
#include "sim/config/emission.h"
#include "sim/output/subject.h"
#include "sim/run/study.h"
#include "sim/wafer/wafer_work.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { FILE_BATCH = 8 };

void bb_wafer_rows_name(int axis, bb_index field, char out[BB_WAFER_OPERATOR_NAME])
{
    (void)snprintf(out, BB_WAFER_OPERATOR_NAME, "C_%c_%td", bb_axis_letter(axis), field);
}

enum { GROUPS = 4, MOST_KEYS = 10 };

// Keys that determine the rows. The generator is not included, because a study that reads rows has
// `file`.
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

static bb_status write_keys(const bb_wafer_study *study, bb_text *out)
{
    bb_status status = BB_OK;
    bb_key groups[GROUPS];
    bb_schema parts[GROUPS];
    bb_key keys[GROUPS][MOST_KEYS];
    const bb_schema schema = {"origin", sizeof *study, groups, GROUPS};
    for (int g = 0; g < GROUPS; ++g) {
        const bb_key *group = bb_binding_key(&bb_wafer_study_schema, deciding[g].group);
        BB_REQUIRE(group != NULL, BB_INTERNAL, "no group %s", deciding[g].group);
        parts[g] = (bb_schema){group->name, group->schema->bytes, keys[g], 0};
        for (int k = 0; k < MOST_KEYS && deciding[g].keys[k] != NULL; ++k) {
            const bb_key *key = bb_binding_key(group->schema, deciding[g].keys[k]);
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

bb_status bb_wafer_rows_describe(const bb_wafer_study *study, const bb_wafer_problem *problem,
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
    bb_matrix_metadata_set_text(out, bb_text_string(&text));
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

// Checks the metadata of a row file against scored field `index` of the study, as far as the file
// describes its rows. Other grids are refused; other differing keys are named in a warning if
// `warns` is true.
static bb_status check_metadata(const bb_wafer_study *study, const bb_wafer_problem *problem,
                                bb_index index, const bb_matrix_place *place,
                                const bb_matrix_metadata *metadata, bool warns)
{
    bb_status status = BB_OK;
    bb_matrix_metadata matrix_metadata;
    bb_text difference = {0};
    BB_TRY(bb_wafer_rows_describe(study, problem, index, &matrix_metadata));
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

// Opens a row file. With `header` only its description is checked, without values or warnings.
static bb_status open_file(const bb_wafer_study *study, const bb_wafer_problem *problem,
                           bb_index index, int axis, bool header, bb_wafer_row_source *out)
{
    bb_status status = BB_OK;
    char name[BB_WAFER_OPERATOR_NAME];
    char *dataset = NULL;
    bb_index rows = problem->slit.field_points;
    bb_index columns = problem->input_count;
    bb_wafer_rows_name(axis, problem->scored[index], name);
    BB_TRY(bb_memory_printf(&dataset, "/operators/%s", name));
    const bb_matrix_place place = {study->response.file, dataset};
    BB_TRY(header ? bb_matrix_file_open_header(&place, "C", &out->file)
                  : bb_matrix_file_open(&place, false, "C", &out->file));
    BB_TRY(bb_matrix_file_expect(out->file, BB_QUANTITY_RESPONSE));
    const int said = bb_matrix_file_axis(out->file);
    BB_REQUIRE(said < 0 || said == axis, BB_INVALID,
               "'%s', dataset '%s': attributes axis or long_name name axis %c, expected %c",
               place.file, place.dataset, bb_axis_letter(said), bb_axis_letter(axis));
    out->source = bb_matrix_file_source(out->file);
    out->batch = FILE_BATCH;
    BB_REQUIRE(out->source->rows == rows && out->source->columns == columns, BB_INVALID,
               "'%s', dataset '%s': %td x %td, expected %td slit points of a field x %td cells",
               place.file, place.dataset, out->source->rows, out->source->columns, rows, columns);
    bb_index across = bb_matrix_file_mesh_columns(out->file);
    BB_REQUIRE(across == 0 || across == study->response.grid.columns, BB_INVALID,
               "'%s', dataset '%s': grid rows of %td cells, expected the %td of response.grid",
               place.file, place.dataset, across, study->response.grid.columns);
    const int *axes = study->response.axes.items;
    BB_TRY(check_metadata(study, problem, index, &place, bb_matrix_file_metadata(out->file),
                          !header && axis == axes[0]));
done:
    BB_RELEASE(&dataset);
    return status;
}

// Keys without influence on rows: heating, use of the rows, and texts.
static const char *const others[] = {"title",  "device",   "pipelines", "wafers",  "hood",
                                     "probes", "realtime", "dump",      "machine", NULL};

static bb_status describe(const bb_wafer_study *study, bb_index index, int axis, bb_text *out)
{
    bb_status status = BB_OK;
    bb_wafer_study unheated = *study;
    unheated.scan.dose_mj_per_cm2 = 1.0;
    unheated.response.gpus = 1;
    BB_TRY(bb_subject_write_key("response rows", &bb_wafer_study_schema, &unheated, others, out));
    BB_TRY(bb_text_add(out, "field %td, axis %c\n", index, bb_axis_letter(axis)));
done:
    return status;
}

typedef struct loading {
    const bb_matrix_source *source;
    double *values;
} loading;

static bb_status load_rows(void *context, bb_index begin, bb_index end)
{
    const loading *work = context;
    const bb_index columns = work->source->columns;
    return work->source->fill(work->source, begin, 0,
                              bb_view_matrix(work->values + begin * columns, end - begin, columns));
}

// Reuses rows of an earlier study in this process, or stores them for later studies if memory
// allows.
static bb_status cache_rows(const bb_wafer_study *study, bb_index index, int axis,
                            bb_wafer_row_source *out)
{
    bb_status status = BB_OK;
    bb_text key = {0};
    double *values = NULL;
    bb_index bytes = 0;
    const bb_index count = out->source->rows * out->source->columns;
    if (!bb_store_has_room((double)count * sizeof *values)) {
        goto done;
    }
    BB_TRY(describe(study, index, axis, &key));
    const double *kept = bb_store_find(bb_text_string(&key), &bytes);
    if (kept == NULL) {
        BB_TRY(BB_ALLOCATE(count, &values));
        loading work = {out->source, values};
        BB_TRY(bb_thread_ranges(out->source->rows, out->batch, load_rows, &work));
        bytes = count * (bb_index)sizeof *values;
        kept = bb_store_insert(bb_text_string(&key), (void **)&values, bytes);
    }
    if (kept != NULL) {
        out->kept_values = bb_view_matrix((double *)(uintptr_t)kept, out->source->rows,
                                          out->source->columns); // a source is never written
        out->kept = bb_matrix_source_dense(&out->kept_values, out->source->name, out->source->unit);
        out->source = &out->kept;
    }
done:
    BB_RELEASE(&values);
    bb_text_release(&key);
    return status;
}

bb_status bb_wafer_row_source_open(const bb_wafer_study *study, const bb_wafer_problem *problem,
                                   bb_index index, int axis, bb_wafer_row_source *out)
{
    bb_status status = BB_OK;
    *out = (bb_wafer_row_source){0};
    if (study->response.generator == (int)BB_GENERATOR_FILE) {
        BB_TRY(
            bb_status_prefix(open_file(study, problem, index, axis, false, out), "response.file"));
    } else {
        BB_TRY(bb_wafer_problem_rows(problem, index, axis, &out->physics));
        out->source = out->physics.source;
        out->batch = out->physics.batch;
        BB_TRY(cache_rows(study, index, axis, out));
    }
done:
    if (status != BB_OK) {
        bb_wafer_row_source_release(out);
    }
    return status;
}

bb_status bb_wafer_rows_check(const bb_wafer_study *study)
{
    bb_status status = BB_OK;
    bb_wafer_problem *layout = NULL;
    bb_wafer_row_source row_source = {0};
    const bb_wafer_config physics = bb_wafer_study_physics(study);
    const int *axes = study->response.axes.items;
    if (study->response.generator != (int)BB_GENERATOR_FILE) {
        return BB_OK;
    }
    BB_TRY(bb_wafer_problem_create_layout(&physics, &layout));
    for (bb_index a = 0; a < study->response.axes.count; ++a) {
        for (bb_index field = 0; field < layout->scored_count; ++field) {
            BB_TRY(bb_status_prefix(open_file(study, layout, field, axes[a], true, &row_source),
                                    "response.file"));
            bb_wafer_row_source_release(&row_source);
        }
    }
done:
    bb_wafer_row_source_release(&row_source);
    bb_wafer_problem_destroy(&layout);
    return status;
}

void bb_wafer_row_source_release(bb_wafer_row_source *row_source)
{
    bb_matrix_file_close(&row_source->file);
}

void bb_narrow_problems_release(bb_narrow_problems *problems)
{
    for (int f = 0; f < BB_FORMAT_COUNT; ++f) {
        bb_wafer_problem_narrow_destroy(&problems->items[f]);
    }
}

static void round_tf32(float *values, bb_index count)
{
    (void)bb_format_round_f32(BB_FORMAT_TF32, values, count, values);
}

static void round_bf16(float *values, bb_index count)
{
    (void)bb_format_round_f32(BB_FORMAT_BF16, values, count, values);
}

static const bb_operand_rounding roundings[BB_FORMAT_COUNT] = {
    [BB_FORMAT_TF32] = round_tf32, [BB_FORMAT_BF16] = round_bf16};

// Rounds a row to the storage format; fp16 uses a scale per row.
static void store_row(bb_format format, bb_index count, double *values)
{
    const double scale = format == BB_FORMAT_FP16 ? bb_scaling_row(format, values, count) : 1.0;
    for (bb_index i = 0; i < count; ++i) {
        values[i] = bb_format_round(format, values[i] * scale) / scale;
    }
}

static bb_status fill_narrow(const bb_matrix_source *source, bb_index row, bb_index column,
                             bb_view out)
{
    bb_status status = BB_OK;
    const bb_narrow_rows *rows = source->context;
    if (rows->exact == NULL) {
        BB_TRY(bb_matrix_source_fill(rows->physics.source, row, column, out));
    }
    for (bb_index i = 0; i < out.shape[0]; ++i) {
        double *values = bb_view_row(out, i);
        if (rows->exact != NULL) {
            bb_coded_matrix_decode(rows->exact, row + i, column, out.shape[1], values);
            for (bb_index j = 0; j < out.shape[1]; ++j) {
                values[j] /= bb_coded_matrix_row_scale(rows->exact, row + i);
            }
        }
        store_row(rows->storage, out.shape[1], values);
    }
done:
    return status;
}

bool bb_narrow_rows_are_computed(const bb_wafer_problem *problem, const bb_stage_formats *formats)
{
    const bool own =
        problem->membrane != NULL || problem->plate != NULL || problem->response != NULL;
    return own && bb_stage_formats_arithmetic(BB_CHAIN_ROWS, formats) != BB_FORMAT_FP64;
}

bb_status bb_narrow_rows_open(const bb_wafer_problem *problem, const bb_stage_formats *formats,
                              bb_index index, int axis, const bb_coded_matrix *exact,
                              bb_narrow_problems *problems, bb_narrow_rows *out)
{
    bb_status status = BB_OK;
    const bb_format arithmetic = bb_stage_formats_arithmetic(BB_CHAIN_ROWS, formats);
    *out = (bb_narrow_rows){.source = {.rows = problem->slit.field_points,
                                       .columns = problem->input_count,
                                       .name = "narrow rows",
                                       .unit = "m/K",
                                       .fill = fill_narrow,
                                       .context = out},
                            .batch = 1,
                            .exact = exact,
                            .storage = (bb_format)formats->storage};
    if (!bb_narrow_rows_are_computed(problem, formats)) {
        goto done;
    }
    bb_wafer_problem **narrow = &problems->items[arithmetic];
    if (*narrow == NULL) {
        BB_TRY(bb_wafer_problem_narrow(problem, roundings[arithmetic], narrow));
    }
    BB_TRY(bb_wafer_problem_rows(*narrow, index, axis, &out->physics));
    out->batch = out->physics.batch;
    out->exact = NULL;
done:
    return status;
}

static bool has_plate(const void *study)
{
    return ((const bb_wafer_study *)study)->response.generator == (int)BB_GENERATOR_PLATE;
}

static bb_status list_plate(const void *all, const void *extent, bb_plan *plan)
{
    bb_status status = BB_OK;
    const bb_wafer_study *study = all;
    const double nodes = ((const bb_wafer_extent *)extent)->nodes;
    const bb_need factor = bb_coupled_plate_resident(nodes);
    BB_TRY(bb_plan_add(plan, "plate", "about %.0f unknowns, factor of %.1f MB in about %.0f s",
                       BB_PLATE_UNKNOWNS * nodes, 1e-6 * factor.host_bytes,
                       bb_coupled_plate_need(nodes).seconds));
    if (study->response.cache_folder != NULL) {
        BB_TRY(bb_plan_add(plan, "cached factor", "in '%s', reused if it matches",
                           study->response.cache_folder));
    }
done:
    return status;
}

const bb_part bb_wafer_rows_part = {.name = "plate", .wanted = has_plate, .plan_lines = list_plate};
