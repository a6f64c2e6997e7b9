// SPDX-License-Identifier: Apache-2.0
//
// Common results for tests of sim/: a hand-filled wafer run, results in files, and lookup of
// datasets by path.
#ifndef BB_TESTS_SIM_FIXTURE_H
#define BB_TESTS_SIM_FIXTURE_H

#include "core/file.h"
#include "sim/input/hdf5_library.h"
#include "sim/output/image.h"
#include "sim/output/output_table.h"
#include "sim/output/reader.h"
#include "sim/output/results.h"
#include "tests/check.h"

#include <unistd.h>

/// A dataset of numbers or, without a unit, of texts. `axes` NULL: an index axis of `count` items.
static inline bb_status results_add(bb_results *results, const char *path, const char *unit,
                                    const char *long_name, const char *axes, bb_index count,
                                    const void *data)
{
    return bb_results_add(results, path, &(bb_results_form){unit, long_name, axes, count, false},
                          data);
}

static inline bb_status results_axis(bb_results *results, const char *path, const char *unit,
                                     const char *long_name, bb_index count, const double *values)
{
    return results_add(results, path, unit, long_name, NULL, count, values);
}

static inline bb_status results_text_axis(bb_results *results, const char *path,
                                          const char *long_name, bb_index count,
                                          const char *const *texts)
{
    return results_add(results, path, NULL, long_name, NULL, count, (const void *)texts);
}

static inline bb_status results_values(bb_results *results, const char *path, const char *unit,
                                       const char *long_name, const char *axes, const double *data)
{
    return results_add(results, path, unit, long_name, axes, 0, data);
}

static inline bb_status results_measured(bb_results *results, const char *path, const char *unit,
                                         const char *long_name, const char *axes,
                                         const double *data)
{
    return bb_results_add(results, path, &(bb_results_form){unit, long_name, axes, 0, true}, data);
}

static inline bb_status results_texts(bb_results *results, const char *path, const char *long_name,
                                      const char *axes, const char *const *texts)
{
    return results_add(results, path, NULL, long_name, axes, 0, (const void *)texts);
}

enum { FIXTURE_PIPELINES = 4, FIXTURE_STEPS = 3000 };

/// Four pipelines, the last of which failed, and a long series stored in compressed chunks.
static inline bb_status fixture_fill(bb_results *results)
{
    static const char *const names[] = {"reference", "fp32", "fp16", "hp3"};
    static const char *const statuses[] = {"ok", "ok", "ok", "not_spd"};
    static const double overlay_x[] = {0.0, 0.01, 0.5, NAN};
    static const double overlay_y[] = {0.0, 0.02, 0.25, NAN};
    static const double bytes[] = {8e6, 4e6, 2e6, 2e6};
    static const double seconds[] = {2e-3, 1e-3, 0.5e-3, NAN};
    static const double axis[] = {1.65, 2.2};
    static double series[FIXTURE_PIPELINES * FIXTURE_STEPS];
    static double steps[FIXTURE_STEPS];
    static const double values[] = {1, 2, 3, 4, 5, 6, 7, 8};
    bb_status status = BB_OK;
    for (int i = 0; i < FIXTURE_PIPELINES * FIXTURE_STEPS; ++i) {
        series[i] = sin(1e-3 * i);
        steps[i % FIXTURE_STEPS] = i % FIXTURE_STEPS;
    }
    BB_TRY(results_axis(results, "wavelength", "um", "wavelength", 2, axis));
    BB_TRY(results_text_axis(results, "results/pipeline", "pipeline", 4, names));
    BB_TRY(results_axis(results, "results/step", "1", "time step", FIXTURE_STEPS, steps));
    BB_TRY(results_values(results, "results/step_ms", "ms", "end of the step", "step", steps));
    BB_TRY(bb_results_coordinate(results, "results/step_ms"));
    BB_TRY(results_texts(results, "results/status", "outcome", "pipeline", statuses));
    BB_TRY(results_values(results, "results/overlay_error_x_nm", "nm", "overlay error, x",
                          "pipeline", overlay_x));
    BB_TRY(results_values(results, "results/overlay_error_y_nm", "nm", "overlay error, y",
                          "pipeline", overlay_y));
    BB_TRY(results_values(results, "results/operator_bytes", "byte", "bytes of the operator",
                          "pipeline", bytes));
    BB_TRY(results_measured(results, "results/solve_time_s", "s", "time to apply", "pipeline",
                            seconds));
    BB_TRY(results_values(results, "results/series", "nm", "a series", "pipeline, step", series));
    BB_TRY(results_values(results, "results/by", "1", "over a shared axis", "pipeline, wavelength",
                          values));
    BB_TRY(results_values(results, "results/energy_j", "J", "not measured", "pipeline", NULL));
    BB_TRY(results_values(results, "results/total", "1", "a single value", "", values));
    BB_TRY(bb_results_note(results, "", "title", "a fixture"));
    BB_TRY(bb_results_note(results, "", "experiment", "wafer"));
    BB_TRY(bb_results_note_number(results, "provenance", "seed", 1.0));
    BB_TRY(bb_results_note(results, "provenance", "host", "nowhere"));
done:
    return status;
}

