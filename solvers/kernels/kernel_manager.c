// SPDX-License-Identifier: Apache-2.0
#include "solvers/kernels/kernel_manager.h"

#include "core/suggestion.h"
#include "shipped_kernels.h"
#include "solvers/kernels/language/notation_reader.h"
#include "solvers/kernels/program/evaluation.h"

#include <stdint.h>
#include <string.h>

enum { BAND = 32, GRID = 2048, CACHED_COLUMNS = 32768 };

// clang-format off
static const bb_kernel_manager managers[] = {
    {"add", "add.kernel", false, false,
     {{"published", {{"A", 2048, 2048}, {"B", 2048, 2048}, {"C", 2048, 2048}}, 0},
      {"large", {{"A", 16384, 8192}, {"B", 16384, 8192}, {"C", 16384, 8192}}, 0},
      {"odd", {{"A", 1021, 127}, {"B", 1021, 127}, {"C", 1021, 127}}, 0},
      {"small", {{"A", 65, 17}, {"B", 65, 17}, {"C", 65, 17}}, 0}}},
    {"laplace5", "laplace5.kernel", false, false,
     {{"published", {{"u", 2048, 2048}, {"v", 2048, 2048}}, 0},
      {"large", {{"u", 16384, 16384}, {"v", 16384, 16384}}, 0},
      {"odd", {{"u", 1021, 127}, {"v", 1021, 127}}, 0},
      {"small", {{"u", 65, 17}, {"v", 65, 17}}, 0}}},
    {"laplace9", "laplace9.kernel", false, false,
     {{"published", {{"u", 2048, 2048}, {"v", 2048, 2048}}, 0},
      {"large", {{"u", 16384, 16384}, {"v", 16384, 16384}}, 0},
      {"odd", {{"u", 1021, 127}, {"v", 1021, 127}}, 0},
      {"small", {{"u", 65, 17}, {"v", 65, 17}}, 0}}},
    {"l2norm", "l2norm.kernel", false, true,
     {{"published", {{"a", 4194304, 1}, {"norm", 1, 1}}, 0},
      {"large", {{"a", 268435456, 1}, {"norm", 1, 1}}, 0},
      {"odd", {{"a", 1000003, 1}, {"norm", 1, 1}}, 0},
      {"small", {{"a", 1009, 1}, {"norm", 1, 1}}, 0}}},
    {"max", "max.kernel", false, true,
     {{"published", {{"a", 4194304, 1}, {"largest", 1, 1}}, 0},
      {"large", {{"a", 268435456, 1}, {"largest", 1, 1}}, 0},
      {"odd", {{"a", 1000003, 1}, {"largest", 1, 1}}, 0},
      {"small", {{"a", 1009, 1}, {"largest", 1, 1}}, 0}}},
    {"gemv", "gemv.kernel", false, true,
     {{"published", {{"A", 2048, 2048}, {"b", 2048, 1}, {"c", 2048, 1}}, 0},
      {"large", {{"A", 16384, 16384}, {"b", 16384, 1}, {"c", 16384, 1}}, 0},
      {"odd", {{"A", 256000, 378}, {"b", 256000, 1}, {"c", 378, 1}}, 0},
      {"small", {{"A", 301, 17}, {"b", 301, 1}, {"c", 17, 1}}, 0}}},
    {"gemv-transposed", "gemv_transposed.kernel", false, true,
     {{"published", {{"A", 2048, 2048}, {"b", 2048, 1}, {"c", 2048, 1}}, 0},
      {"large", {{"A", 16384, 16384}, {"b", 16384, 1}, {"c", 16384, 1}}, 0},
      {"odd", {{"A", 256000, 378}, {"b", 378, 1}, {"c", 256000, 1}}, 0},
      {"small", {{"A", 301, 17}, {"b", 17, 1}, {"c", 301, 1}}, 0}}},
    {"gemv-mixed", "gemv_mixed.kernel", false, true,
     {{"published", {{"A", 256000, 378}, {"b", 256000, 1}, {"c", 378, 1}}, 0},
      {"large", {{"A", 9728, 9728}, {"b", 9728, 1}, {"c", 9728, 1}}, 0},
      {"odd", {{"A", 384, 252000}, {"b", 384, 1}, {"c", 252000, 1}}, 0},
      {"small", {{"A", 301, 17}, {"b", 301, 1}, {"c", 17, 1}}, 0}}},
    {"gemm", "gemm.kernel", true, false,
     {{"published", {{"A", 1024, 1024}, {"B", 1024, 1024}, {"C", 1024, 1024}}, 0},
      {"large", {{"A", 4096, 4096}, {"B", 4096, 4096}, {"C", 4096, 4096}}, 0},
      {"odd", {{"A", 257, 131}, {"B", 515, 257}, {"C", 515, 131}}, 0},
      {"small", {{"A", 33, 21}, {"B", 45, 33}, {"C", 45, 21}}, 0}}},
    {"spmv", "spmv.kernel", false, false,
     {{"published", {{"row_start", 524289, 1}, {"column", 16777216, 1}, {"value", 16777216, 1},
                {"x", 32768, 1}, {"y", 524288, 1}}, BB_SPARSITY_COLUMNS},
      {"large", {{"row_start", 2097153, 1}, {"column", 67108864, 1}, {"value", 67108864, 1},
                 {"x", 2097152, 1}, {"y", 2097152, 1}}, BB_SPARSITY_BAND},
      {"odd", {{"row_start", 4194305, 1}, {"column", 20963328, 1}, {"value", 20963328, 1},
               {"x", 4194304, 1}, {"y", 4194304, 1}}, BB_SPARSITY_FIVE_POINT},
      {"small", {{"row_start", 65, 1}, {"column", 2048, 1}, {"value", 2048, 1},
                {"x", 64, 1}, {"y", 64, 1}}, BB_SPARSITY_BAND}}},
};
// clang-format on
enum { MANAGERS = sizeof managers / sizeof managers[0] };

