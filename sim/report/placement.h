// SPDX-License-Identifier: Apache-2.0
//
// Names beside points, so that none covers another name, a point or the edge of the axes, as far as
// trying places around each point in turn can.
#ifndef BB_SIM_REPORT_PLACEMENT_H
#define BB_SIM_REPORT_PLACEMENT_H

#include "sim/report/figure.h"

#include <stdbool.h>

/// A point and its name's place, cm.
typedef struct bb_placement {
    double x, y;           ///< of the point
    double width, height;  ///< of its name
    double name_x, name_y; ///< found: the middle of the name
    bool far;              ///< found: a line should lead from the point to the name
} bb_placement;

/// Finds places for `count` names inside `axes` and off the `kept` boxes [kept_count], in their
/// order: the first are nearest to their points. Same input, same places.
void bb_placement_run(bb_placement *places, bb_index count, bb_figure_box axes,
                      const bb_figure_box *kept, bb_index kept_count);

#endif
