// SPDX-License-Identifier: Apache-2.0
//
// A wafer with a slit in the field next to its centre, whose responses are computed by finite
// elements.
#ifndef BB_TESTS_PHYSICS_WAFER_RESPONSE_SLIT_SCENE_H
#define BB_TESTS_PHYSICS_WAFER_RESPONSE_SLIT_SCENE_H

#include "physics/wafer/response/coupled_plate.h"
#include "physics/wafer/response/membrane.h"
#include "tests/physics/wafer/wafer_defaults.h"

typedef struct slit_scene {
    bb_disc_mesh *mesh;
    bb_membrane *membrane;   ///< owned by the test
    bb_coupled_plate *plate; ///< owned by the test
    bb_temperature_grid *grid;
    bb_scan *scan;
    bb_slit_grid slit;
    const bb_field *field; ///< next to the centre of the wafer
} slit_scene;

static inline slit_scene slit_scene_make(double spacing)
{
    slit_scene scene = {0};
    const bb_grid_config cells = {64, 60};
    const bb_response_config config = {.slit_points = {5, 9}, .field_rows = BB_INTEGER_UNSET};
    scene.mesh = disc_mesh(0.150, spacing);
    check_ok(bb_temperature_grid_create(scene.mesh, &cells, &scene.grid));
    scene.scan = fast_scan();
    check_ok(bb_slit_grid_make(&config, scene.scan, &scene.slit));
    scene.field = scene.scan->fields;
    while (scene.field->row != 0 || scene.field->column != 0) {
        ++scene.field;
    }
    return scene;
}

static inline void slit_scene_release(slit_scene *scene)
{
    bb_scan_destroy(&scene->scan);
    bb_temperature_grid_destroy(&scene->grid);
    bb_coupled_plate_destroy(&scene->plate);
    bb_membrane_destroy(&scene->membrane);
    bb_disc_mesh_destroy(&scene->mesh);
}

/// T_i = sum_j a_ij S_j / m_i: the node temperatures for temperatures S, as used by the rows.
static inline void slit_scene_spread(const slit_scene *scene, const double *s, double *t)
{
    const bb_csr *matrix = &scene->grid->restriction;
    memset(t, 0, (size_t)scene->mesh->node_count * sizeof *t);
    for (bb_index j = 0; j < matrix->rows; ++j) {
        for (bb_index i = matrix->row_start[j]; i < matrix->row_start[j + 1]; ++i) {
            bb_index node = matrix->column[i];
            t[node] +=
                scene->grid->area[j] * matrix->value[i] * s[j] / scene->mesh->node_area[node];
        }
    }
}

#endif
