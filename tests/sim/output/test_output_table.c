// SPDX-License-Identifier: Apache-2.0
//
// Declared results: tables published from records, refused, found again and listed.
#include "sim/output/output_table.h"
#include "tests/sim/fixture.h"

enum { RECORDS = 2, TARGETS = 3 };

typedef struct record {
    const char *name;
    double metres;
    const double *strehl; // [TARGETS]
    double part[TARGETS];
} record;

static const bb_output axis_rows[] = {
    {"target", "target", "1", .long_name = "index of the target"},
};
static const bb_output_table axes = {"/results, toy", NULL, "results", NULL, axis_rows, 1};

static const bb_output rows[] = {
    {"pipeline", "pipeline", NULL, "names", .member = offsetof(record, name)},
    {"length_nm", "pipeline", "nm", "a length", .note = "in full",
     .member = offsetof(record, metres), .scale = 1e9},
    {"strehl", "pipeline, target", "<of truth>", "Strehl ratio", .member = offsetof(record, strehl),
     .measured = true},
    {"part", "pipeline, target", "1", "a part", .member = offsetof(record, part), .embedded = true,
     .coordinate = true},
};
static const bb_output_table table = {"/results, toy", NULL, "results",
                                      "pipeline",      rows, sizeof rows / sizeof *rows};

typedef struct single {
    const double *heights; // [count]
    bb_index count;
    const double *optional;
    double sum;
} single;

static const bb_output single_rows[] = {
    {"height", "height", "m", "heights", .member = offsetof(single, heights),
     .count = offsetof(single, count)},
    {"layer", "layer", "1", "index of the layer", .count = offsetof(single, count),
     .indices = true},
    {"optional_<p>", "height", "1", "left out where there is none",
     .member = offsetof(single, optional)},
    {"sum", "", "m", "their sum", .member = offsetof(single, sum)},
};
static const bb_output_table singles = {"/layers", "With layers:", "layers", NULL, single_rows, 4};

static const char *const direction_names[] = {"x", "y"};
static const char *const unit_names[] = {"nm", "ppm"};
static const bb_output direction_rows[] = {
    {"step", "step", "1", .long_name = "index of the step", .indices = true},
    {"direction", "direction", NULL, "of an error", .note = "on the wafer",
     BB_OUTPUT_NAMES(direction_names)},
    {"unit", "direction", NULL, .long_name = "its unit", BB_OUTPUT_NAMES(unit_names)},
    {"error", "step, direction", "nm", .long_name = "an error", .embedded = true},
};
static const bb_output_table directions = {
    .title = "/steps", .group = "steps", .axes = "step", BB_OUTPUT_ROWS(direction_rows)};

static const bb_output index_rows[] = {
    {"layer", "layer", "1", .long_name = "index", .count = offsetof(single, count),
     .indices = true},
};
static const bb_output_table indices = {
    .title = "/layers", .group = "layers", BB_OUTPUT_ROWS(index_rows)};

static const double strehls[TARGETS] = {0.5, 0.25, 0.125};

static bb_results *publish_toy(void)
{
    bb_results *results = NULL;
    const bb_output_fill fill = {.unit = "arcsec^2"};
    const record records[RECORDS] = {{"a", 2e-9, strehls, {1, 2, 3}}, {"b", NAN, NULL, {4, 5, 6}}};
    check_ok(bb_results_create(&results));
    check_ok(bb_output_table_add_axis(&axes, "target", TARGETS, NULL, NULL, results));
    check_ok(
        bb_output_table_publish_records(&table, records, sizeof *records, RECORDS, &fill, results));
    return results;
}

TEST(records_become_columns)
{
    autoptr(bb_results) results = publish_toy();
    const bb_dataset *targets = bb_results_find(results, "results/target");
    assert_true(targets->is_axis && targets->numbers[2] == 2.0);
    assert_string_equal(bb_results_find(results, "results/pipeline")->texts[1], "b");
    const bb_dataset *length = bb_results_find(results, "results/length_nm");
    assert_true(length->numbers[0] == 1e9 * 2e-9 && isnan(length->numbers[1]));
    assert_false(length->measured);
    const bb_dataset *strehl = bb_results_find(results, "results/strehl");
    assert_int_equal(strehl->rank, 2);
    assert_string_equal(strehl->unit, "arcsec^2");
    assert_true(strehl->measured);
    assert_true(strehl->numbers[2] == 0.125 && isnan(strehl->numbers[TARGETS]));
    const bb_dataset *part = bb_results_find(results, "results/part");
    assert_true(part->numbers[2] == 3.0 && part->numbers[TARGETS] == 4.0);
    assert_true(part->is_coordinate && !strehl->is_coordinate);
}

