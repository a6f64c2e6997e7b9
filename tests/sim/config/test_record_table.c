// SPDX-License-Identifier: Apache-2.0
//
// Records from CSV files: same study as the explicit list, places in messages, and the recorded
// tables.
#include "sim/output/provenance.h"
#include "sim/run/experiment.h"
#include "sim/wafer/wafer_study.h"
#include "tests/sim/driver.h"

// Writes `lines` after the small wafer study and scan.fields [0].
static void put_study(const char *name, const char *lines)
{
    char text[2000];
    (void)snprintf(text, sizeof text, "base: %s\nscan:\n  fields: [0]\n%s", CONFIG_WAFER_SMALL,
                   lines);
    write_text(name, text);
}

static bb_status load(const char *path, const char *override, bb_problems *problems,
                      bb_config **out)
{
    return bb_experiment_load(&bb_experiments, path, &override, override == NULL ? 0 : 1, problems,
                              out);
}

static bb_config *loaded(const char *path, const char *override)
{
    bb_problems problems = {0};
    bb_config *config = NULL;
    if (load(path, override, &problems, &config) != BB_OK) {
        print_error("%s\n%s", bb_status_message(), bb_text_string(&problems.lines));
        fail();
    }
    return config;
}

static void check_refused(const char *path, const char *expected)
{
    autorelease(bb_problems) problems = {0};
    bb_config *config = NULL;
    assert_int_equal(load(path, NULL, &problems, &config), BB_INVALID);
    if (strcmp(bb_text_string(&problems.lines), expected) != 0) {
        print_error("got %sexpected %s", bb_text_string(&problems.lines), expected);
        fail();
    }
}

static const char table[] = "\xef\xbb\xbf# two fields\r\n"
                            "order,x_mm,y_mm,direction,dose_mj_per_cm2\r\n"
                            "\r\n"
                            "2,\"-26.5\", 1e1,-1,\r\n"
                            "1,26.5,-33,up,41.25\r\n";
static const char german[] = "\xef\xbb\xbforder;x_mm;y_mm;direction;dose_mj_per_cm2\r\n"
                             "2;-26,5;10,0;-1;\r\n"
                             "1;26,5;-33;up;41,25\r\n";
static const char written[] =
    "  layout:\n"
    "    - {x_mm: -26.5, y_mm: 10.0, direction: \"-1\", order: 2}\n"
    "    - {x_mm: 26.5, y_mm: -33.0, dose_mj_per_cm2: 41.25, direction: up, order: 1}\n";

// Relative to the file that names it, or to the working folder for an override; the resolved copy
// needs no table and gives the same study.
TEST(a_table_is_the_list_written_out)
{
    assert_int_equal(system("mkdir -p studies/jobs"), 0);
    write_text("studies/jobs/a.csv", table);
    write_text("own.csv", table);
    write_text("german.csv", german);
    put_study("studies/table.yaml", "  layout: jobs/a.csv\n");
    put_study("plain.yaml", "");
    put_study("list.yaml", written);
    const struct {
        const char *path, *override, *name;
    } cases[] = {
        {"studies/table.yaml", NULL, "studies/jobs/a.csv"},
        {"plain.yaml", "scan.layout=own.csv", "own.csv"},
        {"plain.yaml", "scan.layout=german.csv", "german.csv"},
        {"resolved.yaml", NULL, NULL},
    };
    autorelease(bb_text) expected = {0};
    autoptr(bb_config) list = loaded("list.yaml", NULL);
    check_ok(bb_config_resolved(list, &expected));
    write_text("resolved.yaml", bb_text_string(&expected));
    assert_int_equal(bb_config_table_count(list), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        autorelease(bb_text) resolved = {0};
        autoptr(bb_config) config = loaded(cases[i].path, cases[i].override);
        check_ok(bb_config_resolved(config, &resolved));
        assert_string_equal(bb_text_string(&resolved), bb_text_string(&expected));
        assert_int_equal(bb_config_table_count(config), cases[i].name != NULL);
        if (cases[i].name != NULL) {
            assert_string_equal(bb_config_table_at(config, 0).name, cases[i].name);
            const bool by_commas = i < 2;
            assert_string_equal(bb_config_table_at(config, 0).text, by_commas ? table : german);
            const bb_place place = bb_config_place(config, "scan.layout.1.dose_mj_per_cm2");
            assert_string_equal(place.origin, cases[i].name);
            assert_int_equal(place.line, by_commas ? 5 : 3);
            assert_int_equal(place.column, 15);
        }
    }
}

