// SPDX-License-Identifier: Apache-2.0
#ifndef BB_SIM_REPORT_CHOICE_GRID_H
#define BB_SIM_REPORT_CHOICE_GRID_H

#include "sim/output/grid.h"
#include "sim/report/swept.h"

/// Fills a grid with the choices of a sweep, a row each, marked where they are safe and no other
/// safe one has at most their worst price and bytes, and less of one; for people (`for_people`)
/// with prices, bits and MB alone. It borrows from `swept`. Errors: BB_MEMORY. Release with
/// bb_grid_release.
BB_CHECKED bb_status bb_choice_grid_fill(const bb_swept *swept, bool for_people, bb_grid *out);

#endif
