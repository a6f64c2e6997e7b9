// SPDX-License-Identifier: Apache-2.0
//
// libbitbudget: number formats, compressed operators, mixed-precision Cholesky factorization,
// rounding in a norm, and phase unwrapping.
//
// Conventions
//   Arrays     Row-major and contiguous, shapes in brackets; double unless stated. Inputs and
//              outputs must not overlap unless stated. Arrays are borrowed during a call only,
//              unless stated.
//   Handles    Opaque, created by *_create and similar functions, released by *_destroy, which sets
//              the pointer to NULL and accepts NULL. On failure the created handle is NULL.
//   Errors     Functions that can fail return bb_status; bb_status_message gives the reason of a
//              failure. Any function may return BB_MEMORY. NULL where a pointer is required, and a
//              text that cannot be parsed, are BB_INVALID. The library never ends the process and
//              writes nothing to stdout or stderr.
//   Outcomes   A numerical failure is not an error: the call returns BB_OK and reports a
//              bb_outcome whose kind is not BB_OUTCOME_OK.
//   Threads    Every function may be called from several threads at once, but a handle that is not
//              const may be used by one thread at a time. A call uses the library's threads if they
//              are idle, otherwise its own thread. OpenBLAS is set to one thread, in the whole
//              process if it is shared with other code. After a fork the child uses one thread.
//   Bits       Results depend on the arguments, the kind of device and the instruction set of
//              OpenBLAS (OPENBLAS_CORETYPE), not on the number of threads.
//   Options    Texts of words separated by spaces, with the keys and words of the configuration
//              files: "mx element=e4m3". NULL and "" are the defaults. Unknown and repeated keys
//              are BB_INVALID.
//   Devices    "cpu" (also NULL), "cuda", "cuda:1" and, for unwrapping, "opencl". A device or
//              feature that is absent is BB_DEVICE or BB_UNSUPPORTED with the reason; nothing falls
//              back. Device pointers are void pointers of CUDA.
#ifndef BITBUDGET_H
#define BITBUDGET_H

#include <stddef.h>

#if defined(__GNUC__)
#define BB_API __attribute__((visibility("default")))
#else
#define BB_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// Status and outcomes

#ifndef BB_CORE_STATUS_H
/// Signed type of counts and indices.
typedef ptrdiff_t bb_index;

/// Result of a call.
typedef enum bb_status {
    BB_OK = 0,
    BB_INVALID,     ///< bad argument or option
    BB_IO,          ///< a file cannot be read or written (the cache of compiled kernels)
    BB_MEMORY,      ///< out of memory on the host or a device
    BB_DEVICE,      ///< a device is absent or failed
    BB_UNSUPPORTED, ///< not offered by this build or device
    BB_INTERNAL,    ///< a defect of bitbudget or a library
    BB_DIFFERENT    ///< not returned by this library
} bb_status;

/// Returns the sentence of the last failure on the calling thread, "" if there is none. Valid until
/// the thread's next failure.
BB_API const char *bb_status_message(void);

/// Returns the name of a code, such as "out of memory".
BB_API const char *bb_status_name(bb_status code);

/// Clears the calling thread's message.
BB_API void bb_status_clear(void);
#endif

#ifndef BB_CORE_OUTCOME_H
/// Kind of an outcome.
typedef enum bb_outcome_kind {
    BB_OUTCOME_OK,
    BB_OUTCOME_NOT_SPD,         ///< a pivot was zero or negative: not positive definite
    BB_OUTCOME_NON_FINITE,      ///< NaN or infinity where none belongs
    BB_OUTCOME_NOT_CONVERGED,   ///< an iteration reached its limit
    BB_OUTCOME_UNDERDETERMINED, ///< the data do not determine the answer
    BB_OUTCOME_NOT_HELD         ///< a tolerance that the storage cannot achieve for these values
} bb_outcome_kind;

/// Numerical result of a computation.
typedef struct bb_outcome {
    bb_outcome_kind kind;
    char detail[240]; ///< one sentence with place and reason; "" if ok
} bb_outcome;

/// Returns "ok", "not_spd", "non_finite", "not_converged", "underdetermined" or "not_held".
BB_API const char *bb_outcome_name(bb_outcome_kind kind);
#endif

