// SPDX-License-Identifier: Apache-2.0
//
// Configuration of the adaptive-optics physics: telescope, atmosphere, sensors, guide stars and
// targets, with the tables that bind config files to the structs. Rules across keys are in
// ao_check.h.
//
// Members carry their unit; unset optional doubles are NaN, unset optional integers are
// BB_INTEGER_UNSET, unset choices are -1 and unset lists have count 0.
#ifndef BB_PHYSICS_AO_AO_CONFIG_H
#define BB_PHYSICS_AO_AO_CONFIG_H

#include "core/schema.h"
#include "physics/ao/guide_star_kind.h"
#include "physics/ao/mirrors/influence_cube.h"
#include "physics/ao/pupil.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

// Directions on a ring or a grid, as asterisms and fields of view are usually specified. A record
// with one of them expands to a record for each direction (core/schema.h, bb_pattern).
//
// Ring: item i at azimuth rotation + 360 deg i/count, from x towards y. Grid: count x count points
// over a square including its edges (a single one at the centre), x first, from the lowest y.
// Directions are rounded to 1e-9 arcsec to remove rounding residue of sines: a quarter of a ring
// lies exactly on the axis, and the resolved configuration is as readable as a hand-written one.

/// Keys of `ring:`.
typedef struct bb_ring_of_directions {
    bb_index count;
    double radius_arcsec;
    double rotation_deg;
    double centre_x_arcsec;
    double centre_y_arcsec;
} bb_ring_of_directions;

/// Keys of `grid:`.
typedef struct bb_grid_of_directions {
    bb_index count; ///< directions along each side
    double width_arcsec;
    double centre_x_arcsec;
    double centre_y_arcsec;
} bb_grid_of_directions;

/// Alternatives to x_arcsec and y_arcsec in a record of a file.
typedef struct bb_asterism {
    bb_ring_of_directions ring;
    bb_grid_of_directions grid;
} bb_asterism;

extern const bb_schema bb_asterism_ring_schema;
extern const bb_schema bb_asterism_grid_schema;
extern const bb_pattern bb_asterism_ring;
extern const bb_pattern bb_asterism_grid;

/// Schema rows for a record with x_arcsec, y_arcsec and a bb_asterism called `asterism`.
#define BB_ASTERISM_KEYS(type, plural)                                                             \
    {.name = "ring",                                                                               \
     .kind = BB_KEY_GROUP,                                                                         \
     .schema = &bb_asterism_ring_schema,                                                           \
     .optional = true,                                                                             \
     .pattern = &bb_asterism_ring,                                                                 \
     .offset = offsetof(type, asterism) + offsetof(bb_asterism, ring),                             \
     .meaning = "Instead of x_arcsec and y_arcsec: " plural                                        \
                " at equal steps on a ring, otherwise identical."},                                \
    {                                                                                              \
        .name = "grid", .kind = BB_KEY_GROUP, .schema = &bb_asterism_grid_schema,                  \
        .optional = true, .pattern = &bb_asterism_grid,                                            \
        .offset = offsetof(type, asterism) + offsetof(bb_asterism, grid),                          \
        .meaning =                                                                                 \
            "Instead of x_arcsec and y_arcsec: " plural " on a square grid, otherwise identical."  \
    }

/// Score of a residual that varies over the pupil. The order is that of bb_score_names.
typedef enum bb_score {
    BB_SCORE_PAIRS,     ///< each pair of points with its own structure function (pair_strehl.h)
    BB_SCORE_STATIONARY ///< averaged over pairs of equal displacement (point_spread.h)
} bb_score;
extern const char *const bb_score_names[];

/// Keys of independent frames, see monte_carlo.h.
typedef struct bb_monte_carlo_config {
    bb_index frames; ///< 0: none
    bb_index pixels_per_subaperture;
    double screen_oversize;
    bb_index subharmonics;
} bb_monte_carlo_config;

/// Whether guide stars are measured behind the mirrors. The order is that of the names of
/// time_domain.loop.
typedef enum bb_loop_kind { BB_LOOP_OPEN, BB_LOOP_CLOSED } bb_loop_kind;

/// Keys of a controller in time, see time_domain.h.
typedef struct bb_time_domain_config {
    bb_index frames; ///< scored frames per realisation; 0: no time series
    bb_index settle_frames;
    bb_index realisations;
    double rate_hz;
    double gain;
    double delay_ms; ///< NaN: error_terms.frame_delay_ms
    double exposure_ms;
    int loop;                   ///< bb_loop_kind
    bb_list wind_direction_deg; ///< of double, one per layer; none: multiples of the golden angle
} bb_time_domain_config;

/// Combination of the slope residual with errors outside the slopes, in a score by pairs. The order
/// is that of the names of error_terms.combination.
typedef enum bb_combination {
    BB_COMBINATION_EXACT,      ///< including their correlations, see whole_residual.h
    BB_COMBINATION_INDEPENDENT ///< by the sum of structure functions
} bb_combination;

