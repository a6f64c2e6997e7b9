// SPDX-License-Identifier: Apache-2.0
//
// Several wafers in a row on one table, and the named points whose temperatures are followed.
#ifndef BB_PHYSICS_WAFER_LOT_H
#define BB_PHYSICS_WAFER_LOT_H

#include "core/schema.h"

/// Whose overlay is computed.
typedef enum bb_lot_scored { BB_LOT_LAST, BB_LOT_ALL } bb_lot_scored;

/// The temperature at which a gripped wafer is free of stress.
typedef enum bb_stress_free { BB_STRESS_FREE_WATER, BB_STRESS_FREE_ARRIVAL } bb_stress_free;

/// NULL-terminated words in the order of bb_stress_free.
extern const char *const bb_stress_free_names[];

/// NULL-terminated words in the order of bb_lot_scored.
extern const char *const bb_lot_scored_names[];

/// Keys of `wafers:`.
typedef struct bb_lot_config {
    bb_index count;
    double exchange_s;     ///< from the last step of a wafer to the first of the next
    double arrival_rise_k; ///< of every wafer above the water
    int stress_free;       ///< bb_stress_free
    int scored;            ///< bb_lot_scored
} bb_lot_config;

typedef enum bb_probe_layer { BB_PROBE_WAFER, BB_PROBE_CLAMP } bb_probe_layer;

/// A record of `probes:`, in coordinates of the undeformed wafer.
typedef struct bb_probe_config {
    const char *name;
    double x_mm;
    double y_mm;
    int layer; ///< bb_probe_layer
} bb_probe_config;

enum { BB_PROBE_NAME = 40 }; ///< longest name

/// NULL-terminated words in the order of bb_probe_layer.
extern const char *const bb_probe_layers[];

extern const bb_schema bb_lot_schema;
extern const bb_schema bb_probe_schema;

/// Whether a name is 1 to BB_PROBE_NAME letters, digits and _, a letter first: it names results.
bool bb_lot_probe_name_valid(const char *name);

#endif
