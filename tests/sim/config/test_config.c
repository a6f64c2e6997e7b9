// SPDX-License-Identifier: Apache-2.0
//
// Binding, defaults, overrides, bases, and the resolved copy, which reads back to the same struct.
#include "core/memory.h"
#include "core/random.h"
#include "precision/variant.h"
#include "sim/config/binding.h"
#include "sim/config/emission.h"
#include "tests/sim/fixture.h"
#include "tests/sim/toy.h"

#include <sys/wait.h>

static bb_status load(const char *path, const char *const *overrides, bb_index count,
                      bb_problems *problems, bb_config **out)
{
    const bb_schema *schemas[] = {&toy_schema};
    const bb_config_request request = {.path = path,
                                       .overrides = overrides,
                                       .override_count = count,
                                       .schemas = schemas,
                                       .schema_count = 1};
    return bb_config_load(&request, problems, out);
}

// Loads a valid configuration.
static bb_config *loaded(const char *path, const char *const *overrides, bb_index count)
{
    bb_problems problems = {0};
    bb_config *config = NULL;
    bb_status status = load(path, overrides, count, &problems, &config);
    if (status != BB_OK) {
        print_error("%s\n%s", bb_status_message(), bb_text_string(&problems.lines));
        fail();
    }
    return config;
}

static const char minimal[] = "experiment: toy\nrecords: [{name: a, grid: 5}]\n";

