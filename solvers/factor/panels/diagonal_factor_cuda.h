// SPDX-License-Identifier: Apache-2.0
//
// For .cu files only: Cholesky factor and inverse of the diagonal block of a panel, in fp32 or
// fp64.
//
// The panel below a diagonal block is solved by multiplying with the inverse of its factor, which
// the tensor cores can do. The block is factored in squares
// (solvers/factor/panels/square_factor_cuda.h), what is right of one is updated in tiles, and the
// inverse grows from those of the squares by doubling:
//     [L11 0; L21 L22]^-1 = [X11 0; -X22 L21 X11, X22].
// Few, short launches on one stream: this chain is what bounds a small factorization.
#ifndef BB_SOLVERS_FACTOR_PANELS_DIAGONAL_FACTOR_CUDA_H
#define BB_SOLVERS_FACTOR_PANELS_DIAGONAL_FACTOR_CUDA_H

#include "solvers/factor/panels/square_factor_cuda.h"

/// Factors the lower triangle of `block` [size][size] in place and writes the inverse of the factor
/// to `inverse` [size][size], which holds zeros above its diagonal before and after. `size` is a
/// multiple of 128, `scratch` [size][size]. `row` is the first row of the block in the matrix.
/// Errors: BB_DEVICE.
template <typename T>
BB_CHECKED bb_status bb_diagonal_factor_launch(T *block, T *inverse, T *scratch, bb_index size,
                                               bb_index row, bb_breakdown_cuda *breakdown,
                                               cudaStream_t stream);

#endif
