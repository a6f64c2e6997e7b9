// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints of ao that do not match are refused, with the difference: another study, experiment
// or file named by a study, or impossible contents.
#include "tests/sim/ao/keeping.h"

TEST(other_studies_are_refused)
{
    static const struct {
        const char *override;
        const char *differs; // as in the message; NULL: it matches
    } cases[] = {
        {"title=another", NULL},
        {"seed=2", "seed ('seed: 1' there, 'seed: 2' here)"},
        {"telescope.diameter_m=8.1", "telescope ('diameter_m: 8.0' there, 'diameter_m: 8.1' here)"},
        {"score=pairs", "score ("},
        {"monte_carlo.frames=2", "monte_carlo ('frames: 0' there, 'frames: 2' here)"},
        {"device=auto", "device ("},
        {"pipelines.1.draws=2", "pipelines ("},
        {"pipelines.1.name=single", "pipelines ('- {name: sp, "},
        {"solver.tile=13", "solver ('tile: 12' there, 'tile: 13' here)"},
        {"learn.source=profile", "learn ("},
    };
    keep(CASE(CONFIG_AO_SMALL, {TINY, TWO}));
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        const driver_case study = {CONFIG_AO_SMALL, {TINY, TWO, cases[c].override}};
        if (cases[c].differs == NULL) {
            check_ok(open_as(&study, "seen-1"));
        } else {
            check_fails(open_as(&study, "seen-1"), BB_INVALID, cases[c].differs);
        }
    }
}

// The contents of a file named by a study are part of the study.
TEST(other_files_are_refused)
{
    static const driver_case study = {
        CONFIG_AO_SMALL,
        {TINY, "pipelines=[" REFERENCE ", {name: table, arithmetic: hp1, policy: {kind: table, "
               "table: map.csv, inside: sp}}]"}};
    bb_text subjects[2] = {{0}, {0}};
    autoptr(bb_config) config = driver_config(&study);
    write_text("map.csv", "1\n");
    check_ok(write_subject(config, &subjects[0]));
    check_ok(bb_store_write("tabled", "checkpoint", bb_text_string(&subjects[0]), NULL, 0));
    check_ok(open_as(&study, "tabled"));
    write_text("map.csv", "2\n");
    check_fails(open_as(&study, "tabled"), BB_INVALID, "files ('pipelines.1.policy.table: ");
    assert_int_equal(unlink("map.csv"), 0);
    check_fails(open_as(&study, "tabled"), BB_IO, "map.csv");
    bb_text_release(&subjects[0]);
}

// Files are identified by their bytes, whatever their path.
TEST(moved_files_are_taken)
{
    static const char *const files[2][3] = {
        {"telescope.pupil.file=mask.h5", "learn.covariance={file: slopes.h5, dataset: /Cmm}", ""},
        {"telescope.pupil.file=./mask.h5",
         "learn.covariance={file: moved/slopes.h5, dataset: /Cmm}", "moved/"}};
    char pipelines[256];
    bb_text subjects[2] = {{0}, {0}};
    write_text("mask.h5", "mask");
    write_text("slopes.h5", "slopes");
    write_text("map.csv", "map");
    assert_int_equal(system("mkdir moved && cp slopes.h5 map.csv moved"), 0);
    for (int c = 0; c < 2; ++c) {
        (void)snprintf(pipelines, sizeof pipelines,
                       "pipelines=[" REFERENCE ", {name: table, arithmetic: hp1, policy: {kind: "
                       "table, table: %smap.csv}}]",
                       files[c][2]);
        autoptr(bb_config) config =
            driver_config(CASE(CONFIG_AO_SMALL, {TINY, "learn.source=covariance_file", files[c][0],
                                                 files[c][1], pipelines}));
        check_ok(write_subject(config, &subjects[c]));
    }
    assert_string_equal(bb_text_string(&subjects[0]), bb_text_string(&subjects[1]));
    assert_non_null(strstr(bb_text_string(&subjects[0]), "/Cmm"));
    bb_text_release(&subjects[0]);
    bb_text_release(&subjects[1]);
}