// Data files are relative to the file that names them, in a base to that base; those of the command
// line are relative to the working folder.
TEST(files_lie_beside_who_names_them)
{
    static const char *const override[] = {"file=own.h5"};
    assert_int_equal(system("mkdir -p studies/shared"), 0);
    write_text("studies/a.yaml",
               "experiment: toy\nfile: data/a.h5\nrecords: [{name: a, grid: 5}]\n");
    write_text("studies/shared/b.yaml",
               "experiment: toy\nfile: b.h5\nrecords: [{name: a, grid: 5}]\n");
    write_text("studies/c.yaml", "base: shared/b.yaml\n");
    write_text("studies/d.yaml", "base: shared/b.yaml\nfile: /else/where.h5\n");
    static const struct {
        const char *path, *file;
        bb_index overrides;
    } cases[] = {
        {"studies/a.yaml", "studies/data/a.h5", 0},
        {"studies/a.yaml", "own.h5", 1},
        {"studies/c.yaml", "studies/shared/b.h5", 0},
        {"studies/d.yaml", "/else/where.h5", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        autoptr(bb_config) config = loaded(cases[i].path, override, cases[i].overrides);
        const toy_study *toy = bb_config_study(config);
        assert_string_equal(toy->file, cases[i].file);
    }
}

// Byte order mark, written by some editors.
TEST(a_byte_order_mark_is_skipped)
{
    write_text("mark.yaml", "\xEF\xBB\xBF"
                            "experiment: toy\nsteps: 7\nrecords: [{name: a, grid: 5}]\n");
    autoptr(bb_config) config = loaded("mark.yaml", NULL, 0);
    const toy_study *toy = bb_config_study(config);
    assert_int_equal(toy->steps, 7);
}

TEST(defaults_fill_what_is_left_out)
{
    write_text("a.yaml", minimal);
    autoptr(bb_config) config = loaded("a.yaml", NULL, 0);
    const toy_study *study = bb_config_study(config);
    assert_string_equal(study->common.title, "");
    assert_int_equal(study->common.seed, 1);
    assert_int_equal(study->common.device, BB_DEVICE_AUTO);
    assert_true(study->length_m == 0.5);
    assert_true(isnan(study->optional_m));
    assert_true(study->steps == BB_INTEGER_UNSET);
    assert_true(study->flag);
    assert_int_equal(study->word, 2);
    assert_int_equal(study->numbers.count, 2);
    assert_true(((const double *)study->numbers.items)[1] == 2.2);
    assert_int_equal(study->integers.count, BB_LIST_ALL);
    assert_int_equal(study->words.count, 0);
    assert_int_equal(study->grid.rows, 4);
    assert_true(study->extra.columns == BB_INTEGER_UNSET);
    assert_int_equal(study->extra.rows, 7);
    const toy_record *record = study->records.items;
    assert_int_equal(record->grid.columns, 5);
    assert_int_equal(record->grid.rows, 7);
    assert_int_equal(record->device, -1);
}

TEST(overrides_apply_in_order)
{
    write_text("a.yaml", minimal);
    const char *const overrides[] = {
        "length_m=1.5",     "length_m=2.5",   "grid.columns=9", "records.0.grid.rows=2",
        "integers=[4, 5]",  "words=[\"on\"]", "flag=false",     "records.0.name=\"x: y\"",
        "extra.columns=11", "device=cuda"};
    autoptr(bb_config) config = loaded("a.yaml", overrides, 10);
    const toy_study *study = bb_config_study(config);
    const toy_record *record = study->records.items;
    assert_true(study->length_m == 2.5);
    assert_int_equal(study->grid.columns, 9);
    // The default of a group is replaced as a whole: rows is that of the grid's own table.
    assert_int_equal(study->grid.rows, 7);
    assert_int_equal(record->grid.columns, 5);
    assert_int_equal(record->grid.rows, 2);
    assert_int_equal(study->integers.count, 2);
    assert_int_equal(((const int *)study->words.items)[0], 0);
    assert_false(study->flag);
    assert_string_equal(record->name, "x: y");
    assert_int_equal(study->extra.columns, 11);
    assert_int_equal(study->common.device, BB_DEVICE_CUDA);
}

// dp, DP and fp64 are synonyms, as are sp, SP and fp32, whichever a key lists.
TEST(number_formats_have_synonyms)
{
    static const bb_key variant = {
        .name = "v", .kind = BB_KEY_CHOICE, .choices = bb_variant_names, .optional = true};
    static const bb_key format = {.name = "f",
                                  .kind = BB_KEY_CHOICE,
                                  .choices = bb_format_names,
                                  .offset = sizeof(int),
                                  .optional = true};
    static const struct {
        const char *word;
        int variant, format; // -1: refused
    } cases[] = {{"fp64", BB_VARIANT_DP, BB_FORMAT_FP64},
                 {"dp", BB_VARIANT_DP, BB_FORMAT_FP64},
                 {"SP", BB_VARIANT_SP, BB_FORMAT_FP32},
                 {"fp32", BB_VARIANT_SP, BB_FORMAT_FP32},
                 {"fp16", -1, BB_FORMAT_FP16},
                 {"hp1", BB_VARIANT_HP1, -1}};
    const bb_key keys[] = {variant, format};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; ++i) {
        const bb_key *key = &keys[i % 2];
        const int expected = i % 2 == 0 ? cases[i / 2].variant : cases[i / 2].format;
        const bb_schema schema = {"toy", 2 * sizeof(int), key, 1};
        autorelease(bb_arena) arena = {0};
        autorelease(bb_problems) problems = {0};
        bb_node word = {
            .kind = BB_NODE_SCALAR, .key = (char[]){key->name[0], '\0'}, .text = cases[i / 2].word};
        const bb_node map = {.kind = BB_NODE_MAP, .first = &word, .count = 1};
        int bound[2] = {-1, -1};
        check_ok(bb_binding_bind(&arena, &schema, &map, "", &problems, bound));
        assert_int_equal(problems.count, expected < 0);
        assert_true(expected < 0 || bound[i % 2] == expected);
    }
}

