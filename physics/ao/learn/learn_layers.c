// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/learn/learn_layers.h"

#include "core/memory.h"

#include <math.h>

static bb_status create_layer(const bb_ao_config *config, double height_m, double outer_scale_m,
                              bb_learn_layer *layer)
{
    bb_status status = BB_OK;
    bb_layer_config unit = {.height_m = height_m, .strength = 1.0, .cn2_m13 = NAN};
    const bb_atmosphere_config alone = {.profile = -1,
                                        .layers = {.items = &unit, .count = 1},
                                        .outer_scale_m = outer_scale_m,
                                        .r0_m = NAN,
                                        .seeing_arcsec = NAN};
    BB_TRY(bb_atmosphere_create(&alone, config->telescope->zenith_angle_deg, &layer->atmosphere));
    BB_TRY(bb_sensor_array_create_guides(config, &layer->atmosphere, &layer->guides));
    const bb_slope_covariance_parts parts = {.name = "covariance of a layer",
                                             .atmosphere = &layer->atmosphere,
                                             .rows = &layer->guides,
                                             .columns = &layer->guides};
    BB_TRY(bb_slope_covariance_create(&parts, &layer->covariance));
done:
    return status;
}

bb_status bb_learn_layers_create(const bb_ao_config *config, bb_index count, const double *height_m,
                                 double outer_scale_m, bb_learn_layers *out)
{
    bb_status status = BB_OK;
    bb_learn_layers layers = {.count = count};
    BB_TRY(BB_ZEROED(count, &layers.items));
    for (bb_index l = 0; l < count; ++l) {
        BB_TRY(create_layer(config, height_m[l], outer_scale_m, &layers.items[l]));
    }
    *out = layers;
    layers = (bb_learn_layers){0};
done:
    bb_learn_layers_release(&layers);
    return status;
}

void bb_learn_layers_release(bb_learn_layers *layers)
{
    for (bb_index l = 0; layers->items != NULL && l < layers->count; ++l) {
        bb_slope_covariance_destroy(&layers->items[l].covariance);
        bb_sensor_array_release(&layers->items[l].guides);
        bb_atmosphere_release(&layers->items[l].atmosphere);
    }
    BB_RELEASE(&layers->items);
    layers->count = 0;
}
