// SPDX-License-Identifier: Apache-2.0
//
// How a matrix in zfp is cut into panels, in the common subset of C and CUDA.
//
// A slab is the rows that decode together: a row (1-D, 2-D), four rows of a line of the row grid
// (3-D), four by four (4-D). Its values are `blocks` blocks that follow each other in the stream of
// the slab's band. A panel is the part of a slab whose runs of blocks lie in BB_ZFP_PANEL_NARROW or
// BB_ZFP_PANEL_WIDE groups of the index (32 runs): what a warp decodes and multiplies.
#ifndef BB_SOLVERS_OPERATOR_ZFP_PANELS_CORE_H
#define BB_SOLVERS_OPERATOR_ZFP_PANELS_CORE_H

#include "precision/codecs/zfp/zfp_stream.h"

enum {
    BB_ZFP_PANEL_NARROW = 2, ///< groups of a panel in one and two dimensions, a lane a run
    BB_ZFP_PANEL_WIDE = 1,   ///< in three and four, a warp a run
};

typedef struct bb_zfp_cut {
    int dimensions;
    bb_index nx, ny;       ///< mesh that the columns are
    bb_index line_rows;    ///< rows of a line of the row grid, 1 below three dimensions
    bb_index band_rows;    ///< rows of a stream, the matrix's last may have fewer
    bb_index band_slabs;   ///< slabs of a band
    bb_index slab_rows;    ///< 1, 4 or 16, some of which may not be there
    bb_index blocks;       ///< of a slab
    bb_index run_blocks;   ///< 1 in three and four dimensions: no run crosses slabs
    bb_index runs;         ///< of a slab; its last may have fewer blocks
    bb_index panel_groups; ///< BB_ZFP_PANEL_NARROW or BB_ZFP_PANEL_WIDE
    bb_index panels;       ///< of a slab, the last ones may be empty
} bb_zfp_cut;

/// Of a band with all its lines.
BB_DEVICE_FUNCTION
bb_zfp_cut bb_zfp_cut_of(const bb_zfp_shape *shape, bb_index run_blocks)
{
    const int wide = shape->dimensions >= 3;
    const bb_index group = BB_ZFP_GROUP_RUNS;
    bb_zfp_cut cut;
    cut.dimensions = shape->dimensions;
    cut.nx = shape->nx;
    cut.ny = shape->ny;
    cut.line_rows = shape->nz;
    cut.band_rows = shape->nz * shape->nw;
    cut.band_slabs = bb_zfp_stream_blocks_of(shape->nz);
    cut.slab_rows = shape->dimensions == 4 ? 16 : wide ? 4 : 1;
    cut.blocks = bb_zfp_stream_blocks_of(shape->nx) * bb_zfp_stream_blocks_of(shape->ny);
    cut.run_blocks = run_blocks;
    cut.runs = (cut.blocks + run_blocks - 1) / run_blocks;
    cut.panel_groups = wide ? BB_ZFP_PANEL_WIDE : BB_ZFP_PANEL_NARROW;
    // A slab's first run may be any of its group.
    const bb_index touched =
        wide ? (cut.runs + 2 * (group - 1)) / group : (cut.runs + group - 1) / group;
    cut.panels = (touched + cut.panel_groups - 1) / cut.panel_groups;
    return cut;
}

/// Runs [begin, end) of a band, none where `begin` is not below `end`.
typedef struct bb_zfp_panel {
    bb_index band;
    bb_index first_run; ///< of the slab, in the band
    bb_index begin, end;
} bb_zfp_panel;

BB_DEVICE_FUNCTION
bb_zfp_panel bb_zfp_panel_of(const bb_zfp_cut *cut, bb_index slab, bb_index panel)
{
    bb_zfp_panel out;
    out.band = cut->band_slabs == 1 ? slab : slab / cut->band_slabs;
    out.first_run = (slab - out.band * cut->band_slabs) * cut->runs;
    const bb_index past = out.first_run + cut->runs;
    const bb_index group = out.first_run / BB_ZFP_GROUP_RUNS + panel * cut->panel_groups;
    out.begin = group * BB_ZFP_GROUP_RUNS;
    out.end = out.begin + cut->panel_groups * BB_ZFP_GROUP_RUNS;
    out.begin = out.begin > out.first_run ? out.begin : out.first_run;
    out.end = out.end < past ? out.end : past;
    return out;
}

/// A row's slab and its place among the slab's rows, z + 4 w.
typedef struct bb_zfp_row_place {
    bb_index slab, row;
} bb_zfp_row_place;

BB_DEVICE_FUNCTION
bb_zfp_row_place bb_zfp_row_place_of(const bb_zfp_cut *cut, bb_index row)
{
    const bb_index band = row / cut->band_rows;
    const bb_index of_band = row - band * cut->band_rows;
    const bb_index w = of_band / cut->line_rows;
    const bb_index z = of_band - w * cut->line_rows;
    bb_zfp_row_place out;
    out.slab = band * cut->band_slabs + z / 4;
    out.row = z % 4 + 4 * w;
    return out;
}

/// Slabs that rows lie in: in four dimensions those of whole bands.
typedef struct bb_zfp_slab_range {
    bb_index first, count;
} bb_zfp_slab_range;

BB_DEVICE_FUNCTION
bb_zfp_slab_range bb_zfp_panels_slabs_of(const bb_zfp_cut *cut, bb_index row, bb_index rows)
{
    bb_zfp_slab_range out = {0, 0};
    if (rows > 0) {
        bb_index first = bb_zfp_row_place_of(cut, row).slab;
        bb_index last = bb_zfp_row_place_of(cut, row + rows - 1).slab;
        if (cut->dimensions == 4) {
            first = row / cut->band_rows * cut->band_slabs;
            last = ((row + rows - 1) / cut->band_rows + 1) * cut->band_slabs - 1;
        }
        out.first = first;
        out.count = last - first + 1;
    }
    return out;
}

/// Sums of panels that a product of so many slabs leaves.
BB_DEVICE_FUNCTION
bb_index bb_zfp_panels_place_count(const bb_zfp_cut *cut, bb_index slabs)
{
    return slabs * cut->slab_rows * cut->panels;
}

/// Where the sum of a panel for a row goes, slabs counted from the product's first.
BB_DEVICE_FUNCTION
bb_index bb_zfp_panels_place_of(const bb_zfp_cut *cut, bb_index slab, bb_index row, bb_index panel)
{
    return (slab * cut->slab_rows + row) * cut->panels + panel;
}

#endif
