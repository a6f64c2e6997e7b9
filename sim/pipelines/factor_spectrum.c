// SPDX-License-Identifier: Apache-2.0
#include "sim/pipelines/factor_spectrum.h"

#include "core/log.h"
#include "core/memory.h"
#include "precision/format.h"
#include "sim/evaluation.h"
#include "solvers/factor/spectrum.h"

bb_status bb_factor_spectrum_check(const bb_factor_spectrum *spectrum, bb_index n, bb_index size)
{
    bb_status status = BB_OK;
    const bb_factor_tile *tiles = spectrum->tiles.items;
    bb_index tile_rows = (n + size - 1) / size;
    for (bb_index t = 0; t < spectrum->tiles.count; ++t) {
        BB_REQUIRE(tiles[t].row < tile_rows && tiles[t].column < tile_rows, BB_INVALID,
                   "solver.spectrum.tiles[%td]: tile (%td, %td), expected below %td: %td "
                   "measurements in tiles of %td",
                   t, tiles[t].row, tiles[t].column, tile_rows, n, size);
    }
done:
    return status;
}

// Of what is factored, scale included.
static const char *unit_of(const bb_factor_problem *problem)
{
    bool scaled = problem->solver->scale == (int)BB_FACTOR_SCALE_UNIT_DIAGONAL;
    return scaled ? "1" : problem->matrix->unit;
}

static bb_status publish_formats(bb_results *results)
{
    bb_status status = BB_OK;
    double roundoffs[BB_FORMAT_COUNT];
    for (int f = 0; f < BB_FORMAT_COUNT; ++f) {
        roundoffs[f] = bb_format_unit_roundoff((bb_format)f);
    }
    BB_TRY(bb_results_text_axis(results, "spectrum/format", "number format", BB_FORMAT_COUNT,
                                bb_format_names));
    BB_TRY(bb_results_values(results, "spectrum/unit_roundoff", "1",
                             "largest relative error of rounding to the format", "format",
                             roundoffs));
done:
    return status;
}

static bb_status publish_eigenvalues(const bb_factor_problem *problem, bb_results *results)
{
    bb_status status = BB_OK;
    bb_index n = problem->matrix->rows;
    const char *unit = unit_of(problem);
    double lines[BB_FORMAT_COUNT];
    double *values = NULL;
    double *places = NULL;
    BB_TRY(bb_evaluation_unset(n, &values));
    BB_TRY(BB_ALLOCATE(n, &places));
    if (problem->outcome.kind == BB_OUTCOME_OK) {
        BB_TRY(bb_spectrum_eigenvalues(problem->matrix, problem->scale, values));
    }
    for (bb_index i = 0; i < n; ++i) {
        places[i] = (double)i;
    }
    for (int f = 0; f < BB_FORMAT_COUNT; ++f) {
        lines[f] = bb_format_unit_roundoff((bb_format)f) * values[0];
    }
    bb_log_info("eigenvalues of %s: %.3e to %.3e, condition %.2e", problem->matrix->name, values[0],
                values[n - 1], values[0] / values[n - 1]);
    BB_TRY(bb_results_axis(results, "spectrum/place", "1", "place in descending order", n, places));
    BB_TRY(bb_results_values(results, "spectrum/eigenvalue", unit,
                             "eigenvalues of what is factored, scale included", "place", values));
    BB_TRY(bb_results_values(results, "spectrum/roundoff_line", unit,
                             "unit roundoff of a format times the largest eigenvalue", "format",
                             lines));
done:
    BB_RELEASE(&values);
    BB_RELEASE(&places);
    return status;
}

// Numbers of the tiles that were chosen.
typedef struct tile_numbers {
    double *row, *column, *tile; // [count]
    double *values;              // [count][size], NaN beyond a tile's own
    double *lines;               // [count][formats]
    double *places;              // [size]
} tile_numbers;

static bb_status compute_tiles(const bb_factor_problem *problem, bb_index size, bb_index count,
                               tile_numbers *numbers)
{
    bb_status status = BB_OK;
    const bb_factor_tile *tiles = problem->solver->spectrum.tiles.items;
    bb_index n = problem->matrix->rows;
    BB_TRY(BB_ALLOCATE(count, &numbers->row));
    BB_TRY(BB_ALLOCATE(count, &numbers->column));
    BB_TRY(BB_ALLOCATE(count, &numbers->tile));
    BB_TRY(bb_evaluation_unset(count * size, &numbers->values));
    BB_TRY(BB_ALLOCATE(count * BB_FORMAT_COUNT, &numbers->lines));
    BB_TRY(BB_ALLOCATE(size, &numbers->places));
    for (bb_index t = 0; t < count; ++t) {
        bb_index row = tiles[t].row;
        bb_index column = tiles[t].column;
        bb_index rows = n - row * size < size ? n - row * size : size;
        bb_index columns = n - column * size < size ? n - column * size : size;
        double *values = numbers->values + t * size;
        if (problem->outcome.kind == BB_OUTCOME_OK) {
            BB_TRY(bb_spectrum_singular_values(problem->matrix, problem->scale, row * size, rows,
                                               column * size, columns, values));
        }
        numbers->tile[t] = (double)t;
        numbers->row[t] = (double)row;
        numbers->column[t] = (double)column;
        for (int f = 0; f < BB_FORMAT_COUNT; ++f) {
            numbers->lines[t * BB_FORMAT_COUNT + f] =
                bb_format_unit_roundoff((bb_format)f) * values[0];
        }
    }
    for (bb_index i = 0; i < size; ++i) {
        numbers->places[i] = (double)i;
    }
done:
    return status;
}

static bb_status publish_tiles(const bb_factor_problem *problem, bb_results *results)
{
    bb_status status = BB_OK;
    tile_numbers numbers = {0};
    bb_index n = problem->matrix->rows;
    bb_index size = problem->solver->tile < n ? problem->solver->tile : n;
    bb_index count = problem->solver->spectrum.tiles.count;
    BB_TRY(bb_factor_spectrum_check(&problem->solver->spectrum, n, size));
    const char *unit = unit_of(problem);
    BB_TRY(compute_tiles(problem, size, count, &numbers));
    BB_TRY(bb_results_axis(results, "spectrum/tile", "1", "index of the chosen tile", count,
                           numbers.tile));
    BB_TRY(bb_results_axis(results, "spectrum/tile_place", "1", "place in descending order", size,
                           numbers.places));
    BB_TRY(bb_results_values(results, "spectrum/tile_row", "1", "row of the tile", "tile",
                             numbers.row));
    BB_TRY(bb_results_values(results, "spectrum/tile_column", "1", "column of the tile", "tile",
                             numbers.column));
    BB_TRY(bb_results_values(results, "spectrum/tile_singular_value", unit,
                             "singular values of the tile, scale included", "tile, tile_place",
                             numbers.values));
    BB_TRY(bb_results_values(results, "spectrum/tile_roundoff_line", unit,
                             "unit roundoff of a format times the largest singular value",
                             "tile, format", numbers.lines));
done:
    BB_RELEASE(&numbers.row);
    BB_RELEASE(&numbers.column);
    BB_RELEASE(&numbers.tile);
    BB_RELEASE(&numbers.values);
    BB_RELEASE(&numbers.lines);
    BB_RELEASE(&numbers.places);
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