/// Default coefficient of the fitting error, for a circular cutoff.
#define BB_FITTING_COEFFICIENT 0.2740

/// Errors outside the slopes, see error_terms.h.
typedef struct bb_error_terms_config {
    int combination;       ///< bb_combination
    bool minimum_variance; ///< also compute the score of the minimum-variance commands
    bool fitting;
    double fitting_coefficient; ///< variance over (d / r0)^(5/3), rad^2
    bool aliasing;
    double frame_delay_ms; ///< 0: no servo lag
    bb_list wind_m_per_s;  ///< of double, one per layer; none: the profile's own
    double shake_arcsec;   ///< vibration of the telescope, see score/error_terms.h
} bb_error_terms_config;

extern const bb_schema bb_monte_carlo_schema;
extern const bb_schema bb_time_domain_schema;
extern const bb_schema bb_error_terms_schema;

/// Dataset of --dump pupil, and default dataset of a mask.
#define BB_PUPIL_DATASET "/operators/pupil"

/// File of the user's pupil mask, read by the study.
typedef struct bb_pupil_config {
    const char *file; ///< HDF5 or FITS; NULL: the annulus
    const char *dataset;
} bb_pupil_config;

/// Rule for valid subapertures of the annulus; with a mask it is by flux.
typedef enum bb_subaperture_rule {
    BB_SUBAPERTURE_CENTRE, ///< the lenslet's centre is inside the annulus
    BB_SUBAPERTURE_FLUX    ///< by subaperture_threshold
} bb_subaperture_rule;

typedef struct bb_telescope_config {
    double diameter_m;
    double obstruction;      ///< central obstruction over diameter
    double zenith_angle_deg; ///< heights and strengths grow by sec z
    double altitude_m;       ///< altitude of the pupil above sea level
    bb_pupil_config pupil;
    int subaperture_rule;         ///< bb_subaperture_rule
    double subaperture_threshold; ///< smallest mean transmission, by flux
} bb_telescope_config;

/// The order is that of bb_profile_names and of the tables in atmosphere.c.
typedef enum bb_profile {
    BB_PROFILE_MOAO_2,
    BB_PROFILE_MOAO_10,
    BB_PROFILE_ERIS_10,
    BB_PROFILE_ESO_MEDIAN_9,
    BB_PROFILE_ESO_MEDIAN,
    BB_PROFILE_ESO_Q1,
    BB_PROFILE_ESO_Q4,
    BB_PROFILE_COUNT
} bb_profile;

/// Exactly one of `strength` and `cn2_m13` is set, the same in all layers; the other is NaN.
typedef struct bb_layer_config {
    double height_m;     ///< height above the pupil, at zenith
    double strength;     ///< r0^(-5/3) of this layer, m^(-5/3), at 500 nm and zenith
    double cn2_m13;      ///< integral of Cn2 over the layer, m^(1/3), at zenith
    double wind_m_per_s; ///< NaN: unknown
} bb_layer_config;

/// Exactly one of `profile` and `layers` is set, at most one of `r0_m` and `seeing_arcsec`, and
/// neither of those with layers of `cn2_m13`.
typedef struct bb_atmosphere_config {
    int profile;    ///< bb_profile, -1 if unset
    bb_list layers; ///< list of bb_layer_config
    double outer_scale_m;
    double r0_m;          ///< r0 of the whole profile at 500 nm and zenith; NaN: the profile's own
    double seeing_arcsec; ///< instead of r0_m: 0.98 lambda/r0, without outer scale; NaN: unset
    double seeing_wavelength_nm;
} bb_atmosphere_config;

/// Slope: the difference of the phase between the midpoints of two opposite edges of a
/// subaperture over their distance, or between its averages along the two edges.
typedef enum bb_slope_model {
    BB_SLOPE_POINT_DIFFERENCE,
    BB_SLOPE_AVERAGED_GRADIENT
} bb_slope_model;

typedef struct bb_sensors_config {
    bb_index lenslets; ///< lenslets across the diameter
    int slope_model;   ///< bb_slope_model; -1: chosen by bb_ao_config_averages
    double frame_ms;
    double read_noise_e;
    double atmosphere_transmission;
#define BB_SENSORS_STAR(number, name, plural) bb_star_settings name;
    BB_GUIDE_STAR_KINDS(BB_SENSORS_STAR) ///< defaults of each kind of star, by its name
} bb_sensors_config;

/// Launch position of a laser star, unless given explicitly.
typedef enum bb_launch {
    BB_LAUNCH_SIDE,   ///< the pupil's edge at the star's azimuth; azimuth 0 for a star on the axis
    BB_LAUNCH_CENTRAL ///< the pupil's centre, behind the secondary mirror
} bb_launch;