TEST(a_single_record_leaves_out_what_it_has_not)
{
    const double heights[] = {0.0, 5000.0};
    const bb_output_fill fill = {.name = "hp1"};
    single layers = {.heights = heights, .count = 2, .sum = 5000.0};
    autoptr(bb_results) results = empty_results();
    check_ok(bb_output_table_publish(&singles, &layers, &fill, results));
    assert_int_equal(bb_results_find(results, "layers/height")->count, 2);
    assert_true(bb_results_find(results, "layers/layer")->numbers[1] == 1.0);
    assert_null(bb_results_find(results, "layers/optional_hp1"));
    assert_true(bb_results_find(results, "layers/sum")->numbers[0] == 5000.0);
    check_ok(bb_output_table_add(&singles, "optional_<p>", heights, &fill, results));
    assert_true(bb_results_find(results, "layers/optional_hp1")->numbers[1] == 5000.0);
}

TEST(indices_and_names_need_no_member)
{
    const double errors[3][2] = {{1, 2}, {3, 4}, {5, 6}};
    const single layers = {.count = 4};
    autoptr(bb_results) results = empty_results();
    check_ok(
        bb_output_table_publish_records(&directions, errors, sizeof *errors, 3, NULL, results));
    check_ok(bb_output_table_publish(&indices, &layers, NULL, results));
    const bb_dataset *steps = bb_results_find(results, "steps/step");
    assert_true(steps->is_axis && steps->count == 3 && steps->numbers[2] == 2.0);
    const bb_dataset *names = bb_results_find(results, "steps/direction");
    assert_true(names->is_axis && names->count == 2);
    assert_string_equal(names->texts[1], "y");
    assert_string_equal(bb_results_find(results, "steps/unit")->texts[1], "ppm");
    assert_true(bb_results_find(results, "steps/error")->numbers[5] == 6.0);
    const bb_dataset *layer = bb_results_find(results, "layers/layer");
    assert_true(layer->count == 4 && layer->numbers[3] == 3.0);
}

TEST(what_is_not_declared_is_refused)
{
    autoptr(bb_results) results = publish_toy();
    const record one = {.name = "a"};
    const bb_output stray = {"stray", "target", "1", .long_name = "not over pipelines"};
    const bb_output_table wrong = {"/results, toy", NULL, "results", "pipeline", &stray, 1};
    check_fails(bb_output_table_add(&table, "phase", strehls, NULL, results), BB_INTERNAL,
                "no output 'phase' is declared for /results, toy");
    check_fails(bb_output_table_add(&table, "strehl", strehls, NULL, results), BB_INTERNAL,
                "no value for <of truth>");
    check_fails(bb_output_table_publish(&table, &one, NULL, results), BB_INTERNAL, "one record");
    check_fails(bb_output_table_publish_records(&axes, &one, sizeof one, 1, NULL, results),
                BB_INTERNAL, "which has no axis");
    check_fails(bb_output_table_publish_records(&wrong, &one, sizeof one, 1, NULL, results),
                BB_INTERNAL, "'stray' over 'target'");
}

TEST(datasets_find_their_rows)
{
    autoptr(bb_results) results = publish_toy();
    for (bb_index i = 0; i < bb_results_count(results); ++i) {
        const bb_dataset *dataset = bb_results_dataset(results, i);
        const bb_output *row = output_row(i == 0 ? &axes : &table, dataset);
        assert_non_null(row);
        assert_string_equal(row->name, dataset->name);
        assert_null(output_row(&singles, dataset));
    }
    bb_dataset changed = *bb_results_find(results, "results/length_nm");
    char unit[] = "m";
    changed.unit = unit;
    assert_null(output_row(&table, &changed));
}

TEST(the_list_is_markdown)
{
    const bb_output_table *const tables[] = {&axes, &table, &singles, &directions};
    autorelease(bb_text) text = {0};
    check_ok(bb_output_table_list(tables, 4, &text));
    assert_string_equal(bb_text_string(&text),
                        "## /results, toy\n\n"
                        "| dataset | dimensions | unit | meaning |\n|---|---|---|---|\n"
                        "| `target` | target | 1 | axis: index of the target |\n"
                        "| `pipeline` | pipeline | text | axis: names |\n"
                        "| `length_nm` | pipeline | nm | a length; in full |\n"
                        "| `strehl` | pipeline, target | of truth | Strehl ratio; measured |\n"
                        "| `part` | pipeline, target | 1 | coordinate: a part |\n"
                        "\n## /layers\n\nWith layers:\n\n"
                        "| dataset | dimensions | unit | meaning |\n|---|---|---|---|\n"
                        "| `height` | height | m | axis: heights |\n"
                        "| `layer` | layer | 1 | axis: index of the layer |\n"
                        "| `optional_<p>` | height | 1 | left out where there is none |\n"
                        "| `sum` | | m | their sum |\n"
                        "\n## /steps\n\n"
                        "| dataset | dimensions | unit | meaning |\n|---|---|---|---|\n"
                        "| `step` | step | 1 | axis: index of the step |\n"
                        "| `direction` | direction | text | axis: of an error: `x`, `y`; on the "
                        "wafer |\n"
                        "| `unit` | direction | text | its unit |\n"
                        "| `error` | step, direction | nm | an error |\n");
}
