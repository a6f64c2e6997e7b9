// SPDX-License-Identifier: Apache-2.0
//
// Vectors at the scored points in /view, for pictures: points in mm, and in nm raw (u_ref), model
// (the pipeline's computed u) and residual (left by its corrections in force). If the run dumped
// its inputs, /temperature has the grid S in the last light step of each scored exposure.
#include "core/memory.h"
#include "sim/wafer/wafer_experiment.h"
#include "sim/wafer/wafer_work.h"

#include <math.h>
#include <stdio.h>

enum { COMPONENTS = 3, INDEX_BYTES = 24 };

static const char *const component_names[COMPONENTS] = {"x", "y", "z"};

static const bb_output vector_rows[] = {
    {"point", "point", "1", "index of the scored point", .note = "as in /results"},
    {"component", "component", NULL, "component of a vector", BB_OUTPUT_NAMES(component_names)},
    {"point_mm", "point, component", "mm", .long_name = "position of the scored point on the wafer",
     .coordinate = true},
    {"raw_nm", "point, component", "nm", "displacement of the reference",
     .note = "in plane: z is 0"},
    {"model_<p>_nm", "point, component", "nm",
     .long_name = "displacement by the pipeline of that index"},
    {"residual_<p>_nm", "point, component", "nm",
     .long_name = "reference displacement left by the pipeline's corrections in force"},
    {"wafer_radius_mm", "", "mm", .long_name = "radius of the wafer"},
    {"field_width_mm", "", "mm", .long_name = "width of a field, in x"},
    {"field_height_mm", "", "mm", .long_name = "height of a field, in y"},
};
static const bb_output_table outputs = {"/view, wafer", NULL, "view", NULL,
                                        BB_OUTPUT_ROWS(vector_rows)};

static const bb_output temperature_rows[] = {
    {"x", "x", "mm", "centres of the columns of cells", .note = "of S"},
    {"y", "y", "mm", .long_name = "centres of the rows of cells"},
    {"z", "z", "mm", .long_name = "single layer of cells"},
    {"exposure_<field>", "z, y, x", "K", "mean temperature rise of a cell in the last light step",
     .note = "S above the water, for a scored exposure"},
    {"tau_<field>", "z, y, x", "K", "half the drop from top to bottom in the last light step",
     .note = "with `mesh.through_thickness: two_mode` and generator plate or file"},
};
static const bb_output_table temperatures = {"/temperature, wafer with `--dump inputs`", NULL,
                                             "temperature", NULL, BB_OUTPUT_ROWS(temperature_rows)};

// Publishes vectors [points][COMPONENTS] of two components in m, converted by `factor`.
static bb_status publish_vectors(const bb_wafer_work *work, const char *name, const char *pipeline,
                                 const double *x, const double *y, double factor,
                                 bb_results *results)
{
    bb_status status = BB_OK;
    const bb_output_fill fill = {.name = pipeline};
    double *values = NULL;
    bb_index count = work->problem->point_count;
    BB_TRY(BB_ZEROED(COMPONENTS * count, &values));
    for (bb_index i = 0; i < count; ++i) {
        values[COMPONENTS * i] = factor * x[i];
        values[COMPONENTS * i + 1] = factor * y[i];
    }
    BB_TRY(bb_output_table_add(&outputs, name, values, &fill, results));
done:
    BB_RELEASE(&values);
    return status;
}

// Publishes the sizes of the wafer and its fields, for drawing outlines.
static bb_status publish_rims(const bb_wafer_study *study, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_output_table *table = &outputs;
    const double radius = 0.5 * study->wafer.diameter_mm;
    BB_TRY(bb_output_table_add(table, "wafer_radius_mm", &radius, NULL, results));
    BB_TRY(
        bb_output_table_add(table, "field_width_mm", &study->scan.field_width_mm, NULL, results));
    BB_TRY(
        bb_output_table_add(table, "field_height_mm", &study->scan.field_height_mm, NULL, results));
done:
    return status;
}

