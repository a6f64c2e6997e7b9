// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_study.h"

#include "physics/wafer/heat/burl_map.h"
#include "physics/wafer/heat/thermal.h"
#include "physics/wafer/overlay/dwell.h"
#include "sim/wafer/wafer_work.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// clang-format off
#define GROUP(member, table, text)                                                                 \
    {.name = #member, .kind = BB_KEY_GROUP, .schema = (table),                                     \
     .offset = offsetof(bb_wafer_study, member), .meaning = (text)}

static const bb_key keys[] = {
    BB_STUDY_KEYS(bb_wafer_study),
    GROUP(wafer, &bb_wafer_material_schema, "The wafer and its material."),
    GROUP(clamp, &bb_clamp_schema, "Clamp that holds the wafer."),
    GROUP(hood, &bb_hood_schema, "Cooled area above the wafer that moves with the slit."),
    GROUP(ring, &bb_ring_schema, "Ring of the wafer table around the wafer."),
    GROUP(mesh, &bb_mesh_schema, "Mesh and time step of the heat equation."),
    GROUP(scan, &bb_scan_schema, "Exposed fields, their order, and their dose."),
    GROUP(response, &bb_response_schema, "Matrix from temperatures to displacements."),
    GROUP(metrology, &bb_metrology_schema, "Points of a field where overlay is scored."),
    GROUP(wafers, &bb_lot_schema, "Sequence of wafers on one clamp."),
    {.name = "probes", .kind = BB_KEY_RECORDS, .schema = &bb_probe_schema, .optional = true,
     .offset = offsetof(bb_wafer_study, probes),
     .meaning = "Named points whose temperature is written at every step of the scan."},
    GROUP(realtime, &bb_realtime_schema, "Measurement by `bitbudget realtime`."),
    GROUP(dump, &bb_dump_schema, "Storage of operators by --dump."),
    GROUP(machine, &bb_machine_schema, "Time budget and rates of the machine for a plan, and its "
                                       "price."),
    BB_KERNELS_KEY(bb_wafer_study),
    {.name = "pipelines", .kind = BB_KEY_RECORDS, .schema = &bb_product_pipeline_schema,
     .minimum_count = 1,
     .offset = offsetof(bb_wafer_study, pipelines),
     .meaning = "Pipelines to compare; the one named reference, else the first, is the "
     "truth."},
};
// clang-format on
const bb_schema bb_wafer_study_schema = BB_SCHEMA("wafer", bb_wafer_study, keys);

const char bb_wafer_study_starter[] =
    "experiment: wafer\n"
    "title: storage formats of the response matrix\n"
    "clamp: {spacing_mm: 6.0}\n"
    "mesh: {spacing_mm: 1.0}\n"
    "scan: {fields: [6, 8]}\n"
    "response: {grid: {columns: 128, rows: 125}, slit_points: {columns: 11, rows: 9}}\n"
    "pipelines:\n"
    "  - {name: reference, storage: fp64, multiply: fp64, accumulate: fp64}\n"
    "  - {name: fp32, storage: fp32, multiply: fp32, accumulate: fp64}\n"
    "  - {name: fp16, storage: fp16, scale: row, multiply: fp32, accumulate: fp32}\n";

bb_wafer_config bb_wafer_study_physics(const bb_wafer_study *study)
{
    return (bb_wafer_config){.wafer = &study->wafer,
                             .clamp = &study->clamp,
                             .mesh = &study->mesh,
                             .scan = &study->scan,
                             .response = &study->response,
                             .metrology = &study->metrology,
                             .hood = &study->hood,
                             .ring = &study->ring,
                             .lot = &study->wafers,
                             .probes = &study->probes};
}

bool bb_wafer_study_has_probes(const void *study)
{
    return ((const bb_wafer_study *)study)->probes.count > 0;
}

