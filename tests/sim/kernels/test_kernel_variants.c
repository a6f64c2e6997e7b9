// SPDX-License-Identifier: Apache-2.0
//
// Variants that a run selects from a file of measured ones, their record in the results, and a
// rerun with the recorded variants.
#include "sim/kernels/kernel_variants.h"
#include "tests/sim/fixture.h"
#include "tests/sim/kernels/best_record.h"

enum { ELEMENTS = 5000 };

static char wisdom_path[] = "variants.yaml";
static const char ordered[] = "group1x1-order32x1024";
static bb_device *device;
static float vector[ELEMENTS];

static int begin(void)
{
    fill_array(vector, ELEMENTS, k, 1.0F / (float)(k % 97 + 3));
    check_ok(bb_device_open(BB_DEVICE_CPU, 0, &device));
    return setenv("XDG_CONFIG_HOME", "/nowhere", 1);
}

static void leave(void)
{
    bb_device_close(&device);
}

// Appends records of a kernel's default, and of a faster variant with another order of summation.
static bb_status append(void *path, bb_device *where, const bb_kernel_site *site)
{
    bb_status status = BB_OK;
    static bb_wisdom_key key;
    BB_TRY(bb_kernel_variants_key(where, site, &key));
    BB_TRY(bb_wisdom_find_compiler(where, key.compiler, sizeof key.compiler));
    const char *variants[] = {"group1x1", ordered};
    for (int i = 0; i < 2; ++i) {
        bb_wisdom_record record = best_record(&key, key.sizes, variants[i]);
        record.least_s = i == 0 ? 2.0 : 1.0;
        record.median_s = 2.0;
        BB_TRY(bb_wisdom_file_append(path, &record));
    }
done:
    return status;
}

// Computes the norm in a run with these keys and options, and its results if requested.
static float find_norm(const bb_kernel_keys *keys, const bb_kernel_wish *wish, bb_results **out)
{
    float norm = 0.0F;
    const bb_kernel_use use = {.file = "l2norm.kernel", .types = {{"T", "SP"}}, .type_count = 1};
    void *blocks[] = {vector, &norm};
    autoptr(bb_kernel_variants) variants = new_object(bb_kernel_variants, keys, wish);
    autoptr(bb_kernel_context) context = new_object(bb_kernel_context, device);
    check_ok(bb_kernel_variants_join(variants, context));
    for (int shorter = 1; shorter >= 0; --shorter) {
        const bb_program_data sizes[] = {{ELEMENTS - shorter, 1, NULL}, {1, 1, NULL}};
        check_ok(bb_kernel_context_run(context, &use, sizes, NULL, blocks));
    }
    if (out != NULL) {
        check_ok(bb_results_create(out));
        check_ok(bb_kernel_variants_publish(variants, *out));
    }
    return norm;
}

static const char *text_of(const bb_results *results, const char *path, bb_index item)
{
    const bb_dataset *found = dataset_at(results, path);
    assert_true(found->is_text && item < found->count);
    return found->texts[item];
}

static void check_kernel(const bb_results *results, const char *variant, const char *origin)
{
    assert_int_equal(bb_results_find(results, "kernels/kernel")->count, 1);
    assert_string_equal(text_of(results, "kernels/name", 0), "l2norm");
    assert_string_equal(text_of(results, "kernels/types", 0), "T=SP");
    assert_string_equal(text_of(results, "kernels/device", 0), "cpu");
    assert_string_equal(text_of(results, "kernels/sizes", 0), "");
    assert_string_equal(text_of(results, "kernels/variant", 0), variant);
    assert_string_equal(text_of(results, "kernels/origin", 0), origin);
}

static void check_line(const bb_results *results, const char *expected)
{
    autorelease(bb_text) line = {0};
    check_ok(bb_kernel_ledger_report(results, &line));
    assert_string_equal(bb_text_string(&line), expected);
}

TEST(orders_of_sums_are_asked_for)
{
    autoptr(bb_results) results = NULL;
    autoptr(bb_results) again = NULL;
    const bb_kernel_keys none = {.wisdom = NULL};
    const bb_kernel_keys same = {.wisdom = wisdom_path};
    const bb_kernel_keys any = {.reorder = true, .wisdom = wisdom_path};
    const bb_kernel_wish recorder = {.context = wisdom_path, .visit = append};
    const float plain = find_norm(&none, &recorder, &results);
    check_kernel(results, "group1x1", "default");
    check_line(results, "");
    bb_results_destroy(&results);
    assert_true(find_norm(&same, NULL, &results) == plain);
    check_kernel(results, "group1x1", "wisdom, same sizes");
    bb_results_destroy(&results);
    const float other = find_norm(&any, NULL, &results);
    assert_true(other != plain && fabsf(other - plain) < 1e-4F * plain);
    check_kernel(results, ordered, "wisdom, same sizes");
    check_line(results, "kernels: 1 of 1 in a measured variant (/kernels)");
    // By the recorded variants, without a file; and by the default only.
    assert_true(find_norm(&none, &(bb_kernel_wish){.replay = results}, &again) == other);
    check_kernel(again, ordered, "earlier result");
    bb_results_destroy(&again);
    assert_true(find_norm(&any, &(bb_kernel_wish){.is_deterministic = true}, &again) == plain);
    check_kernel(again, "group1x1", "default");
}

