// SPDX-License-Identifier: Apache-2.0
//
// Output of grids as texts for programs and papers.
#ifndef BB_SIM_OUTPUT_GRID_FORMAT_H
#define BB_SIM_OUTPUT_GRID_FORMAT_H

#include "core/text.h"
#include "sim/output/grid.h"

/// Writes CSV by RFC 4180: numbers with their stored bits, absent ones empty; headers "name
/// [unit]". Errors of all functions: BB_MEMORY.
BB_CHECKED bb_status bb_grid_format_csv(const bb_grid *grid, bb_text *out);

/// Writes JSON: `files` of the sources [count], `fields` with units, and `pipelines`, records with
/// numbers as stored; null for non-finite numbers. `answers` [count] are sentences.
BB_CHECKED bb_status bb_grid_format_json(const bb_grid *grid, const bb_grid_source *sources,
                                         const char *const *answers, bb_index count, bb_text *out);

/// Write a Markdown table (GitHub), and a LaTeX tabular without packages; numbers are for people.
BB_CHECKED bb_status bb_grid_format_markdown(const bb_grid *grid, bb_text *out);
BB_CHECKED bb_status bb_grid_format_latex(const bb_grid *grid, bb_text *out);

#endif
