// SPDX-License-Identifier: Apache-2.0
//
// Keys that replace one another: by an override, and in a file over its base.
#include "core/memory.h"
#include "sim/ao/ao_study.h"
#include "sim/config/binding.h"
#include "sim/run/experiment.h"
#include "tests/sim/fixture.h"

#include <string.h>

static const char small[] = BB_SOURCE_DIR "/tests/configs/small/";

static void write_study(const char *name, const char *base, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "base: %s%s\n%s\n", strcmp(base, "ao.yaml") == 0 ? small : "", base,
                        text) > 0);
    assert_int_equal(fclose(file), 0);
}

static bb_config *loaded(const char *path, const char *const *overrides, bb_index count)
{
    bb_problems problems = {0};
    bb_config *config = NULL;
    if (bb_experiment_load(&bb_experiments, path, overrides, count, &problems, &config) != BB_OK) {
        print_error("%s\n%s", bb_status_message(), bb_text_string(&problems.lines));
        fail();
    }
    return config;
}

static const bb_ao_study *study_of(const bb_config *config)
{
    return bb_config_study(config);
}

TEST(an_override_replaces_the_alternatives_of_its_key)
{
    write_study("r0.yaml", "ao.yaml",
                "atmosphere: {r0_m: 0.15}\n"
                "pipelines:\n"
                "  - {name: reference, arithmetic: dp}\n"
                "  - {name: a, arithmetic: sp, slopes: fp16}\n");
    const char *const overrides[] = {
        "atmosphere.seeing_arcsec=0.8",
        "atmosphere.layers=[{height_m: 30.0, strength: 28.5}, {height_m: 9e3, strength: 2.0}]",
        "pipelines.a.slopes.bits=8"};
    bb_config *config = loaded("r0.yaml", overrides, 3);
    const bb_factor_pipeline *pipelines = study_of(config)->pipelines.items;
    assert_true(study_of(config)->atmosphere.seeing_arcsec == 0.8);
    assert_true(isnan(study_of(config)->atmosphere.r0_m));
    assert_int_equal(study_of(config)->atmosphere.profile, -1);
    assert_int_equal(study_of(config)->atmosphere.layers.count, 2);
    assert_int_equal(pipelines[1].slopes.bits, 8);
    assert_int_equal(pipelines[1].slopes.format, -1);
    bb_config_destroy(&config);
    assert_int_equal(bb_memory_blocks(), 0);
}

// The same for axes of a sweep, where the last one would otherwise apply to all points.
TEST(two_overrides_do_not_replace_one_another)
{
    autorelease(bb_problems) problems = {0};
    bb_config *config = NULL;
    const char *const overrides[] = {"atmosphere.r0_m=0.1", "atmosphere.seeing_arcsec=0.8"};
    write_study("one.yaml", "ao.yaml", "title: one");
    check_fails(bb_experiment_load(&bb_experiments, "one.yaml", overrides, 2, &problems, &config),
                BB_INVALID, "one.yaml");
    assert_non_null(strstr(bb_text_string(&problems.lines), "seeing_arcsec = 0.8: r0_m"));
}

TEST(a_file_replaces_the_alternatives_of_its_bases)
{
    write_study("deep.yaml", "ao.yaml", "atmosphere: {r0_m: 0.15}");
    write_study("middle.yaml", "deep.yaml", "atmosphere: {seeing_arcsec: 0.8}");
    write_study("top.yaml", "middle.yaml", "title: over two bases");
    autoptr(bb_config) config = loaded("top.yaml", NULL, 0);
    assert_true(study_of(config)->atmosphere.seeing_arcsec == 0.8);
    assert_true(isnan(study_of(config)->atmosphere.r0_m));
    bb_config_destroy(&config);
    write_study("again.yaml", "middle.yaml", "atmosphere: {r0_m: 0.2}");
    config = loaded("again.yaml", NULL, 0);
    assert_true(study_of(config)->atmosphere.r0_m == 0.2);
    assert_true(isnan(study_of(config)->atmosphere.seeing_arcsec));
}

TEST(alternatives_of_one_file_are_refused)
{
    autorelease(bb_problems) problems = {0};
    bb_config *config = NULL;
    write_study("both.yaml", "ao.yaml", "atmosphere: {r0_m: 0.15, seeing_arcsec: 0.8}");
    check_fails(bb_experiment_load(&bb_experiments, "both.yaml", NULL, 0, &problems, &config),
                BB_INVALID, "both.yaml");
    assert_non_null(strstr(bb_text_string(&problems.lines), "seeing_arcsec = 0.8: r0_m"));
}

static bb_index check_keys(const bb_schema *schema)
{
    bb_index count = 0;
    for (bb_index k = 0; k < schema->key_count; ++k) {
        const bb_key *key = &schema->keys[k];
        for (int i = 0; i < BB_KEY_REPLACES && key->replaces[i] != NULL; ++i, ++count) {
            if (bb_binding_key(schema, key->replaces[i]) == NULL ||
                strcmp(key->name, key->replaces[i]) == 0) {
                print_error("%s of %s replaces '%s'\n", key->name, schema->name, key->replaces[i]);
                fail();
            }
        }
        count += key->schema == NULL ? 0 : check_keys(key->schema);
    }
    return count;
}

TEST(tables_name_alternatives_that_they_have)
{
    for (bb_index i = 0; i < bb_experiments.count; ++i) {
        const bb_experiment *row = bb_experiments.rows[i];
        const bb_index least = strcmp(row->name, "ao") == 0       ? 15
                               : strcmp(row->name, "fringe") == 0 ? 14
                                                                  : 0;
        assert_true(check_keys(row->schema) >= least);
    }
}

TEST_GROUP(.has_folder = true);
