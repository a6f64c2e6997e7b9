// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_rows.h"

#include "core/memory.h"
#include "core/thread.h"
#include "sim/study.h"
#include "sim/wafer/wafer_row_metadata.h"
#include "sim/warm.h"

#include <stdint.h>
#include <stdio.h>

enum { FILE_BATCH = 8 };

void bb_wafer_rows_name(int axis, bb_index field, char out[BB_WAFER_OPERATOR_NAME])
{
    (void)snprintf(out, BB_WAFER_OPERATOR_NAME, "C_%c_%td", bb_axis_letter(axis), field);
}

// Of a `header` alone no value is read, and nothing is warned of.
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
               "'%s', dataset '%s': its own words (axis, long_name) say %c, expected %c",
               place.file, place.dataset, bb_axis_letter(said), bb_axis_letter(axis));
    out->source = bb_matrix_file_source(out->file);
    out->batch = FILE_BATCH;
    BB_REQUIRE(out->source->rows == rows && out->source->columns == columns, BB_INVALID,
               "'%s', dataset '%s': %td x %td, expected %td slit points of a field x %td cells",
               place.file, place.dataset, out->source->rows, out->source->columns, rows, columns);
    bb_index across = bb_matrix_file_mesh_columns(out->file);
    BB_REQUIRE(across == 0 || across == study->response.grid.columns, BB_INVALID,
               "'%s', dataset '%s': lines of %td cells, expected the %td of response.grid",
               place.file, place.dataset, across, study->response.grid.columns);
    const int *axes = study->response.axes.items;
    BB_TRY(bb_wafer_row_metadata_check(study, problem, index, &place,
                                       bb_matrix_file_metadata(out->file),
                                       !header && axis == axes[0]));
done:
    BB_RELEASE(&dataset);
    return status;
}

// What rows do not depend on: how the wafer is heated, what is done with rows, and words.
static const char *const others[] = {"title",  "device",   "pipelines", "wafers",  "hood",
                                     "probes", "realtime", "dump",      "machine", NULL};

static bb_status describe(const bb_wafer_study *study, bb_index index, int axis, bb_text *out)
{
    bb_status status = BB_OK;
    bb_wafer_study unheated = *study;
    unheated.scan.dose_mj_per_cm2 = 1.0;
    BB_TRY(bb_warm_describe("response rows", &bb_wafer_study_schema, &unheated, others, out));
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

// Rows that another study left, or that this one leaves, where there is room for them.
static bb_status keep_rows(const bb_wafer_study *study, bb_index index, int axis,
                           bb_wafer_row_source *out)
{
    bb_status status = BB_OK;
    bb_text key = {0};
    double *values = NULL;
    bb_index bytes = 0;
    const bb_index count = out->source->rows * out->source->columns;
    if (!bb_warm_has_room((double)count * sizeof *values)) {
        goto done;
    }
    BB_TRY(describe(study, index, axis, &key));
    const double *kept = bb_warm_find(bb_text_string(&key), &bytes);
    if (kept == NULL) {
        BB_TRY(BB_ALLOCATE(count, &values));
        loading work = {out->source, values};
        BB_TRY(bb_thread_ranges(out->source->rows, out->batch, load_rows, &work));
        bytes = count * (bb_index)sizeof *values;
        kept = bb_warm_keep(bb_text_string(&key), (void **)&values, bytes);
    }
    if (kept != NULL) {
        out->kept_values = bb_view_matrix((double *)(uintptr_t)kept, out->source->rows,
                                          out->source->columns); // nobody writes to a source
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
        BB_TRY(bb_study_name_failure(open_file(study, problem, index, axis, false, out),
                                     "response.file"));
    } else {
        BB_TRY(bb_wafer_problem_rows(problem, index, axis, &out->physics));
        out->source = out->physics.source;
        out->batch = out->physics.batch;
        BB_TRY(keep_rows(study, index, axis, out));
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
            BB_TRY(bb_study_name_failure(
                open_file(study, layout, field, axes[a], true, &row_source), "response.file"));
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