/// A guide star and its sensor. Unset optional members use the sensors' defaults.
typedef struct bb_guide_star_config {
    int kind;             ///< BB_GUIDE_STAR_..., index into bb_guide_star_kinds
    bb_asterism asterism; ///< direction pattern, in the file only
    double x_arcsec;
    double y_arcsec;
    bb_star_settings settings; ///< optional settings, those of its kind
    bb_index lenslets;         ///< optional number of lenslets
    int slope_model;           ///< bb_slope_model, optional
    double shift_x_m;          ///< shift of the lenslet grid relative to the pupil
    double shift_y_m;          ///< shift of the lenslet grid relative to the pupil
    double rotation_deg;       ///< rotation of the lenslet grid, from x towards y
    double magnification;      ///< magnification of the lenslet grid
    double frame_ms;           ///< optional
    double read_noise_e;       ///< optional
    int launch;                ///< bb_launch, laser stars
    double launch_x_m;         ///< optional, laser stars; both or none, instead of `launch`
    double launch_y_m;         ///< optional, laser stars
} bb_guide_star_config;

/// The deformable mirror behind a truth sensor, see deformable_mirror.h.
typedef struct bb_mirror_config {
    double condition; ///< largest over smallest singular value kept; NaN: default
} bb_mirror_config;

/// File of a mirror's own influence functions, read by the study.
typedef struct bb_influence_config {
    const char *file;    ///< HDF5 or FITS; NULL: Gaussian functions
    const char *dataset; ///< NULL: BB_INFLUENCE_DATASET, in FITS the first image of three axes
    double spacing_m;    ///< spacing of the samples on the conjugate; NaN: from the dataset
} bb_influence_config;

/// Default dataset in an HDF5 file.
#define BB_INFLUENCE_DATASET "/influence"

/// One of several mirrors, conjugated to a height; see mirrors/mirror_stack.h. With its own
/// influence functions it has neither pitch nor coupling.
typedef struct bb_conjugate_config {
    double height_m; ///< height of the conjugate above the pupil, along the line of sight
    double pitch_m;  ///< spacing of actuators; NaN, at 0 m only: at the corners of the lenslets
    double coupling; ///< influence at the neighbour relative to the actuator; NaN: 0.2
    bb_influence_config influence;
} bb_conjugate_config;

/// A direction in which the correction is scored by a noiseless truth sensor.
typedef struct bb_target_config {
    bb_asterism asterism; ///< direction pattern, in the file only
    double x_arcsec;
    double y_arcsec;
    bb_index lenslets; ///< lenslets of the truth sensor and its mirror; optional: sensors.lenslets
    double weight;     ///< weight in the objective of several mirrors; 0: only scored
} bb_target_config;

extern const char *const bb_profile_names[]; ///< NULL-terminated, by bb_profile

extern const bb_schema bb_telescope_schema;
extern const bb_schema bb_atmosphere_schema;
extern const bb_schema bb_layer_schema;
extern const bb_schema bb_sensors_schema;
extern const bb_schema bb_mirror_schema;
extern const bb_schema bb_conjugate_schema;
extern const bb_schema bb_guide_star_schema;
extern const bb_schema bb_target_schema;

/// All configuration of the physics, borrowed.
typedef struct bb_ao_config {
    const bb_telescope_config *telescope;
    const bb_atmosphere_config *atmosphere;
    const bb_sensors_config *sensors;
    const bb_mirror_config *mirror;      ///< NULL: all unset
    const bb_conjugate_config *mirrors;  ///< [mirror_count], correcting together
    bb_index mirror_count;               ///< 0: each target has its own mirror
    double mirrors_condition;            ///< largest over smallest singular value kept for them
    const bb_influence_cube *influences; ///< [mirror_count], for those that name a file; NULL: none
    const bb_error_terms_config *error_terms; ///< NULL: none
    const bb_guide_star_config *guide_stars;  ///< [guide_star_count]
    bb_index guide_star_count;
    const bb_target_config *targets; ///< [target_count]
    bb_index target_count;
    const double *pupil_mask; ///< [pupil_edge][pupil_edge] as in pupil.h; NULL: the annulus
    bb_index pupil_edge;
} bb_ao_config;

/// Returns the defaults of the stars of a kind, sensors.<name>.
const bb_star_settings *bb_sensors_config_star(const bb_sensors_config *sensors, int kind);

/// Returns whether point differences approximate a sensor's slopes poorly: its lenslets exceed 1 m,
/// or it has at most 4 across, for pupil tilts. `guide` NULL: a truth sensor.
bool bb_ao_config_coarse(const bb_ao_config *config, bb_index lenslets,
                         const bb_guide_star_config *guide);

/// Returns whether a sensor with that many lenslets uses averaged gradients: slope_model of the
/// guide star, else of the sensors, else true for a coarse sensor. `guide` NULL: a truth sensor.
bool bb_ao_config_averages(const bb_ao_config *config, bb_index lenslets,
                           const bb_guide_star_config *guide);

/// Returns the pupil of a configuration; borrows its mask.
bb_pupil bb_ao_config_pupil(const bb_ao_config *config);

#ifdef __cplusplus
}
#endif

#endif