// Library

/// Returns the version, "0.1.0".
BB_API const char *bb_version(void);

/// Sets the number of threads of later calls, 1 to 1024; 0: the number of online processors, which
/// is the default. Waits for a loop that is running. Errors: BB_INVALID.
BB_API bb_status bb_set_threads(bb_index count);

/// Returns the number of threads of later calls.
BB_API bb_index bb_get_threads(void);

/// Description of a device.
typedef struct bb_device_info {
    char device[32];          ///< name to pass to functions: "cpu", "cuda:0"
    char name[128];           ///< name of the model
    char architecture[32];    ///< "x86_64", "sm_90"
    double memory_bytes;      ///< total memory
    double free_memory_bytes; ///< memory free at the call
    bb_index units;           ///< processors, or streaming multiprocessors
} bb_device_info;

/// Describes up to `capacity` devices of this host: the cpu, then those of cuda and opencl. `count`
/// receives the number of all devices. `out` may be NULL if capacity is 0. Errors: BB_DEVICE.
BB_API bb_status bb_list_devices(bb_index capacity, bb_device_info *out, bb_index *count);

// Storage: encoded matrices

// A storage text names a codec and its keys, "fp16", "bfp bits=8 block=32", "mx element=e4m3",
// "integer bits=5", "zfp mode=accuracy tolerance=1e-6", "quantiser tolerance_of_range=1e-4"
// (docs/manual: storage formats). Further keys describe the matrix:
//   scale=row        each row is scaled by a power of two before it is rounded; default none
//   mesh_columns=N   columns are points of a mesh, x fastest, N across; default 0: a line
//   row_columns=N    rows are points of a grid, N across; default 0: no grid
// zfp in 2 to 4 dimensions, transform and low_rank exploit smoothness along mesh and grid.

/// Encoded matrix [rows][columns] in host memory, immutable. Any number of threads may use it.
typedef struct bb_storage bb_storage;

/// Report of an encoding. Errors are decoded minus exact values, in the unit of the values.
typedef struct bb_storage_report {
    bb_index rows, columns;
    double bytes;          ///< stored bytes, including scales, exponents and index
    double bits_per_value; ///< 8 bytes / (rows columns)
    double max_error;      ///< largest magnitude of an error
    double rms_error;
    double mean_error;    ///< bias of the rounding
    double psnr_db;       ///< 20 log10(range / rms_error); infinite if exact, NaN without range
    bb_index saturated;   ///< values clipped to the range of the format
    bb_index underflowed; ///< nonzero values stored as zero
    bb_index non_finite;  ///< NaN and infinite values that the codec cannot represent; each poisons
                          ///< its block, which decodes to NaN
    char description[96]; ///< codec with all its settings, "zfp accuracy 1e-12, 2-D"
} bb_storage_report;

/// Returns the number of codecs, and the name of one, 0 <= index < bb_storage_count(); NULL
/// outside. The first are plain formats: fp64, fp32, fp16, ...
BB_API bb_index bb_storage_count(void);
BB_API const char *bb_storage_name(bb_index index);

/// Returns the number of keys of storage texts; bb_storage_key describes one. `name` and `meaning`
/// receive static texts, `words` [words_bytes] the accepted words, separated by spaces, "" for a
/// number. Errors: BB_INVALID (an index outside, a buffer below 200 bytes that is too small).
BB_API bb_index bb_storage_key_count(void);
BB_API bb_status bb_storage_key(bb_index index, const char **name, const char **meaning,
                                char *words, size_t words_bytes);

/// Parses and checks a storage text. `description` [description_bytes] may be NULL.
/// `bits_per_value` receives the bits_per_value that reports approach for long rows, which is
/// exceeded where a row ends with a part of a block; NaN if the data decide; may be NULL. Errors:
/// BB_INVALID.
BB_API bb_status bb_storage_check(const char *storage, char *description, size_t description_bytes,
                                  double *bits_per_value);

