// SPDX-License-Identifier: Apache-2.0
//
// Keys and rules common to the studies of all experiments: title, seed, device, price of the
// machine, and rules on pipelines.
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

/// First rows of every study's table; `type` has a bb_study called `common`.
#define BB_STUDY_KEYS(type)                                                                        \
    {.name = "experiment",                                                                         \
     .kind = BB_KEY_TEXT,                                                                          \
     .offset = offsetof(type, common.experiment),                                                  \
     .meaning = "Name of the experiment."},                                                        \
        {.name = "title",                                                                          \
         .kind = BB_KEY_TEXT,                                                                      \
         .offset = offsetof(type, common.title),                                                   \
         .default_text = "\"\"",                                                                   \
         .meaning = "A line for the reader of the results."},                                      \
        {.name = "seed",                                                                           \
         .kind = BB_KEY_INTEGER,                                                                   \
         .offset = offsetof(type, common.seed),                                                    \
         .minimum = 0.0,                                                                           \
         .maximum = 9007199254740992.0,                                                            \
         .default_text = "1",                                                                      \
         .meaning = "Of every random stream; the word random draws one and records it."},          \
    {                                                                                              \
        .name = "device", .kind = BB_KEY_CHOICE, .offset = offsetof(type, common.device),          \
        .choices = bb_device_names, .default_text = "auto",                                        \
        .meaning = "Device of pipelines without a device of their own; auto prints its choice."    \
    }

/// Keys of `machine:` in every experiment; NaN where they are not given.
typedef struct bb_machine_price {
    double price_usd, lifetime_years, electricity_usd_per_kwh;
} bb_machine_price;

/// Rows of a table whose struct has a bb_machine_price called `price`.
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
         .meaning = "Depreciation time of the price in years, in use all the time."},              \
    {                                                                                              \
        .name = "electricity_usd_per_kwh", .kind = BB_KEY_DOUBLE, .unit = "USD/kWh",               \
        .minimum = 0.0, .maximum = 1e3, .offset = offsetof(type, price.electricity_usd_per_kwh),   \
        .optional = true, .meaning = "Adds the energy counted by run --energy to cost_usd."        \
    }

/// A struct of those keys alone, for experiments without others of `machine:`.
typedef struct bb_machine_price_config {
    bb_machine_price price;
} bb_machine_price_config;

extern const bb_schema bb_machine_price_schema;

enum { BB_STUDY_PIPELINES = 64 };

/// What the rules need to know of a pipeline.
typedef struct bb_pipeline_facts {
    const char *name;
    bool full_precision; ///< fp64 throughout: fit to be the reference
} bb_pipeline_facts;

/// Index of the reference pipeline: the one called `reference`, else the first.
bb_index bb_study_reference(const bb_pipeline_facts *pipelines, bb_index count);

/// Holds the rules on `pipelines:`: names that are unique, not empty and printable, a reference in
/// full precision, at most BB_STUDY_PIPELINES of them. `rule` says what full precision is. Errors:
/// BB_MEMORY.
BB_CHECKED bb_status bb_study_check_pipelines(const bb_pipeline_facts *pipelines, bb_index count,
                                              const char *rule, const bb_config *config,
                                              bb_problems *problems);

/// Takes what a check of the physics or of a solver said, whose message begins with the key's path
/// ("guide_stars[3].magnitude is missing"): BB_INVALID becomes a problem at that key, another error
/// is returned. Errors: BB_MEMORY.
BB_CHECKED bb_status bb_study_check_rules(bb_status rules, const bb_config *config,
                                          bb_problems *problems);

/// Adds a problem where `refused`: its message begins with the path of its key, where it is placed.
/// Errors: BB_MEMORY.
BB_CHECKED bb_status bb_study_refuse(bool refused, const bb_config *config, bb_problems *problems,
                                     const char *format, ...) BB_PRINTF(4, 5);

/// Of a run or plan that failed on a file that the study names: the same failure, its message after
/// the place of the key that it begins with ("ao.yaml:12:15: mirrors[1].influence: ..."). Others
/// stay as they are. Errors: `status`, or BB_MEMORY.
BB_CHECKED bb_status bb_study_place_failure(bb_status status, const bb_config *config);

#endif
