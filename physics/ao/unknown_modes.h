// SPDX-License-Identifier: Apache-2.0
//
// Slope modes not included in Cmm (docs/manual/physics-ao.md, 2.18): the tilts of natural stars,
// from telescope vibration; the focus of laser stars, whose sodium layer drifts in height; and
// reference slopes, aberrations of each sensor's optics that have changed since calibration. A
// real-time computer sees Cmm + U diag(variances) U^T.
//
// Focus: a drift of the range H of a laser star by dH gives the wavefront -r^2 dH / (2 H^2), whose
// slopes are -p dH / H^2, p the position in the pupil from its centre; with the airmass a the
// layer's height dh changes the range by a dh. Aberrations are Noll's Z_4 to Z_10 (J. Opt. Soc. Am.
// 66, 207, 1976) over the disc spanned by the lenslet grid, along the grid's own axes: a slope is
// the difference between two opposite edges of a subaperture over its size, at their midpoints or
// averaged along them, according to the sensor's slope model.
#ifndef BB_PHYSICS_AO_UNKNOWN_MODES_H
#define BB_PHYSICS_AO_UNKNOWN_MODES_H

#include "physics/ao/sensor_array.h"

enum { BB_REFERENCE_MODES = 7 }; ///< focus, two of astigmatism, of coma and of trefoil

/// Variances; a variance of 0 gives no modes.
typedef struct bb_unknown_modes_config {
    double tilt_arcsec2;     ///< variance of each tilt of every star with a known tilt
    double sodium_height_m2; ///< variance of the height of the sodium layer, at zenith
    double reference_nm2;    ///< variance of the rms wavefront of each aberration of every sensor
} bb_unknown_modes_config;

/// Zero-initialise; release with bb_unknown_modes_release.
typedef struct bb_unknown_modes {
    bb_index rows;     ///< measurements
    bb_index columns;  ///< tilts of all stars, then foci, then aberrations sensor by sensor
    double *vectors;   ///< U [rows][columns], arcsec over arcsec, m and nm
    double *variances; ///< [columns], arcsec^2, m^2 and nm^2
} bb_unknown_modes;

/// Returns the number of these modes.
bb_index bb_unknown_modes_count(const bb_sensor_array *array,
                                const bb_unknown_modes_config *config);

/// Computes the modes; `airmass` is the one used for the array's stars. Errors: BB_MEMORY. Owner of
/// the members of `out`: the caller.
BB_CHECKED bb_status bb_unknown_modes_create(const bb_sensor_array *array, double airmass,
                                             const bb_unknown_modes_config *config,
                                             bb_unknown_modes *out);

/// Memory and time of `columns` modes.
bb_need bb_unknown_modes_need(bb_index rows, bb_index columns);
void bb_unknown_modes_release(bb_unknown_modes *modes);

#endif