/// Computes the largest |decoded - value| that a codec guarantees for a finite value of `magnitude`
/// in a block of largest magnitude `block_magnitude`: infinity without a guarantee. `range`
/// (maximum - minimum of the matrix) is used by tolerance_of_range only. Rows unscaled. With
/// diffused rounding, nvfp4 and integer the block is the row. Errors: BB_INVALID.
BB_API bb_status bb_storage_bound(const char *storage, double range, double magnitude,
                                  double block_magnitude, double *bound);

/// Encodes values [rows][columns]; rounding=sweep is rounded to nearest here (see
/// bb_storage_round). Compares the stored with the exact values and computes the certificate of
/// every row. Errors: BB_INVALID (also a tolerance that the codec cannot achieve for the range of
/// these values).
BB_API bb_status bb_storage_encode(const char *storage, bb_index rows, bb_index columns,
                                   const double *values, bb_storage **out);

/// Releases a handle. Operators created from it stay valid.
BB_API void bb_storage_destroy(bb_storage **storage);

/// Decodes rows [row, row + rows) into `out` [rows][columns], scales undone. Errors: BB_INVALID.
BB_API bb_status bb_storage_decode(const bb_storage *storage, bb_index row, bb_index rows,
                                   double *out);

/// Returns the report of the encoding.
BB_API bb_status bb_storage_describe(const bb_storage *storage, bb_storage_report *out);

/// Encodes and decodes in one call: `out` [rows][columns] receives the rounded values and may equal
/// `values`. `report` may be NULL. Errors: as bb_storage_encode.
BB_API bb_status bb_storage_quantise(const char *storage, bb_index rows, bb_index columns,
                                     const double *values, double *out, bb_storage_report *report);

// Rounding in a norm

/// Report of bb_storage_round. Losses are tr(E A E^T), E = stored - r, in the unit of r A r^T;
/// infinite if a value overflows the format.
typedef struct bb_rounding_report {
    bb_outcome outcome;  ///< not_spd: A is not positive definite; non_finite: A or r is not
    double loss_nearest; ///< of rounding every value to nearest in the same storage
    double loss;         ///< of the result
    double seconds;
} bb_rounding_report;

/// Rounds `r` [rows][columns] so that the loss tr(E A E^T) is small, column by column from the last
/// to the first: each column compensates the errors of later ones (Babai's nearest plane; GPTQ).
/// `covariance` is A [columns][columns], symmetric positive definite; NULL: the identity. The
/// storage must be a codec that rounds columns one by one, a plain format, bfp, mx, float, integer
/// or quantiser, with rounding nearest (default) or sweep. device: "cpu", or "cuda" for
/// factorization and sums in fp64 there. If the outcome is not ok, `*out` is NULL and the losses
/// are NaN. Errors: BB_INVALID (A is not symmetric), BB_UNSUPPORTED (another codec), BB_DEVICE.
BB_API bb_status bb_storage_round(const char *storage, bb_index rows, bb_index columns,
                                  const double *r, const double *covariance, const char *device,
                                  bb_rounding_report *report, bb_storage **out);

// Operators

// An arithmetic text: "multiply=fp32 accumulate=fp64 run=128". multiply and accumulate are fp32 or
// fp64, accumulate no narrower than multiply; default fp64 and fp64. run (fp32 products with fp64
// sums only): so many products are summed in fp32 before the sum is added in fp64, a multiple of 32
// up to 1024; default 1.

/// Operator y = C x on a device.
typedef struct bb_operator bb_operator;

/// Shape and cost of an operator.
typedef struct bb_operator_report {
    bb_index rows, columns;
    double bytes;      ///< bytes of the matrix read by one application
    double flops;      ///< operations of one application
    int operand_bytes; ///< size of a value of x in bb_operator_queue: 4 or 8
} bb_operator_report;

/// Creates an operator from an encoded matrix, which it shares: the storage handle may be
/// destroyed. On cuda the matrix is copied there. Errors: BB_INVALID, BB_UNSUPPORTED (a storage
/// without products on the device, an arithmetic that does not follow the rules above), BB_DEVICE.
BB_API bb_status bb_operator_create(const bb_storage *storage, const char *arithmetic,
                                    const char *device, bb_operator **out);

