// SPDX-License-Identifier: Apache-2.0
//
// Model omissions of a wafer study and their size: sentences printed by `check` and as warnings by
// `run`. Sizes are estimates from closed forms, made before any computation.
#include "core/log.h"
#include "physics/wafer/heat/exposure.h"
#include "physics/wafer/overlay/dwell.h"
#include "physics/wafer/response/plate.h"
#include "sim/wafer/wafer_work.h"

#include <math.h>

static void add_point(const bb_disc_edge *edge, double radius, bb_wafer_edge_loss *out)
{
    out->points += 1;
    out->near += radius > edge->radius - out->reach;
    out->radius = fmax(out->radius, radius);
}

bb_status bb_wafer_edge_loss_find(const bb_wafer_study *study, bb_wafer_edge_loss *out)
{
    bb_status status = BB_OK;
    bb_wafer_problem *layout = NULL;
    bb_dwell *dwell = NULL;
    const bb_wafer_config physics = bb_wafer_study_physics(study);
    const bb_disc_edge edge = bb_disc_edge_make(&study->wafer, &study->clamp);
    *out = (bb_wafer_edge_loss){.reach = 2.0 * edge.length};
    BB_TRY(bb_wafer_problem_create_layout(&physics, &layout));
    for (bb_index f = 0; f < layout->scored_count; ++f) {
        BB_TRY(bb_dwell_create(&layout->slit, bb_wafer_problem_field(layout, f), &study->metrology,
                               &dwell));
        for (bb_index i = 0; i < dwell->count; ++i) {
            add_point(&edge, hypot(dwell->x[i], dwell->y[i]), out);
        }
        bb_dwell_destroy(&dwell);
    }
    out->part = bb_disc_edge_part(&edge, out->radius);
    out->height = bb_disc_edge_height_part(&edge, out->radius);
done:
    bb_dwell_destroy(&dwell);
    bb_wafer_problem_destroy(&layout);
    return status;
}

// True if the study has displacements: without thermal expansion no error is possible.
static bool has_displacement(const bb_wafer_study *study)
{
    return study->wafer.expansion_per_k != 0.0;
}

// Appends the error of closed-form rows near the rim; nothing if no rows or no points are affected.
static bb_status describe_edge(const bb_wafer_study *study, bb_text *out)
{
    bb_status status = BB_OK;
    bb_wafer_edge_loss loss;
    const bool plane = study->response.generator == (int)BB_GENERATOR_KERNEL;
    const bool height = bb_wafer_study_has_kernel_height(study);
    if ((!plane && !height) || !has_displacement(study)) {
        goto done;
    }
    BB_TRY(bb_wafer_edge_loss_find(study, &loss));
    if (loss.near == 0) {
        goto done;
    }
    BB_TRY(bb_text_add(out,
                       "%s the edge of the wafer: %td of %td scored points lie within 2 l_s = "
                       "%.1f mm of it. At the outermost, r = %.1f mm, ",
                       plane ? "response.generator kernel ignores"
                             : "axis z of response.generator fem uses the kernel, which ignores",
                       loss.near, loss.points, 1e3 * loss.reach, 1e3 * loss.radius));
    if (plane) {
        BB_TRY(bb_text_add(out, "about %.0f %% of the displacement in x and y is missing%s",
                           100.0 * loss.part, height ? ", " : ""));
    }
    if (height) {
        BB_TRY(
            bb_text_add(out, "up to about %.0f %% of the height is missing", 100.0 * loss.height));
    }
    BB_TRY(bb_text_add(out, "; %s",
                       plane ? "generator fem includes the edge for x and y, plate for all axes"
                             : "generator plate includes it"));
done:
    return status;
}

// Appends the error of a mesh coarser than the slit.
static bb_status describe_mesh(const bb_wafer_study *study, bb_text *out)
{
    const double spacing = study->mesh.spacing_mm;
    if (spacing <= study->scan.slit_width_mm || !has_displacement(study)) {
        return BB_OK;
    }
    return bb_text_add(
        out,
        "mesh.spacing_mm = %g is coarser than scan.slit_width_mm = %g: about %.2g nm of the "
        "displacement at a scored point are mesh error",
        spacing, study->scan.slit_width_mm,
        1e9 * bb_exposure_mesh_error(&study->wafer, &study->scan, 1e-3 * spacing));
}

enum { EDGE, MESH, CAUTIONS };
static const char *const names[CAUTIONS] = {[EDGE] = "edge", [MESH] = "mesh"};
static bb_status (*const describe[CAUTIONS])(const bb_wafer_study *, bb_text *) = {
    [EDGE] = describe_edge, [MESH] = describe_mesh};

// Adds plan lines; with `plan` NULL, logs warnings of a run instead.
static bb_status list(const bb_wafer_study *study, bb_plan *plan)
{
    bb_status status = BB_OK;
    // Overlay uses x and y only: the missing edge in a height changes no loss.
    const bool is_overlay = study->response.generator == (int)BB_GENERATOR_KERNEL;
    bb_text text = {0};
    for (int c = 0; c < CAUTIONS; ++c) {
        BB_TRY(describe[c](study, &text));
        if (text.length > 0 && plan != NULL) {
            BB_TRY(bb_plan_add(plan, names[c], "%s", bb_text_string(&text)));
        } else if (text.length > 0 && c == EDGE && !is_overlay) {
            bb_log_info("%s", bb_text_string(&text));
        } else if (text.length > 0) {
            bb_log_warning("%s", bb_text_string(&text));
        }
        bb_text_release(&text);
    }
done:
    bb_text_release(&text);
    return status;
}

static bb_status plan_lines(const void *study, const void *extent, bb_plan *plan)
{
    (void)extent;
    return list(study, plan);
}

static bb_status warn(void *work, bb_results *results)
{
    (void)results;
    return list(&((bb_wafer_work *)work)->study, NULL);
}

const bb_part bb_wafer_cautions_part = {
    .name = "cautions", .plan_lines = plan_lines, .start = warn};
