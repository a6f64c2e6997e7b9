// SPDX-License-Identifier: Apache-2.0
//
// A study's kernels in measured variants: the result says so, is repeated by what it says, and the
// file of measured variants is part of what the study is.
#include "sim/hdf5_library.h"
#include "sim/kernels/kernel_variants.h"
#include "sim/output/reader.h"
#include "sim/sweep/point_id.h"
#include "solvers/kernels/emission/emission.h"
#include "tests/sim/command_line.h"
#include "tests/sim/driver.h"

static char wisdom_path[] = "variants.yaml";
static const char kernel[] = "unwrap-row-sums";
static const char variant[] = "tile32";
static const char study_text[] = "experiment: fringe\n"
                                 "device: cpu\n"
                                 "size: {columns: 40, rows: 24}\n"
                                 "surface: {tilt_fringes: {x: 5, y: 2}}\n"
                                 "unwrap: {reweight: 0}\n"
                                 "zernike_terms: 0\n"
                                 "pipelines: [{name: reference, arithmetic: fp64}]\n";

static int enter(void **state)
{
    (void)state;
    command_line_experiments = &bb_experiments;
    return bb_hdf5_library_start() == BB_OK && fixture_enter(NULL) == 0 &&
                   setenv("XDG_CONFIG_HOME", "/nowhere", 1) == 0
               ? 0
               : -1;
}

static void write_file(const char *path, const char *how, const char *text)
{
    FILE *file = fopen(path, how);
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

// A record of another variant of one kernel.
static bb_status append(void *path, bb_device *device, const bb_kernel_site *site)
{
    bb_status status = BB_OK;
    static bb_wisdom_key key;
    BB_TRY(bb_kernel_variants_key(device, site, &key));
    if (strcmp(key.kernel, kernel) != 0) {
        goto done;
    }
    BB_TRY(bb_wisdom_find_compiler(device, key.compiler, sizeof key.compiler));
    const bb_wisdom_record record = {.version = BB_WISDOM_VERSION,
                                     .kernel = key.kernel,
                                     .program = key.program,
                                     .code = BB_EMISSION_VERSION,
                                     .types = key.types,
                                     .device = (int)key.device,
                                     .architecture = key.report.architecture,
                                     .name = key.report.name,
                                     .driver =
                                         key.report.driver[0] != '\0' ? key.report.driver : NULL,
                                     .compiler = key.compiler,
                                     .set = "own",
                                     .sizes = {key.sizes, key.size_count},
                                     .variant = variant,
                                     .status = BB_TRIAL_BEST,
                                     .least_s = 1.0,
                                     .median_s = 1.0,
                                     .bytes = 8.0,
                                     .samples = 5,
                                     .date = "2026-01-31T12:00:00Z"};
    BB_TRY(bb_wisdom_file_append(path, &record));
done:
    return status;
}

// Variant and origin of the kernel in a result file.
static void check_variant(const char *path, const char *expected, const char *origin)
{
    bb_results *results = NULL;
    bb_index found = 0;
    check_ok(bb_reader_read_all(path, NULL, &results));
    const bb_dataset *names = bb_results_find(results, "kernels/name");
    assert_non_null(names);
    assert_true(names->count > 10);
    for (bb_index i = 0; i < names->count; ++i) {
        if (strcmp(names->texts[i], kernel) == 0) {
            ++found;
            assert_string_equal(bb_results_find(results, "kernels/variant")->texts[i], expected);
            assert_string_equal(bb_results_find(results, "kernels/origin")->texts[i], origin);
        } else {
            assert_string_not_equal(bb_results_find(results, "kernels/variant")->texts[i], variant);
        }
    }
    assert_int_equal(found, 1);
    bb_results_destroy(&results);
}

static void find_id(char id[BB_DIGEST_BYTES])
{
    bb_point_files files = {0};
    const driver_case study = {"study.yaml", {"kernels.wisdom=variants.yaml"}};
    bb_config *config = driver_config(&study);
    check_ok(bb_point_id(config, BB_DEVICE_CPU, &files, id));
    bb_config_destroy(&config);
}

TEST(a_result_is_repeated_by_its_variants)
{
    char ids[2][BB_DIGEST_BYTES];
    const driver_case study = {"study.yaml", {NULL}};
    const bb_kernel_wish recorder = {.context = wisdom_path, .meet = append};
    const bb_run_options options = {.threads = 1, .kernels = &recorder};
    write_file("study.yaml", "w", study_text);
    bb_config *config = driver_config(&study);
    bb_results *results = empty_results();
    check_ok(bb_experiment_find(&bb_experiments, "fringe")
                 ->run(bb_config_study(config), &options, results));
    bb_results_destroy(&results);
    bb_config_destroy(&config);
    expect("bitbudget run study.yaml kernels.wisdom=variants.yaml -o a.h5", 0,
           " in a measured variant (/kernels)");
    check_variant("a.h5", variant, "wisdom, these sizes");
    find_id(ids[0]);
    // Other records: another study, but the result says what ran.
    write_file(wisdom_path, "a", "# more\n");
    find_id(ids[1]);
    assert_string_not_equal(ids[0], ids[1]);
    expect("bitbudget rerun a.h5 --verify -o b.h5 -q", 0, "equal: all but times, to the bit");
    check_variant("b.h5", variant, "earlier result");
    expect("bitbudget run study.yaml kernels.wisdom=variants.yaml --deterministic -o c.h5 -q", 0,
           "results: c.h5");
    check_variant("c.h5", "tile4096-rows16", "default");
    expect("bitbudget rerun a.h5 kernels.reorder=true kernels.wisdom=none.yaml -q", 2,
           "there is no file 'none.yaml'");
    expect("bitbudget check study.yaml kernels.reorder=true", 2, "expected kernels.wisdom too");
}

TEST_GROUP(.enter = enter, .leave = driver_leave_folder);