/// Encodes a dense matrix `values` [rows][columns] and creates its operator. Errors: those of
/// bb_storage_encode and bb_operator_create.
BB_API bb_status bb_operator_create_dense(const char *storage, bb_index rows, bb_index columns,
                                          const double *values, const char *arithmetic,
                                          const char *device, bb_operator **out);

/// Creates an operator on the cpu from compressed sparse rows, which are copied: `row_start`
/// [rows + 1] and `column` [row_start[rows]] of 32-bit or 64-bit signed integers (index_bytes 4 or
/// 8), `value` [row_start[rows]]. Columns of a row may be in any order; repeated ones are summed in
/// the given order. Values, products and sums are fp64. Errors: BB_INVALID (an index outside the
/// matrix, row_start that decreases, more than 2^31 - 2 rows or columns).
BB_API bb_status bb_operator_create_csr(bb_index rows, bb_index columns, int index_bytes,
                                        const void *row_start, const void *column,
                                        const double *value, bb_operator **out);
BB_API void bb_operator_destroy(bb_operator **operation);

BB_API bb_status bb_operator_describe(const bb_operator *operation, bb_operator_report *out);

/// Multiplies `count` vectors: y [count][rows] = x [count][columns] C^T. x is rounded to the
/// multiply format; row scales are removed in fp64. `seconds` receives the time of the products
/// including transfers; may be NULL. Errors: BB_INVALID, BB_DEVICE.
BB_API bb_status bb_operator_apply(bb_operator *operation, bb_index count, const double *x,
                                   double *y, double *seconds);

/// Queues one product on a GPU: `x` [columns] of operand_bytes, aligned to 16 bytes, and `y` [rows]
/// of double are device pointers, `stream` is a cudaStream_t of the operator's GPU, or NULL for the
/// default stream. Neither waits nor allocates, so the stream may be captured in a graph. One
/// product at a time. Errors: BB_UNSUPPORTED (an operator on the cpu, a GPU before sm_90),
/// BB_DEVICE.
BB_API bb_status bb_operator_queue(bb_operator *operation, const void *x, void *y, void *stream);

/// Computes certificates of y = C x for one x [columns]: upper bounds, row by row, of the error
/// from storage, `coding` [rows], and of that from arithmetic, `rounding` [rows], on any device.
/// Their sum bounds |y - exact y|. Infinity where a value is not finite. For an operator from CSR
/// `coding` is 0. Either may be NULL. Errors: BB_INVALID.
BB_API bb_status bb_operator_bound(const bb_operator *operation, const double *x, double *coding,
                                   double *rounding);

// Factorization of a symmetric positive definite matrix

// An options text: the arithmetic of the tile updates, then keys, "hp2 policy=tile_norm
// policy.tolerance=1e-4 refine=ir refine.tolerance=1e-12".
//   arithmetic       dp (default), sp, tf32, bf16, hp1, hp2, hp3, x3, fp8; may be the first word
//   policy           uniform (default), band, tile_norm, product, three_zones; keys policy.width,
//                    .inside, .diagonal, .tolerance, .noise_share, .rounding, .widths, .zones
//                    (lists are separated by commas)
//   noise_floor      lower bound of the smallest eigenvalue of A, for policies without a tolerance
//   scale            unit_diagonal (default) or none; dither=0.04 multiplies the unit diagonal's
//                    rows by random factors in [1 - dither, 1]; seed=1 addresses them
//   tile             rows of a tile; auto (default): the largest power of two from 8 to 128 for at
//                    least 8 tiles a side, 8 below 64 rows; on cuda 128 to 1024. Products into
//                    diagonal tiles are sp unless policy.diagonal=follow, so that a matrix of one
//                    or two tiles has no products in a narrower arithmetic
//   accumulate_k, accumulate_from, sweeps, sweep_energy    as in the configuration
//   refine           none (default), ir, cg, gmres; keys refine.tolerance, refine.iterations

/// Cholesky factor of a matrix, with the matrix for refinement.
typedef struct bb_factorization bb_factorization;