// The user's records have priority over shipped ones, and --deterministic over both.
TEST(shipped_records_come_before_the_default)
{
    char shipped[] = "share/configs/kernels/tuned/here.yaml";
    char folder[512], origin[256];
    autoptr(bb_results) results = NULL;
    bb_device_report report;
    const bb_kernel_keys none = {.wisdom = NULL};
    const bb_kernel_wish plain = {.is_deterministic = true};
    check_ok(bb_device_describe(device, &report));
    (void)snprintf(origin, sizeof origin, "tuned, shipped for %.100s", report.name);
    assert_int_equal(setenv("BITBUDGET_SHARE", "share", 1), 0);
    (void)find_norm(&none, &(bb_kernel_wish){.context = shipped, .visit = append}, NULL);
    const float norm = find_norm(&none, NULL, &results);
    check_kernel(results, "group1x1", origin);
    check_line(results, "kernels: 1 of 1 in a measured variant (/kernels)");
    bb_results_destroy(&results);
    assert_true(find_norm(&none, &plain, &results) == norm);
    check_kernel(results, "group1x1", "default");
    bb_results_destroy(&results);
    assert_non_null(getcwd(folder, sizeof folder));
    assert_int_equal(system("mkdir -p bitbudget && cp share/configs/kernels/tuned/here.yaml "
                            "bitbudget/kernels.yaml"),
                     0);
    assert_int_equal(setenv("XDG_CONFIG_HOME", folder, 1), 0);
    (void)find_norm(&none, NULL, &results);
    check_kernel(results, "group1x1", "wisdom, same sizes");
    assert_int_equal(setenv("XDG_CONFIG_HOME", "/nowhere", 1) + unsetenv("BITBUDGET_SHARE"), 0);
}

// Each size is selected separately, and a variant of some sizes is written with them.
TEST(variants_of_some_sizes_have_them)
{
    autoptr(bb_kernel_ledger) ledger = NULL;
    bb_wisdom_key key = {.kernel = "k", .program = "p", .types = "T=SP", .size_count = 4};
    bb_choice choices[3], found;
    bool has_one = false;
    static const char *const texts[] = {"tile64", "tile256", "tile1024"};
    check_ok(bb_kernel_ledger_create(&ledger));
    for (bb_index i = 0; i < 3; ++i) {
        check_ok(bb_choice_read(texts[i], &choices[i]));
        memcpy(key.sizes, (bb_index[]){10 + i, 4, 1, 1}, 4 * sizeof *key.sizes);
        check_ok(bb_kernel_ledger_add(ledger, &key, &choices[i == 2 ? 0 : i], "wisdom"));
    }
    bb_kernel_ledger_replace(ledger, &key, &choices[1], &choices[2]);
    autoptr(bb_results) results = empty_results();
    check_ok(bb_kernel_ledger_publish(ledger, results));
    assert_int_equal(bb_results_find(results, "kernels/kernel")->count, 2);
    assert_string_equal(text_of(results, "kernels/sizes", 0), "10x4 1x1; 12x4 1x1");
    assert_string_equal(text_of(results, "kernels/variant", 1), "tile1024");
    assert_string_equal(text_of(results, "kernels/origin", 1), "default: tile256 failed");
    check_line(results, "kernels: 1 of 2 in a measured variant (/kernels)");
    for (bb_index i = 0; i < 5; ++i) { // 13x4 did not run, nor did 1x4
        memcpy(key.sizes, (bb_index[]){i == 4 ? 1 : 10 + i, 4, 1, 1}, 4 * sizeof *key.sizes);
        check_ok(bb_kernel_ledger_recall(results, &key, &has_one, &found));
        assert_int_equal(has_one, i < 3);
        assert_true(i >= 3 || bb_choice_equal(&found, &choices[i == 1 ? 2 : 0]));
    }
    key.sizes[0] = 10;
    key.device = BB_DEVICE_OPENCL;
    check_ok(bb_kernel_ledger_recall(results, &key, &has_one, &found));
    assert_false(has_one);
}

// A run ignores a damaged file of the user, but not one named by its study.
TEST(damaged_files)
{
    char folder[512];
    bb_kernel_variants *variants = NULL;
    const bb_kernel_keys none = {.wisdom = NULL};
    const bb_kernel_keys named = {.wisdom = "bitbudget/kernels.yaml"};
    const bb_kernel_keys absent = {.wisdom = "absent.yaml"};
    assert_non_null(getcwd(folder, sizeof folder));
    assert_int_equal(system("mkdir -p bitbudget && echo hello > bitbudget/kernels.yaml"), 0);
    assert_int_equal(setenv("XDG_CONFIG_HOME", folder, 1), 0);
    assert_true(find_norm(&none, NULL, NULL) > 0.0F);
    assert_int_equal(setenv("XDG_CONFIG_HOME", "/nowhere", 1), 0);
    check_fails(bb_kernel_variants_create(&named, NULL, &variants), BB_INVALID,
                "bitbudget/kernels.yaml:1: not a record");
    check_fails(bb_kernel_variants_create(&absent, NULL, &variants), BB_IO,
                "file 'absent.yaml' does not exist; bitbudget tune");
    assert_null(variants);
}

TEST_GROUP(.has_folder = true, .begin = begin, .end = leave);
