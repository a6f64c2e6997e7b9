// SPDX-License-Identifier: Apache-2.0
//
// Configuration of the fringe experiment: the measured wavefront, its pupil, its camera, and phase
// detection. Heights and rms refer to the measured surface or wavefront, before the conversion to
// phase by waves_per_fringe.
//
// Coordinates: columns run along x, rows along y, from the first pixel of the first row. A position
// along an axis is a fraction of its pixels, 0 the outer edge of the first one, 1 that of the last.
// The disc of the pupil and of Zernike polynomials is centred in the array; its diameter is
// pupil.diameter times the array's shorter side. The rms is over the pupil without its holes, with
// the mean removed; that of a Zernike polynomial is over its whole disc.
#ifndef BB_PHYSICS_FRINGE_FRINGE_CONFIG_H
#define BB_PHYSICS_FRINGE_FRINGE_CONFIG_H

#include "core/schema.h"

/// Keys of `size:`.
typedef struct bb_fringe_size_config {
    bb_index columns;
    bb_index rows;
} bb_fringe_size_config;

/// A record of `surface.zernike:`.
typedef struct bb_zernike_term {
    bb_index j;    ///< Noll's index, from 1 (piston)
    double rms_nm; ///< over the full disc, with the sign of the coefficient
} bb_zernike_term;

/// Keys of `surface.freeform:`.
typedef struct bb_freeform_config {
    double rms_nm; ///< 0: none
    bb_index bumps;
} bb_freeform_config;

/// Keys of `surface.spectrum:`. The power of a wave of f cycles is proportional to f^-exponent,
/// zero outside the cutoffs. The array is one period, so that opposite edges match.
typedef struct bb_spectrum_config {
    double rms_nm; ///< 0: none
    double exponent;
    double low_cycles;  ///< lower cutoff across the pupil's diameter
    double high_cycles; ///< upper cutoff across the pupil's diameter
} bb_spectrum_config;

/// Keys of `surface.tilt_fringes:`: fringes across the array.
typedef struct bb_tilt_config {
    double x;
    double y;
} bb_tilt_config;

typedef enum bb_surface_step_kind {
    BB_SURFACE_STEP_EDGE,  ///< higher from column x on
    BB_SURFACE_STEP_SHEAR, ///< from row y on a ramp along x, 0 at the first column, the height at
                           ///< the last
    BB_SURFACE_STEP_MESA,  ///< a raised square of side `width` centred at (x, y)
} bb_surface_step_kind;

/// A record of `surface.steps:`. Unset, as NaN: 0.5 for x and y, 0.25 for width.
typedef struct bb_surface_step {
    int kind; ///< bb_surface_step_kind
    double height_nm;
    double x;     ///< for edge and mesa
    double y;     ///< for shear and mesa
    double width; ///< for mesa, over the array's shorter side
} bb_surface_step;

/// Keys of `surface.residue_pairs:`: vortices of opposite sense, whose phase is the argument of
/// (z - z1) / (z - z2), so that the cut of one cycle runs straight between the two.
typedef struct bb_residue_config {
    bb_index count;
    double separation_px;
} bb_residue_config;

/// Keys of `surface:`. All contributions add up.
typedef struct bb_fringe_surface_config {
    bb_list zernike; ///< bb_zernike_term
    bb_freeform_config freeform;
    bb_spectrum_config spectrum;
    bb_tilt_config tilt_fringes;
    bb_list steps; ///< bb_surface_step
    bb_residue_config residue_pairs;
    double noise_rad; ///< white noise of the phase, part of the truth
} bb_fringe_surface_config;

typedef enum bb_fringe_pupil_kind {
    BB_FRINGE_PUPIL_RECTANGLE, ///< the whole array
    BB_FRINGE_PUPIL_DISC,
    BB_FRINGE_PUPIL_ANNULUS,
} bb_fringe_pupil_kind;

/// Keys of `pupil.spiders:`, vanes from the centre outwards, at equal angles.
typedef struct bb_spider_config {
    bb_index count;
    double width_px;
    double angle_deg; ///< angle of the first vane, from x towards y
} bb_spider_config;