int bb_kernel_manager_table(const bb_kernel_manager **out)
{
    *out = managers;
    return MANAGERS;
}

bb_status bb_kernel_manager_find(const char *name, const bb_kernel_manager **out)
{
    bb_status status = BB_OK;
    bb_index distance = PTRDIFF_MAX;
    const char *nearest = NULL;
    for (int i = 0; i < MANAGERS; ++i) {
        if (strcmp(managers[i].name, name) == 0) {
            *out = &managers[i];
            goto done;
        }
        bb_suggestion_consider(name, managers[i].name, &distance, &nearest);
    }
    BB_FAIL(BB_INVALID, "there is no kernel '%.80s'%s%s%s", name,
            nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
            nearest != NULL ? "?" : "");
done:
    return status;
}

const bb_scalar bb_kernel_manager_parameters[BB_MANAGER_PARAMETERS] = {{.integer = 0}};

int bb_kernel_manager_types(const bb_kernel_manager *manager, const char *type,
                            bb_type_binding out[BB_MANAGER_TYPES])
{
    if (strcmp(manager->file, "gemv_mixed.kernel") != 0) {
        out[0] = (bb_type_binding){"T", type};
        return 1;
    }
    out[0] = (bb_type_binding){"STORED", type};
    out[1] = (bb_type_binding){"FACTOR", type};
    out[2] = (bb_type_binding){"SUM", "DP"};
    return 3;
}

const char *bb_kernel_manager_text(const char *file)
{
    for (size_t i = 0; i < sizeof shipped_kernels / sizeof shipped_kernels[0]; ++i) {
        if (strcmp(shipped_kernels[i].file, file) == 0) {
            return shipped_kernels[i].text;
        }
    }
    return "";
}

bb_status bb_kernel_manager_read(const char *file, const char *name, const bb_type_binding *types,
                                 int count, bb_description *description, bb_program *program)
{
    bb_status status = BB_OK;
    const char *text = bb_kernel_manager_text(file);
    bb_problems problems = {.count = 0};
    BB_TRY(bb_notation_reader_read(text, (bb_index)strlen(text), file, &problems, description));
    if (problems.count == 0) {
        BB_TRY(bb_program_create(description, types, count, &problems, program));
    }
    BB_REQUIRE(problems.count == 0, BB_INVALID, "kernel %s: %s", name,
               bb_text_string(&problems.lines));
done:
    bb_problems_release(&problems);
    return status;
}