TEST(what_is_wrong_is_said_at_its_place)
{
    const struct {
        const char *text, *expected;
    } cases[] = {
        {"x_mm,y_mn\n0,0\n",
         "t.csv:1:6: column y_mn: unknown (did you mean y_mm?); columns of layout: x_mm, y_mm, "
         "dose_mj_per_cm2, direction, order\n"
         "t.csv:1:1: column y_mm is missing; expected a number in [-225, 225] mm\n"},
        {"x_mm,y_mm\n", "t.csv:1:1: 0 rows, expected 1 to 4096\n"},
        {"x_mm\ty_mm\n0\t0\n", "study.yaml:4:11: layout: t.csv:1:5: columns separated by tabs, "
                               "expected commas or semicolons\n"},
        {"x_mm,y_mm,dose_mj_per_cm2\n26,0,#REF!\n0,0,45\n-26,0,#N/A\n",
         "t.csv:2:6: scan.layout.0.dose_mj_per_cm2 = #REF!: expected a number in [0, 1000] mJ/cm2\n"
         "t.csv:4:7: scan.layout.2.dose_mj_per_cm2 = #N/A: expected a number in [0, 1000] "
         "mJ/cm2\n"},
        {"x_mm,y_mm\n#N/A,0\n", "study.yaml:4:11: layout: t.csv:2:1: '#N/A' is not a value (a "
                                "comment starts with '# ')\n"},
        {"x_mm;y_mm\n-26,5;0\n13,0;0,0,5\n",
         "t.csv:3:6: scan.layout.1.y_mm = 0,0,5: expected a number in [-225, 225] mm\n"},
        {"x_mm,y_mm,direction\n0,nan,up\n30x,0,upp\n,300,down\n",
         "t.csv:2:3: scan.layout.0.y_mm = nan: expected a number in [-225, 225] mm\n"
         "t.csv:3:1: scan.layout.1.x_mm = 30x: expected a number in [-225, 225] mm (did you mean "
         "30?)\n"
         "t.csv:3:7: scan.layout.1.direction = upp: expected one of up, down, 1, +1, -1 (did you "
         "mean up?)\n"
         "t.csv:4:1: scan.layout.2.x_mm: missing; expected a number in [-225, 225] mm\n"
         "t.csv:4:2: scan.layout.2.y_mm = 300: expected a number in [-225, 225] mm\n"},
        {"# job\nx_mm,y_mm,order\n0,0,3\n30,0,1\n60,0,3\n",
         "t.csv:5:6: scan.layout.2.order: 3 is also that of scan.layout.0, expected each once\n"},
        {"x_mm,y_mm\n\n0,0\n 25,0\n",
         "t.csv:4:2: scan.layout.1.x_mm: the field at (25, 0) mm overlaps scan.layout.0 at (0, 0), "
         "expected centres 26 mm apart in x or 33 in y\n"},
        {"y_mm,x_mm\n0,0\n0,170\n",
         "t.csv:3:3: scan.layout.1.x_mm: the field at (170, 0) mm has 0 % of its area within "
         "usable_radius_mm = 147, expected over 5 %\n"},
    };
    put_study("study.yaml", "  layout: t.csv\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        write_text("t.csv", cases[i].text);
        check_refused("study.yaml", cases[i].expected);
    }
    put_study("study.yaml", "  dose_map: t.csv\n");
    write_text("t.csv", "x_mm,y_mm,relative_dose\n0,0,1\n 0,0,1\n");
    check_refused("study.yaml",
                  "t.csv:3:2: scan.dose_map.1.x_mm: the point at (0, 0) mm is given twice\n");
    put_study("study.yaml", "  layout: nowhere.csv\n");
    bb_problems problems = {0};
    bb_config *config = NULL;
    check_fails(load("study.yaml", NULL, &problems, &config), BB_IO, "'nowhere.csv': No such file");
}