TEST(bases_merge_maps_and_replace_lists)
{
    assert_int_equal(system("mkdir -p lower/deeper"), 0);
    write_text("lower/deeper/root.yaml",
               "experiment: toy\ntitle: root\ngrid: {columns: 8, rows: 9}\n"
               "numbers: [1.0, 2.0, 3.0]\nrecords: [{name: a, grid: 5}]\n");
    write_text("lower/middle.yaml", "base: deeper/root.yaml\ngrid: {rows: 1}\nlength_m: 1.0\n");
    write_text("top.yaml", "base: lower/middle.yaml\nnumbers: [4.0]\nlength_m: 2.0\n");
    autoptr(bb_config) config = loaded("top.yaml", NULL, 0);
    const toy_study *study = bb_config_study(config);
    assert_string_equal(study->common.title, "root");
    assert_int_equal(study->grid.columns, 8);
    assert_int_equal(study->grid.rows, 1);
    assert_int_equal(study->numbers.count, 1);
    assert_true(study->length_m == 2.0);
    assert_int_equal(bb_config_file_count(config), 3);
    assert_string_equal(bb_config_file_at(config, 2).name, "lower/deeper/root.yaml");
    assert_int_equal(strncmp(bb_config_file_at(config, 1).text, "base: deeper", 12), 0);
    bb_place place = bb_config_place(config, "grid.columns");
    assert_string_equal(place.origin, "lower/deeper/root.yaml");
    assert_int_equal(place.line, 3);
}

TEST(files_that_cannot_be_read)
{
    autorelease(bb_problems) problems = {0};
    bb_config *config = NULL;
    check_fails(load("none.yaml", NULL, 0, &problems, &config), BB_IO, "'none.yaml'");
    check_fails(load(".", NULL, 0, &problems, &config), BB_IO, "not a regular file");
    write_text("b.yaml", "base: none.yaml\nexperiment: toy\n");
    check_fails(load("b.yaml", NULL, 0, &problems, &config), BB_IO, "'none.yaml'");
    FILE *file = fopen("nul.yaml", "w");
    assert_non_null(file);
    assert_int_equal(fwrite("a: 1\0b: 2\n", 1, 10, file), 10);
    assert_int_equal(fclose(file), 0);
    check_fails(load("nul.yaml", NULL, 0, &problems, &config), BB_INVALID, "NUL character");
    assert_int_equal(system("head -c 2000000 /dev/zero | tr '\\0' '#' > big.yaml"), 0);
    check_fails(load("big.yaml", NULL, 0, &problems, &config), BB_INVALID, "at most 1048576");
    assert_int_equal(system("(printf 'numbers: ['; yes 1, | head -n 20000; echo 1]) > many.yaml"),
                     0);
    check_fails(load("many.yaml", NULL, 0, &problems, &config), BB_INVALID, "1 problem");
    assert_non_null(strstr(problems.lines.data, "more than 10000 entries"));
}

TEST(a_random_seed_is_drawn_and_recorded)
{
    autorelease(bb_text) text = {0};
    char expected[40];
    write_text("a.yaml", minimal);
    const char *const overrides[] = {"seed=random"};
    autoptr(bb_config) config = loaded("a.yaml", overrides, 1);
    const toy_study *study = bb_config_study(config);
    assert_true(study->common.seed > 1);
    (void)snprintf(expected, sizeof expected, "\nseed: %td\n", study->common.seed);
    check_ok(bb_config_resolved(config, &text));
    assert_non_null(strstr(text.data, expected));
}

// Study with random values within the schema; lists are in the caller's buffers.
typedef struct random_study {
    toy_study study;
    double numbers[4];
    bb_index integers[4];
    int words[TOY_WORDS];
    toy_record records[3];
    char texts[4][12];
} random_study;

static uint32_t draw(uint64_t *index)
{
    uint32_t words[4];
    bb_random_words(3, BB_STREAM_SELF_TEST, (*index)++, words);
    return words[0];
}

static const char *draw_text(char *out, uint64_t *index)
{
    static const char alphabet[] = "ab 1:#'\"\\{}[],&*!|>%@`-.~\n\t\x01_yn";
    int length = 1 + (int)(draw(index) % 10);
    for (int i = 0; i < length; ++i) {
        out[i] = alphabet[draw(index) % (sizeof alphabet - 1)];
    }
    out[length] = '\0';
    return out;
}

