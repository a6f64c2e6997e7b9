// SPDX-License-Identifier: Apache-2.0
#include "sim/wafer/wafer_study.h"

#include "physics/wafer/dwell.h"
#include "physics/wafer/thermal.h"
#include "precision/format.h"

#include <stdio.h>

// clang-format off
static const bb_key pipeline_keys[] = {
    {.name = "name", .kind = BB_KEY_TEXT, .offset = offsetof(bb_wafer_pipeline, name),
     .meaning = "Of the pipeline, in tables and files; unique."},
    {.name = "storage", .kind = BB_KEY_GROUP, .schema = &bb_codec_schema, .shorthand = "codec",
     .offset = offsetof(bb_wafer_pipeline, storage),
     .meaning = "How the response matrix is held."},
    {.name = "scale", .kind = BB_KEY_CHOICE, .choices = bb_row_scale_names,
     .offset = offsetof(bb_wafer_pipeline, scale), .default_text = "none",
     .meaning = "Scale of a row before it is narrowed."},
    {.name = "multiply", .kind = BB_KEY_CHOICE, .choices = bb_working_format_names,
     .offset = offsetof(bb_wafer_pipeline, multiply), .meaning = "Format of products."},
    {.name = "accumulate", .kind = BB_KEY_CHOICE, .choices = bb_working_format_names,
     .offset = offsetof(bb_wafer_pipeline, accumulate), .meaning = "Format of sums."},
    {.name = "device", .kind = BB_KEY_CHOICE, .choices = bb_study_device_names, .optional = true,
     .offset = offsetof(bb_wafer_pipeline, device), .meaning = "Overrides the study's device."},
};
static const bb_schema pipeline_schema =
    BB_SCHEMA("pipelines", bb_wafer_pipeline, pipeline_keys);

#define GROUP(member, table, text)                                                                 \
    {.name = #member, .kind = BB_KEY_GROUP, .schema = (table),                                     \
     .offset = offsetof(bb_wafer_study, member), .meaning = (text)}

static const bb_key keys[] = {
    BB_STUDY_KEYS(bb_wafer_study),
    GROUP(wafer, &bb_wafer_material_schema, "The wafer and its material."),
    GROUP(clamp, &bb_clamp_schema, "What the wafer lies on."),
    GROUP(mesh, &bb_mesh_schema, "Mesh and time step of the heat equation."),
    GROUP(scan, &bb_scan_schema, "What is exposed, in which order, and how it is heated."),
    GROUP(response, &bb_response_schema, "The matrix from temperatures to displacements."),
    GROUP(metrology, &bb_metrology_schema, "Where overlay is scored in a field."),
    {.name = "pipelines", .kind = BB_KEY_RECORDS, .schema = &pipeline_schema, .minimum_count = 1,
     .offset = offsetof(bb_wafer_study, pipelines),
     .meaning = "What is compared; the one called reference, else the first, is the truth."},
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

static bb_pipeline_facts facts_of(const bb_wafer_pipeline *pipeline)
{
    bool full = pipeline->storage.codec == (int)BB_FORMAT_FP64 &&
                pipeline->multiply == (int)BB_FORMAT_FP64 &&
                pipeline->accumulate == (int)BB_FORMAT_FP64;
    return (bb_pipeline_facts){pipeline->name, full};
}

// Facts of the first BB_STUDY_PIPELINES pipelines; returns how many.
static bb_index list_facts(const bb_wafer_study *study, bb_pipeline_facts out[BB_STUDY_PIPELINES])
{
    const bb_wafer_pipeline *pipelines = study->pipelines.items;
    bb_index count = study->pipelines.count;
    count = count < BB_STUDY_PIPELINES ? count : BB_STUDY_PIPELINES;
    for (bb_index i = 0; i < count; ++i) {
        out[i] = facts_of(&pipelines[i]);
    }
    return count;
}

bb_index bb_wafer_study_reference(const bb_wafer_study *study)
{
    bb_pipeline_facts facts[BB_STUDY_PIPELINES];
    bb_index count = list_facts(study, facts);
    return bb_study_reference(facts, count);
}

static bb_status check_geometry(const bb_wafer_study *study, const bb_config *config,
                                bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_scan_config *scan = &study->scan;
    if (2.0 * scan->usable_radius_mm > study->wafer.diameter_mm) {
        BB_TRY(bb_problems_add(problems, bb_config_place(config, "scan.usable_radius_mm"),
                               "scan.usable_radius_mm = %g: expected at most half of "
                               "wafer.diameter_mm = %g",
                               scan->usable_radius_mm, study->wafer.diameter_mm));
    }
    if (2.0 * scan->slit_arc_radius_mm <= scan->field_width_mm) {
        BB_TRY(bb_problems_add(problems, bb_config_place(config, "scan.slit_arc_radius_mm"),
                               "scan.slit_arc_radius_mm = %g: expected over half of "
                               "scan.field_width_mm = %g",
                               scan->slit_arc_radius_mm, scan->field_width_mm));
    }
    if (study->clamp.spacing_mm < study->mesh.spacing_mm) {
        BB_TRY(bb_problems_add(problems, bb_config_place(config, "clamp.spacing_mm"),
                               "clamp.spacing_mm = %g: expected at least mesh.spacing_mm = %g",
                               study->clamp.spacing_mm, study->mesh.spacing_mm));
    }
done:
    return status;
}

static bb_status check_fields(const bb_list *fields, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_index *items = fields->items;
    char path[48];
    for (bb_index i = 1; i < fields->count; ++i) {
        if (items[i] <= items[i - 1]) {
            (void)snprintf(path, sizeof path, "scan.fields.%td", i);
            BB_TRY(bb_problems_add(problems, bb_config_place(config, path),
                                   "%s = %td: expected more than the one before it, %td", path,
                                   items[i], items[i - 1]));
        }
    }
done:
    return status;
}

static bb_status check_step(const bb_wafer_study *study, const bb_config *config,
                            bb_problems *problems)
{
    double limit_ms =
        1e3 * bb_thermal_wafer_limit(&study->wafer, &study->clamp, 1e-3 * study->mesh.spacing_mm);
    if (study->mesh.step_ms <= limit_ms) {
        return BB_OK;
    }
    return bb_problems_add(problems, bb_config_place(config, "mesh.step_ms"),
                           "mesh.step_ms = %g: expected at most %.4g ms, explicit steps are not "
                           "stable beyond on a mesh of %g mm",
                           study->mesh.step_ms, limit_ms, study->mesh.spacing_mm);
}

// A scored field needs points inside the usable radius.
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
        if (dwell->count == 0) {
            BB_TRY(bb_problems_add(problems, bb_config_place(config, "scan.fields"),
                                   "scan.fields: none of the %td x %td metrology points of field "
                                   "%td lies within usable_radius_mm = %g",
                                   study->metrology.columns, study->metrology.rows, field,
                                   study->scan.usable_radius_mm));
        }
        bb_dwell_destroy(&dwell);
    }