const bb_benchmark_object *bb_kernel_manager_object(const bb_benchmark_set *set, const char *name)
{
    for (int i = 0; i < BB_MANAGER_OBJECTS && set->objects[i].name != NULL; ++i) {
        if (strcmp(set->objects[i].name, name) == 0) {
            return &set->objects[i];
        }
    }
    return NULL;
}

// Writes the columns of row `row`, ascending; returns their number.
static bb_index row_columns(const bb_benchmark_set *set, bb_index row, bb_index columns,
                            int32_t out[BAND])
{
    bb_index count = 0;
    if (set->sparsity == BB_SPARSITY_FIVE_POINT) {
        const bb_index x = row % GRID;
        const bb_index y = row / GRID;
        const bb_index neighbours[5] = {y > 0 ? row - GRID : -1, x > 0 ? row - 1 : -1, row,
                                        x + 1 < GRID ? row + 1 : -1,
                                        y + 1 < columns / GRID ? row + GRID : -1};
        for (int k = 0; k < 5; ++k) {
            if (neighbours[k] >= 0) {
                out[count++] = (int32_t)neighbours[k];
            }
        }
        return count;
    }
    bb_index first = row - BAND / 2;
    first = first < 0 ? 0 : first > columns - BAND ? columns - BAND : first;
    for (; count < BAND; ++count) {
        const uint64_t address = (uint64_t)(row * BAND + count);
        out[count] =
            set->sparsity == BB_SPARSITY_BAND
                ? (int32_t)(first + count)
                : (int32_t)((address * 2654435761U >> 7) % (uint64_t)(columns > 0 ? columns : 1));
    }
    return count;
}

static void fill_rows(const bb_program *program, const bb_benchmark_set *set,
                      const bb_program_data *data)
{
    int32_t *row_start = NULL;
    int32_t *column = NULL;
    bb_index rows = 0;
    bb_index columns = 0;
    bb_index count = 0;
    for (int i = 0; i < program->object_count; ++i) {
        const char *name = program->objects[i].name;
        row_start = strcmp(name, "row_start") == 0 ? data[i].elements : row_start;
        column = strcmp(name, "column") == 0 ? data[i].elements : column;
        columns = strcmp(name, "x") == 0 ? data[i].columns : columns;
        rows = strcmp(name, "y") == 0 ? data[i].columns : rows;
    }
    for (bb_index row = 0; row < rows && row_start != NULL && column != NULL; ++row) {
        row_start[row] = (int32_t)count;
        count += row_columns(set, row, columns, column + count);
        row_start[row + 1] = (int32_t)count;
    }
}

// Number in [-1, 1).
static inline double number_at(bb_index index)
{
    return (double)((uint32_t)index * 2654435761U >> 8) * 0x1p-23 - 1.0;
}

// Separate loops for real types, because sets have gigabytes.
static void fill_object(bb_element_type type, void *elements, bb_index count)
{
    if (type == BB_ELEMENT_INT32) {
        return;
    }
    for (bb_index k = 0; k < count && type == BB_ELEMENT_SP; ++k) {
        ((float *)elements)[k] = (float)number_at(k);
    }
    for (bb_index k = 0; k < count && type == BB_ELEMENT_DP; ++k) {
        ((double *)elements)[k] = number_at(k);
    }
    for (bb_index k = 0; k < count && type != BB_ELEMENT_SP && type != BB_ELEMENT_DP; ++k) {
        const double number = number_at(k);
        bb_evaluation_store(type, elements, k, (bb_scalar){{number, -number}, k % 2});
    }
}

void bb_kernel_manager_fill(const bb_program *program, const bb_benchmark_set *set,
                            const bb_program_data *data)
{
    for (int i = 0; i < program->object_count; ++i) {
        fill_object(program->objects[i].type, data[i].elements, data[i].columns * data[i].rows);
    }
    if (set->sparsity != BB_SPARSITY_NONE) {
        fill_rows(program, set, data);
    }
}
