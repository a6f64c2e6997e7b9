// SPDX-License-Identifier: Apache-2.0
//
// Dose within a field, over the field's dose: points of a full grid, each the dose of a cell that
// reaches midway to its neighbours, or to the edge of the field. As in the recipes of scanners, a
// factor is an offset from the nominal dose and not a share of it: nothing is normalised, and the
// energy of a field is dose * area * mean factor.
#ifndef BB_PHYSICS_WAFER_DOSE_MAP_H
#define BB_PHYSICS_WAFER_DOSE_MAP_H

#include "physics/wafer/wafer_config.h"

/// Read-only to users.
typedef struct bb_dose_map {
    bb_index columns;
    bb_index rows;
    double *x;      ///< [columns + 1] edges of cells from the field's centre, m, rising
    double *y;      ///< [rows + 1]
    double *factor; ///< [rows][columns]
} bb_dose_map;

/// Of `config->dose_map`. Errors: BB_INVALID ("scan.dose_map.3.x_mm: ..": a point off the field or
/// twice, a grid that is not full), BB_MEMORY. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_dose_map_create(const bb_scan_config *config, bb_dose_map **out);
void bb_dose_map_destroy(bb_dose_map **map);

/// Mean over the field's area; 1 of no map (NULL).
double bb_dose_map_mean(const bb_dose_map *map);

#endif
