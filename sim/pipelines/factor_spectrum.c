// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/factor_spectrum.h"

#include "core/log.h"
#include "core/memory.h"
#include "precision/format.h"
#include "sim/pipelines/evaluation.h"
#include "solvers/factor/spectrum.h"

// Size of the tiles that the study names.
static bb_index size_of(const bb_factor_solver_config *solver, bb_index n)
{
    const bb_index size = solver->spectrum.size > 0 ? solver->spectrum.size : solver->tile;
    return size < n ? size : n;
}

bb_status bb_factor_spectrum_check(const bb_factor_solver_config *solver, bb_index n)
{
    bb_status status = BB_OK;
    const bb_factor_tile *tiles = solver->spectrum.tiles.items;
    const bb_index size = size_of(solver, n);
    const bb_index tile_rows = (n + size - 1) / size;
    for (bb_index t = 0; t < solver->spectrum.tiles.count; ++t) {
        BB_REQUIRE(tiles[t].row < tile_rows && tiles[t].column < tile_rows, BB_INVALID,
                   "solver.spectrum.tiles[%td]: tile (%td, %td), expected indices below %td: %td "
                   "measurements in tiles of %td",
                   t, tiles[t].row, tiles[t].column, tile_rows, n, size);
    }
done:
    return status;
}

// Unit of the factored matrix, including its scale.
static const char *unit_of(const bb_factor_problem *problem)
{
    bool scaled = problem->solver->scale == (int)BB_FACTOR_SCALE_UNIT_DIAGONAL;
    return scaled ? "1" : problem->matrix->unit;
}

static const char title[] = "/spectrum, ao and reconstructor with `solver.spectrum`";

// Eigenvalues of the matrix, and round-off of the formats.
typedef struct matrix_record {
    bb_index formats, n;
    const char *const *names;
    const double *roundoffs;           // [formats]
    const double *eigenvalues, *lines; // [n] and [formats], or NULL
} matrix_record;

static const bb_output matrix_rows[] = {
    {"format", "format", NULL, "number format", .member = offsetof(matrix_record, names),
     .count = offsetof(matrix_record, formats)},
    {"unit_roundoff", "format", "1", "largest relative error of rounding to the format",
     .member = offsetof(matrix_record, roundoffs)},
};

const bb_output_table bb_factor_spectrum_formats = {
    .title = title, .group = "spectrum", BB_OUTPUT_ROWS(matrix_rows)};

#define UNIT "<1 with the unit diagonal, else of Cmm>"

static const bb_output eigenvalue_rows[] = {
    {"place", "place", "1", "rank in descending order", .count = offsetof(matrix_record, n),
     .indices = true},
    {"eigenvalue", "place", UNIT, "eigenvalues of the factored matrix, including its scale",
     .member = offsetof(matrix_record, eigenvalues)},
    {"roundoff_line", "format", UNIT, "unit roundoff of a format times the largest eigenvalue",
     .member = offsetof(matrix_record, lines)},
};

const bb_output_table bb_factor_spectrum_matrix = {.title = title,
                                                   .when = "With `solver.spectrum.matrix`:",
                                                   .group = "spectrum",
                                                   BB_OUTPUT_ROWS(eigenvalue_rows)};

static bb_status publish_formats(bb_results *results)
{
    double roundoffs[BB_FORMAT_COUNT];
    for (int f = 0; f < BB_FORMAT_COUNT; ++f) {
        roundoffs[f] = bb_format_unit_roundoff((bb_format)f);
    }
    const matrix_record record = {
        .formats = BB_FORMAT_COUNT, .names = bb_format_names, .roundoffs = roundoffs};
    return bb_output_table_publish(&bb_factor_spectrum_formats, &record, NULL, results);
}

static bb_status publish_eigenvalues(const bb_factor_problem *problem, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_index n = problem->matrix->rows;
    const bb_output_fill fill = {.unit = unit_of(problem)};
    double lines[BB_FORMAT_COUNT];
    double *values = NULL; // [n]
    BB_TRY(bb_evaluation_unset(n, &values));
    if (problem->outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(bb_spectrum_eigenvalues(problem->matrix, problem->scale, values));
    }
    for (int f = 0; f < BB_FORMAT_COUNT; ++f) {
        lines[f] = bb_format_unit_roundoff((bb_format)f) * values[0];
    }
    bb_log_info("eigenvalues of %s: %.3e to %.3e, condition %.2e", problem->matrix->name, values[0],
                values[n - 1], values[0] / values[n - 1]);
    const matrix_record record = {.n = n, .eigenvalues = values, .lines = lines};
    BB_TRY(bb_output_table_publish(&bb_factor_spectrum_matrix, &record, &fill, results));
done:
    BB_RELEASE(&values);
    return status;
}

