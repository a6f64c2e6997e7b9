// SPDX-License-Identifier: Apache-2.0
//
// Operators of a wafer study for `--dump`: `rows` are C_<axis>_<field> (slit points of the field x
// cells, m/K), `inputs` are S_<field> (light steps x cells, K).
#include "core/memory.h"
#include "sim/input/hdf5_library.h"
#include "sim/run/dump.h"
#include "sim/wafer/wafer_rows.h"
#include "sim/wafer/wafer_work.h"

#include <stdio.h>

static const char *const filters[] = {"none", "zfp", NULL};

// clang-format off
static const bb_key keys[] = {
    {.name = "filter", .kind = BB_KEY_CHOICE, .choices = filters, .default_text = "none",
     .offset = offsetof(bb_dump_config, filter),
     .meaning = "Filter with which --dump rows stores C; zfp needs its HDF5 plugin."},
    {.name = "tolerance_m_per_k", .kind = BB_KEY_DOUBLE, .unit = "m/K", .minimum = 1e-300, .maximum = 1.0,
     .offset = offsetof(bb_dump_config, tolerance_m_per_k), .default_text = "1e-15",
     .meaning = "Largest error of a value stored with zfp."},
};
// clang-format on
const bb_schema bb_dump_schema = BB_SCHEMA("dump", bb_dump_config, keys);

// Objects read by the operators' sources; owned by the results.
typedef struct operands {
    bb_wafer_problem *problem;
    bb_wafer_heating heating;
    bb_wafer_row_source *row_sources; // [row_source_count], one per field and axis
    bb_index row_source_count;
    bb_view *inputs;           // [scored], each [light_steps][cells]
    bb_matrix_source *sources; // [scored] sources of `inputs`
} operands;

static void release(void *object)
{
    operands *all = object;
    for (bb_index i = 0; i < all->row_source_count; ++i) {
        bb_wafer_row_source_release(&all->row_sources[i]);
    }
    BB_RELEASE(&all->row_sources);
    BB_RELEASE(&all->inputs);
    BB_RELEASE(&all->sources);
    bb_wafer_heating_release(&all->heating);
    bb_wafer_problem_destroy(&all->problem);
    BB_RELEASE(&all);
}

// Metadata of rows. Rows from a file keep the file's metadata, with the checked grids.
static bb_status make_metadata(const bb_wafer_study *study, const bb_wafer_problem *problem,
                               bb_index field, const bb_wafer_row_source *row_source,
                               bb_matrix_metadata *out)
{
    bb_status status = BB_OK;
    BB_TRY(bb_wafer_rows_describe(study, problem, field, out));
    if (row_source->file != NULL) {
        bb_matrix_metadata_set_text(out, bb_matrix_file_metadata(row_source->file)->made_for);
    }
done:
    return status;
}

static bb_status add_rows(const bb_wafer_study *study, operands *all, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_list *axes = &study->response.axes;
    bb_index fields = all->problem->scored_count;
    char name[BB_WAFER_OPERATOR_NAME];
    char long_name[96];
    bb_operator_storage storage = {0};
    bb_matrix_metadata metadata;
    if (study->dump.filter == (int)BB_DUMP_ZFP) {
        storage = (bb_operator_storage){study->dump.tolerance_m_per_k, all->problem->grid->columns};
    }
    BB_TRY(BB_ZEROED(axes->count * fields, &all->row_sources));
    for (bb_index a = 0; a < axes->count; ++a) {
        int axis = ((const int *)axes->items)[a];
        for (bb_index f = 0; f < fields; ++f) {
            bb_wafer_row_source *row_source = &all->row_sources[all->row_source_count];
            BB_TRY(bb_wafer_row_source_open(study, all->problem, f, axis, row_source));
            ++all->row_source_count;
            bb_wafer_rows_name(axis, all->problem->scored[f], name);
            (void)snprintf(long_name, sizeof long_name,
                           "displacement %c at the slit points of field %td per kelvin in a cell",
                           bb_axis_letter(axis), all->problem->scored[f]);
            BB_TRY(
                bb_results_stored_operator(results, name, long_name, row_source->source, storage));
            BB_TRY(make_metadata(study, all->problem, f, row_source, &metadata));
            metadata.axis[0] = bb_axis_letter(axis);
            bb_results_operator_metadata(results, &metadata);
        }
    }
done:
    return status;
}

static bb_status add_inputs(operands *all, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_wafer_heating *heating = &all->heating;
    bb_index fields = all->problem->scored_count;
    const bb_index first = (heating->scored_wafers - 1) * fields; // start of the last wafer
    char name[BB_WAFER_OPERATOR_NAME];
    BB_TRY(BB_ALLOCATE(fields, &all->inputs));
    BB_TRY(BB_ALLOCATE(fields, &all->sources));
    for (bb_index f = 0; f < fields; ++f) {
        all->inputs[f] = bb_view_matrix(heating->inputs + (first + f) * heating->light_steps *
                                                              heating->cell_count,
                                        heating->light_steps, heating->cell_count);
        all->sources[f] = bb_matrix_source_dense(&all->inputs[f], "S", "K");
        (void)snprintf(name, sizeof name, "S_%td", all->problem->scored[f]);
        BB_TRY(bb_results_operator(
            results, name,
            "mean temperature of a cell in a light step, relative to the overlay reference",
            &all->sources[f]));
    }
done:
    return status;
}

// Refuses zfp-compressed rows before the run if HDF5's plugin for zfp is missing.
static bb_status require_filter(const bb_wafer_study *study, const char *names)
{
    bb_status status = BB_OK;
    if (study->dump.filter == (int)BB_DUMP_ZFP && bb_dump_wanted(names, "rows")) {
        BB_TRY(bb_hdf5_library_require_zfp());
    }
done:
    return status;
}

static bb_status plan_lines(const void *all, const void *extent, bb_plan *plan)
{
    const bb_wafer_study *study = all;
    const bb_wafer_extent *span = extent;
    const double inputs = span->scored * (double)study->scan.light_steps;
    double rows = bb_dump_wanted(span->dump, "rows") ? span->matrices * span->points : 0.0;
    rows += bb_dump_wanted(span->dump, "inputs") ? inputs : 0.0;
    plan->output_bytes += 8.0 * rows * span->cells;
    return require_filter(study, span->dump);
}

static bb_status start(void *all, bb_results *results)
{
    const bb_wafer_work *work = all;
    (void)results;
    return require_filter(&work->study, work->dump);
}

static bb_status run(void *part_work, bb_results *results)
{
    bb_status status = BB_OK;
    bb_wafer_work *work = part_work;
    operands *all = NULL;
    bool rows = bb_dump_wanted(work->dump, "rows");
    bool inputs = bb_dump_wanted(work->dump, "inputs");
    if (!rows && !inputs) {
        goto done;
    }
    BB_TRY(BB_ZEROED(1, &all));
    all->problem = work->problem;
    all->heating = work->heating;
    work->problem = NULL;
    work->heating = (bb_wafer_heating){0};
    BB_TRY(bb_results_own(results, all, release));
    if (rows) {
        BB_TRY(add_rows(&work->study, all, results));
    }
    if (inputs) {
        BB_TRY(add_inputs(all, results));
        BB_TRY(bb_wafer_work_publish_heating(all->problem, &all->heating, results));
    }
done:
    return status;
}

// Last part: moves problem and heating into the results, which keep them until the file is written.
const bb_part bb_wafer_dump_part = {
    .name = "operators", .plan_lines = plan_lines, .start = start, .run = run};