// Names and contents of the tables that a run read.
TEST(results_keep_the_tables)
{
    write_text("a.csv", "x_mm,y_mm\n0,0\n");
    put_study("a.yaml", "  layout: a.csv\n");
    put_study("b.yaml", "  layout: [{x_mm: 0.0, y_mm: 0.0}]\n");
    for (int i = 0; i < 2; ++i) {
        autoptr(bb_config) config = loaded(i == 0 ? "a.yaml" : "b.yaml", NULL);
        char name[] = "bitbudget";
        char *const arguments[] = {name};
        autoptr(bb_results) results = empty_results();
        check_ok(bb_provenance_begin(results, config, bb_config_study(config), 1, arguments, 1));
        const bb_dataset *names = bb_results_find(results, "provenance/table_file");
        const bb_dataset *digests = bb_results_find(results, "provenance/table_digest");
        const bb_dataset *texts = bb_results_find(results, "provenance/table_as_read");
        if (i == 0) {
            assert_int_equal(names->count, 1);
            assert_string_equal(names->texts[0], "a.csv");
            assert_string_equal(texts->texts[0], "x_mm,y_mm\n0,0\n");
            // printf 'x_mm,y_mm\n0,0\n' | xxhsum -H2
            assert_string_equal(digests->texts[0], "6e2bdb2c9e6e36104543f6d2fced4c6f");
        } else {
            assert_null(names);
            assert_null(digests);
            assert_null(texts);
        }
    }
}

// The files recorded in a plan restore the study after its files are deleted.
TEST(kept_files_stand_for_tables)
{
    bb_problems problems = {0};
    autoptr(bb_config_base) base = NULL;
    bb_config_base *again = NULL;
    autoptr(bb_config) config = NULL;
    bb_config_file files[4];
    write_text("kept.csv", table);
    put_study("kept.yaml", "  layout: kept.csv\n");
    const bb_schema *schemas[] = {bb_experiments.rows[0]->schema};
    bb_config_request request = {.path = "kept.yaml", .schemas = schemas, .schema_count = 1};
    check_ok(bb_config_base_read(&request, &problems, &base));
    request.file_count = bb_config_base_file_count(base);
    assert_int_equal(request.file_count, 3);
    for (bb_index i = 0; i < request.file_count; ++i) {
        files[i] = bb_config_base_file(base, i);
    }
    assert_string_equal(files[2].name, "kept.csv");
    request.files = files;
    assert_int_equal(remove("kept.csv"), 0);
    check_ok(bb_config_base_read(&request, &problems, &again));
    const char *const override = "scan.layout.0.dose_mj_per_cm2=12.5";
    check_ok(bb_config_base_bind(again, &override, 1, &problems, &config));
    const bb_wafer_study *study = bb_config_study(config);
    const bb_field_place *places = study->scan.layout.items;
    assert_int_equal(study->scan.layout.count, 2);
    assert_true(places[0].dose_mj_per_cm2 == 12.5 && places[1].dose_mj_per_cm2 == 41.25);
    bb_config_base_destroy(&again);
    request.file_count = 2;
    check_fails(bb_config_base_read(&request, &problems, &again), BB_IO,
                "table 'kept.csv' is missing from the 2 recorded files");
}

TEST_GROUP(.has_folder = true);
