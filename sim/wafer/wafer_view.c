// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_view.h"

#include "core/memory.h"
#include "sim/output/xdmf.h"
#include "sim/wafer/wafer_rows.h"

#include <stdio.h>
#include <string.h>

enum { COMPONENTS = 3, PATH_BYTES = 64 };

// Vectors [points][COMPONENTS] of two components in m, in the unit that `factor` asks for.
static bb_status publish_vectors(const bb_wafer_overlay *overlay, const char *path,
                                 const char *unit, const char *long_name, const double *x,
                                 const double *y, double factor, bb_results *results)
{
    bb_status status = BB_OK;
    double *values = NULL;
    bb_index count = overlay->problem->point_count;
    BB_TRY(BB_ZEROED(COMPONENTS * count, &values));
    for (bb_index i = 0; i < count; ++i) {
        values[COMPONENTS * i] = factor * x[i];
        values[COMPONENTS * i + 1] = factor * y[i];
    }
    BB_TRY(bb_results_values(results, path, unit, long_name, "point, component", values));
done:
    BB_RELEASE(&values);
    return status;
}

static bb_status publish_axes(bb_index count, bb_results *results)
{
    static const char *const components[COMPONENTS] = {"x", "y", "z"};
    bb_status status = BB_OK;
    double *index = NULL;
    BB_TRY(BB_ALLOCATE(count, &index));
    for (bb_index i = 0; i < count; ++i) {
        index[i] = (double)i;
    }
    BB_TRY(bb_results_axis(results, "view/point", "1", "index of the scored point", count, index));
    BB_TRY(bb_results_text_axis(results, "view/component", "component of a vector", COMPONENTS,
                                components));
done:
    BB_RELEASE(&index);
    return status;
}

bb_status bb_wafer_view_publish(const bb_wafer_overlay *overlay, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_wafer_attempt *reference = overlay->reference;
    char path[PATH_BYTES];
    BB_TRY(publish_axes(overlay->problem->point_count, results));
    BB_TRY(publish_vectors(overlay, "view/point_mm", "mm", "the scored point on the wafer",
                           overlay->x, overlay->y, 1e3, results));
    BB_TRY(publish_vectors(overlay, "view/raw_nm", "nm", "displacement of the reference",
                           reference->mean[BB_AXIS_X], reference->mean[BB_AXIS_Y], 1e9, results));
    for (bb_index p = 0; p < overlay->study->pipelines.count; ++p) {
        const bb_wafer_attempt *attempt = &overlay->attempts[p];
        (void)snprintf(path, sizeof path, "view/model_%td_nm", p);
        BB_TRY(publish_vectors(overlay, path, "nm", "displacement by the pipeline of that index",
                               attempt->mean[BB_AXIS_X], attempt->mean[BB_AXIS_Y], 1e9, results));
        (void)snprintf(path, sizeof path, "view/residual_%td_nm", p);
        BB_TRY(publish_vectors(
            overlay, path, "nm", "what its corrections in force leave of the reference's",
            attempt->residual[BB_AXIS_X], attempt->residual[BB_AXIS_Y], 1e9, results));
    }
done:
    return status;
}

// Centres of `count` cells from `origin` on, mm.
static bb_status publish_centres(const char *path, const char *long_name, bb_index count,
                                 double origin, double pitch, bb_results *results)
{
    bb_status status = BB_OK;
    double *centres = NULL;
    BB_TRY(BB_ALLOCATE(count, &centres));
    for (bb_index i = 0; i < count; ++i) {
        centres[i] = 1e3 * (origin + ((double)i + 0.5) * pitch);
    }
    BB_TRY(bb_results_axis(results, path, "mm", long_name, count, centres));
done:
    BB_RELEASE(&centres);
    return status;
}

bb_status bb_wafer_view_grid(const bb_wafer_problem *problem, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_temperature_grid *grid = problem->grid;
    BB_TRY(publish_centres("temperature/x", "centres of the columns of cells", grid->columns,
                           grid->origin_x, grid->cell_width, results));
    BB_TRY(publish_centres("temperature/y", "centres of the rows of cells", grid->rows,
                           grid->origin_y, grid->cell_height, results));
    BB_TRY(bb_results_values(results, "temperature/step", "s", "length of a light step", "",
                             &problem->scan->step));
done:
    return status;
}

