// SPDX-License-Identifier: Apache-2.0
#include "precision/policy.h"

typedef bb_variant (*rule)(const bb_policy_config *policy, bb_variant outside, bb_index row,
                           bb_index column);

static bb_variant uniform(const bb_policy_config *policy, bb_variant outside, bb_index row,
                          bb_index column)
{
    (void)policy;
    (void)row;
    (void)column;
    return outside;
}

static bb_variant band(const bb_policy_config *policy, bb_variant outside, bb_index row,
                       bb_index column)
{
    bb_index distance = row > column ? row - column : column - row;
    return distance < policy->width ? (bb_variant)policy->inside : outside;
}

const char *const bb_policy_follow_names[] = {"sp", "follow", NULL};

static const char *const kind_names[] = {"uniform", "band", NULL};
static const rule rules[] = {[BB_POLICY_UNIFORM] = uniform, [BB_POLICY_BAND] = band};

bb_variant bb_policy_variant(const bb_policy_config *policy, bb_variant outside, bb_index row,
                             bb_index column)
{
    return rules[policy->kind](policy, outside, row, column);
}

// clang-format off
static const bb_key keys[] = {
    {.name = "kind",
     .kind = BB_KEY_CHOICE,
     .offset = offsetof(bb_policy_config, kind),
     .choices = kind_names,
     .default_text = "uniform",
     .meaning = "uniform: one arithmetic everywhere; band: another one near the diagonal."},
    {.name = "width",
     .kind = BB_KEY_INTEGER,
     .offset = offsetof(bb_policy_config, width),
     .unit = "tiles",
     .minimum = 0,
     .maximum = 1e6,
     .default_text = "1",
     .meaning = "Band: tiles with |row - column| < width take `inside`; 1 is the diagonal."},
    {.name = "inside",
     .kind = BB_KEY_CHOICE,
     .offset = offsetof(bb_policy_config, inside),
     .choices = bb_variant_names,
     .default_text = "sp",
     .meaning = "Band: arithmetic of the tiles within it."},
    {.name = "diagonal",
     .kind = BB_KEY_CHOICE,
     .offset = offsetof(bb_policy_config, diagonal),
     .choices = bb_policy_follow_names,
     .default_text = "sp",
     .meaning = "Updates of diagonal tiles: in fp32, or as the policy says; potrf stays fp32."},
};
// clang-format on
const bb_schema bb_policy_schema = BB_SCHEMA("policy", bb_policy_config, keys);