done:
    bb_dwell_destroy(&dwell);
    return status;
}

static bb_status note_if_invalid(bb_status status, const char *path, const bb_config *config,
                                 bb_problems *problems)
{
    if (status != BB_INVALID) {
        return status;
    }
    return bb_problems_add(problems, bb_config_place(config, path), "%s", bb_status_message());
}

// The layout says how many fields there are, the slit how many rows: both are laid out as in a run.
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
    if ((found & needed) != needed) {
        return bb_problems_add(problems, bb_config_place(config, "response.axes"),
                               "response.axes: expected x and y among them, overlay is both");
    }
    if (response->generator == (int)BB_GENERATOR_FEM && (found & 1u << BB_AXIS_Z) != 0) {
        return bb_problems_add(problems, bb_config_place(config, "response.axes"),
                               "response.axes: z needs the bending plate, which generator fem does "
                               "not have; take x and y, or generator: kernel");
    }
    return BB_OK;
}

static bb_status check_sums(const bb_wafer_study *study, const bb_config *config,
                            bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_wafer_pipeline *pipelines = study->pipelines.items;
    char path[64];
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        if (pipelines[p].accumulate > pipelines[p].multiply) {
            (void)snprintf(path, sizeof path, "pipelines.%td.accumulate", p);
            BB_TRY(bb_problems_add(problems, bb_config_place(config, path),
                                   "%s = %s: expected sums no narrower than the products, %s", path,
                                   bb_working_format_names[pipelines[p].accumulate],
                                   bb_working_format_names[pipelines[p].multiply]));
        }
    }
done:
    return status;
}

// What the table of storage keys cannot say.
static bb_status check_storage(const bb_wafer_study *study, const bb_config *config,
                               bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_wafer_pipeline *pipelines = study->pipelines.items;
    char path[64];
    char sentence[256];
    for (bb_index p = 0; p < study->pipelines.count; ++p) {
        if (!bb_codec_check(&pipelines[p].storage, (bb_row_scale)pipelines[p].scale, sentence,
                            sizeof sentence)) {
            (void)snprintf(path, sizeof path, "pipelines.%td.storage", p);
            BB_TRY(
                bb_problems_add(problems, bb_config_place(config, path), "%s.%s", path, sentence));
        }
    }
done:
    return status;
}

bb_status bb_wafer_study_check(const void *study, const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_wafer_study *wafer = study;
    bb_pipeline_facts facts[BB_STUDY_PIPELINES];
    if (wafer->pipelines.count > BB_STUDY_PIPELINES) {
        BB_TRY(bb_problems_add(problems, bb_config_place(config, "pipelines"),
                               "pipelines: %td, expected at most %d", wafer->pipelines.count,
                               BB_STUDY_PIPELINES));
    }
    bb_index count = list_facts(wafer, facts);
    BB_TRY(bb_study_check_pipelines(facts, count, "storage, multiply and accumulate fp64", config,
                                    problems));
    BB_TRY(check_geometry(wafer, config, problems));
    BB_TRY(check_fields(&wafer->scan.fields, config, problems));
    BB_TRY(check_step(wafer, config, problems));
    BB_TRY(check_sums(wafer, config, problems));
    BB_TRY(check_storage(wafer, config, problems));
    BB_TRY(check_axes(&wafer->response, config, problems));
    if (problems->count == 0) {
        BB_TRY(check_layout(wafer, config, problems));
    }
done:
    return status;
}
