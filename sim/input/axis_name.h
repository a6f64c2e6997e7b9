// SPDX-License-Identifier: Apache-2.0
//
// The axis that a dataset's own words name.
#ifndef BB_SIM_INPUT_AXIS_NAME_H
#define BB_SIM_INPUT_AXIS_NAME_H

/// 0, 1 or 2 where x, y or z, of either case, stands in `text` as a word of its own and no other of
/// them does ("displacement y at the slit points", "C_y_0"); else -1. What follows the word
/// "pipeline" is the name of one.
int bb_axis_name_find(const char *text);

#endif
