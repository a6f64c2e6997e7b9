// SPDX-License-Identifier: Apache-2.0
#include "lib/symmetry.h"

#include "core/memory.h"
#include "core/thread.h"

#include <math.h>

enum { ROWS = 32 };

static const double asymmetry = 1e-10; // tolerance relative to the largest diagonal element

// Findings of ROWS rows.
typedef struct range {
    double squares;       // sum of squares
    double largest;       // difference between elements mirrored at the diagonal
    bb_index row, column; // its place
} range;

typedef struct comparing {
    bb_index n;
    const double *a;
    range *ranges;
} comparing;

static bb_status compare_rows(void *context, bb_index begin, bb_index end)
{
    const comparing *work = context;
    const double *a = work->a;
    const bb_index n = work->n;
    range found = {0};
    for (bb_index i = begin; i < end; ++i) {
        for (bb_index j = 0; j < n; ++j) {
            found.squares += a[i * n + j] * a[i * n + j];
        }
    }
    for (bb_index j = 0; j < end; ++j) { // column by column of a band: rows of the mirror image
        for (bb_index i = j < begin ? begin : j; i < end; ++i) {
            const double difference = fabs(a[i * n + j] - a[j * n + i]);
            if (difference > found.largest) {
                found.largest = difference;
                found.row = i;
                found.column = j;
            }
        }
    }
    work->ranges[begin / ROWS] = found;
    return BB_OK;
}

bb_status bb_symmetry_check(const double *a, bb_index n, const char *name, double *norm,
                            bb_outcome *outcome)
{
    bb_status status = BB_OK;
    const bb_index count = (n + ROWS - 1) / ROWS;
    comparing work = {.n = n, .a = a};
    range all = {0};
    double diagonal = 0.0;
    BB_TRY(BB_ALLOCATE(count, &work.ranges));
    BB_TRY(bb_thread_ranges(n, ROWS, compare_rows, &work));
    for (bb_index i = 0; i < n; ++i) {
        diagonal = fmax(diagonal, fabs(a[i * n + i]));
    }
    for (bb_index r = 0; r < count; ++r) {
        const double squares = all.squares + work.ranges[r].squares;
        all = work.ranges[r].largest > all.largest ? work.ranges[r] : all;
        all.squares = squares;
    }
    const bb_index bad = isfinite(all.squares) ? -1 : bb_outcome_first_non_finite(a, n * n);
    if (bad >= 0) {
        bb_outcome_set(outcome, BB_OUTCOME_NON_FINITE,
                       "row %td, column %td: %g, expected a finite value", bad / n, bad % n,
                       a[bad]);
        goto done;
    }
    BB_REQUIRE(!(all.largest > asymmetry * diagonal), BB_INVALID,
               "%s is not symmetric: [%td][%td] = %g, [%td][%td] = %g; the largest diagonal "
               "element is %g; pass (A + A^T) / 2",
               name, all.row, all.column, a[all.row * n + all.column], all.column, all.row,
               a[all.column * n + all.row], diagonal);
    if (norm != NULL) {
        *norm = sqrt(all.squares);
    }
done:
    BB_RELEASE(&work.ranges);
    return status;
}