/// Report of a factorization.
typedef struct bb_factorization_report {
    bb_outcome outcome;   ///< not_spd or non_finite with tile and row: there is no factor
    bb_index n, tile;     ///< rows of the matrix and of a tile
    double bytes;         ///< bytes of the factor's triangle in its formats
    double certificate;   ///< bound on ||A - L L^T||_F / ||A||_F, A scaled, from rounding the
                          ///< operands of products; NaN if products are rounded too (hp2, hp3)
    double tolerance;     ///< bound on the relative perturbation used by the policy, or NaN
    double relative_cost; ///< time of the tile updates at nominal rates relative to sp; NaN with a
                          ///< single tile
    bb_index saturated;   ///< operands clipped to the range of fp8
    char digest[24];      ///< 16 hexadecimal digits of the factor's tiles; "" without a factor
    double seconds;
} bb_factorization_report;

/// Report of a solve.
typedef struct bb_solve_report {
    bb_outcome outcome;     ///< not_converged or non_finite
    double iterations_mean; ///< of refinement, over right-hand sides; NaN without refinement
    bb_index iterations_most;
    double worst_residual; ///< largest ||b - x A|| / ||b|| of refinement, scaled; NaN without
    double backward_error; ///< largest ||b - x A|| / (||A||_F ||x|| + ||b||) over right-hand
                           ///< sides, 2-norms, computed in fp64; NaN if not requested
    double seconds;        ///< of the solve without the backward error
} bb_solve_report;

/// Factors the matrix A [n][n], symmetric, on the cpu. The matrix is borrowed until the
/// factorization is destroyed and must not change. A matrix that is not positive definite is an
/// outcome of the handle. For other devices see bb_factor_and_solve. Errors: BB_INVALID (an option,
/// a matrix that is not symmetric).
BB_API bb_status bb_factorization_create(bb_index n, const double *matrix, const char *options,
                                         bb_factorization **out);
BB_API void bb_factorization_destroy(bb_factorization **factorization);

BB_API bb_status bb_factorization_describe(const bb_factorization *factorization,
                                           bb_factorization_report *out);

/// Solves X <- X A^-1 for `count` right-hand sides as rows, x [count][n] in place; for symmetric A
/// the rows solve A x = b. `certify` nonzero computes the backward error. Errors: BB_INVALID (no
/// factor).
BB_API bb_status bb_factorization_solve(bb_factorization *factorization, bb_index count, double *x,
                                        int certify, bb_solve_report *report);

/// Factors A and solves X <- X A^-1 in one call, on any device; arguments as above. On cuda the
/// right-hand sides are further rows of the factored panels, so that no factor remains for other
/// ones: `factored` has NaN certificate and an empty digest, and refine must be none. Either report
/// may be NULL; x is undefined unless both outcomes are ok. Errors: those of
/// bb_factorization_create, BB_UNSUPPORTED (refinement or a mixture that cuda lacks), BB_DEVICE.
BB_API bb_status bb_factor_and_solve(bb_index n, const double *matrix, const char *options,
                                     const char *device, bb_index count, double *x, int certify,
                                     bb_factorization_report *factored, bb_solve_report *solved);

/// Copies L of the scaled matrix to `out` [n][n] in fp64, zeros above the diagonal, and the scale D
/// to `scale` [n] (NULL: not needed): D A D = L L^T. For tests and small matrices. Errors:
/// BB_INVALID (no factor).
BB_API bb_status bb_factorization_lower(const bb_factorization *factorization, double *out,
                                        double *scale);

// Phase unwrapping

// An options text: the arithmetic, then keys, "fp32 storage=fp16 reject=auto reweight=12".
//   arithmetic   fp32 (default) or fp64, of every step; may be the first word
//   storage      format of the fields: any plain format; default: as the arithmetic
//   gradient, smoother, residual, transfer, congruence    storage of one step's fields
//   reject       auto (default), off, or a limit in rad: rejection of outlier edges
//   cycles=8     largest number of V-cycles of the first solve
//   reweight=12  largest number of reweightings; reweight_cycles=4 V-cycles after each
// Images of one row or one column are unwrapped exactly along the line (Itoh), in fp64 whatever the
// arithmetic; jumps of more than half a cycle are ambiguous there. Periodic axes (wrap-around) and
// weights per point are not offered: the grids of the multigrid solver end at the edge.

