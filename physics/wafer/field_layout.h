// SPDX-License-Identifier: Apache-2.0
//
// Fields of a scan by a list of places, as exposure jobs and their logs give them, in place of the
// grid. Rules: as on the grid, over 5 % of a field's area lies inside the usable radius; fields do
// not overlap by more than a micrometre, to which logs round; orders stand in all of the list, each
// once, or in none. Doses are absolute (mJ/cm2), as jobs and focus-exposure matrices state them.
#ifndef BB_PHYSICS_WAFER_FIELD_LAYOUT_H
#define BB_PHYSICS_WAFER_FIELD_LAYOUT_H

#include "physics/wafer/scan.h"

/// Fills `fields` (place, dose, sense) and `field_count` of a scan whose lengths are set, in order
/// of exposure. Errors: BB_INVALID ("scan.layout.3.x_mm: .." counts as written), BB_MEMORY.
BB_CHECKED bb_status bb_field_layout_place(const bb_scan_config *config, bb_scan *scan);

#endif