static bb_status check_geometry(const bb_wafer_study *study, const bb_config *config,
                                bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_scan_config *scan = &study->scan;
    BB_TRY(bb_study_refuse(2.0 * scan->usable_radius_mm > study->wafer.diameter_mm, config,
                           problems,
                           "scan.usable_radius_mm = %g: expected at most half of "
                           "wafer.diameter_mm = %g",
                           scan->usable_radius_mm, study->wafer.diameter_mm));
    BB_TRY(bb_study_refuse(2.0 * scan->slit_arc_radius_mm <= scan->field_width_mm, config, problems,
                           "scan.slit_arc_radius_mm = %g: expected over half of "
                           "scan.field_width_mm = %g",
                           scan->slit_arc_radius_mm, scan->field_width_mm));
    BB_TRY(bb_study_refuse(study->clamp.spacing_mm < study->mesh.spacing_mm, config, problems,
                           "clamp.spacing_mm = %g: expected at least mesh.spacing_mm = %g",
                           study->clamp.spacing_mm, study->mesh.spacing_mm));
    BB_TRY(bb_study_refuse(
        bb_edge_ring_wanted(&study->ring) && study->ring.width_mm < study->mesh.spacing_mm, config,
        problems, "ring.width_mm = %g: expected 0 or at least mesh.spacing_mm = %g",
        study->ring.width_mm, study->mesh.spacing_mm));
done:
    return status;
}

static bb_status check_fields(const bb_list *fields, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_index *items = fields->items;
    for (bb_index i = 1; i < fields->count; ++i) {
        BB_TRY(bb_study_refuse(items[i] <= items[i - 1], config, problems,
                               "scan.fields.%td = %td: expected more than the previous field, %td",
                               i, items[i], items[i - 1]));
    }
done:
    return status;
}

static bb_status check_step(const bb_wafer_study *study, const bb_config *config,
                            bb_problems *problems)
{
    double wafer_ms = 1e3 * bb_thermal_wafer_limit(&study->wafer, &study->clamp, &study->hood,
                                                   1e-3 * study->mesh.spacing_mm);
    double clamp_ms = 1e3 * bb_thermal_clamp_limit(&study->wafer, &study->clamp);
    double limit_ms = fmin(wafer_ms, clamp_ms);
    double substeps = (double)study->mesh.substeps;
    return bb_study_refuse(
        study->mesh.stepping == (int)BB_STEPPING_EXPLICIT &&
            study->mesh.step_ms > substeps * limit_ms,
        config, problems,
        "mesh.step_ms = %g: expected at most %.4g ms, the stability limit of explicit steps on a "
        "%s of %g mm; or set mesh.substeps to at least %.0f",
        study->mesh.step_ms, bb_thermal_round_down(substeps * limit_ms),
        clamp_ms < wafer_ms ? "clamp grid" : "mesh",
        clamp_ms < wafer_ms ? study->clamp.spacing_mm : study->mesh.spacing_mm,
        ceil(study->mesh.step_ms / limit_ms));
}

// Checks that every scored field has points inside the usable radius.
static bb_status check_points(const bb_wafer_study *study, const bb_scan *scan,
                              const bb_slit_grid *slit, const bb_config *config,
                              bb_problems *problems)
{
    bb_status status = BB_OK;
    bb_dwell *dwell = NULL;
    const bb_list *fields = &study->scan.fields;
    bb_index count = fields->count == BB_LIST_ALL ? scan->field_count : fields->count;
    for (bb_index i = 0; i < count; ++i) {
        bb_index field = fields->count == BB_LIST_ALL ? i : ((const bb_index *)fields->items)[i];
        BB_TRY(bb_dwell_create(slit, &scan->fields[field], &study->metrology, &dwell));
        BB_TRY(bb_study_refuse(dwell->count == 0, config, problems,
                               "scan.fields: none of the %td x %td metrology points of field "
                               "%td lies within usable_radius_mm = %g",
                               study->metrology.columns, study->metrology.rows, field,
                               study->scan.usable_radius_mm));
        bb_dwell_destroy(&dwell);
    }
done:
    bb_dwell_destroy(&dwell);
    return status;
}

