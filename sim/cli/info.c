// SPDX-License-Identifier: Apache-2.0
//
// bitbudget info: prints version, libraries and devices, and runs the self-test.
#include "build_info.h"
#include "core/address_space.h"
#include "core/device/device.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/thread.h"
#include "sim/cli/command.h"
#include "sim/kernels/wisdom.h"
#include "sim/output/image.h"
#include "sim/output/provenance.h"

#include <stdio.h>
#include <string.h>

static bb_status print_device(bb_device_kind kind, bb_index ordinal)
{
    bb_status status = BB_OK;
    bb_device *device = NULL;
    bb_device_report report;
    BB_TRY(bb_device_open(kind, ordinal, &device));
    BB_TRY(bb_device_describe(device, &report));
    (void)printf("  %-6s %td  %s, %s, %td units, %.1f GB%s%s%s%s\n", bb_device_names[kind], ordinal,
                 report.name, report.architecture, report.units, 1e-9 * (double)report.memory_bytes,
                 report.driver[0] == '\0' ? "" : ", ", report.driver,
                 report.kernels[0] == '\0' ? "" : ", kernels ", report.kernels);
done:
    bb_device_close(&device);
    return status;
}

// Lists a device that does not respond together with the reason, as an aid to diagnosis.
static void list_devices(void)
{
    (void)printf("devices\n");
    for (int kind = 0; kind < BB_DEVICE_KIND_COUNT; ++kind) {
        char reason[256] = "";
        bb_index count = bb_device_count((bb_device_kind)kind, reason, sizeof reason);
        const char *name = bb_device_names[kind];
        if (count == 0) {
            (void)printf("  %-6s none: %s\n", name, reason);
        }
        for (bb_index i = 0; i < count; ++i) {
            if (print_device((bb_device_kind)kind, i) != BB_OK) {
                (void)printf("  %-6s %td  %s\n", name, i, bb_status_message());
            }
        }
    }
}

// Prints the run-time compilers of kernels, or the reason why there is none.
static void print_compilers(void)
{
    char compiler[BB_WISDOM_COMPILER_BYTES];
    bb_device *device = NULL;
    bb_status status = bb_device_open(BB_DEVICE_CPU, 0, &device);
    status = status == BB_OK ? bb_wisdom_find_compiler(device, compiler, sizeof compiler) : status;
    (void)printf("kernels\n  %-6s %s\n", bb_device_names[BB_DEVICE_CPU],
                 status == BB_OK ? compiler : bb_status_message());
    bb_device_close(&device);
    bb_status_clear();
}

// Prints the origin of a device's kernel variants if the user has not tuned any.
static bb_status print_variants(bb_device_kind kind, const bb_wisdom_file *shipped)
{
    bb_status status = BB_OK;
    bb_device *device = NULL;
    bb_wisdom_key key = {.device = kind};
    bb_index count = 0;
    BB_TRY(bb_device_open(kind, 0, &device));
    BB_TRY(bb_device_describe(device, &key.report));
    const char *name = bb_wisdom_shipped_device(shipped, &key, &count);
    if (name != NULL) {
        (void)printf("  %-6s %td tuned variants, shipped for %s\n", bb_device_names[kind], count,
                     name);
    } else if (kind != BB_DEVICE_CPU) {
        (void)printf("  %-6s default variants, none shipped for %s\n", bb_device_names[kind],
                     key.report.architecture);
    }
done:
    bb_device_close(&device);
    return status;
}

static bb_status print_all_variants(void)
{
    bb_status status = BB_OK;
    bb_wisdom_file shipped = {0};
    BB_TRY(bb_wisdom_read_shipped(&shipped));
    for (int kind = 0; kind < BB_DEVICE_KIND_COUNT; ++kind) {
        if (bb_device_count((bb_device_kind)kind, NULL, 0) > 0 &&
            print_variants((bb_device_kind)kind, &shipped) != BB_OK) {
            bb_status_clear(); // the list of devices already shows the reason
        }
    }
done:
    bb_wisdom_file_release(&shipped);
    return status;
}