// Row of a selected tile; singular values are NaN beyond its size.
typedef struct tile_row {
    double index, row, column;
    const double *values; // [size]
    double lines[BB_FORMAT_COUNT];
} tile_row;

static const bb_output place_rows[] = {
    {"tile_place", "tile_place", "1", .long_name = "rank in descending order"},
};

const bb_output_table bb_factor_spectrum_places = {.title = title,
                                                   .when = "With `solver.spectrum.tiles`:",
                                                   .group = "spectrum",
                                                   BB_OUTPUT_ROWS(place_rows)};

static const bb_output tile_rows[] = {
    {"tile", "tile", "1", "index of the selected tile", .member = offsetof(tile_row, index)},
    {"tile_row", "tile", "1", "row of the tile", .member = offsetof(tile_row, row),
     .coordinate = true},
    {"tile_column", "tile", "1", "column of the tile", .member = offsetof(tile_row, column),
     .coordinate = true},
    {"tile_singular_value", "tile, tile_place", UNIT,
     "singular values of the tile, including the scale", .note = "descending",
     .member = offsetof(tile_row, values)},
    {"tile_roundoff_line", "tile, format", UNIT,
     "unit roundoff of a format times the largest singular value",
     .member = offsetof(tile_row, lines), .embedded = true},
};

const bb_output_table bb_factor_spectrum_tiles = {
    .title = title, .group = "spectrum", .axes = "tile", BB_OUTPUT_ROWS(tile_rows)};

static bb_status compute_tile(const bb_factor_problem *problem, bb_index size, bb_index index,
                              double *values, tile_row *out)
{
    bb_status status = BB_OK;
    const bb_factor_tile *tile =
        &((const bb_factor_tile *)problem->solver->spectrum.tiles.items)[index];
    const bb_index n = problem->matrix->rows;
    const bb_index first_row = tile->row * size;
    const bb_index first_column = tile->column * size;
    if (problem->outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(bb_spectrum_singular_values(
            problem->matrix, problem->scale, first_row, n - first_row < size ? n - first_row : size,
            first_column, n - first_column < size ? n - first_column : size, values));
    }
    *out = (tile_row){(double)index, (double)tile->row, (double)tile->column, values, {0}};
    for (int f = 0; f < BB_FORMAT_COUNT; ++f) {
        out->lines[f] = bb_format_unit_roundoff((bb_format)f) * values[0];
    }
done:
    return status;
}

static bb_status publish_tiles(const bb_factor_problem *problem, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_output_fill fill = {.unit = unit_of(problem)};
    const bb_index n = problem->matrix->rows;
    const bb_index size = size_of(problem->solver, n);
    const bb_index count = problem->solver->spectrum.tiles.count;
    tile_row *rows = NULL; // [count]
    double *values = NULL; // [count][size]
    BB_TRY(bb_factor_spectrum_check(problem->solver, n));
    BB_TRY(BB_ALLOCATE(count, &rows));
    BB_TRY(bb_evaluation_unset(count * size, &values));
    for (bb_index t = 0; t < count; ++t) {
        BB_TRY(compute_tile(problem, size, t, values + t * size, &rows[t]));
    }
    BB_TRY(bb_output_table_add_axis(&bb_factor_spectrum_places, "tile_place", size, NULL, NULL,
                                    results));
    BB_TRY(bb_output_table_publish_records(&bb_factor_spectrum_tiles, rows, sizeof *rows, count,
                                           &fill, results));
done:
    BB_RELEASE(&rows);
    BB_RELEASE(&values);
    return status;
}

bb_status bb_factor_spectrum_publish(const bb_factor_problem *problem, bb_results *results)
{
    bb_status status = BB_OK;
    const bb_factor_spectrum *asked = &problem->solver->spectrum;
    if (!asked->matrix && asked->tiles.count == 0) {
        goto done;
    }
    BB_TRY(publish_formats(results));
    if (asked->matrix) {
        BB_TRY(publish_eigenvalues(problem, results));
    }
    if (asked->tiles.count > 0) {
        BB_TRY(publish_tiles(problem, results));
    }
done:
    return status;
}

bb_need bb_factor_spectrum_need(const bb_factor_solver_config *solver, bb_index n)
{
    return solver->spectrum.matrix ? bb_spectrum_need(n) : (bb_need){0};
}