static bb_status describe_pipeline(bb_xdmf *to, const char *name, bb_index pipeline,
                                   bb_index points)
{
    bb_status status = BB_OK;
    char model[PATH_BYTES];
    char residual[PATH_BYTES];
    (void)snprintf(model, sizeof model, "/view/model_%td_nm", pipeline);
    (void)snprintf(residual, sizeof residual, "/view/residual_%td_nm", pipeline);
    const struct {
        const char *name;
        bb_xdmf_array array;
    } arrays[] = {
        {"raw",      {"/view/raw_nm", points, COMPONENTS, -1}},
        {"model",    {model, points, COMPONENTS, -1}         },
        {"residual", {residual, points, COMPONENTS, -1}      },
        {"exposure", {"/results/point_field", points, 1, -1} },
    };
    const bb_xdmf_array places = {"/view/point_mm", points, COMPONENTS, -1};
    BB_TRY(bb_xdmf_open_points(to, name, &places));
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) {
        BB_TRY(bb_xdmf_point_array(to, arrays[i].name, &arrays[i].array));
    }
    BB_TRY(bb_xdmf_close(to));
done:
    return status;
}

static const bb_matrix_source *find_operator(const bb_results *results, const char *name)
{
    for (bb_index i = 0; i < bb_results_operator_count(results); ++i) {
        const bb_operator *matrix = bb_results_operator_at(results, i);
        if (strcmp(matrix->name, name) == 0) {
            return matrix->source;
        }
    }
    return NULL;
}

static bb_status describe_field(bb_xdmf *to, bb_index exposure, double start, double step,
                                const bb_xdmf_image *image, const bb_results *results)
{
    bb_status status = BB_OK;
    char operator_name[BB_WAFER_OPERATOR_NAME];
    char dataset[PATH_BYTES];
    char name[PATH_BYTES];
    (void)snprintf(operator_name, sizeof operator_name, "S_%td", exposure);
    (void)snprintf(dataset, sizeof dataset, "/operators/%s", operator_name);
    const bb_matrix_source *source = find_operator(results, operator_name);
    for (bb_index n = 0; source != NULL && n < source->rows; ++n) {
        const bb_xdmf_array array = {dataset, source->rows, source->columns, n};
        (void)snprintf(name, sizeof name, "exposure %td, light step %td", exposure, n);
        BB_TRY(bb_xdmf_open_image(to, name, start + ((double)n + 0.5) * step, image));
        BB_TRY(bb_xdmf_cell_array(to, "temperature", image, &array));
        BB_TRY(bb_xdmf_close(to));
    }
done:
    return status;
}

// Temperatures of the light steps, where the run dumped them.
static bb_status describe_temperatures(bb_xdmf *to, const bb_results *results)
{
    bb_status status = BB_OK;
    const bb_dataset *x = bb_results_find(results, "temperature/x");
    const bb_dataset *y = bb_results_find(results, "temperature/y");
    const bb_dataset *step = bb_results_find(results, "temperature/step");
    const bb_dataset *field = bb_results_find(results, "results/field");
    const bb_dataset *start = bb_results_find(results, "results/field_start_s");
    if (x == NULL || y == NULL || step == NULL || field == NULL || start == NULL) {
        goto done;
    }
    double width = x->numbers[1] - x->numbers[0];
    double height = y->numbers[1] - y->numbers[0];
    const bb_xdmf_image image = {.columns = x->count,
                                 .rows = y->count,
                                 .x = x->numbers[0] - 0.5 * width,
                                 .y = y->numbers[0] - 0.5 * height,
                                 .width = width,
                                 .height = height};
    BB_TRY(bb_xdmf_open_collection(to, "temperature", BB_XDMF_TEMPORAL));
    for (bb_index f = 0; f < field->count; ++f) {
        BB_TRY(describe_field(to, (bb_index)field->numbers[f], start->numbers[f], step->numbers[0],
                              &image, results));
    }
    BB_TRY(bb_xdmf_close(to));
done:
    return status;
}

bb_status bb_wafer_view_describe(const bb_results *results, const char *file, bb_text *out)
{
    bb_status status = BB_OK;
    bb_xdmf to = {out, file};
    const bb_dataset *names = bb_results_find(results, "results/pipeline");
    const bb_dataset *points = bb_results_find(results, "view/point");
    BB_REQUIRE(names != NULL && points != NULL, BB_INVALID,
               "results without pipelines or scored points, expected those of a wafer");
    BB_TRY(bb_xdmf_begin(&to));
    BB_TRY(bb_xdmf_open_collection(&to, "overlay", BB_XDMF_SPATIAL));
    for (bb_index p = 0; p < names->count; ++p) {
        BB_TRY(describe_pipeline(&to, names->texts[p], p, points->count));
    }
    BB_TRY(bb_xdmf_close(&to));
    BB_TRY(describe_temperatures(&to, results));
    BB_TRY(bb_xdmf_end(&to));
done:
    return status;
}
