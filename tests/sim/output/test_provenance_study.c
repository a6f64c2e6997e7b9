// SPDX-License-Identifier: Apache-2.0
//
// /study: names of a study's keys, absent keys, and axes of lists and records.
#include "sim/output/provenance.h"
#include "sim/run/experiment.h"
#include "tests/sim/fixture.h"

typedef struct layer {
    double height_m;
    bb_list shares; // of double
} layer;

typedef struct air {
    double r0_m;
    bb_list layers;
} air;

typedef struct pipeline {
    const char *name;
    int storage;
    bb_index bits;
    bb_list trials; // of layer
} pipeline;

typedef struct toy {
    double length_m, unset_m;
    bb_index count;
    bool fast;
    const char *file;
    bb_list waves, words, fields;
    air air, other;
    bb_list pipelines;
} toy;

static const char *const storages[] = {"fp32", "bfp", NULL};

static const bb_key layer_keys[] = {
    {.name = "height_m",
     .kind = BB_KEY_DOUBLE,
     .unit = "m",
     .offset = offsetof(layer, height_m),
     .meaning = "Height of a layer."},
    {.name = "shares",
     .kind = BB_KEY_DOUBLES,
     .unit = "1",
     .offset = offsetof(layer, shares),
     .optional = true},
};
static const bb_schema layer_schema = BB_SCHEMA("layers", layer, layer_keys);
static const bb_key air_keys[] = {
    {.name = "r0_m", .kind = BB_KEY_DOUBLE, .unit = "m", .offset = offsetof(air, r0_m)},
    {.name = "layers",
     .kind = BB_KEY_RECORDS,
     .schema = &layer_schema,
     .offset = offsetof(air, layers),
     .optional = true},
};
static const bb_schema air_schema = BB_SCHEMA("air", air, air_keys);
static const bb_key pipeline_keys[] = {
    {.name = "name", .kind = BB_KEY_TEXT, .offset = offsetof(pipeline, name)},
    {.name = "storage",
     .kind = BB_KEY_CHOICE,
     .choices = storages,
     .offset = offsetof(pipeline, storage),
     .optional = true},
    {.name = "bits",
     .kind = BB_KEY_INTEGER,
     .unit = "bit",
     .offset = offsetof(pipeline, bits),
     .optional = true},
    {.name = "trials",
     .kind = BB_KEY_RECORDS,
     .schema = &layer_schema,
     .offset = offsetof(pipeline, trials),
     .optional = true},
};
static const bb_schema pipeline_schema = BB_SCHEMA("pipelines", pipeline, pipeline_keys);
static const bb_key toy_keys[] = {
    {.name = "length_m",
     .kind = BB_KEY_DOUBLE,
     .unit = "m",
     .offset = offsetof(toy, length_m),
     .meaning = "Length of the toy."},
    {.name = "unset_m", .kind = BB_KEY_DOUBLE, .offset = offsetof(toy, unset_m), .optional = true},
    {.name = "count", .kind = BB_KEY_INTEGER, .offset = offsetof(toy, count)},
    {.name = "fast", .kind = BB_KEY_BOOLEAN, .offset = offsetof(toy, fast)},
    {.name = "file", .kind = BB_KEY_PATH, .offset = offsetof(toy, file)},
    {.name = "waves", .kind = BB_KEY_DOUBLES, .unit = "um", .offset = offsetof(toy, waves)},
    {.name = "words", .kind = BB_KEY_CHOICES, .choices = storages, .offset = offsetof(toy, words)},
    {.name = "fields",
     .kind = BB_KEY_INTEGERS,
     .offset = offsetof(toy, fields),
     .accepts_all = true,
     .default_text = "all"},
    {.name = "air", .kind = BB_KEY_GROUP, .schema = &air_schema, .offset = offsetof(toy, air)},
    {.name = "other", .kind = BB_KEY_GROUP, .schema = &air_schema, .offset = offsetof(toy, other)},
    {.name = "pipelines",
     .kind = BB_KEY_RECORDS,
     .schema = &pipeline_schema,
     .offset = offsetof(toy, pipelines)},
};
static const bb_schema toy_schema = BB_SCHEMA("toy", toy, toy_keys);