static void draw_study(random_study *out, uint64_t *index)
{
    memset(out, 0, sizeof *out);
    toy_study *study = &out->study;
    study->common = (bb_study){"toy", draw_text(out->texts[3], index), draw(index),
                               (int)(draw(index) % (BB_DEVICE_AUTO + 1))};
    study->length_m = 5.0 * (1.0 + draw(index)) / 4294967296.0;
    study->optional_m =
        draw(index) % 2 == 0 ? NAN : ldexp(draw(index), (int)(draw(index) % 200) - 100);
    study->steps = draw(index) % 2 == 0 ? BB_INTEGER_UNSET : (bb_index)draw(index) - 100000;
    study->flag = draw(index) % 2 == 0;
    study->word = (int)(draw(index) % TOY_WORDS);
    study->numbers = (bb_list){out->numbers, draw(index) % 5};
    study->integers = (bb_list){out->integers, (bb_index)(draw(index) % 6) - 1};
    study->words = (bb_list){out->words, draw(index) % (TOY_WORDS + 1)};
    for (int i = 0; i < 4; ++i) {
        out->numbers[i] = draw(index) / 7.0 - 9.0;
        out->integers[i] = (bb_index)draw(index) - 5;
    }
    fill_array(out->words, TOY_WORDS, i, i);
    study->grid = (toy_grid){1 + draw(index) % 100, 1 + draw(index) % 100};
    study->extra = (toy_grid){draw(index) % 2 == 0 ? BB_INTEGER_UNSET : 5, 7};
    study->records = (bb_list){out->records, 1 + draw(index) % 3};
    for (int i = 0; i < 3; ++i) {
        out->records[i] = (toy_record){draw_text(out->texts[i], index),
                                       {1 + draw(index) % 100, 1 + draw(index) % 100},
                                       draw(index) * 1e-7,
                                       (int)(draw(index) % (BB_DEVICE_AUTO + 2)) - 1};
    }
}

static void compare_studies(const toy_study *got, const toy_study *expected)
{
    assert_string_equal(got->common.title, expected->common.title);
    assert_int_equal(got->common.seed, expected->common.seed);
    assert_int_equal(got->common.device, expected->common.device);
    assert_true(got->length_m == expected->length_m);
    assert_true(got->optional_m == expected->optional_m ||
                (isnan(got->optional_m) && isnan(expected->optional_m)));
    assert_true(got->steps == expected->steps && got->flag == expected->flag);
    assert_int_equal(got->word, expected->word);
    assert_int_equal(got->numbers.count, expected->numbers.count);
    for (bb_index i = 0; i < got->numbers.count; ++i) {
        assert_true(((const double *)got->numbers.items)[i] ==
                    ((const double *)expected->numbers.items)[i]);
    }
    assert_int_equal(got->integers.count, expected->integers.count);
    for (bb_index i = 0; i < got->integers.count; ++i) {
        assert_int_equal(((const bb_index *)got->integers.items)[i],
                         ((const bb_index *)expected->integers.items)[i]);
    }
    assert_int_equal(got->words.count, expected->words.count);
    assert_memory_equal(&got->grid, &expected->grid, sizeof got->grid);
    assert_memory_equal(&got->extra, &expected->extra, sizeof got->extra);
    assert_int_equal(got->records.count, expected->records.count);
    for (bb_index i = 0; i < got->records.count; ++i) {
        const toy_record *a = (const toy_record *)got->records.items + i;
        const toy_record *b = (const toy_record *)expected->records.items + i;
        assert_string_equal(a->name, b->name);
        assert_memory_equal(&a->grid, &b->grid, sizeof a->grid);
        assert_true(a->weight == b->weight && a->device == b->device);
    }
}

TEST(resolved_copies_read_back_to_the_same_struct)
{
    uint64_t index = 0;
    for (int round = 0; round < 500; ++round) {
        random_study drawn;
        autorelease(bb_text) text = {0};
        draw_study(&drawn, &index);
        bool comments = round % 2 == 1;
        check_ok(bb_emission_write(&toy_schema, &drawn.study, comments, &text));
        write_text("r.yaml", text.data);
        autoptr(bb_config) config = loaded("r.yaml", NULL, 0);
        compare_studies(bb_config_study(config), &drawn.study);
    }
}

