// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/lot.h"

#include <ctype.h>
#include <string.h>

const char *const bb_lot_scored_names[] = {"last", "all", NULL};
const char *const bb_stress_free_names[] = {"water", "arrival", NULL};
const char *const bb_probe_layers[] = {"wafer", "clamp", NULL};

// clang-format off
static const bb_key lot_keys[] = {
    {.name = "count", .kind = BB_KEY_INTEGER, .unit = "1",
     .offset = offsetof(bb_lot_config, count), .minimum = 1.0, .maximum = 10000.0,
     .default_text = "1",
     .meaning = "Wafers exposed in a row on one clamp."},
    {.name = "exchange_s", .kind = BB_KEY_DOUBLE, .unit = "s",
     .offset = offsetof(bb_lot_config, exchange_s), .minimum = 0.0, .maximum = 1e5,
     .exclusive_minimum = true, .default_text = "10.0",
     .meaning = "Time between two wafers, in which clamp and ring stand bare over the water."},
    {.name = "arrival_rise_k", .kind = BB_KEY_DOUBLE, .unit = "K",
     .offset = offsetof(bb_lot_config, arrival_rise_k), .minimum = -100.0, .maximum = 100.0,
     .default_text = "0.0",
     .meaning = "Temperature of an arriving wafer above that of the water."},
    {.name = "stress_free", .kind = BB_KEY_CHOICE, .offset = offsetof(bb_lot_config, stress_free),
     .choices = bb_stress_free_names, .default_text = "arrival",
     .meaning = "Temperature at which burls grip a wafer without stress and displacement is 0: the "
                "wafer's own on arrival, or the water's."},
    {.name = "scored", .kind = BB_KEY_CHOICE, .offset = offsetof(bb_lot_config, scored),
     .choices = bb_lot_scored_names, .default_text = "last",
     .meaning = "Wafers whose overlay is computed: the last one alone, or all, with the spread from "
                "wafer to wafer."},
};
static const bb_key probe_keys[] = {
    {.name = "name", .kind = BB_KEY_TEXT, .offset = offsetof(bb_probe_config, name),
     .meaning = "Letters, digits and _, up to 40; its results are called <name>_k."},
    {.name = "x_mm", .kind = BB_KEY_DOUBLE, .unit = "mm", .offset = offsetof(bb_probe_config, x_mm),
     .minimum = -225.0, .maximum = 225.0, .default_text = "0.0",
     .meaning = "Place on the undeformed wafer, from its centre."},
    {.name = "y_mm", .kind = BB_KEY_DOUBLE, .unit = "mm", .offset = offsetof(bb_probe_config, y_mm),
     .minimum = -225.0, .maximum = 225.0, .default_text = "0.0",
     .meaning = "Place on the undeformed wafer, from its centre."},
    {.name = "layer", .kind = BB_KEY_CHOICE, .offset = offsetof(bb_probe_config, layer),
     .choices = bb_probe_layers, .default_text = "wafer",
     .meaning = "What is probed: the wafer or the clamp under it."},
};
// clang-format on
const bb_schema bb_lot_schema = BB_SCHEMA("wafers", bb_lot_config, lot_keys);
const bb_schema bb_probe_schema = BB_SCHEMA("probes", bb_probe_config, probe_keys);

bool bb_lot_probe_name_valid(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < length; ++i) {
        unsigned char c = (unsigned char)name[i];
        if (c > 0x7f || (isalnum(c) == 0 && c != '_')) {
            return false;
        }
    }
    return isalpha((unsigned char)name[0]) != 0 && length <= BB_PROBE_NAME;
}