static bb_status run(void *all, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_wafer_work *work = all;
    const bb_wafer_displacements *reference = bb_wafer_evaluation_last(work->reference);
    const bb_output_table *table = &outputs;
    char pipeline[INDEX_BYTES];
    BB_TRY(
        bb_output_table_add_axis(table, "point", work->problem->point_count, NULL, NULL, results));
    BB_TRY(
        bb_output_table_add_axis(table, "component", COMPONENTS, component_names, NULL, results));
    BB_TRY(publish_rims(&work->study, results));
    BB_TRY(publish_vectors(work, "point_mm", NULL, work->x, work->y, 1e3, results));
    BB_TRY(publish_vectors(work, "raw_nm", NULL, reference->mean[BB_AXIS_X],
                           reference->mean[BB_AXIS_Y], 1e9, results));
    for (bb_index p = 0; p < work->study.pipelines.count; ++p) {
        const bb_wafer_displacements *placed = bb_wafer_evaluation_last(&work->evaluations[p]);
        (void)snprintf(pipeline, sizeof pipeline, "%td", p);
        BB_TRY(publish_vectors(work, "model_<p>_nm", pipeline, placed->mean[BB_AXIS_X],
                               placed->mean[BB_AXIS_Y], 1e9, results));
        BB_TRY(publish_vectors(work, "residual_<p>_nm", pipeline, placed->residual[BB_AXIS_X],
                               placed->residual[BB_AXIS_Y], 1e9, results));
    }
done:
    return status;
}

static bb_status plan_lines(const void *study, const void *extent, bb_plan *plan)
{
    const double pipelines = (double)((const bb_wafer_study *)study)->pipelines.count;
    plan->output_bytes +=
        8.0 * ((const bb_wafer_extent *)extent)->metrology * (6.0 + 6.0 * pipelines);
    return BB_OK;
}

const bb_part bb_wafer_view_part = {
    .name = "view",
    .plan_lines = plan_lines,
    .run = run,
    .outputs = BB_OUTPUTS(&outputs, &temperatures),
};

// Publishes the centres of `count` cells from `origin` on, mm.
static bb_status publish_centres(const char *name, bb_index count, double origin, double pitch,
                                 bb_results *results)
{
    bb_status status = BB_OK;
    double *centres = NULL;
    BB_TRY(BB_ALLOCATE(count, &centres));
    for (bb_index i = 0; i < count; ++i) {
        centres[i] = 1e3 * (origin + ((double)i + 0.5) * pitch);
    }
    BB_TRY(bb_output_table_add_axis(&temperatures, name, count, centres, NULL, results));
done:
    BB_RELEASE(&centres);
    return status;
}

bb_status bb_wafer_work_publish_heating(const bb_wafer_problem *problem,
                                        const bb_wafer_heating *heating, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_temperature_grid *grid = problem->grid;
    const bb_output_table *table = &temperatures;
    char field[INDEX_BYTES];
    const bb_output_fill fill = {.name = field};
    double *rises = NULL; // [input_count]
    BB_TRY(publish_centres("x", grid->columns, grid->origin_x, grid->cell_width, results));
    BB_TRY(publish_centres("y", grid->rows, grid->origin_y, grid->cell_height, results));
    BB_TRY(publish_centres("z", 1, -1e-3, 1e-3, results));
    BB_TRY(BB_ALLOCATE(problem->input_count, &rises));
    for (bb_index f = 0; f < problem->scored_count; ++f) {
        bb_wafer_heating_rises(heating, f, heating->light_steps - 1, rises);
        (void)snprintf(field, sizeof field, "%td", problem->scored[f]);
        BB_TRY(bb_output_table_add(table, "exposure_<field>", rises, &fill, results));
        if (problem->input_blocks > 1) {
            BB_TRY(bb_output_table_add(table, "tau_<field>", rises + grid->cell_count, &fill,
                                       results));
        }
    }
done:
    BB_RELEASE(&rises);
    return status;
}
