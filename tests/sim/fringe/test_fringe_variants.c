// SPDX-License-Identifier: Apache-2.0
//
// A study with measured kernel variants: the result lists them, can be repeated from the list, and
// depends on the file of measured variants.
#include "sim/input/hdf5_library.h"
#include "sim/kernels/kernel_variants.h"
#include "sim/output/reader.h"
#include "sim/sweep/sweep.h"
#include "tests/sim/command_line.h"
#include "tests/sim/driver.h"
#include "tests/sim/kernels/best_record.h"

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

static int begin(void)
{
    command_line_experiments = &bb_experiments;
    return fixture_start_hdf5() + setenv("XDG_CONFIG_HOME", "/nowhere", 1);
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
    const bb_wisdom_record record = best_record(&key, key.sizes, variant);
    BB_TRY(bb_wisdom_file_append(path, &record));
done:
    return status;
}

// Variant and origin of the kernel in a result file.
static void check_variant(const char *path, const char *expected, const char *origin)
{
    autoptr(bb_results) results = read_all_results(path, NULL);
    const bb_dataset *names = dataset_at(results, "kernels/name");
    const bb_dataset *variants = dataset_at(results, "kernels/variant");
    bb_index found = 0;
    assert_true(names->count > 10);
    for (bb_index i = 0; i < names->count; ++i) {
        if (strcmp(names->texts[i], kernel) == 0) {
            ++found;
            assert_string_equal(variants->texts[i], expected);
            assert_string_equal(dataset_at(results, "kernels/origin")->texts[i], origin);
        } else {
            assert_string_not_equal(variants->texts[i], variant);
        }
    }
    assert_int_equal(found, 1);
}

static void find_id(char id[BB_DIGEST_BYTES])
{
    bb_point_files files = {0};
    autoptr(bb_config) config = driver_config(CASE("study.yaml", {"kernels.wisdom=variants.yaml"}));
    check_ok(bb_sweep_point_id(config, BB_DEVICE_CPU, &files, id));
}

TEST(a_result_is_repeated_by_its_variants)
{
    char ids[2][BB_DIGEST_BYTES];
    const bb_kernel_wish recorder = {.context = wisdom_path, .visit = append};
    const bb_run_options options = {.threads = 1, .kernels = &recorder};
    write_text("study.yaml", study_text);
    bb_config *config = driver_config(CASE("study.yaml", {NULL}));
    bb_results *results = empty_results();
    check_ok(driver_experiment(config)->run(bb_config_study(config), &options, results));
    bb_results_destroy(&results);
    bb_config_destroy(&config);
    expect("bitbudget run study.yaml kernels.wisdom=variants.yaml -o a.h5", 0,
           " in a measured variant (/kernels)");
    check_variant("a.h5", variant, "wisdom, same sizes");
    find_id(ids[0]);
    // With other records it is another study, but the result lists the variants that ran.
    assert_int_equal(system("echo '# more' >> variants.yaml"), 0);
    find_id(ids[1]);
    assert_string_not_equal(ids[0], ids[1]);
    expect("bitbudget rerun a.h5 --verify -o b.h5 -q", 0, "equal: bit-identical except times");
    check_variant("b.h5", variant, "earlier result");
    expect("bitbudget run study.yaml kernels.wisdom=variants.yaml --deterministic -o c.h5 -q", 0,
           "results: c.h5");
    check_variant("c.h5", "tile4096-rows16", "default");
    expect("bitbudget rerun a.h5 kernels.reorder=true kernels.wisdom=none.yaml -q", 2,
           "file 'none.yaml' does not exist");
    expect("bitbudget check study.yaml kernels.reorder=true", 2, "also set kernels.wisdom");
}

TEST_GROUP(.begin = begin, .has_folder = true);
