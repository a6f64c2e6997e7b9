// SPDX-License-Identifier: Apache-2.0
//
// What it takes to read, check and print a kernel: of all that are shipped, in SP and DP, for each
// kind of device, the one that takes longest. The bar is on 20 ms.
#include "bench/bench.h"
#include "core/clock.h"
#include "solvers/kernels/assembled_kernel.h"
#include "solvers/kernels/kernel_manager.h"
#include "solvers/kernels/language/notation_reader.h"
#include "solvers/kernels/language/xml_reader.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 12, MOST_STEPS = 256 };

static const double bar_s = 20e-3;

enum { MOST_TYPES = 8 };

// `type` for every placeholder.
static int choose_types(const bb_description *description, const char *type,
                        bb_type_binding out[MOST_TYPES])
{
    const char *names[MOST_TYPES];
    const int count = bb_description_placeholders(description, names, MOST_TYPES);
    for (int i = 0; i < count; ++i) {
        out[i] = (bb_type_binding){names[i], type};
    }
    return count;
}

// Seconds of one pass from the text to the device's text, and its bytes.
static bb_status pass(const char *file, const char *type, bb_device_kind kind, double *seconds,
                      double *bytes)
{
    bb_status status = BB_OK;
    static const bool inside[MOST_STEPS]; // nothing is known of the sizes: the longest text
    const char *text = bb_kernel_manager_text(file);
    const bool is_xml = strstr(file, ".xml") != NULL;
    bb_type_binding types[MOST_TYPES];
    bb_problems problems = {0};
    bb_description description = {0};
    bb_program program = {0};
    bb_emission emission = {0};
    const double begin = bb_clock_seconds();
    BB_TRY((is_xml ? bb_xml_reader_read : bb_notation_reader_read)(text, (bb_index)strlen(text),
                                                                   file, &problems, &description));
    BB_REQUIRE(problems.count == 0, BB_INTERNAL, "%s", bb_text_string(&problems.lines));
    BB_TRY(bb_program_create(&description, types, choose_types(&description, type, types),
                             &problems, &program));
    BB_REQUIRE(problems.count == 0, BB_INTERNAL, "%s", bb_text_string(&problems.lines));
    BB_REQUIRE(program.step_count <= MOST_STEPS, BB_INTERNAL, "%s has %d steps, at most %d", file,
               program.step_count, MOST_STEPS);
    BB_TRY(bb_assembled_kernel_print(kind, &program, inside, NULL, &emission));
    *seconds = bb_clock_seconds() - begin;
    *bytes = (double)emission.source.length;
done:
    bb_emission_release(&emission);
    bb_program_release(&program);
    bb_description_release(&description);
    bb_problems_release(&problems);
    return status;
}

bb_status bb_bench_kernel_emit(const bb_bench_case *self, const bb_bench_setup *setup,
                               bb_bench_outcome *out)
{
    static const char *const types[] = {"SP", "DP"};
    bb_status status = BB_OK;
    const char *file = NULL;
    int count = 0;
    (void)self;
    out->best_s = 0.0;
    for (; (file = bb_kernel_manager_shipped(count)) != NULL; ++count) {
        for (int which = 0; which < 2 * BB_DEVICE_KIND_COUNT; ++which) {
            const bb_device_kind kind = (bb_device_kind)(which / 2);
            bb_bench_times times = {.count = 0};
            double bytes = 0.0;
            for (int round = 0; round < (setup->quick ? 2 : ROUNDS); ++round) {
                double seconds = 0.0;
                BB_TRY(pass(file, types[which % 2], kind, &seconds, &bytes));
                bb_bench_add(&times, seconds);
            }
            if (bb_bench_best(&times) > out->best_s) {
                out->best_s = bb_bench_best(&times);
                out->median_s = bb_bench_median(&times);
                out->bytes = bytes;
                (void)snprintf(out->detail, sizeof out->detail, "%s, %s, for %s", file,
                               types[which % 2], bb_device_names[kind]);
            }
        }
    }
    out->ratio = bar_s / out->best_s;
    const size_t length = strlen(out->detail);
    (void)snprintf(out->detail + length, sizeof out->detail - length, "; longest of %d kernels",
                   count);
done:
    return status;
}
