// SPDX-License-Identifier: Apache-2.0
//
// Status codes, messages and traces: how every fallible function reports what went wrong.
//
// A function that can fail returns a bb_status. The sentence that explains a failure (the value
// found, the value expected) and the trace of calls are kept per thread, set by BB_FAIL or
// BB_REQUIRE and extended by BB_TRY. Numerical failures of a computation (a matrix that is not
// positive definite, an overflow) are not errors: they are outcomes, see core/outcome.h.
//
// Shape of a fallible function:
//
//     bb_status bb_thing_create(bb_index count, bb_thing **out)
//     {
//         bb_status status = BB_OK;
//         bb_thing *thing = NULL;
//         BB_REQUIRE(count > 0, BB_INVALID, "count = %td, expected at least 1", count);
//         BB_TRY(bb_memory_zeroed(1, sizeof *thing, (void **)&thing));
//         ...
//         *out = thing;
//         thing = NULL;
//     done:
//         bb_thing_destroy(&thing);
//         return status;
//     }
//
// The macros need a local `status` and a label `done:` that releases everything (every destroy is
// safe on NULL).
#ifndef BB_CORE_STATUS_H
#define BB_CORE_STATUS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Signed type of counts, indices and strides; size_t is for bytes only.
typedef ptrdiff_t bb_index;

/// Codes that bb_status_exit_code maps to the exit codes of the command line.
typedef enum bb_status {
    BB_OK = 0,
    BB_INVALID,     ///< bad argument, configuration or usage (exit 2)
    BB_IO,          ///< a file or folder cannot be read or written (exit 3)
    BB_MEMORY,      ///< out of memory on the host or a device (exit 4)
    BB_DEVICE,      ///< a device is absent or failed (exit 5)
    BB_UNSUPPORTED, ///< not offered by this build or device (exit 2)
    BB_INTERNAL,    ///< a defect of bitbudget or a library (exit 6)
    BB_DIFFERENT,   ///< a requested comparison found differences (exit 1)
} bb_status;

#if defined(__GNUC__)
#define BB_CHECKED           __attribute__((warn_unused_result))
#define BB_PRINTF(text, arg) __attribute__((format(printf, text, arg)))
#else
#define BB_CHECKED
#define BB_PRINTF(text, arg)
#endif

/// Starts a new record for this thread: stores the sentence and the place, returns `code`.
bb_status bb_status_set(bb_status code, const char *file, int line, const char *format, ...)
    BB_PRINTF(4, 5);

/// Appends a place that a failure passed through to this thread's record; returns `code`.
bb_status bb_status_trace(bb_status code, const char *file, int line, const char *expression);

/// Returns the sentence of the last failure on this thread, "" if there is none. Valid until the
/// next failure.
const char *bb_status_message(void);

/// Returns the places that the last failure passed through, one a line, innermost first; "" if
/// there are none.
const char *bb_status_trace_text(void);

/// Clears this thread's record.
void bb_status_clear(void);

/// Returns the name of a code, such as "out of memory"; "unknown" for another number.
const char *bb_status_name(bb_status code);

/// Returns the program's exit code for a status code: 0 to 6.
int bb_status_exit_code(bb_status code);

/// A copy of a thread's record, to pass a failure from a worker to the waiting thread.
typedef struct bb_status_record {
    char message[1024];
    char trace[2048];
} bb_status_record;

void bb_status_save(bb_status_record *record);
void bb_status_restore(const bb_status_record *record);

/// Prefixes the message of a failure with a subject: the key that names an unusable file, the file,
/// the pipeline. BB_OK is unchanged.
bb_status bb_status_prefix(bb_status status, const char *format, ...) BB_PRINTF(2, 3);

/// Fails with a message and goes to `done`.
#define BB_FAIL(code, ...)                                                                         \
    do {                                                                                           \
        (void)bb_status_set((code), __FILE__, __LINE__, __VA_ARGS__);                              \
        status = (code);                                                                           \
        goto done;                                                                                 \
    } while (0)

/// Fails unless `condition` is true.
#define BB_REQUIRE(condition, code, ...)                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            BB_FAIL((code), __VA_ARGS__);                                                          \
        }                                                                                          \
    } while (0)

/// Calls a fallible function; on failure extends the trace and goes to `done`.
#define BB_TRY(call)                                                                               \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != BB_OK) {                                                                     \
            (void)bb_status_trace(status, __FILE__, __LINE__, #call);                              \
            goto done;                                                                             \
        }                                                                                          \
    } while (0)

/// Calls a fallible function and returns its failure. For functions that own nothing (and for CUDA
/// sources, where goto may not pass an initialiser).
#define BB_RETURN_IF_FAILED(call)                                                                  \
    do {                                                                                           \
        bb_status returned_ = (call);                                                              \
        if (returned_ != BB_OK) {                                                                  \
            return bb_status_trace(returned_, __FILE__, __LINE__, #call);                          \
        }                                                                                          \
    } while (0)

#ifdef __cplusplus
}
#endif

#endif
