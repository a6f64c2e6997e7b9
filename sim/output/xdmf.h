// SPDX-License-Identifier: Apache-2.0
//
// XDMF, the XML that tells ParaView how to see an HDF5 file: grids and the arrays on them, each a
// reference "<file>:<dataset>" (XDMF 3, read by ParaView's XDMF 2 and 3 readers). The file is named
// without a folder, so that the pair moves together. Calls append to a text in the order of the
// elements: begin; grids in collections; end. Arrays are doubles, as all of this program's are.
//
// What the readers of ParaView 5.11 ask for: whole datasets, as XDMF 3 skips HyperSlab items;
// images as one layer of cells, as XDMF 2 puts flat ones into the plane of y and z; points with
// their indices, without which XDMF 3 makes no cells of them; all grids of a time in one
// collection, as XDMF 3 drops grids beside a temporal one.
#ifndef BB_SIM_OUTPUT_XDMF_H
#define BB_SIM_OUTPUT_XDMF_H

#include "core/text.h"

/// Where the text stands.
typedef struct bb_xdmf {
    bb_text *text;    ///< appended to
    const char *file; ///< name of the HDF5 file, without its folder
} bb_xdmf;

/// A dataset of the file.
typedef struct bb_xdmf_array {
    const char *dataset; ///< "/view/raw_nm"
    bb_index rows;
    bb_index columns; ///< 1: one-dimensional
} bb_xdmf_array;

/// An image of equal cells: a layer from z = -1 to 0; x along columns.
typedef struct bb_xdmf_image {
    bb_index columns, rows;
    double x, y;          ///< lower left corner
    double width, height; ///< of a cell
} bb_xdmf_image;

typedef enum bb_xdmf_collection { BB_XDMF_SPATIAL, BB_XDMF_TEMPORAL } bb_xdmf_collection;

/// Errors of all: BB_MEMORY.
BB_CHECKED bb_status bb_xdmf_begin(bb_xdmf *xdmf);
BB_CHECKED bb_status bb_xdmf_end(bb_xdmf *xdmf);

/// Opens a collection of grids; bb_xdmf_close ends it. `time` in s is that of a spatial one, NaN
/// for none.
BB_CHECKED bb_status bb_xdmf_open_collection(bb_xdmf *xdmf, const char *name,
                                             bb_xdmf_collection collection, double time);

/// Opens a grid of single points, `points` [count][3], whose indices `index` [count] holds;
/// attributes follow, then bb_xdmf_close.
BB_CHECKED bb_status bb_xdmf_open_points(bb_xdmf *xdmf, const char *name,
                                         const bb_xdmf_array *points, const bb_xdmf_array *index);

/// Opens a grid of cells; attributes follow, then bb_xdmf_close.
BB_CHECKED bb_status bb_xdmf_open_image(bb_xdmf *xdmf, const char *name,
                                        const bb_xdmf_image *image);

/// An array on the points: vectors where it has 3 columns.
BB_CHECKED bb_status bb_xdmf_point_array(bb_xdmf *xdmf, const char *name,
                                         const bb_xdmf_array *array);

/// A scalar on the cells of an image: a dataset [1][rows][columns].
BB_CHECKED bb_status bb_xdmf_cell_array(bb_xdmf *xdmf, const char *name,
                                        const bb_xdmf_array *array);

BB_CHECKED bb_status bb_xdmf_close(bb_xdmf *xdmf);

/// Path of the XDMF of an output: ".h5" at its end gives way to ".xdmf", which is appended
/// otherwise. Owner of `*out`: the caller.
BB_CHECKED bb_status bb_xdmf_path(const char *output, char **out);

#endif
