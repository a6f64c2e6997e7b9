// SPDX-License-Identifier: Apache-2.0
//
// Descriptions in a short notation, lowered one to one to the elements of the XML form; places are
// those of the notation.
//
//     kernel NAME (a, b: matrix TYPE [BOUNDARY]; v: vector TYPE; p: TYPE)
//                                       objects; a bare type: a Parameter
//     for x in RANGE [, y in RANGE]     main space; RANGE: an integer expression with numbers,
//                                       extents (of a matrix .columns and .rows, of a vector .size)
//                                       and elements of objects
//       let q = EXPRESSION              names a text; its names are resolved where q is used
//       s = sum (k in RANGE, ...) VALUE an IteratorBlock; sum, product, max, min, and, or
//       t = VALUE                       a FunctionBlock; `t: TYPE = VALUE` sets its type
//       a[column, row | BOUNDARY] = VALUE  a DataAccessWrite; in a VALUE, a read
//       m = sum VALUE                   over the main space: the ICF of the ParallelAlgorithm;
//                                       values computed from m only are computed once,
//                                       after the space
//
// Statements run in order as far as it matters: an access of an object waits for earlier writes of
// it (OrderingRules).
//
// The type of a VALUE is that of the first object in it, else of the first parameter or name that
// is not INT32, else, if it is written directly, of the written object, else INT32. `s: TYPE = sum
// ...` sets the type of the sum only. Selectors may contain reads, as in x[col[k]]. `//` starts a
// comment; a statement ends with its line, unless a bracket is open.
#ifndef BB_SOLVERS_KERNELS_LANGUAGE_NOTATION_READER_H
#define BB_SOLVERS_KERNELS_LANGUAGE_NOTATION_READER_H

#include "solvers/kernels/language/description.h"

enum { BB_NOTATION_READER_MAX_BYTES = 1 << 20 };

/// Like bb_xml_reader_read, with the limit BB_NOTATION_READER_MAX_BYTES. One problem is reported
/// per statement.
BB_CHECKED bb_status bb_notation_reader_read(const char *bytes, bb_index length, const char *name,
                                             bb_problems *problems, bb_description *out);

#endif
