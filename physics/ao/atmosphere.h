// SPDX-License-Identifier: Apache-2.0
//
// Turbulent layers along the line of sight: heights and strengths.
//
// The strength of a layer is r0^(-5/3) at 500 nm, and strengths add: r0 = (sum)^(-3/5). A zenith
// angle z multiplies heights and strengths by sec z. Profiles: the two of ecrc/moao, VLT/ERIS, and
// ESO's 35-layer profiles of Armazones (ESO-258292) with a compression of the median to 9 layers.
#ifndef BB_PHYSICS_AO_ATMOSPHERE_H
#define BB_PHYSICS_AO_ATMOSPHERE_H

#include "physics/ao/ao_config.h"
#include "physics/ao/covariance/structure_function.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Zero-initialise, fill with bb_atmosphere_create, free with bb_atmosphere_release.
typedef struct bb_atmosphere {
    bb_index layer_count;
    double *height_m;             ///< [layer_count], along the line of sight
    double *strength;             ///< [layer_count], m^(-5/3) at 500 nm, along the line of sight
    double *wind_m_per_s;         ///< [layer_count] of a built-in profile, NaN if unknown
    double r0_m;                  ///< r0 of all layers, at 500 nm, along the line of sight
    double airmass;               ///< sec z
    double outer_scale_m;         ///< outer scale of every layer
    bb_structure_table structure; ///< D for r0 = 1 m
} bb_atmosphere;

/// Builds the layers from a checked configuration (bb_ao_check). Errors: BB_MEMORY.
BB_CHECKED bb_status bb_atmosphere_create(const bb_atmosphere_config *config,
                                          double zenith_angle_deg, bb_atmosphere *out);

/// Returns r0 at 500 nm, m, for a seeing at a wavelength: r0(lambda) = 0.98 lambda/seeing grows as
/// lambda^(6/5).
double bb_atmosphere_r0_of_seeing(double seeing_arcsec, double wavelength_m);

/// Returns the strength of a layer, m^(-5/3), given directly or by its Cn2: 0.423 k^2 Cn2 dh.
double bb_atmosphere_layer_strength(const bb_layer_config *layer);

/// Returns the number of layers of a configuration.
bb_index bb_atmosphere_layers(const bb_atmosphere_config *config);

/// Returns whether a configuration includes the wind of every layer.
bool bb_atmosphere_has_wind(const bb_atmosphere_config *config);

/// Returns whether a built-in profile includes winds: true for ESO's 35-layer profiles and ERIS's.
bool bb_profile_has_wind(bb_profile shipped);

void bb_atmosphere_release(bb_atmosphere *atmosphere);

/// Seeing in arcsec at a wavelength: (500 nm / r0) (500 nm / lambda)^(1/5), no outer scale.
double bb_atmosphere_seeing_arcsec(const bb_atmosphere *atmosphere, double wavelength_m);

/// Isoplanatic angle at 500 nm, arcsec: 0.314 r0 / (sum w h^(5/3))^(3/5), w the fractions.
double bb_atmosphere_isoplanatic_arcsec(const bb_atmosphere *atmosphere);

/// Coherence time at 500 nm, s: 0.314 r0 / (sum w v^(5/3))^(3/5); NaN without wind.
double bb_atmosphere_coherence_s(const bb_atmosphere *atmosphere);

#ifdef __cplusplus
}
#endif

#endif