// A group with an omitted inner group is retained, with defaults for unset keys.
TEST(groups_around_an_empty_one_are_resolved)
{
    bb_problems problems = {0};
    autoptr(bb_config) config = NULL;
    autorelease(bb_text) text = {0};
    check_ok(bb_experiment_load(&bb_experiments, BB_SOURCE_DIR "/configs/ao/learn.yaml", NULL, 0,
                                &problems, &config));
    check_ok(bb_config_resolved(config, &text));
    assert_non_null(strstr(text.data, "\nlearn:\n  source: frames\n"));
    assert_null(strstr(text.data, "covariance:"));
}

// PyYAML reads every number of a resolved copy as a number and every text as the same text.
TEST(pyyaml_reads_resolved_copies)
{
    static const char script[] =
        "import sys\n"
        "try:\n    import yaml\n"
        "except ImportError:\n    sys.exit(77)\n"
        "d = yaml.safe_load(open('r.yaml'))\n"
        "assert isinstance(d['length_m'], float), d\n"
        "assert isinstance(d['title'], str) and isinstance(d['seed'], int), d\n"
        "assert all(isinstance(x, float) for x in d['numbers']), d\n"
        "assert isinstance(d['flag'], bool) and isinstance(d['word'], str), d\n"
        "for r in d['records']:\n"
        "    assert isinstance(r['name'], str) and isinstance(r['weight'], float), d\n";
    write_text("read.py", script);
    uint64_t index = 1u << 20;
    for (int round = 0; round < 6; ++round) {
        random_study drawn;
        autorelease(bb_text) text = {0};
        draw_study(&drawn, &index);
        check_ok(bb_emission_write(&toy_schema, &drawn.study, false, &text));
        write_text("r.yaml", text.data);
        int how = system("/usr/bin/python3 read.py");
        if (WIFEXITED(how) && (WEXITSTATUS(how) == 77 || WEXITSTATUS(how) == 127)) {
            skip();
        }
        assert_int_equal(how, 0);
    }
}

TEST(shipped_tables_have_sound_defaults_and_words)
{
    char here[4096];
    assert_non_null(getcwd(here, sizeof here));
    for (bb_index i = 0; i < bb_experiments.count; ++i) {
        autorelease(bb_text) text = {0};
        autorelease(bb_text) listing = {0};
        bb_problems problems = {0};
        autoptr(bb_config) config = NULL;
        const bb_experiment *row = bb_experiments.rows[i];
        check_ok(bb_config_template(row->schema, row->starter, &text));
        assert_null(strstr(text.data, here)); // a starter is valid in any folder
        write_text("t.yaml", text.data);
        if (bb_experiment_load(&bb_experiments, "t.yaml", NULL, 0, &problems, &config) != BB_OK) {
            print_error("%s", bb_text_string(&problems.lines));
            fail();
        }
        check_ok(bb_emission_list(row->schema, &listing));
        assert_non_null(strstr(listing.data, "pipelines.N.name"));
    }
}

TEST(failing_allocations_leave_nothing_behind)
{
    write_text("b.yaml", minimal);
    write_text("a.yaml", "base: b.yaml\ntitle: x\nlength_m: 4x\nunknown: 1\n");
    const char *const overrides[] = {"grid.columns=9", "records.0.grid.rows=2"};
    bb_index failures = 0;
    for (bb_index k = 1;; ++k) {
        bb_problems problems = {0};
        bb_config *config = NULL;
        // Every third round loads a valid file.
        bb_memory_fail_at(k);
        bb_status status = load(k % 3 == 0 ? "b.yaml" : "a.yaml", overrides, 2, &problems, &config);
        bool happened = bb_memory_failure_happened() != 0;
        bb_memory_fail_at(0);
        assert_true(!happened || status == BB_MEMORY);
        bb_config_destroy(&config);
        bb_problems_release(&problems);
        assert_int_equal(bb_memory_blocks(), 0);
        failures += happened;
        if (!happened && k % 3 != 0) {
            break;
        }
    }
    assert_true(failures > 20);
}

TEST_GROUP(.has_folder = true);