/// Plan of unwrapping for one mask: kernels and memory, reused for a stream of phases.
typedef struct bb_unwrapper bb_unwrapper;

/// Report of a run.
typedef struct bb_unwrapping_report {
    bb_outcome outcome;    ///< not_converged: the phase may have wrong cycles; non_finite
    double jumps;          ///< weighted number of cycles by which differences of neighbours deviate
                           ///< from the wrapped ones; NaN without reweighting
    double rejected_share; ///< share of rejected edges
    double limit_rad;      ///< limit of rejection; NaN without
    bb_index cycles;       ///< V-cycles and steps of conjugate gradients
    bb_index reweighted;   ///< number of reweightings
    double bytes;          ///< bytes of the fields in their formats
    double seconds;        ///< from the wrapped phase in host memory to the result there
} bb_unwrapping_report;

/// Creates a plan for phases [rows][columns]. `mask` [rows][columns] is nonzero where a point is
/// valid; NULL: everywhere. The kernels are compiled at the first run, by `cc` on the cpu, and
/// cached (BITBUDGET_CACHE); without a compiler BITBUDGET_PREBUILT names a folder of prebuilt ones.
/// Errors: BB_INVALID (no valid point, an option), BB_UNSUPPORTED (no compiler), BB_DEVICE.
BB_API bb_status bb_unwrapper_create(bb_index rows, bb_index columns, const unsigned char *mask,
                                     const char *options, const char *device, bb_unwrapper **out);
BB_API void bb_unwrapper_destroy(bb_unwrapper **unwrapper);

/// Returns the number of connected parts of the mask; the pistons between parts are free.
/// `labels` [rows][columns] of 32-bit integers receives the part of each point, -1 outside the
/// mask; may be NULL.
BB_API bb_status bb_unwrapper_parts(const bb_unwrapper *unwrapper, int *labels, bb_index *count);

/// Unwraps `wrapped` [rows][columns] in rad, any phase modulo 2 pi, finite within the mask, into
/// `phase` [rows][columns], NaN outside the mask: the multiples of 2 pi are computed in the plan's
/// arithmetic and added to the wrapped phase in double. `phase` may equal `wrapped`. The multiple
/// of a whole part is that of its mean direction; on a line its first point keeps its phase.
/// `report` may be NULL. Errors: BB_INVALID (a value that is not finite), BB_UNSUPPORTED (no
/// compiler), BB_DEVICE.
BB_API bb_status bb_unwrapper_run(bb_unwrapper *unwrapper, const double *wrapped, double *phase,
                                  bb_unwrapping_report *report);

/// Computes the quality of every point of the last run in 0..1, `quality` [rows][columns], NaN
/// outside the mask: mean weight of its edges in the last least-squares solve. Errors: BB_INVALID
/// (no run yet), BB_UNSUPPORTED (an image of one row or column).
BB_API bb_status bb_unwrapper_quality(bb_unwrapper *unwrapper, double *quality);

/// For streams: returns the address of the field that bb_unwrapper_queue unwraps, [rows][columns]
/// in float (`value_bytes` 4) or double (8): device memory on cuda, host memory on the cpu. Valid
/// as long as the plan. The caller guarantees that the field is finite everywhere, also outside the
/// mask, and in [-pi, pi]: the queued kernels do not check it. Errors: BB_UNSUPPORTED (an image of
/// one row or column, opencl).
BB_API bb_status bb_unwrapper_input(bb_unwrapper *unwrapper, void **address, int *value_bytes);

/// Queues the unwrapping of that field in the device's default order of work; all cycles and
/// reweightings are done. bb_unwrapper_read waits and copies the phase to host memory; the report's
/// jumps and seconds are NaN and its outcome only says that the last correction is below half a
/// cycle. Read a result before the next is queued. Errors: as bb_unwrapper_run.
BB_API bb_status bb_unwrapper_queue(bb_unwrapper *unwrapper);
BB_API bb_status bb_unwrapper_read(bb_unwrapper *unwrapper, double *phase,
                                   bb_unwrapping_report *report);

#ifdef __cplusplus
}
#endif

#endif