/// New results. Owner: the caller.
static inline bb_results *empty_results(void)
{
    bb_results *results = NULL;
    check_ok(bb_results_create(&results));
    return results;
}

/// New results filled by fixture_fill. Owner: the caller.
static inline bb_results *fixture_results(void)
{
    bb_results *results = empty_results();
    check_ok(fixture_fill(results));
    return results;
}

/// Results read from a file. Owner: the caller.
static inline bb_results *read_results(const char *path)
{
    bb_results *results = NULL;
    check_ok(bb_reader_read(path, &results));
    return results;
}

/// Checks that two results have the same reproducible digest.
static inline void check_same_digest(const bb_results *a, const bb_results *b)
{
    char digests[2][BB_DIGEST_BYTES];
    check_ok(bb_results_digest(a, true, digests[0]));
    check_ok(bb_results_digest(b, true, digests[1]));
    assert_string_equal(digests[0], digests[1]);
}

/// A dataset by its path, "group/name"; it must exist.
static inline const bb_dataset *dataset_at(const bb_results *results, const char *path)
{
    const bb_dataset *dataset = bb_results_find(results, path);
    if (dataset == NULL) {
        print_error("no dataset %s\n", path);
        fail();
    }
    return dataset;
}

/// A dataset by group and name; it must exist.
static inline const bb_dataset *dataset_in(const bb_results *results, const char *group,
                                           const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", group, name);
    return dataset_at(results, path);
}

/// Sets an item of a dataset.
static inline void results_set(bb_results *results, const char *path, bb_index index, double value)
{
    dataset_at(results, path)->numbers[index] = value;
}

static inline void results_set_text(bb_results *results, const char *path, bb_index index,
                                    const char *text)
{
    char **item = &dataset_at(results, path)->texts[index];
    BB_RELEASE(item);
    check_ok(bb_memory_text(text, item));
}

/// Values of a numeric dataset.
static inline const double *numbers_at(const bb_results *results, const char *path)
{
    return dataset_at(results, path)->numbers;
}

/// Reads results of all groups of a file, with the operators of these names (NULL: none, "": all).
/// Owner: the caller.
static inline bb_results *read_all_results(const char *path, const char *operators)
{
    bb_results *results = NULL;
    check_ok(bb_reader_read_all(path, operators, &results));
    return results;
}

/// Whether `text` matches `pattern`, where <...> stands for any text.
static inline bool output_matches(const char *pattern, const char *text)
{
    const size_t before = strcspn(pattern, "<");
    const char *close = strchr(pattern, '>');
    const size_t after = close == NULL ? 0 : strlen(close + 1);
    const size_t length = strlen(text);
    return close == NULL ? strcmp(pattern, text) == 0
                         : length > before + after && strncmp(pattern, text, before) == 0 &&
                               strcmp(close + 1, text + length - after) == 0;
}

/// Table row that declares a dataset, including its group, axes and unit; NULL if there is none.
static inline const bb_output *output_row(const bb_output_table *table, const bb_dataset *dataset)
{
    char axes[512] = ""; // not allocated: the test may make allocations fail
    size_t length = 0;
    for (int a = 0; a < dataset->rank; ++a) {
        length += (size_t)snprintf(axes + length, sizeof axes - length, "%s%s", a == 0 ? "" : ", ",
                                   dataset->axes[a]);
        assert_true(length < sizeof axes);
    }
    for (bb_index i = 0; i < table->count; ++i) {
        const bb_output *row = &table->rows[i];
        if (output_matches(table->group, dataset->group) &&
            output_matches(row->name, dataset->name) && output_matches(row->axes, axes) &&
            (row->unit == NULL) == dataset->is_text && row->measured == dataset->measured &&
            (row->unit == NULL || output_matches(row->unit, dataset->unit))) {
            return row;
        }
    }
    return NULL;
}

/// Writes results to a file and replaces an existing one.
static inline void write_results(const bb_results *results, const char *path)
{
    autofree unsigned char *image = NULL;
    bb_index bytes = 0;
    check_ok(bb_image_build(results, &image, &bytes));
    check_ok(bb_file_write(path, true, image, bytes));
}

/// Writes results (`context`); callback of bb_file_write_by.
static inline bb_status fixture_write(const char *temporary, void *context)
{
    return bb_image_write(context, temporary);
}

/// Starts the HDF5 library before the tests of a group.
static inline int fixture_start_hdf5(void)
{
    return bb_hdf5_library_start() == BB_OK ? 0 : 1;
}

#endif
