// SPDX-License-Identifier: Apache-2.0
//
// Three zones by the distance |i - j| of a tile from the diagonal, in tiles: the heuristic of
// Figure 3 of Doucet et al. (mixed-precision tomographic reconstructor), there sp, hp1 and hp2.
#include "precision/policy.h"

enum { ZONES = 3, WIDTHS = ZONES - 1 };

static bb_variant three_zones(const bb_policy_question *question, bb_index row, bb_index column)
{
    const bb_index *widths = question->policy->widths.items;
    const int *zones = question->policy->zones.items;
    const bb_index distance = row > column ? row - column : column - row;
    int zone = 0;
    while (zone < WIDTHS && distance >= widths[zone]) {
        ++zone;
    }
    return (bb_variant)zones[zone];
}

// A list of another length is rejected by the check.
static int list_zones(const bb_policy_config *policy, bb_variant arithmetic,
                      bb_variant out[BB_VARIANT_COUNT])
{
    const int *zones = policy->zones.items;
    int count = 0;
    while (count < policy->zones.count && count < WIDTHS) {
        out[count] = (bb_variant)zones[count];
        ++count;
    }
    out[count] = arithmetic;
    return count + 1;
}

static bb_status check_zones(const bb_policy_config *policy, bb_variant arithmetic)
{
    bb_status status = BB_OK;
    const bb_index *widths = policy->widths.items;
    const int *zones = policy->zones.items;
    BB_REQUIRE(policy->widths.count == WIDTHS && policy->zones.count == ZONES, BB_INVALID,
               "policy three_zones: %td widths and %td zones, expected 2 and 3",
               policy->widths.count, policy->zones.count);
    BB_REQUIRE(widths[0] < widths[1], BB_INVALID,
               "policy three_zones: widths %td and %td, expected the second to be larger",
               widths[0], widths[1]);
    BB_REQUIRE(zones[WIDTHS] == (int)arithmetic, BB_INVALID,
               "policy three_zones: the last zone is %s, expected the pipeline's arithmetic, %s",
               bb_variant_names[zones[WIDTHS]], bb_variant_names[arithmetic]);
done:
    return status;
}

const bb_policy_row bb_policy_row_three_zones = {
    .name = "three_zones",
    .required = {"widths", "zones"},
    .variant = three_zones,
    .variants = list_zones,
    .check = check_zones,
};
