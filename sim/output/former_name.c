// SPDX-License-Identifier: Apache-2.0
#include "sim/output/former_name.h"

#include <string.h>

const bb_former_name bb_former_names[] = {
    {"price_mean", "loss_mean"},
    {"price_std", "loss_std"},
    {"price_worst", "loss_worst"},
    {"price_median", "loss_median"},
    {"price_p99", "loss_p99"},
    {"price_most", "loss_most"},
    {"price_point", "loss_point"},
    {"price_note", "loss_note"},
    {"points_unpriced", "points_without_loss"},
    {NULL, NULL},
};

const char *bb_former_name_current(const char *name)
{
    for (const bb_former_name *row = bb_former_names; row->former != NULL; ++row) {
        if (strcmp(row->former, name) == 0) {
            return row->current;
        }
    }
    return name;
}