static double waves[] = {2.2, 1.65};
static int words[] = {1};
static double shares[] = {0.25, 0.75};
static layer air_layers[] = {{0.0, {shares, 2}}, {5000.0, {shares, 1}}};
static layer trial_layers[] = {{1.0, {NULL, 0}}, {2.0, {NULL, 0}}};
static pipeline pipelines[] = {{"reference", 0, BB_INTEGER_UNSET, {NULL, 0}},
                               {"small", -1, 8, {trial_layers, 2}},
                               {"one", 1, 4, {trial_layers, 1}}};
static const toy study = {.length_m = 2.5,
                          .unset_m = NAN,
                          .count = 7,
                          .fast = true,
                          .file = "/a/rows.h5",
                          .waves = {waves, 2},
                          .words = {words, 1},
                          .fields = {NULL, BB_LIST_ALL},
                          .air = {0.15, {air_layers, 2}},
                          .other = {NAN, {NULL, 0}},
                          .pipelines = {pipelines, 3}};

static bb_results *publish(void)
{
    bb_results *results = empty_results();
    check_ok(bb_provenance_study(&toy_schema, &study, results));
    return results;
}

static const bb_dataset *find(const bb_results *results, const char *name)
{
    return dataset_in(results, "study", name);
}

TEST(keys_are_numbers_and_texts)
{
    autoptr(bb_results) results = publish();
    const bb_dataset *length = find(results, "length_m");
    assert_true(length->rank == 0 && length->numbers[0] == 2.5);
    assert_string_equal(length->unit, "m");
    assert_string_equal(length->long_name, "Length of the toy.");
    assert_string_equal(bb_results_note_text(results, "study/air_r0_m", "key"), "air.r0_m");
    assert_true(find(results, "count")->numbers[0] == 7.0);
    assert_true(find(results, "fast")->numbers[0] == 1.0);
    assert_string_equal(find(results, "file")->texts[0], "/a/rows.h5");
    assert_true(find(results, "air_r0_m")->numbers[0] == 0.15);
    // Unset keys are absent, as are groups with only unset keys.
    assert_null(bb_results_find(results, "study/unset_m"));
    assert_null(bb_results_find(results, "study/other_r0_m"));
    assert_null(bb_results_find(results, "study/other_layer"));
}

TEST(lists_are_axes)
{
    autoptr(bb_results) results = publish();
    const bb_dataset *list = find(results, "waves");
    assert_true(list->is_axis && list->count == 2 && list->numbers[1] == 1.65);
    assert_string_equal(list->unit, "um");
    assert_string_equal(find(results, "words")->texts[0], "bfp");
    assert_true(find(results, "words")->is_axis);
    const bb_dataset *fields = find(results, "fields");
    assert_true(fields->rank == 0 && fields->is_text);
    assert_string_equal(fields->texts[0], "all");
}