/// Keys of `pupil.gaps:`, bars along y that split the array into equal parts.
typedef struct bb_gap_config {
    bb_index parts;
    double width_px;
} bb_gap_config;

/// Keys of `pupil.holes:`, discs without data at random positions.
typedef struct bb_hole_config {
    bb_index count;
    double radius_px;
} bb_hole_config;

/// Keys of `pupil:`.
typedef struct bb_fringe_pupil_config {
    int kind;           ///< bb_fringe_pupil_kind
    double diameter;    ///< diameter over the array's shorter side
    double obstruction; ///< obstruction of an annulus, over the diameter
    bb_spider_config spiders;
    bb_gap_config gaps;
    bb_hole_config holes;
    double dead_share; ///< probability that a pixel has no data
} bb_fringe_pupil_config;

/// Keys of `camera:`. A pixel measures mean (1 + contrast cos(phase + step)), full scale 1.
typedef struct bb_fringe_camera_config {
    bb_index bits; ///< BB_INTEGER_UNSET: not quantised
    double noise;  ///< standard deviation over full scale, per pixel and frame
    double contrast;
    double mean;          ///< mean intensity over full scale
    double vibration_rad; ///< standard deviation of each frame's common phase error
} bb_fringe_camera_config;

typedef enum bb_detection_algorithm {
    BB_DETECTION_STEPS,   ///< least squares over known steps
    BB_DETECTION_CARRE,   ///< four equal steps of any size
    BB_DETECTION_NONE,    ///< no frames: the wrapped truth
    BB_DETECTION_CARRIER, ///< one frame with dense fringes from a tilt
} bb_detection_algorithm;

/// Keys of `detection.carrier:`.
typedef struct bb_fringe_carrier_config {
    double x, y;        ///< cycles per pixel
    bb_index window_px; ///< pixels across the window, odd
} bb_fringe_carrier_config;

/// Keys of `detection:`.
typedef struct bb_fringe_detection_config {
    int algorithm; ///< bb_detection_algorithm
    bb_index steps;
    double step_rad;         ///< NaN: 2 pi / steps; for carre pi / 2
    double step_error;       ///< relative error: the mirror moves step_rad (1 + step_error)
    double least_modulation; ///< amplitude of the fringes over full scale
    bb_fringe_carrier_config carrier;
} bb_fringe_detection_config;

/// All configuration of the physics. Lists are borrowed.
typedef struct bb_fringe_config {
    bb_fringe_size_config size;
    double wavelength_nm;
    double waves_per_fringe; ///< height over wavelength for 2 pi of phase
    bb_fringe_surface_config surface;
    bb_fringe_pupil_config pupil;
    bb_fringe_camera_config camera;
    bb_fringe_detection_config detection;
} bb_fringe_config;

extern const bb_schema bb_fringe_size_schema;
extern const bb_schema bb_fringe_surface_schema;
extern const bb_schema bb_fringe_pupil_schema;
extern const bb_schema bb_fringe_camera_schema;
extern const bb_schema bb_fringe_detection_schema;
/// Schema of bb_fringe_config, with the others as its groups.
extern const bb_schema bb_fringe_schema;

/// Returns radians of phase per nanometre of height: 2 pi / (wavelength_nm waves_per_fringe).
double bb_fringe_config_rad_per_nm(const bb_fringe_config *config);

/// Returns the radius in pixels of the pupil's disc, also that of Zernike polynomials.
double bb_fringe_config_radius_px(const bb_fringe_config *config);

/// Returns the nominal step of the mirror assumed by detection, in rad.
double bb_fringe_config_step_rad(const bb_fringe_detection_config *detection);

/// Returns the number of frames per phase map: `steps`, 1 for a carrier.
bb_index bb_fringe_config_frames(const bb_fringe_detection_config *detection);

/// Checks the rules across keys: an obstruction only for an annulus, keys that fit the kind of
/// step, cutoffs with a wave between them, vortices that fit in the array, four steps for Carre.
/// Ranges and choices are checked too, so that structs filled by hand are safe. A pupil without
/// pixels is accepted. Errors: BB_INVALID, the message begins with the key's path.
BB_CHECKED bb_status bb_fringe_config_check(const bb_fringe_config *config);

#endif
