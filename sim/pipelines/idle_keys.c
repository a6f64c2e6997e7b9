// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/idle_keys.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Whether a number or a choice has another value than its default.
static bool changed(const bb_schema *schema, const void *record, const char *name)
{
    const bb_key *key = schema->keys;
    while (strcmp(key->name, name) != 0) {
        ++key;
    }
    const char *member = (const char *)record + key->offset;
    if (key->kind == BB_KEY_DOUBLE) {
        double value;
        memcpy(&value, member, sizeof value);
        return key->default_text == NULL ? !isnan(value) : value != strtod(key->default_text, NULL);
    }
    if (key->kind == BB_KEY_INTEGER) {
        bb_index value;
        memcpy(&value, member, sizeof value);
        return value != strtoll(key->default_text, NULL, 10);
    }
    if (key->kind == BB_KEY_PATH) {
        const char *path;
        memcpy(&path, member, sizeof path);
        return path != NULL;
    }
    if (key->kind == BB_KEY_CHOICES || key->kind == BB_KEY_INTEGERS) {
        bb_list list;
        memcpy(&list, member, sizeof list);
        return list.count > 0;
    }
    int choice;
    memcpy(&choice, member, sizeof choice);
    return strcmp(key->choices[choice], key->default_text) != 0;
}

// What a rule is about: a group of keys and the choice among them that decides.
typedef struct group {
    const char *name; // path within the pipeline, "" or with a dot behind it
    const bb_schema *schema;
    const void *record;
    const char *decider;
    int choice;
    const char *choice_name;
} group;

typedef struct rule {
    const char *key;
    unsigned used; // bit c: by choice c
    const char *choices;
} rule;

static bb_status check_group(const group *rows, const rule *rules, int count, bb_index index,
                             const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    char path[96];
    for (int r = 0; r < count; ++r) {
        if ((rules[r].used >> rows->choice & 1) != 0 ||
            !changed(rows->schema, rows->record, rules[r].key)) {
            continue;
        }
        (void)snprintf(path, sizeof path, "pipelines.%td.%s%s", index, rows->name, rules[r].key);
        BB_TRY(bb_problems_add(problems, bb_config_place(config, path),
                               "pipelines[%td].%s%s: of no effect with %s %s, expected %s %s",
                               index, rows->name, rules[r].key, rows->decider, rows->choice_name,
                               rows->decider, rules[r].choices));
    }
done:
    return status;
}

enum {
    LIGHT = 1 << BB_POLICY_SWEEPS_LIGHT,
    REFINED = 1 << BB_REFINE_IR | 1 << BB_REFINE_CG | 1 << BB_REFINE_GMRES
};

static const rule sweep_rules[] = {
    {"sweep_energy", LIGHT, "light"},
};
static const rule refine_rules[] = {
    {"tolerance", REFINED, "ir, cg or gmres"},
    {"iterations", REFINED, "ir, cg or gmres"},
};

enum { NAMES = 128 };

// The policies that take a key as a sentence names them: "a, b or c". Returns their bits.
static unsigned list_policies(const char *key, char names[NAMES])
{
    unsigned used = 0;
    int last = -1;
    size_t length = 0;
    names[0] = '\0';
    for (int kind = 0; kind < (int)BB_POLICY_COUNT; ++kind) {
        last = bb_policy_takes((bb_policy_kind)kind, key) ? kind : last;
    }
    for (int kind = 0; kind <= last; ++kind) {
        if (bb_policy_takes((bb_policy_kind)kind, key)) {
            const char *between = used == 0 ? "" : kind == last ? " or " : ", ";
            const int written = snprintf(names + length, NAMES - length, "%s%s", between,
                                         bb_policy_kind_names[kind]);
            length += written > 0 && (size_t)written < NAMES - length ? (size_t)written : 0;
            used |= 1U << kind;
        }
    }
    return used;
}

// Keys that one policy alone has, and cannot be without.
static bb_status check_required(const bb_policy_config *policy, bb_index index,
                                const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    char path[64];
    (void)snprintf(path, sizeof path, "pipelines.%td.policy", index);
    for (bb_index k = 0; k < bb_policy_schema.key_count; ++k) {
        const char *key = bb_policy_schema.keys[k].name;
        int kind = 0;
        while (kind < (int)BB_POLICY_COUNT && !bb_policy_requires((bb_policy_kind)kind, key)) {
            ++kind;
        }
        if (kind < (int)BB_POLICY_COUNT &&
            changed(&bb_policy_schema, policy, key) != (kind == policy->kind)) {
            BB_TRY(bb_problems_add(problems, bb_config_place(config, path),
                                   "pipelines[%td].policy: expected the key %s with kind %s, and "
                                   "with no other",
                                   index, key, bb_policy_kind_names[kind]));
        }
    }
done:
    return status;
}

// Keys that some policies have.
static bb_status check_policy(const group *policies, bb_index index, const bb_config *config,
                              bb_problems *problems)
{
    bb_status status = BB_OK;
    char names[NAMES];
    for (bb_index k = 0; k < bb_policy_schema.key_count; ++k) {
        const char *key = bb_policy_schema.keys[k].name;
        const rule taken = {key, list_policies(key, names), names};
        if (taken.used != 0) {
            BB_TRY(check_group(policies, &taken, 1, index, config, problems));
        }
    }
done:
    return status;
}

bb_status bb_idle_keys_check(const bb_factor_pipeline *pipeline, bb_index index,
                             const bb_config *config, bb_problems *problems)
{
    bb_status status = BB_OK;
    const bb_policy_config *policy = &pipeline->policy;
    const bb_refine_config *refine = &pipeline->refine;
    const group policies = {.name = "policy.",
                            .schema = &bb_policy_schema,
                            .record = policy,
                            .decider = "kind",
                            .choice = policy->kind,
                            .choice_name = bb_policy_kind_names[policy->kind]};
    const group sweeps = {.name = "",
                          .schema = &bb_factor_pipeline_schema,
                          .record = pipeline,
                          .decider = "sweeps",
                          .choice = pipeline->sweeps,
                          .choice_name = bb_policy_sweeps_names[pipeline->sweeps]};
    const group refinement = {.name = "refine.",
                              .schema = &bb_refine_schema,
                              .record = refine,
                              .decider = "method",
                              .choice = refine->method,
                              .choice_name = "none"};
    BB_TRY(check_required(policy, index, config, problems));
    BB_TRY(check_policy(&policies, index, config, problems));
    BB_TRY(check_group(&sweeps, sweep_rules, 1, index, config, problems));
    BB_TRY(check_group(&refinement, refine_rules, 2, index, config, problems));
done:
    return status;
}
