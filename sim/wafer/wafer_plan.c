// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_plan.h"

#include "core/device.h"
#include "physics/wafer/slit_grid.h"
#include "sim/wafer/wafer_study.h"

#include <math.h>

// Sizes of a study, counted as doubles.
typedef struct extent {
    double cells, points, window; // of S, of a field and of a slit window
    double nodes, steps;          // of the mesh; time steps in all
    double fields, exposed, scored;
    double matrices; // of all scored fields and axes
} extent;

static bb_status measure(const bb_wafer_study *study, extent *out)
{
    bb_status status = BB_OK;
    bb_scan *scan = NULL;
    bb_slit_grid slit;
    BB_TRY(bb_scan_create(&study->scan, 1e-3 * study->mesh.step_ms, &scan));
    BB_TRY(bb_slit_grid_make(&study->response, scan, &slit));
    const bb_list *fields = &study->scan.fields;
    bool all = fields->count == BB_LIST_ALL;
    bb_index scored = all ? scan->field_count : fields->count;
    bb_index last = all ? scored - 1 : ((const bb_index *)fields->items)[scored - 1]; // ascending
    double across = study->wafer.diameter_mm / study->mesh.spacing_mm;
    *out = (extent){
        .cells = (double)study->response.grid.columns * (double)study->response.grid.rows,
        .points = (double)slit.field_points,
        .window = (double)slit.window_points,
        .nodes = M_PI / 4.0 * across * across,
        .steps = (double)(last + 1) * (double)(scan->light_steps + scan->dark_steps),
        .fields = (double)scan->field_count,
        .exposed = (double)(last + 1),
        .scored = (double)scored,
        .matrices = (double)study->response.axes.count * (double)scored,
    };
done:
    bb_scan_destroy(&scan);
    return status;
}

static double host_bytes(const bb_wafer_study *study, const extent *of)
{
    double inputs = 8.0 * of->cells * of->scored * (double)study->scan.light_steps;
    // Two matrices in up to fp64; mesh, step matrix, restriction and states by node.
    double bytes =
        BB_PLAN_PROGRAM_BYTES + 16.0 * of->cells * of->points + inputs + 800.0 * of->nodes;
    if (study->response.generator == (int)BB_GENERATOR_FEM) {
        // Factor of nested dissection, two unknowns a node.
        bytes += 8.0 * 16.0 * 2.0 * of->nodes * log2(2.0 * of->nodes);
    }
    return bytes;
}

// Two matrices at most are on a GPU at once, beside x and y.
static double device_bytes(const extent *of)
{
    return 16.0 * of->cells * of->points + 8.0 * (of->cells + of->points);
}

static double output_bytes(const bb_wafer_study *study, const extent *of)
{
    double points = of->scored * (double)study->metrology.columns * (double)study->metrology.rows;
    double axes = (double)study->response.axes.count;
    return 8.0 * (points * (4.0 + 2.0 * axes * (double)study->pipelines.count) + 7.0 * of->exposed);
}

// Rough rates of one core: 2.5e7 kernel entries, 1e8 node updates and 1.5e9 products a second; a
// row by finite elements takes 5e-7 s a node.
static double seconds(const bb_wafer_study *study, const extent *of, double cores)
{
    bool fem = study->response.generator == (int)BB_GENERATOR_FEM;
    double rows = of->matrices * of->points;
    double products = of->matrices * (double)study->pipelines.count *
                      (double)study->scan.light_steps * of->window * of->cells;
    return 0.5 + (rows * (fem ? 5e-7 * of->nodes : of->cells / 2.5e7) +
                  of->steps * of->nodes / 1e8 + products / 1.5e9) /
                     cores;
}

static bool wants_gpu(const bb_wafer_study *study)
{
    const bb_wafer_pipeline *pipelines = study->pipelines.items;
    bool wanted = study->common.device == (int)BB_STUDY_DEVICE_CUDA;
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        wanted = wanted || pipelines[p].device == (int)BB_STUDY_DEVICE_CUDA;
    }
    return wanted || (study->common.device == (int)BB_STUDY_DEVICE_AUTO &&
                      bb_device_count(BB_DEVICE_CUDA, NULL, 0) > 0);
}

bb_status bb_wafer_plan(const void *study, const bb_run_options *options, bb_plan *plan)
{
    bb_status status = BB_OK;
    const bb_wafer_study *wafer = study;
    const bb_wafer_pipeline *pipelines = wafer->pipelines.items;
    extent of;
    BB_TRY(measure(wafer, &of));
    for (bb_index p = 0; p < wafer->pipelines.count; ++p) {
        char storage[96];
        double bits = bb_codec_bits_per_value(&pipelines[p].storage);
        double bytes = 0.125 * bits * of.cells * of.points * of.matrices;
        bb_codec_describe(&pipelines[p].storage, storage, sizeof storage);
        if (isnan(bits)) {
            BB_TRY(
                bb_plan_add(plan, pipelines[p].name, "%s, operator as its values need", storage));
        } else {
            BB_TRY(bb_plan_add(plan, pipelines[p].name, "%s, operator %.1f MB", storage,
                               1e-6 * bytes));
        }
    }
    BB_TRY(bb_plan_add(plan, "fields", "%.0f laid out, %.0f heated, %.0f scored", of.fields,
                       of.exposed, of.scored));
    BB_TRY(bb_plan_add(plan, "thermal", "about %.0f nodes, %.0f steps", of.nodes, of.steps));
    BB_TRY(bb_plan_add(plan, "response", "%.0f points x %.0f cells, %.0f matrices", of.points,
                       of.cells, of.matrices));
    plan->host_bytes = host_bytes(wafer, &of);
    plan->device_bytes = wants_gpu(wafer) ? device_bytes(&of) : 0.0;
    plan->output_bytes = output_bytes(wafer, &of);
    plan->estimated_seconds = seconds(wafer, &of, (double)options->threads);
done:
    return status;
}
