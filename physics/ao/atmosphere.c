// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/atmosphere.h"

#include "core/memory.h"
#include "physics/ao/ao_constants.h"

#include <math.h>

enum { MOST_LAYERS = 35 };

typedef struct profile {
    double r0_m; ///< 0: `weight` holds strengths, not fractions
    bb_index count;
    double height_m[MOST_LAYERS];
    double weight[MOST_LAYERS];
    double wind_scale; ///< 0: no winds
    double wind_m_per_s[MOST_LAYERS];
} profile;

#define ESO_HEIGHTS                                                                                \
    {                                                                                              \
        30, 90, 150, 200, 245, 300, 390, 600, 1130, 1880, 2630, 3500, 4500, 5500, 6500, 7500,      \
            8500, 9500, 10500, 11500, 12500, 13500, 14500, 15500, 16500, 17500, 18500, 19500,      \
            20500, 21500, 22500, 23500, 24500, 25500, 26500                                        \
    }

#define ESO_WIND                                                                                   \
    {                                                                                              \
        5.5, 5.5, 5.1, 5.5, 5.6, 5.7, 5.8, 6, 6.5, 7, 7.5, 8.5, 9.5, 11.5, 17.5, 23, 26, 29, 32,   \
            27, 22, 14.5, 9.5, 6.3, 5.5, 6, 6.5, 7, 7.5, 8, 8.5, 9, 9.5, 10, 10                    \
    }

// clang-format off
static const profile profiles[BB_PROFILE_COUNT] = {
    [BB_PROFILE_MOAO_2] = {0.0, 2, {30, 12500}, {28.5115, 1.88506}, 0.0, {0.0}},
    [BB_PROFILE_MOAO_10] = {0.0, 10,
        {30, 200, 390, 1880, 4500, 7500, 10500, 13500, 16500, 19500},
        {16.1481, 3.93694, 3.15623, 2.16198, 1.04095, .800734, .867462, 1.72825, .411711, .144132},
        0.0, {0.0}},
    [BB_PROFILE_ERIS_10] = {0.126, 10,
        {30, 140, 281, 562, 1125, 2250, 4500, 7750, 11000, 14000},
        {.59, .02, .04, .06, .01, .05, .09, .04, .05, .05},
        1.0, {6.6, 5.9, 5.1, 4.5, 5.1, 8.3, 16.3, 30.2, 34.3, 17.5}},
    [BB_PROFILE_ESO_MEDIAN_9] = {0.157, 9,
        {55, 247, 1199, 3185, 5387, 8600, 11606, 14464, 20262},
        {.3620, .2977, .1196, .0422, .0360, .0300, .0360, .0610, .0155},
        0.0, {0.0}},
    [BB_PROFILE_ESO_MEDIAN] = {0.157, 35, ESO_HEIGHTS,
        {24.2, 12, 9.68, 5.9, 4.73, 4.73, 4.73, 4.73, 3.99, 3.24, 1.62, 2.6, 1.56, 1.04, 1, 1.2,
         .4, 1.4, 1.3, .7, 1.6, 2.59, 1.9, .99, .62, .4, .25, .22, .19, .14, .11, .06, .09, .05,
         .04},
        1.052, ESO_WIND},
    [BB_PROFILE_ESO_Q1] = {0.234, 35, ESO_HEIGHTS,
        {22.6, 11.2, 10.1, 6.4, 4.15, 4.15, 4.15, 4.15, 3.1, 2.26, 1.13, 2.21, 1.33, .88, 1.47,
         1.77, .59, 2.06, 1.92, 1.03, 2.3, 3.75, 2.76, 1.43, .89, .58, .36, .31, .27, .2, .16, .09,
         .12, .07, .06},
        0.925, ESO_WIND},
    [BB_PROFILE_ESO_Q4] = {0.097, 35, ESO_HEIGHTS,
        {23.6, 13.1, 9.81, 5.77, 6.58, 6.58, 6.58, 6.58, 5.4, 3.2, 1.6, 2.18, 1.31, .87, .37, .45,
         .15, .52, .49, .26, .8, 1.29, .95, .49, .31, .2, .12, .1, .09, .07, .06, .03, .05, .02,
         .02},
        1.37, ESO_WIND},
};
// clang-format on

static void read_layers(const bb_atmosphere_config *config, bb_atmosphere *atmosphere)
{
    if (config->profile >= 0) {
        const profile *shipped = &profiles[config->profile];
        for (bb_index l = 0; l < shipped->count; ++l) {
            atmosphere->height_m[l] = shipped->height_m[l];
            atmosphere->strength[l] = shipped->weight[l];
            atmosphere->wind_m_per_s[l] =
                shipped->wind_scale > 0.0 ? shipped->wind_scale * shipped->wind_m_per_s[l] : NAN;
        }
    } else {
        const bb_layer_config *layers = config->layers.items;
        for (bb_index l = 0; l < config->layers.count; ++l) {
            atmosphere->height_m[l] = layers[l].height_m;
            atmosphere->strength[l] = bb_atmosphere_layer_strength(&layers[l]);
            atmosphere->wind_m_per_s[l] = layers[l].wind_m_per_s;
        }
    }
}

