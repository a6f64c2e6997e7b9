// SPDX-License-Identifier: Apache-2.0
//
// Units of values in user files: units accepted for a quantity and their conversion factors.
#ifndef BB_SIM_INPUT_UNIT_H
#define BB_SIM_INPUT_UNIT_H

#include "core/status.h"

#include <stdbool.h>

/// Expected quantity, and the program's unit, which is assumed if a file has none.
typedef enum bb_quantity {
    BB_QUANTITY_RESPONSE,         ///< displacement per temperature, m/K
    BB_QUANTITY_ANGLE_COVARIANCE, ///< covariance of slopes, arcsec^2
    BB_QUANTITY_COVARIANCE,       ///< covariance of angles, arcsec^2, of lengths, nm^2, or of
                                  ///< anything, 1
    BB_QUANTITY_INFLUENCE,        ///< wavefront per voltage, m/V
    BB_QUANTITY_ANGLE,            ///< slopes, arcsec
    BB_QUANTITY_FRACTION          ///< dimensionless, 1
} bb_quantity;

/// Finds the program's unit for values in `text` ("": unknown) and the conversion factor: value in
/// `*unit` = `*factor` x value in `text`. Spellings follow UDUNITS-2: names and their plurals in
/// upper or lower case (radians, Arcsecond, micrometre), symbols (rad, um), a power as ^2, **2, 2
/// or a superscript, a quotient by /, `per` or a negative power, blanks anywhere between. `*unit`
/// is static. Errors: BB_INVALID with the unit found and the valid ones.
BB_CHECKED bb_status bb_unit_find(bb_quantity quantity, const char *text, const char **unit,
                                  double *factor);

/// True if `text` is empty or a spelling of `unit`.
bool bb_unit_is(const char *text, const char *unit);

#endif