// Another compiler or processor gives other bits, even for the same commit.
TEST(other_builds_are_refused)
{
    static const char *const keys[] = {"  compiler: ", "  flags: ", "  openblas: "};
    static const driver_case study = {CONFIG_AO_SMALL, {TINY, TWO}};
    autorelease(bb_text) subject = {0};
    autoptr(bb_config) config = driver_config(&study);
    check_ok(write_subject(config, &subject));
    for (size_t k = 0; k < sizeof keys / sizeof *keys; ++k) {
        char *value = strstr(subject.data, keys[k]);
        assert_non_null(value);
        value += strlen(keys[k]);
        const char first = *value;
        *value = '9';
        check_ok(bb_store_write("built", "checkpoint", bb_text_string(&subject), NULL, 0));
        check_fails(open_as(&study, "built"), BB_INVALID, "build ('");
        *value = first;
    }
    check_ok(bb_store_write("built", "checkpoint", bb_text_string(&subject), NULL, 0));
    check_ok(open_as(&study, "built"));
}

// Pieces of a checkpoint: its subject, tile, number of pipelines and trials; then for each pipeline
// its evaluation, the members that a candidate changes, and arrays.
enum { SUBJECT, TILE, FINISHED, TRIALS, COMMON = 5, LEVEL, CHANGES = 7 };
enum { EACH = 1 + CHANGES + BB_AO_EVALUATION_ARRAYS };
// Resumes from a checkpoint with these pieces.
static bb_status resume_forged(const driver_case *study, const parts *forged, bb_results **out)
{
    const bb_run_options options = {.threads = 1, .resume = "forged"};
    autoptr(bb_config) config = driver_config(study);
    write_parts("forged", forged);
    bb_status status = driver_run_with(config, &options, out);
    return status;
}

