// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints of ao that do not fit are refused, with what differs: of another study, experiment or
// file that a study names, damaged, or such as no run writes.
#include "tests/sim/ao/keeping.h"
#include "tests/sim/program.h"

TEST(other_studies_are_refused)
{
    static const struct {
        const char *override;
        const char *differs; // as the message says it; NULL: it fits
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

// The text of a file that a study names belongs to the study.
TEST(other_files_are_refused)
{
    static const driver_case study = {
        CONFIG_AO_SMALL,
        {TINY, "pipelines=[" REFERENCE ", {name: table, arithmetic: hp1, policy: {kind: table, "
               "table: map.csv, inside: sp}}]"}};
    bb_text subjects[2] = {{0}, {0}};
    autoptr(bb_config) config = driver_config(&study);
    write_text("map.csv", "1\n");
    check_ok(bb_ao_restart_subject(bb_config_study(config), &subjects[0]));
    check_ok(bb_checkpoint_write("tabled", bb_text_string(&subjects[0]), NULL, 0));
    check_ok(open_as(&study, "tabled"));
    write_text("map.csv", "2\n");
    check_fails(open_as(&study, "tabled"), BB_INVALID, "files ('pipelines.1.policy.table: ");
    assert_int_equal(unlink("map.csv"), 0);
    check_fails(open_as(&study, "tabled"), BB_IO, "map.csv");
    bb_text_release(&subjects[0]);
}

// Files are known by their bytes, not by where they lie.
TEST(moved_files_are_taken)
{
    static const driver_case cases[2] = {
        {CONFIG_AO_SMALL,
         {TINY, "telescope.pupil.file=mask.h5", "learn.source=covariance_file",
          "learn.covariance={file: slopes.h5, dataset: /Cmm}",
          "pipelines=[" REFERENCE
          ", {name: table, arithmetic: hp1, policy: {kind: table, table: map.csv}}]"}},
        {CONFIG_AO_SMALL,
         {TINY, "telescope.pupil.file=./mask.h5", "learn.source=covariance_file",
          "learn.covariance={file: moved/slopes.h5, dataset: /Cmm}",
          "pipelines=[" REFERENCE
          ", {name: table, arithmetic: hp1, policy: {kind: table, table: moved/map.csv}}]"}},
    };
    bb_config *config = NULL;
    bb_text subjects[2] = {{0}, {0}};
    write_text("mask.h5", "mask");
    write_text("slopes.h5", "slopes");
    write_text("map.csv", "map");
    assert_int_equal(system("mkdir moved && cp slopes.h5 map.csv moved"), 0);
    for (int c = 0; c < 2; ++c) {
        check_ok(driver_load(&cases[c], &config));
        check_ok(bb_ao_restart_subject(bb_config_study(config), &subjects[c]));
        bb_config_destroy(&config);
    }
    assert_string_equal(bb_text_string(&subjects[0]), bb_text_string(&subjects[1]));
    assert_non_null(strstr(bb_text_string(&subjects[0]), "/Cmm"));
    bb_text_release(&subjects[0]);
    bb_text_release(&subjects[1]);
}

// Another compiler or processor gives other bits, also from one commit.
TEST(other_builds_are_refused)
{
    static const char *const keys[] = {"  compiler: ", "  flags: ", "  openblas: ", "  bytes: ["};
    static const driver_case study = {CONFIG_AO_SMALL, {TINY, TWO}};
    autorelease(bb_text) subject = {0};
    autoptr(bb_config) config = driver_config(&study);
    check_ok(bb_ao_restart_subject(bb_config_study(config), &subject));
    for (size_t k = 0; k < sizeof keys / sizeof *keys; ++k) {
        char *value = strstr(subject.data, keys[k]);
        assert_non_null(value);
        value += strlen(keys[k]);
        const char first = *value;
        *value = '9';
        check_ok(bb_checkpoint_write("built", bb_text_string(&subject), NULL, 0));
        check_fails(open_as(&study, "built"), BB_INVALID, "build ('");
        *value = first;
    }
    check_ok(bb_checkpoint_write("built", bb_text_string(&subject), NULL, 0));
    check_ok(open_as(&study, "built"));
}

TEST(other_experiments_are_refused)
{
    static const driver_case ao = {CONFIG_AO_SMALL, {NULL}};
    CALL_EXPECT(0, "results: ", "run", CONFIG_WAFER_SMALL, "mesh.spacing_mm=6.0", "scan.fields=[0]",
                "-q", "-o", "heated.h5", "--checkpoint", "heated");
    check_fails(open_as(&ao, "heated"), BB_INVALID,
                "checkpoint 'heated' is of experiment wafer, this study is of ao");
}

// What the first pieces of a checkpoint say, by the same build for the same study.
typedef struct opening {
    bb_index tile, finished, trials;
    bb_evaluation common;
    bb_factor_pipeline level;
} opening;

static void take_opening(const driver_case *study, const char *path, opening *out)
{
    autorelease(bb_restart) restart;
    const bb_run_options options = {.resume = path};
    autoptr(bb_config) config = driver_config(study);
    check_ok(bb_ao_restart_open(bb_config_study(config), &options, &restart));
    check_ok(bb_checkpoint_take(restart.resumed, &out->tile, sizeof out->tile));
    check_ok(bb_checkpoint_take(restart.resumed, &out->finished, sizeof out->finished));
    check_ok(bb_checkpoint_take(restart.resumed, &out->trials, sizeof out->trials));
    check_ok(bb_checkpoint_take(restart.resumed, NULL, 0));
    check_ok(bb_checkpoint_take(restart.resumed, &out->common, sizeof out->common));
    check_ok(bb_checkpoint_take(restart.resumed, &out->level, sizeof out->level));
}

// A checkpoint of the study that says so, and no more, is gone on from.
static bb_status resume_forged(const driver_case *study, const opening *says)
{
    bb_results *results = NULL;
    autorelease(bb_text) subject = {0};
    const bb_run_options options = {.threads = 1, .resume = "forged"};
    const bb_checkpoint_piece pieces[] = {
        {&says->tile, sizeof says->tile},     {&says->finished, sizeof says->finished},
        {&says->trials, sizeof says->trials}, {NULL, 0},
        {&says->common, sizeof says->common}, {&says->level, sizeof says->level},
    };
    autoptr(bb_config) config = driver_config(study);
    check_ok(bb_ao_restart_subject(bb_config_study(config), &subject));
    check_ok(bb_checkpoint_write("forged", bb_text_string(&subject), pieces, 6));
    bb_status status = run_with(config, &options, &results);
    assert_null(results);
    return status;
}

TEST(what_no_run_writes_is_refused)
{
    static const driver_case study = {CONFIG_AO_SMALL, {TINY, TWO}};
    opening file;
    keep(&study);
    take_opening(&study, "seen-1", &file);
    assert_int_equal(file.finished, 1);
    opening says = file;
    check_fails(resume_forged(&study, &says), BB_IO, "checkpoint 'forged' holds a piece of ");
    says.tile = 0;
    check_fails(resume_forged(&study, &says), BB_IO, "tiles of 0 rows, expected at least 1");
    says = file;
    says.finished = 3;
    check_fails(resume_forged(&study, &says), BB_IO, "3 pipelines, expected 0 to 2");
    says = file;
    says.trials = 1 << 20;
    check_fails(resume_forged(&study, &says), BB_IO, "1048576 trials of searches");
    says = file;
    says.common.draws.tried = BB_DRAWS_MOST + 1;
    check_fails(resume_forged(&study, &says), BB_IO, "pipeline reference that no run writes");
    says = file;
    memset(says.common.outcome.detail, 'x', sizeof says.common.outcome.detail);
    check_fails(resume_forged(&study, &says), BB_IO, "pipeline reference that no run writes");
    says = file;
    says.level.arithmetic = BB_VARIANT_COUNT;
    check_fails(resume_forged(&study, &says), BB_IO, "pipeline reference that no run writes");
    says = file;
    says.common.device = BB_DEVICE_CUDA;
    check_fails(resume_forged(&study, &says), BB_INVALID,
                "pipeline reference of the checkpoint was computed on another device, here it "
                "would be cpu");
}

// The pieces of a checkpoint behind its head and subject.
enum { HEAD_BYTES = 112, MOST_BYTES = 1 << 23, MOST_PIECES = 64 };
typedef struct parts {
    bb_checkpoint_piece pieces[MOST_PIECES];
    int count;
} parts;

static void take_parts(const char *path, parts *out)
{
    static unsigned char bytes[MOST_BYTES];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    assert_true(size < sizeof bytes);
    (void)fclose(file);
    out->count = 0;
    for (size_t place = HEAD_BYTES; place + 16 < size;) { // the checksum has 16 bytes
        uint64_t length = 0;
        memcpy(&length, bytes + place, sizeof length);
        place += sizeof length;
        assert_true(out->count < MOST_PIECES && length < size);
        out->pieces[out->count++] = (bb_checkpoint_piece){bytes + place, (bb_index)length};
        place += length;
    }
}

// The result of a search is one that a search can find; of other pipelines the study has the
// last word.
TEST_FULL(steps_that_no_search_finds_are_refused)
{
    enum { COMMON = 5, LEVEL = 6, EACH = 2 + BB_AO_EVALUATION_ARRAYS, CASES = 13 };
    static const driver_case study = {CONFIG_AO_SMALL,
                                      {TINY, "pipelines=[" REFERENCE ", " SEARCHED("kept") "]"}};
    static const char *const names[] = {"reference", "kept"};
    char subject[1 << 14] = "";
    char message[64];
    parts all;
    keep(&study);
    take_parts("seen-2", &all);
    assert_int_equal(all.count, COMMON + 2 * EACH);
    assert_true(all.pieces[0].bytes < (bb_index)sizeof subject);
    memcpy(subject, all.pieces[0].data, (size_t)all.pieces[0].bytes);
    for (int k = 0; k < 2 * CASES; ++k) {
        bb_results *results = NULL;
        parts forged = all;
        const int p = k % 2;
        bb_evaluation common;
        bb_factor_pipeline level;
        const bb_run_options options = {.threads = 1, .resume = "forged"};
        memcpy(&common, all.pieces[COMMON + p * EACH].data, sizeof common);
        memcpy(&level, all.pieces[LEVEL + p * EACH].data, sizeof level);
        int *const words[] = {&level.arithmetic, &level.policy.kind, &level.policy.inside,
                              &level.policy.diagonal, &level.sweeps};
        static const int last[] = {BB_VARIANT_COUNT - 1, BB_POLICY_COUNT - 1, BB_VARIANT_COUNT - 1,
                                   BB_POLICY_FOLLOW, BB_POLICY_SWEEPS_LIGHT};
        if (k / 2 < 10) {
            *words[k / 4] = k / 2 % 2 == 0 ? -1 : last[k / 4] + 1;
        } else if (k / 2 == 10) {
            memset(&level.escalate, 7, 1);
        } else {
            common.draws.failure_draw = k / 2 == 11 ? -1 : BB_DRAWS_MOST;
        }
        forged.pieces[COMMON + p * EACH].data = &common;
        forged.pieces[LEVEL + p * EACH].data = &level;
        check_ok(bb_checkpoint_write("forged", subject, forged.pieces + 1, forged.count - 1));
        autoptr(bb_config) config = driver_config(&study);
        (void)snprintf(message, sizeof message, "pipeline %s that no run writes", names[p]);
        check_fails(run_with(config, &options, &results), BB_IO, message);
    }
}

// The storage found is one of its ladders', whatever a file says.
TEST(storages_that_no_search_finds_are_refused)
{
    enum { COMMON = 5, EACH = 2 + BB_AO_EVALUATION_ARRAYS };
    static const driver_case study = {CONFIG_AO_SMALL,
                                      {TINY, "pipelines=[" REFERENCE ", " FEWEST "]"}};
    static const double steps[] = {-1.0, 15.0, 1e300, NAN, INFINITY};
    char subject[1 << 14] = "";
    parts all;
    keep(&study);
    take_parts("seen-2", &all);
    memcpy(subject, all.pieces[0].data, (size_t)all.pieces[0].bytes);
    for (size_t k = 0; k < sizeof steps / sizeof *steps; ++k) {
        bb_results *results = NULL;
        parts forged = all;
        bb_evaluation common;
        const bb_run_options options = {.threads = 1, .resume = "forged"};
        memcpy(&common, all.pieces[COMMON + EACH].data, sizeof common);
        common.factor.stored_step = steps[k];
        forged.pieces[COMMON + EACH].data = &common;
        check_ok(bb_checkpoint_write("forged", subject, forged.pieces + 1, forged.count - 1));
        autoptr(bb_config) config = driver_config(&study);
        check_fails(run_with(config, &options, &results), BB_IO,
                    "pipeline fewest that no run writes");
    }
}

// A checkpoint of a host with other devices may have other tiles under `auto`: those are gone on
// with.
TEST(the_tile_of_a_checkpoint_is_taken)
{
    static const driver_case automatic = {CONFIG_AO_SMALL, {TINY, "solver.tile=auto", TWO}};
    static const driver_case written = {CONFIG_AO_SMALL, {TINY, "solver.tile=8", TWO}};
    const bb_index tile = 8;
    const bb_run_options options = {.threads = 1, .resume = "forged"};
    static char subject[1 << 14];
    parts all;
    autoptr(bb_results) got = NULL;
    autoptr(bb_results) expected = driver_results(&written);
    autoptr(bb_results) other = driver_results(&automatic);
    keep(&automatic);
    take_parts("seen-1", &all);
    assert_true(all.pieces[0].bytes < (bb_index)sizeof subject);
    memcpy(subject, all.pieces[0].data, (size_t)all.pieces[0].bytes);
    assert_int_equal(all.pieces[1].bytes, sizeof tile);
    all.pieces[1].data = &tile;
    check_ok(bb_checkpoint_write("forged", subject, all.pieces + 1, all.count - 1));
    autoptr(bb_config) config = driver_config(&automatic);
    check_ok(run_with(config, &options, &got));
    const double *strehl = driver_row(got, "strehl", "sp");
    assert_true(*strehl == *driver_row(expected, "strehl", "sp"));
    assert_true(*strehl != *driver_row(other, "strehl", "sp"));
}

TEST(damaged_checkpoints_are_refused)
{
    static const driver_case study = {CONFIG_AO_SMALL, {TINY, TWO}};
    struct stat about;
    keep(&study);
    assert_int_equal(stat("seen-1", &about), 0);
    for (off_t index = 8; index < about.st_size; index += index < 4000 ? 97 : 19997) {
        FILE *file = fopen("seen-1", "r+b");
        assert_non_null(file);
        for (int again = 0; again < 2; ++again) {
            assert_int_equal(fseek(file, (long)index, SEEK_SET), 0);
            const int byte = fgetc(file);
            assert_int_equal(fseek(file, (long)index, SEEK_SET), 0);
            (void)fputc(byte ^ 1 << index % 8, file);
            assert_int_equal(fflush(file), 0);
            if (again == 0) {
                assert_int_equal(open_as(&study, "seen-1"), BB_IO);
            }
        }
        (void)fclose(file);
    }
    check_ok(open_as(&study, "seen-1")); // every bit was flipped back
    assert_int_equal(truncate("seen-1", about.st_size - 1), 0);
    check_fails(open_as(&study, "seen-1"), BB_IO, "truncated or corrupted");
    assert_int_equal(mkfifo("pipe", 0666), 0);
    check_fails(open_as(&study, "pipe"), BB_IO, "it is a FIFO, expected a regular file");
}

TEST_GROUP(.begin = fixture_start_hdf5, .has_folder = true, .is_quiet = true);
