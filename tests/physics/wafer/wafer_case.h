// SPDX-License-Identifier: Apache-2.0
//
// A coarse wafer problem with two scored fields, one of them at the rim.
#ifndef BB_TESTS_WAFER_CASE_H
#define BB_TESTS_WAFER_CASE_H

#include "physics/wafer/wafer_problem.h"
#include "tests/physics/wafer/wafer_defaults.h"

static const bb_metrology_config POINTS = {.columns = 5, .rows = 7};
static const bb_grid_config CELLS = {24, 22};
static const bb_grid_config SLIT = {5, 4};

// Owns the structs that a configuration points to.
typedef struct wafer_case {
    bb_wafer_material_config wafer;
    bb_clamp_config clamp;
    bb_mesh_config mesh;
    bb_scan_config scan;
    bb_response_config response;
    bb_metrology_config metrology;
    bb_index fields[4];
    int axes[3];
} wafer_case;

static inline void coarse_case(wafer_case *out)
{
    *out = (wafer_case){0};
    out->wafer = SILICON;
    out->clamp = CLAMP;
    out->mesh.spacing_mm = 5.0;
    out->mesh.step_ms = 1.0;
    out->mesh.substeps = 1;
    out->scan = FAST_SCAN;
    out->metrology = POINTS;
    fill_array(out->axes, 3, axis, axis);
    out->fields[0] = 1;
    out->fields[1] = 44;
    out->clamp.spacing_mm = 5.0;
    out->scan.fields.items = out->fields;
    out->scan.fields.count = 2;
    out->response.generator = BB_GENERATOR_KERNEL;
    out->response.axes.items = out->axes;
    out->response.axes.count = 3;
    out->response.grid = CELLS;
    out->response.slit_points = SLIT;
    out->response.field_rows = BB_INTEGER_UNSET;
}

static inline bb_wafer_config config_of(const wafer_case *c)
{
    return (bb_wafer_config){.wafer = &c->wafer,
                             .clamp = &c->clamp,
                             .mesh = &c->mesh,
                             .scan = &c->scan,
                             .response = &c->response,
                             .metrology = &c->metrology};
}

#endif