TEST(records_stand_along_axes)
{
    autoptr(bb_results) results = publish();
    const bb_dataset *heights = find(results, "air_layer_height_m");
    assert_true(heights->rank == 1 && heights->numbers[1] == 5000.0);
    assert_string_equal(heights->axes[0], "air_layer");
    assert_true(find(results, "air_layer")->is_axis && !find(results, "air_layer")->is_text);
    assert_string_equal(bb_results_note_text(results, "study/air_layer_height_m", "key"),
                        "air.layers.N.height_m");
    // A list in a record has an axis of items; missing items are NaN.
    const bb_dataset *part = find(results, "air_layer_shares");
    assert_true(part->rank == 2 && part->shape[0] == 2 && part->shape[1] == 2);
    assert_string_equal(part->axes[1], "air_layer_shares_item");
    assert_true(part->numbers[1] == 0.75 && part->numbers[2] == 0.25 && isnan(part->numbers[3]));
    const bb_dataset *names = find(results, "pipeline");
    assert_true(names->is_axis && names->count == 3);
    assert_string_equal(names->texts[1], "small");
    assert_null(bb_results_find(results, "study/pipeline_name"));
    const bb_dataset *storage = find(results, "pipeline_storage");
    assert_string_equal(storage->texts[0], "fp32");
    assert_string_equal(storage->texts[1], "");
    const bb_dataset *bits = find(results, "pipeline_bits");
    assert_true(isnan(bits->numbers[0]) && bits->numbers[1] == 8.0);
    // Records in records: the largest number, NaN for missing ones.
    const bb_dataset *trials = find(results, "pipeline_trial_height_m");
    assert_true(trials->rank == 2 && trials->shape[0] == 3 && trials->shape[1] == 2);
    assert_true(isnan(trials->numbers[0]) && trials->numbers[3] == 2.0 &&
                trials->numbers[4] == 1.0 && isnan(trials->numbers[5]));
    assert_string_equal(trials->axes[1], "pipeline_trial");
    assert_int_equal(find(results, "pipeline_trial")->count, 2);
    assert_null(bb_results_find(results, "study/pipeline_trial_shares"));
}

TEST(digests_do_not_see_it_and_a_table_declares_it)
{
    char before[BB_DIGEST_BYTES];
    char after[BB_DIGEST_BYTES];
    autoptr(bb_results) results = empty_results();
    check_ok(results_values(results, "results/total", "1", "a value", "", &study.length_m));
    check_ok(bb_results_digest(results, false, before));
    check_ok(bb_provenance_study(&toy_schema, &study, results));
    check_ok(bb_results_digest(results, false, after));
    assert_string_equal(before, after);
    for (bb_index i = 1; i < bb_results_count(results); ++i) {
        const bb_dataset *dataset = bb_results_dataset(results, i);
        assert_non_null(output_row(&bb_provenance_study_outputs, dataset));
    }
}

// Names of all datasets that a schema can give, by the rule of the outputs page.
typedef struct name_list {
    char names[1024][160];
    int count;
} name_list;

static void take_name(name_list *list, const char *name)
{
    for (int i = 0; i < list->count; ++i) {
        if (strcmp(list->names[i], name) == 0) {
            print_error("two keys are called %s\n", name);
            fail();
        }
    }
    assert_true(list->count < 1024);
    (void)snprintf(list->names[list->count++], sizeof list->names[0], "%s", name);
}

static void take_schema(name_list *list, const bb_schema *schema, const char *prefix)
{
    for (bb_index i = 0; i < schema->key_count; ++i) {
        const bb_key *key = &schema->keys[i];
        char name[120];
        char inner[130];
        int length = snprintf(name, sizeof name, "%s%s", prefix, key->name);
        assert_true(length < (int)sizeof name);
        if (key->kind == BB_KEY_RECORDS && name[length - 1] == 's') {
            name[length - 1] = '\0';
        }
        (void)snprintf(inner, sizeof inner, "%s_", name);
        if (key->kind != BB_KEY_GROUP) {
            take_name(list, name);
        }
        if (key->kind == BB_KEY_GROUP || key->kind == BB_KEY_RECORDS) {
            take_schema(list, key->schema, inner);
        } else if (key->kind == BB_KEY_DOUBLES || key->kind == BB_KEY_INTEGERS ||
                   key->kind == BB_KEY_CHOICES) {
            (void)snprintf(inner, sizeof inner, "%s_item", name);
            take_name(list, inner);
        }
    }
}

TEST(no_two_keys_of_an_experiment_have_one_name)
{
    static name_list list;
    for (bb_index e = 0; e < bb_experiments.count; ++e) {
        list.count = 0;
        take_schema(&list, bb_experiments.rows[e]->schema, "");
        assert_true(list.count > 30);
    }
}