// Extracts the key at the start of a message ("scan.doses: .."); default: the group.
static void find_key(const char *message, const char *group, char *out, size_t bytes)
{
    size_t length = strcspn(message, ": ");
    size_t prefix = strcspn(group, ".") + 1;
    bool named = strncmp(message, group, prefix) == 0 && length < bytes;
    (void)snprintf(out, bytes, "%.*s", named ? (int)length : (int)strlen(group),
                   named ? message : group);
}

static bb_status note_if_invalid(bb_status status, const char *path, const bb_config *config,
                                 bb_problems *problems)
{
    char key[64];
    if (status != BB_INVALID) {
        return status;
    }
    find_key(bb_status_message(), path, key, sizeof key);
    return bb_problems_add(problems, bb_config_place(config, key), "%s", bb_status_message());
}

// Checks the layout of fields and slit rows by constructing both as in a run.
static bb_status check_layout(const bb_wafer_study *study, const bb_config *config,
                              bb_problems *problems)
{
    bb_status status = BB_OK;
    bb_scan *scan = NULL;
    bb_slit_grid slit;
    BB_TRY(note_if_invalid(bb_scan_create(&study->scan, 1e-3 * study->mesh.step_ms, &scan),
                           "scan.fields", config, problems));
    if (scan == NULL) {
        goto done;
    }
    bb_index before = problems->count;
    BB_TRY(note_if_invalid(bb_slit_grid_make(&study->response, scan, &slit), "response.slit_points",
                           config, problems));
    if (problems->count == before) {
        BB_TRY(note_if_invalid(bb_slit_grid_fit_window(&study->response, &study->metrology, &slit),
                               "response.slit_points", config, problems));
    }
    if (problems->count == before) {
        BB_TRY(check_points(study, scan, &slit, config, problems));
    }
done:
    bb_scan_destroy(&scan);
    return status;
}

static bb_status check_axes(const bb_response_config *response, const bb_config *config,
                            bb_problems *problems)
{
    const bb_list *axes = &response->axes;
    unsigned found = 0;
    for (bb_index i = 0; i < axes->count; ++i) {
        found |= 1u << ((const int *)axes->items)[i];
    }
    unsigned needed = 1u << BB_AXIS_X | 1u << BB_AXIS_Y;
    return bb_study_refuse((found & needed) != needed, config, problems,
                           "response.axes: expected both x and y, overlay needs them");
}

bool bb_wafer_study_has_kernel_height(const bb_wafer_study *study)
{
    const bb_list *axes = &study->response.axes;
    bool height = false;
    for (bb_index i = 0; i < axes->count; ++i) {
        height = height || ((const int *)axes->items)[i] == (int)BB_AXIS_Z;
    }
    return height && (study->response.generator == (int)BB_GENERATOR_KERNEL ||
                      study->response.generator == (int)BB_GENERATOR_FEM);
}

// Refuses two_mode with the kernel's height: it includes bending of the wafer but not the thermal
// moment.
static bb_status check_through(const bb_wafer_study *study, const bb_config *config,
                               bb_problems *problems)
{
    return bb_study_refuse(
        study->mesh.through_thickness != (int)BB_THROUGH_MEAN &&
            bb_wafer_study_has_kernel_height(study),
        config, problems,
        "mesh.through_thickness = two_mode: axis z of kernel and fem has no thermal moment; "
        "expected mean, axes x and y only, or response.generator: plate");
}

static bb_status check_file(const bb_response_config *response, const bb_config *config,
                            bb_problems *problems)
{
    bool wanted = response->generator == (int)BB_GENERATOR_FILE;
    return bb_study_refuse(wanted != (response->file != NULL), config, problems,
                           wanted ? "response.file is missing: generator file reads rows from it"
                                  : "response.file: remove it, only generator file reads one");
}

