// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/plate_factor.h"

#include "core/memory.h"
#include "physics/wafer/response/plate_factor_parts.h"

#include <cholmod.h>
#include <dlfcn.h>
#include <math.h>

_Static_assert(sizeof(SuiteSparse_long) == sizeof(int64_t), "CHOLMOD's long has 64 bits");

// What CHOLMOD made; a factor that was read from a file has none.
struct bb_cholmod_parts {
    cholmod_common common;
    cholmod_factor *factor;
};

// What CHOLMOD left in its workspace after `step`.
static bb_status cholmod_status(const cholmod_common *common, const char *step)
{
    bb_status status = BB_OK;
    BB_REQUIRE(common->status != CHOLMOD_OUT_OF_MEMORY, BB_MEMORY,
               "out of memory in %s of the plate", step);
    BB_REQUIRE(common->status != CHOLMOD_NOT_POSDEF, BB_INVALID,
               "the plate's stiffness is not positive definite in fp64: stiffer springs or a "
               "coarser mesh are needed");
    BB_REQUIRE(common->status >= CHOLMOD_OK, BB_INTERNAL, "CHOLMOD status %d in %s of the plate",
               common->status, step);
done:
    return status;
}

static bb_status view_parts(bb_plate_factor *out)
{
    bb_status status = BB_OK;
    const cholmod_factor *factor = out->cholmod->factor;
    BB_REQUIRE(factor->is_super && factor->xtype == CHOLMOD_REAL, BB_INTERNAL,
               "CHOLMOD made a simplicial factor of the plate");
    out->view = (bb_supernodes){
        .unknowns = (int64_t)factor->n,
        .count = (int64_t)factor->nsuper,
        .row_count = (int64_t)factor->ssize,
        .value_count = (int64_t)factor->xsize,
        .first = factor->super,
        .row_start = factor->pi,
        .value_start = factor->px,
        .row = factor->s,
        .value = factor->x,
        .permutation = factor->Perm,
    };
done:
    return status;
}

bb_status bb_plate_factor_place(bb_plate_factor *factor)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ZEROED(factor->view.unknowns, &factor->place));
    for (int64_t i = 0; i < factor->view.unknowns; ++i) {
        factor->place[factor->view.permutation[i]] = i;
    }
done:
    return status;
}

// CHOLMOD asks OpenMP for four threads in loops of microseconds, however many processors there are:
// on two a third of the time goes into waking them. Regions at no level run on the caller. The
// runtime is CHOLMOD's own choice, so that its functions are looked up; without them nothing is
// lost but time. Returns the level there was, -1 where it is not known.
static int limit_openmp(int levels)
{
    void *get = dlsym(RTLD_DEFAULT, "omp_get_max_active_levels");
    void *set = dlsym(RTLD_DEFAULT, "omp_set_max_active_levels");
    if (get == NULL || set == NULL || levels < 0) {
        return -1;
    }
    int before = ((int (*)(void))get)();
    ((void (*)(int))set)(levels);
    return before;
}

bb_status bb_plate_factor_create(const bb_upper_triangle *matrix, const int64_t *order,
                                 bb_plate_factor **out)
{
    bb_status status = BB_OK;
    bb_plate_factor *factor = NULL;
    cholmod_sparse sparse = {.nrow = (size_t)matrix->unknowns,
                             .ncol = (size_t)matrix->unknowns,
                             .nzmax = (size_t)matrix->start[matrix->unknowns],
                             .p = matrix->start,
                             .i = matrix->row,
                             .x = matrix->value,
                             .stype = 1,
                             .itype = CHOLMOD_LONG,
                             .xtype = CHOLMOD_REAL,
                             .dtype = CHOLMOD_DOUBLE,
                             .sorted = 1,
                             .packed = 1};
    BB_TRY(BB_ZEROED(1, &factor));
    BB_TRY(BB_ZEROED(1, &factor->cholmod));
    cholmod_common *common = &factor->cholmod->common;
    (void)cholmod_l_start(common);
    common->supernodal = CHOLMOD_SUPERNODAL;
    common->nmethods = 1;
    common->method[0].ordering = CHOLMOD_GIVEN;
    common->print = 0;
    // CHOLMOD takes the permutation without const and only reads it.
    factor->cholmod->factor =
        cholmod_l_analyze_p(&sparse, (SuiteSparse_long *)(uintptr_t)order, NULL, 0, common);
    BB_TRY(cholmod_status(common, "analysis"));
    int levels = limit_openmp(0);
    (void)cholmod_l_factorize(&sparse, factor->cholmod->factor, common);
    (void)limit_openmp(levels);
    BB_TRY(cholmod_status(common, "factorisation"));
    BB_TRY(view_parts(factor));
    BB_TRY(bb_plate_factor_place(factor));
    *out = factor;
    factor = NULL;
done:
    bb_plate_factor_destroy(&factor);
    return status;
}

bb_need bb_plate_factor_held(double unknowns, double per_unknown)
{
    const double values = per_unknown * unknowns * log2(unknowns);
    return (bb_need){.host_bytes = values * sizeof(double)};
}

bb_need bb_plate_factor_need(double unknowns, double per_unknown, double matrix_values)
{
    static const double rate = 8.0e7; // unknowns^1.5 a second, of one core
    const bb_need copies = {.host_bytes = 2.0 * matrix_values * (sizeof(int64_t) + sizeof(double)),
                            .seconds = pow(unknowns, 1.5) / rate};
    return bb_need_together(bb_plate_factor_held(unknowns, per_unknown), copies);
}

double bb_plate_factor_peak_bytes(const bb_plate_factor *factor)
{
    return factor->cholmod == NULL ? 0.0 : (double)factor->cholmod->common.memory_usage;
}

const bb_supernodes *bb_plate_factor_supernodes(const bb_plate_factor *factor)
{
    return &factor->view;
}

const int64_t *bb_plate_factor_places(const bb_plate_factor *factor)
{
    return factor->place;
}

void bb_plate_factor_destroy(bb_plate_factor **factor)
{
    bb_plate_factor *plate_factor = factor == NULL ? NULL : *factor;
    if (plate_factor == NULL) {
        return;
    }
    if (plate_factor->cholmod != NULL) {
        (void)cholmod_l_free_factor(&plate_factor->cholmod->factor, &plate_factor->cholmod->common);
        (void)cholmod_l_finish(&plate_factor->cholmod->common);
        BB_RELEASE(&plate_factor->cholmod);
    }
    BB_RELEASE(&plate_factor->indices);
    BB_RELEASE(&plate_factor->values);
    BB_RELEASE(&plate_factor->place);
    BB_RELEASE(factor);
}
