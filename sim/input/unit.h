// SPDX-License-Identifier: Apache-2.0
//
// Units of values in a user's file: which are taken for a quantity, and by which factor.
#ifndef BB_SIM_INPUT_UNIT_H
#define BB_SIM_INPUT_UNIT_H

#include "core/status.h"

#include <stdbool.h>

/// What values are expected to be; the program's own unit, which one without a unit counts as.
typedef enum bb_quantity {
    BB_QUANTITY_RESPONSE,         ///< displacement for a kelvin, m/K
    BB_QUANTITY_ANGLE_COVARIANCE, ///< of slopes, arcsec^2
    BB_QUANTITY_COVARIANCE,       ///< of angles, arcsec^2; of lengths, nm^2; or of anything, 1
    BB_QUANTITY_INFLUENCE,        ///< wavefront for a volt, m/V
    BB_QUANTITY_ANGLE,            ///< of slopes, arcsec
    BB_QUANTITY_FRACTION          ///< without a dimension, 1
} bb_quantity;

/// The program's unit for values in `text` ("": not said) and the factor to it: value in `*unit` =
/// `*factor` x value in `text`. Spellings follow UDUNITS-2: names and their plurals in upper or
/// lower case (radians, Arcsecond, micrometre), symbols (rad, um), a power as ^2, **2, 2 or its
/// sign, a quotient by /, `per` or a negative power, blanks anywhere between. `*unit` is static.
/// Errors: BB_INVALID with the unit got and those expected.
BB_CHECKED bb_status bb_unit_find(bb_quantity quantity, const char *text, const char **unit,
                                  double *factor);

/// Whether `text` is a spelling of `unit`, or says no unit.
bool bb_unit_is(const char *text, const char *unit);

#endif