static bb_status check_burls(const bb_wafer_study *study, const bb_config *config,
                             bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_burl_config *burls = &study->clamp.burls;
    const double scatter = study->response.burl_stiffness_scatter;
    BB_TRY(bb_study_refuse(scatter > 0.0 && (burls->scatter > 0.0 || !bb_burl_map_wanted(burls)),
                           config, problems,
                           "response.burl_stiffness_scatter = %g: expected 0 without "
                           "clamp.burls.pitch_mm or with clamp.burls.scatter",
                           scatter));
    if (!bb_burl_map_wanted(burls)) {
        BB_TRY(bb_study_refuse(
            burls->footprint_mm > 0.0 || burls->scatter > 0.0 || burls->missing_fraction > 0.0 ||
                burls->missing.count > 0,
            config, problems, "clamp.burls.pitch_mm is missing: it sets the lattice of the burls"));
        goto done;
    }
    BB_TRY(bb_study_refuse(isnan(burls->footprint_mm), config, problems,
                           "clamp.burls.footprint_mm is missing: it sets the size of the burls"));
    BB_TRY(bb_study_refuse(burls->footprint_mm > burls->pitch_mm, config, problems,
                           "clamp.burls.footprint_mm = %g: expected at most pitch_mm = %g",
                           burls->footprint_mm, burls->pitch_mm));
    BB_TRY(bb_study_refuse(study->response.generator != (int)BB_GENERATOR_PLATE, config, problems,
                           "clamp.burls: only response.generator: plate has burls"));
done:
    return status;
}

// Refuses keys of the plate generator with another generator.
static bb_status check_plate(const bb_wafer_study *study, const bb_config *config,
                             bb_problems *problems)
{
    bb_status status = BB_OK;
    int generator = study->response.generator;
    bool cubic = study->wafer.elasticity != (int)BB_ELASTICITY_ISOTROPIC;
    const bool kernel = generator == (int)BB_GENERATOR_KERNEL;
    BB_TRY(bb_study_refuse(cubic && kernel, config, problems,
                           "wafer.elasticity: the closed-form kernel is isotropic; set "
                           "response.generator to plate or fem"));
    BB_TRY(bb_study_refuse(cubic && !kernel && bb_wafer_study_has_kernel_height(study), config,
                           problems,
                           "wafer.elasticity: axis z of generator fem uses the closed-form "
                           "kernel, which is isotropic; expected only axes x and y, or "
                           "response.generator: plate"));
    BB_TRY(bb_study_refuse(cubic && study->wafer.c12_gpa >= study->wafer.c11_gpa, config, problems,
                           "wafer.c12_gpa = %g: expected under c11_gpa = %g", study->wafer.c12_gpa,
                           study->wafer.c11_gpa));
    BB_TRY(bb_study_refuse(
        study->response.cache_folder != NULL && generator != (int)BB_GENERATOR_PLATE, config,
        problems, "response.cache_folder: only generator plate caches a factor"));
    BB_TRY(check_burls(study, config, problems));
done:
    return status;
}

bb_index bb_wafer_study_realtime(const bb_wafer_study *study)
{
    const bb_product_pipeline *pipelines = study->pipelines.items;
    const char *wanted = study->realtime.pipeline;
    const bb_index reference = bb_product_pipelines_reference(&study->pipelines);
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        if (wanted == NULL ? p != reference : strcmp(pipelines[p].name, wanted) == 0) {
            return p;
        }
    }
    return wanted == NULL ? reference : -1;
}

bb_status bb_wafer_study_check(const void *study, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_wafer_study *wafer = study;
    BB_TRY(check_geometry(wafer, config, problems));
    BB_TRY(check_fields(&wafer->scan.fields, config, problems));
    BB_TRY(check_step(wafer, config, problems));
    BB_TRY(check_axes(&wafer->response, config, problems));
    BB_TRY(check_through(wafer, config, problems));
    BB_TRY(check_file(&wafer->response, config, problems));
    BB_TRY(check_plate(wafer, config, problems));
    BB_TRY(bb_parts_check(bb_wafer_parts, study, config, problems));
    if (problems->count == 0) {
        BB_TRY(check_layout(wafer, config, problems));
    }
done:
    return status;
}