// Returns the r0 to rescale to, or NaN: the user's r0, given directly or by the seeing, else the
// profile's.
static double target_r0(const bb_atmosphere_config *config)
{
    if (config->seeing_arcsec > 0.0) {
        return bb_atmosphere_r0_of_seeing(config->seeing_arcsec,
                                          1e-9 * config->seeing_wavelength_nm);
    }
    if (!isnan(config->r0_m) || config->profile < 0 || profiles[config->profile].r0_m == 0.0) {
        return config->r0_m;
    }
    return profiles[config->profile].r0_m;
}

static double total_strength(const bb_atmosphere *atmosphere)
{
    double total = 0.0;
    for (bb_index l = 0; l < atmosphere->layer_count; ++l) {
        total += atmosphere->strength[l];
    }
    return total;
}

double bb_atmosphere_r0_of_seeing(double seeing_arcsec, double wavelength_m)
{
    return BB_SEEING_WIDTH * BB_ARCSEC_PER_RADIAN * wavelength_m / seeing_arcsec *
           pow(BB_R0_WAVELENGTH_M / wavelength_m, 1.2);
}

double bb_atmosphere_layer_strength(const bb_layer_config *layer)
{
    const double k = 2.0 * BB_PI / BB_R0_WAVELENGTH_M;
    return isnan(layer->strength) ? BB_FRIED * k * k * layer->cn2_m13 : layer->strength;
}

bb_status bb_atmosphere_create(const bb_atmosphere_config *config, double zenith_angle_deg,
                               bb_atmosphere *out)
{
    bb_status status = BB_OK;
    bb_atmosphere made = {
        .layer_count = bb_atmosphere_layers(config),
        .airmass = 1.0 / cos(zenith_angle_deg * BB_PI / 180.0),
        .outer_scale_m = config->outer_scale_m,
    };
    BB_TRY(BB_ALLOCATE(made.layer_count, &made.height_m));
    BB_TRY(BB_ALLOCATE(made.layer_count, &made.strength));
    BB_TRY(BB_ALLOCATE(made.layer_count, &made.wind_m_per_s));
    BB_TRY(bb_structure_table_create(config->outer_scale_m, &made.structure));
    read_layers(config, &made);
    const double r0_m = target_r0(config);
    const double rescale = isnan(r0_m) ? 1.0 : pow(r0_m, -5.0 / 3.0) / total_strength(&made);
    for (bb_index l = 0; l < made.layer_count; ++l) {
        made.height_m[l] *= made.airmass;
        made.strength[l] *= rescale * made.airmass;
    }
    made.r0_m = pow(total_strength(&made), -3.0 / 5.0);
    *out = made;
    made = (bb_atmosphere){0};
done:
    bb_atmosphere_release(&made);
    return status;
}

bb_index bb_atmosphere_layers(const bb_atmosphere_config *config)
{
    return config->profile >= 0 ? profiles[config->profile].count : config->layers.count;
}

bool bb_atmosphere_has_wind(const bb_atmosphere_config *config)
{
    const bb_layer_config *layers = config->layers.items;
    bool has = config->profile < 0 || bb_profile_has_wind((bb_profile)config->profile);
    for (bb_index l = 0; config->profile < 0 && l < config->layers.count; ++l) {
        has = has && !isnan(layers[l].wind_m_per_s);
    }
    return has;
}

bool bb_profile_has_wind(bb_profile shipped)
{
    return profiles[shipped].wind_scale > 0.0;
}

void bb_atmosphere_release(bb_atmosphere *atmosphere)
{
    BB_RELEASE(&atmosphere->height_m);
    BB_RELEASE(&atmosphere->strength);
    BB_RELEASE(&atmosphere->wind_m_per_s);
    bb_structure_table_release(&atmosphere->structure);
    atmosphere->layer_count = 0;
}

double bb_atmosphere_seeing_arcsec(const bb_atmosphere *atmosphere, double wavelength_m)
{
    return BB_ARCSEC_PER_RADIAN * BB_R0_WAVELENGTH_M / atmosphere->r0_m *
           pow(BB_R0_WAVELENGTH_M / wavelength_m, 0.2);
}

double bb_atmosphere_isoplanatic_arcsec(const bb_atmosphere *atmosphere)
{
    double moment = 0.0;
    for (bb_index l = 0; l < atmosphere->layer_count; ++l) {
        moment += atmosphere->strength[l] * pow(atmosphere->height_m[l], 5.0 / 3.0);
    }
    moment /= total_strength(atmosphere);
    return 0.314 * BB_ARCSEC_PER_RADIAN * atmosphere->r0_m / pow(moment, 3.0 / 5.0);
}

double bb_atmosphere_coherence_s(const bb_atmosphere *atmosphere)
{
    double moment = 0.0;
    for (bb_index l = 0; l < atmosphere->layer_count; ++l) {
        moment += atmosphere->strength[l] * pow(atmosphere->wind_m_per_s[l], 5.0 / 3.0);
    }
    moment /= total_strength(atmosphere);
    return 0.314 * atmosphere->r0_m / pow(moment, 3.0 / 5.0);
}
