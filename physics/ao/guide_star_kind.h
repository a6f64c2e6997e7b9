// SPDX-License-Identifier: Apache-2.0
//
// The kinds of guide star. Each kind has one row with everything specific to it: its keys and their
// defaults, the distance of a star, its flux, its slope noise, and whether its tilt is known.
//
// A kind `name` is a row of BB_GUIDE_STAR_KINDS and a file `name`_star.c, which defines
// `bb_name_star` and the schema of the group `sensors.name`.
#ifndef BB_PHYSICS_AO_GUIDE_STAR_KIND_H
#define BB_PHYSICS_AO_GUIDE_STAR_KIND_H

#include "core/schema.h"

#ifdef __cplusplus
extern "C" {
#endif

// ROW(number, name, plural): BB_GUIDE_STAR_<number> is the kind's index, `name` the word in
// configurations.
// clang-format off
#define BB_GUIDE_STAR_KINDS(ROW)                                                                   \
    ROW(NGS, ngs, "natural guide stars")                                                           \
    ROW(LGS, lgs, "laser guide stars")                                                             \
    ROW(RAYLEIGH, rayleigh, "Rayleigh guide stars")
// clang-format on

#define BB_GUIDE_STAR_NUMBER(number, name, plural) BB_GUIDE_STAR_##number,
enum { BB_GUIDE_STAR_KINDS(BB_GUIDE_STAR_NUMBER) BB_GUIDE_STAR_COUNT };

/// Settings of a kind that each star can override, in the units of the keys; NaN: unset, or not
/// applicable.
typedef struct bb_star_settings {
    double altitude_km; ///< above the pupil, at zenith
    double magnitude;   ///< R band
    double pixel_arcsec;
    double wavelength_nm;
    double bandwidth_nm;
    double transmission;     ///< of the optics
    double flux_ph_per_m2_s; ///< at the pupil
    double spot_arcsec;      ///< on the sky, without the seeing
    double power_w;          ///< of the launched beam
    double depth_km;         ///< of the emitting layer
    double tilt_variance_arcsec2;
    double photons_per_frame; ///< detected in a fully lit subaperture; instead of a flux
    double noise_mas;         ///< noise-equivalent angle; instead of the model of noise
    double excess_noise;      ///< variance of the gain: 1 without, 2 of an EMCCD
    double background_e;      ///< sky and dark current, per pixel and frame
} bb_star_settings;

/// The row of a settings key: a number in a closed range, or one above `low` = 0.
#define BB_STAR_NUMBER(member, unit_text, low, high, text)                                         \
    .name = #member, .kind = BB_KEY_DOUBLE, .unit = (unit_text),                                   \
    .offset = offsetof(bb_star_settings, member), .minimum = (low), .maximum = (high),             \
    .meaning = (text)
#define BB_STAR_POSITIVE(member, unit_text, high, text)                                            \
    BB_STAR_NUMBER(member, unit_text, 0.0, high, text), .exclusive_minimum = true

/// Rows of the detector that every kind has.
#define BB_STAR_DETECTOR_KEYS                                                                      \
    {BB_STAR_POSITIVE(photons_per_frame, "ph", 1.0e12,                                             \
                      "Photons detected in a fully lit subaperture in a frame; unset: from the "   \
                      "brightness of the star."),                                                  \
     .optional = true},                                                                            \
        {BB_STAR_POSITIVE(noise_mas, "mas", 1.0e6,                                                 \
                          "Noise-equivalent angle of a slope, each axis, elongation included; "    \
                          "unset: from the photons, the spot and the detector."),                  \
         .optional = true},                                                                        \
        {BB_STAR_NUMBER(excess_noise, "1", 1.0, 100.0,                                             \
                        "Excess noise factor F^2 of a gain register, on photon and background "    \
                        "noise: 1, or 2 of an EMCCD."),                                            \
         .default_text = "1.0"},                                                                   \
    {                                                                                              \
        BB_STAR_NUMBER(background_e, "e-", 0.0, 1.0e9,                                             \
                       "Electrons of sky and dark current per pixel and frame."),                  \
            .default_text = "0.0"                                                                  \
    }

typedef struct bb_guide_star_kind bb_guide_star_kind;

/// A guide star and its detector, in SI except for the angles with units; all overrides and the
/// airmass applied.
typedef struct bb_star {
    const bb_guide_star_kind *kind;
    double x_rad, y_rad;
    double altitude_m; ///< along the line of sight; infinite: a natural star
    double magnitude;  ///< natural stars
    double frame_s;
    double read_noise_e;
    double pixel_arcsec;
    double wavelength_m;
    double transmission;
    double photons;                ///< per frame and lit subaperture; NaN: from the brightness
    double noise_arcsec;           ///< noise-equivalent angle; NaN: from the model
    double excess_noise;           ///< factor of photon noise
    double background_e;           ///< per pixel and frame
    double bandwidth_m;            ///< natural stars
    double flux_ph_per_m2_s;       ///< laser stars, as are the following
    double spot_arcsec;            ///< laser stars
    double depth_m;                ///< along the line of sight
    double tilt_variance_arcsec2;  ///< 0 for a natural star
    double launch_x_m, launch_y_m; ///< laser stars
} bb_star;

/// The air between star and pupil.
typedef struct bb_star_air {
    double pupil_altitude_m; ///< above sea level
    double airmass;
    double transmission; ///< sensors.atmosphere_transmission
} bb_star_air;

/// Image of a star in a subaperture.
typedef struct bb_star_spot {
    double electrons;          ///< per frame, over the excess noise factor
    double read;               ///< 0.82 (noise of a pixel/(electrons pixel))^2, arcsec^-2
    double seeing_arcsec;      ///< at the star's wavelength
    double from_x_m, from_y_m; ///< from the launch telescope, along the axes of the lenslet grid
} bb_star_spot;

/// Covariance of the two slopes of a subaperture, arcsec^2.
typedef struct bb_slope_noise {
    double xx, yy, xy;
} bb_slope_noise;

struct bb_guide_star_kind {
    /// for sensors.<name>, of bb_star_settings: keys that a star may override
    const bb_schema *schema;
    const char *own_key; ///< required setting of each star; NULL: none
    bool launched;       ///< laser launched from the ground: launch, launch_x_m, launch_y_m apply
    bool tilt_unknown;   ///< the beam is tilted on its way up as the image is on its way down
    bool range_drifts;   ///< the emitting layer changes height; a range gate does not
    /// Checks settings against each other: those `given` with the star, and all with the defaults.
    /// NULL: none.
    bb_status (*check)(const bb_star_settings *given, const bb_star_settings *all,
                       const char *path);
    /// Computes the members that follow from the settings, beyond the detector.
    void (*resolve)(const bb_star_settings *settings, const bb_star_air *air, bb_star *star);
    /// Electrons per frame detected by an area of the pupil.
    double (*electrons)(const bb_star *star, double area_m2, double air_transmission);
    bb_slope_noise (*noise)(const bb_star *star, const bb_star_spot *spot);
};

#define BB_GUIDE_STAR_ROW(number, name, plural)                                                    \
    extern const bb_guide_star_kind bb_##name##_star;                                              \
    extern const bb_schema bb_##name##_star_schema;
BB_GUIDE_STAR_KINDS(BB_GUIDE_STAR_ROW)

/// [BB_GUIDE_STAR_COUNT] rows, and the words of configurations, NULL-terminated.
extern const bb_guide_star_kind *const bb_guide_star_kinds[];
extern const char *const bb_guide_star_kind_names[];

/// Returns settings that are all unset.
bb_star_settings bb_guide_star_kind_unset(void);

/// Returns whether stars of a kind have a setting, by the name of its key.
bool bb_guide_star_kind_accepts(const bb_guide_star_kind *kind, const char *key);

/// Returns the settings of a star: those `given` with it, else the `defaults` of its kind.
bb_star_settings bb_guide_star_kind_settings(const bb_guide_star_kind *kind,
                                             const bb_star_settings *defaults,
                                             const bb_star_settings *given);

#ifdef __cplusplus
}
#endif

#endif