// Compares the words of one address with recorded ones; the address scheme is fixed.
static bb_status test_random(void)
{
    bb_status status = BB_OK;
    static const uint32_t expected[4] = {0xf045e74a, 0x517630e6, 0x1d8af405, 0xb5e59a96};
    uint32_t words[4];
    bb_random_words(1, BB_STREAM_SELF_TEST, 2, words);
    BB_REQUIRE(memcmp(words, expected, sizeof words) == 0, BB_INTERNAL,
               "got %08x %08x %08x %08x, expected %08x %08x %08x %08x", words[0], words[1],
               words[2], words[3], expected[0], expected[1], expected[2], expected[3]);
done:
    return status;
}

static bb_status square(void *context, bb_index index)
{
    ((double *)context)[index] = (double)(index * index);
    return BB_OK;
}

static bb_status test_threads(void)
{
    bb_status status = BB_OK;
    enum { COUNT = 1000 };
    double *squares = NULL;
    double sum = 0.0;
    BB_TRY(BB_ZEROED(COUNT, &squares));
    BB_TRY(bb_thread_for(COUNT, square, squares));
    for (int i = 0; i < COUNT; ++i) {
        sum += squares[i];
    }
    BB_REQUIRE(sum == 332833500.0, BB_INTERNAL, "sum of squares is %g, expected 332833500", sum);
done:
    BB_RELEASE(&squares);
    return status;
}

static bb_status test_output(void)
{
    bb_status status = BB_OK;
    static const bb_output rows[] = {{"step", "step", "1", .long_name = "step"},
                                     {"value", "step", "nm", .long_name = "value"}};
    static const bb_output_table table = {
        .title = "/results", .group = "results", BB_OUTPUT_ROWS(rows)};
    static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    bb_results *results = NULL;
    unsigned char *image = NULL;
    bb_index bytes = 0;
    BB_TRY(bb_results_create(&results));
    BB_TRY(bb_output_table_add_axis(&table, "step", 1000, NULL, NULL, results));
    BB_TRY(bb_output_table_add(&table, "value", NULL, NULL, results));
    BB_TRY(bb_image_build(results, &image, &bytes));
    BB_REQUIRE(bytes > 8 && memcmp(image, signature, sizeof signature) == 0, BB_INTERNAL,
               "an HDF5 image of %td bytes lacks its signature", bytes);
done:
    BB_RELEASE(&image);
    bb_results_destroy(&results);
    return status;
}

static bb_status run_tests(void)
{
    static const struct {
        const char *name;
        bb_status (*test)(void);
    } tests[] = {
        {"random numbers", test_random}, {"threads", test_threads}, {"output", test_output}};
    bb_status status = BB_OK;
    (void)printf("self-test\n");
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; ++i) {
        bb_status result = tests[i].test();
        (void)printf("  %-16s %s\n", tests[i].name,
                     result == BB_OK ? "passed" : bb_status_message());
        status = status == BB_OK ? result : status;
    }
    return status;
}

bb_status bb_command_info(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    bb_library libraries[BB_LIBRARIES];
    (void)printf("bitbudget %s (%s)\n", BB_VERSION, BB_COMMIT);
    (void)printf("  %-12s %s\n  %-12s %s\n", "compiler", BB_COMPILER, "flags", BB_FLAGS);
    (void)printf("experiments\n ");
    for (bb_index i = 0; i < experiments->count; ++i) {
        (void)printf(" %s", experiments->rows[i]->name);
    }
    (void)printf("\nlibraries\n");
    bb_provenance_libraries(libraries);
    for (int i = 0; i < BB_LIBRARIES; ++i) {
        (void)printf("  %-12s %s\n", libraries[i].name, libraries[i].version);
    }
    list_devices();
    print_compilers();
    BB_TRY(print_all_variants());
    // Many thread stacks exceed a small memory limit; the tests need only one thread.
    const bool fits = bb_address_space_fits(bb_address_space_threads(options->threads));
    BB_TRY(bb_threads_set(fits ? options->threads : 1));
    BB_TRY(run_tests());
done:
    return status;
}
