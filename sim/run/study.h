// SPDX-License-Identifier: Apache-2.0
//
// Keys and rules common to the studies of all experiments: title, seed, device, price of the
// machine, and rules for pipelines.
#ifndef BB_SIM_RUN_STUDY_H
#define BB_SIM_RUN_STUDY_H

#include "core/device/device.h"
#include "core/schema.h"
#include "sim/config/config.h"

/// First member of every study struct.
typedef struct bb_study {
    const char *experiment;
    const char *title;
    bb_index seed;
    int device; ///< bb_device_kind or BB_DEVICE_AUTO
} bb_study;

/// First rows of every study's table; `type` has a member bb_study `common`.
#define BB_STUDY_KEYS(type)                                                                        \
    {.name = "experiment",                                                                         \
     .kind = BB_KEY_TEXT,                                                                          \
     .offset = offsetof(type, common.experiment),                                                  \
     .meaning = "Name of the experiment."},                                                        \
        {.name = "title",                                                                          \
         .kind = BB_KEY_TEXT,                                                                      \
         .offset = offsetof(type, common.title),                                                   \
         .default_text = "\"\"",                                                                   \
         .meaning = "Title shown with the results."},                                              \
        {.name = "seed",                                                                           \
         .kind = BB_KEY_INTEGER,                                                                   \
         .offset = offsetof(type, common.seed),                                                    \
         .minimum = 0.0,                                                                           \
         .maximum = 9007199254740992.0,                                                            \
         .default_text = "1",                                                                      \
         .meaning = "Seed of all random streams; the word random draws and records a seed."},      \
    {                                                                                              \
        .name = "device", .kind = BB_KEY_CHOICE, .offset = offsetof(type, common.device),          \
        .choices = bb_device_names, .default_text = "auto",                                        \
        .meaning = "Device of pipelines that set none; auto prints its choice."                    \
    }

/// Keys of `machine:` in every experiment; NaN if unset.
typedef struct bb_machine_price {
    double price_usd, lifetime_years, electricity_usd_per_kwh;
} bb_machine_price;

/// Rows of a table whose struct has a member bb_machine_price `price`.
#define BB_MACHINE_PRICE_KEYS(type)                                                                \
    {.name = "price_usd",                                                                          \
     .kind = BB_KEY_DOUBLE,                                                                        \
     .unit = "USD",                                                                                \
     .minimum = 0.0,                                                                               \
     .maximum = 1e12,                                                                              \
     .exclusive_minimum = true,                                                                    \
     .offset = offsetof(type, price.price_usd),                                                    \
     .optional = true,                                                                             \
     .meaning = "Price of the computing machine, for cost_usd."},                                  \
        {.name = "lifetime_years",                                                                 \
         .kind = BB_KEY_DOUBLE,                                                                    \
         .unit = "a",                                                                              \
         .minimum = 0.0,                                                                           \
         .maximum = 100.0,                                                                         \
         .exclusive_minimum = true,                                                                \
         .offset = offsetof(type, price.lifetime_years),                                           \
         .default_text = "5.0",                                                                    \
         .meaning = "Depreciation time of the price in years of continuous use."},                 \
    {                                                                                              \
        .name = "electricity_usd_per_kwh", .kind = BB_KEY_DOUBLE, .unit = "USD/kWh",               \
        .minimum = 0.0, .maximum = 1e3, .offset = offsetof(type, price.electricity_usd_per_kwh),   \
        .optional = true, .meaning = "Adds the energy counted by run --energy to cost_usd."        \
    }

/// Struct with only the keys of the price, for experiments without other keys of `machine:`.
typedef struct bb_machine_price_config {
    bb_machine_price price;
} bb_machine_price_config;

extern const bb_schema bb_machine_price_schema;

enum { BB_STUDY_PIPELINES = 64 };

/// Properties of a pipeline needed by the rules.
typedef struct bb_pipeline_facts {
    const char *name;
    bool full_precision; ///< fp64 throughout: suitable as the reference
} bb_pipeline_facts;

/// Index of the reference pipeline: the one called `reference`, else the first.
bb_index bb_study_reference(const bb_pipeline_facts *pipelines, bb_index count);

/// Checks the rules for `pipelines:`: unique, non-empty and printable names, a reference in full
/// precision, at most BB_STUDY_PIPELINES items. `rule` describes full precision. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_study_check_pipelines(const bb_pipeline_facts *pipelines, bb_index count,
                                              const char *rule, const bb_config *config,
                                              bb_problems *problems);

/// Converts the result of a check of the physics or of a solver, whose message starts with the
/// key's path ("guide_stars[3].magnitude is missing"): BB_INVALID becomes a problem at that key,
/// other errors are returned. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_study_check_rules(bb_status rules, const bb_config *config,
                                          bb_problems *problems);

/// Adds a problem if `refused`. Its message starts with the path of a key, which gives its place.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_study_refuse(bool refused, const bb_config *config, bb_problems *problems,
                                     const char *format, ...) BB_PRINTF(4, 5);

/// Adds the place of a key to the message of a run or plan that failed on a file named by the study
/// ("ao.yaml:12:15: mirrors[1].influence: ..."). Other failures are returned unchanged. Errors:
/// `status`, or BB_MEMORY.
BB_CHECKED bb_status bb_study_place_failure(bb_status status, const bb_config *config);

#endif