TEST(what_no_run_writes_is_refused)
{
    static const driver_case study = {CONFIG_AO_SMALL, {TINY, TWO}};
    static const bb_index none = 0, three = 3, many = 1 << 20;
    static const int beyond = BB_VARIANT_COUNT;
    bb_evaluation commons[3];
    const char *first = (const char *)&commons[0].outcome;
    const bb_index stride = (bb_index)sizeof commons[0];
    autorelease(parts) all = {.count = 0};
    bb_results *results = NULL;
    keep(&study);
    take_parts("seen-1", &all);
    assert_int_equal(all.count, COMMON + EACH);
    assert_int_equal(*(const bb_index *)all.pieces[FINISHED].data, 1);
    for (int c = 0; c < 3; ++c) {
        memcpy(&commons[c].outcome, all.pieces[COMMON].data, (size_t)all.pieces[COMMON].bytes);
    }
    commons[0].draws.tried = BB_DRAWS_MOST + 1;
    memset(commons[1].outcome.detail, 'x', sizeof commons[1].outcome.detail);
    commons[2].device = BB_DEVICE_CUDA;
    const struct {
        int piece;
        const void *data;
        bb_status status;
        const char *message;
    } cases[] = {
        {TILE, &none, BB_IO, "tiles of 0 rows, expected at least 1"},
        {FINISHED, &three, BB_IO, "3 pipelines, expected 0 to 2"},
        {TRIALS, &many, BB_IO, "1048576 trials of searches"},
        {COMMON, first, BB_IO, "impossible outcome of pipeline reference"},
        {COMMON, first + stride, BB_IO, "impossible outcome of pipeline reference"},
        {LEVEL, &beyond, BB_IO, "impossible outcome of pipeline reference"},
        {COMMON, first + 2 * stride, BB_INVALID,
         "pipeline reference of the checkpoint was computed on another device, here it would be "
         "cpu"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        parts forged = all;
        forged.pieces[cases[c].piece].data = cases[c].data;
        check_fails(resume_forged(&study, &forged, &results), cases[c].status, cases[c].message);
    }
    parts cut = all;
    cut.count = LEVEL;
    check_fails(resume_forged(&study, &cut, &results), BB_IO,
                "checkpoint 'forged' has a record of ");
}

// The result of a search must be one that a search can find; other pipelines must be the study's.
TEST_FULL(steps_that_no_search_finds_are_refused)
{
    enum { WORDS = 5, CASES = 2 * WORDS + 3 };
    static const driver_case study = {CONFIG_AO_SMALL,
                                      {TINY, "pipelines=[" REFERENCE ", " SEARCHED("kept") "]"}};
    static const char *const names[] = {"reference", "kept"};
    static const int last[WORDS] = {BB_VARIANT_COUNT - 1, BB_POLICY_COUNT - 1, BB_VARIANT_COUNT - 1,
                                    BB_POLICY_FOLLOW, BB_POLICY_SWEEPS_LIGHT};
    static const unsigned char no_bool = 7;
    char message[64];
    autorelease(parts) all = {.count = 0};
    keep(&study);
    take_parts("seen-2", &all);
    assert_int_equal(all.count, COMMON + 2 * EACH);
    for (int k = 0; k < 2 * CASES; ++k) {
        bb_results *results = NULL;
        parts forged = all;
        const int p = k % 2;
        const int word = k / 4;
        const int value = k / 2 % 2 == 0 ? -1 : last[word % WORDS] + 1;
        bb_evaluation common;
        memcpy(&common.outcome, all.pieces[COMMON + p * EACH].data,
               (size_t)all.pieces[COMMON].bytes);
        if (word < WORDS) {
            forged.pieces[LEVEL + p * EACH + word].data = &value;
        } else if (k / 2 == 2 * WORDS) {
            forged.pieces[LEVEL + p * EACH + CHANGES - 1].data = &no_bool;
        } else {
            common.draws.failure_draw = k / 2 == 2 * WORDS + 1 ? -1 : BB_DRAWS_MOST;
            forged.pieces[COMMON + p * EACH].data = &common.outcome;
        }
        (void)snprintf(message, sizeof message, "impossible outcome of pipeline %s", names[p]);
        check_fails(resume_forged(&study, &forged, &results), BB_IO, message);
    }
}

// A storage found must be one of its ladders, whatever the file contains.
TEST(storages_that_no_search_finds_are_refused)
{
    static const driver_case study = {CONFIG_AO_SMALL,
                                      {TINY, "pipelines=[" REFERENCE ", " FEWEST "]"}};
    static const double steps[] = {-1.0, 15.0, 1e300, NAN, INFINITY};
    autorelease(parts) all = {.count = 0};
    keep(&study);
    take_parts("seen-2", &all);
    for (size_t k = 0; k < sizeof steps / sizeof *steps; ++k) {
        bb_results *results = NULL;
        parts forged = all;
        bb_evaluation common;
        memcpy(&common.outcome, all.pieces[COMMON + EACH].data, (size_t)all.pieces[COMMON].bytes);
        common.factor.stored_step = steps[k];
        forged.pieces[COMMON + EACH].data = &common.outcome;
        check_fails(resume_forged(&study, &forged, &results), BB_IO,
                    "impossible outcome of pipeline fewest");
    }
}

// A checkpoint of a host with other devices may have other tiles under `auto`; the resumed run uses
// them.
TEST(the_tile_of_a_checkpoint_is_taken)
{
    static const driver_case automatic = {CONFIG_AO_SMALL, {TINY, "solver.tile=auto", TWO}};
    static const driver_case written = {CONFIG_AO_SMALL, {TINY, "solver.tile=8", TWO}};
    const bb_index tile = 8;
    autorelease(parts) all = {.count = 0};
    autoptr(bb_results) got = NULL;
    autoptr(bb_results) expected = driver_results(&written);
    autoptr(bb_results) other = driver_results(&automatic);
    keep(&automatic);
    take_parts("seen-1", &all);
    parts forged = all;
    assert_int_equal(all.pieces[TILE].bytes, sizeof tile);
    forged.pieces[TILE].data = &tile;
    check_ok(resume_forged(&automatic, &forged, &got));
    const double *strehl = driver_row(got, "strehl", "sp");
    assert_true(*strehl == *driver_row(expected, "strehl", "sp"));
    assert_true(*strehl != *driver_row(other, "strehl", "sp"));
}

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true, .is_quiet = true);
