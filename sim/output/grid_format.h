// SPDX-License-Identifier: Apache-2.0
//
// Grids as texts for programs and papers.
#ifndef BB_SIM_OUTPUT_GRID_FORMAT_H
#define BB_SIM_OUTPUT_GRID_FORMAT_H

#include "core/text.h"
#include "sim/output/grid.h"

/// CSV by RFC 4180: numbers as stored, to the bit, what is absent empty; a header "name [unit]".
/// Errors of all: BB_MEMORY.
BB_CHECKED bb_status bb_grid_format_csv(const bb_grid *grid, bb_text *out);

/// JSON: `files`, of sources [count], `fields` with units, and `pipelines`, records with numbers as
/// stored; null for what is not finite. `answers` [count] are sentences.
BB_CHECKED bb_status bb_grid_format_json(const bb_grid *grid, const bb_grid_source *sources,
                                         const char *const *answers, bb_index count, bb_text *out);

/// A table of Markdown (GitHub's), and a tabular of LaTeX that needs no package; numbers for
/// people.
BB_CHECKED bb_status bb_grid_format_markdown(const bb_grid *grid, bb_text *out);
BB_CHECKED bb_status bb_grid_format_latex(const bb_grid *grid, bb_text *out);

#endif
