// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/fringe_dump.h"

#include "core/memory.h"
#include "sim/dump.h"
#include "sim/study.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAPS = BB_STUDY_PIPELINES + 2, NAME_BYTES = 96 };

struct bb_fringe_dump {
    bb_results *results; // borrowed: they own this
    bb_index count;
    char names[MAPS][NAME_BYTES];
    double *phases[MAPS]; // [rows][columns]
    bb_view views[MAPS];
    bb_matrix_source sources[MAPS];
};

static void release(void *object)
{
    bb_fringe_dump *dump = object;
    for (bb_index i = 0; i < dump->count; ++i) {
        BB_RELEASE(&dump->phases[i]);
    }
    BB_RELEASE(&dump);
}

bb_status bb_fringe_dump_create(bb_results *results, const char *names, bb_fringe_dump **out)
{
    bb_status status = BB_OK;
    *out = NULL;
    if (bb_dump_wanted(names, "phase")) {
        BB_TRY(BB_ZEROED(1, out));
        (*out)->results = results;
        BB_TRY(bb_results_keep(results, *out, release));
    }
done:
    return status;
}

static bool is_taken(const bb_fringe_dump *dump, const char *name)
{
    bool taken = false;
    for (bb_index i = 0; i < dump->count && !taken; ++i) {
        taken = strcmp(dump->names[i], name) == 0;
    }
    return taken;
}

static void name_map(const bb_fringe_dump *dump, const char *pipeline, bb_index index,
                     char out[NAME_BYTES])
{
    (void)snprintf(out, NAME_BYTES, "phase_%.70s", pipeline);
    for (char *c = out; *c != '\0'; ++c) {
        *c = (char)(isalnum((unsigned char)*c) ? *c : '_');
    }
    if (is_taken(dump, out)) {
        const size_t length = strlen(out);
        (void)snprintf(out + length, NAME_BYTES - length, "_%td", index);
    }
}

bb_status bb_fringe_dump_phase(bb_fringe_dump *dump, const char *pipeline, bb_index index,
                               bb_index columns, bb_index rows, const double *phase)
{
    bb_status status = BB_OK;
    char name[NAME_BYTES];
    char long_name[160];
    if (dump == NULL) {
        goto done;
    }
    const bb_index map = dump->count;
    name_map(dump, pipeline, index, name);
    (void)snprintf(long_name, sizeof long_name, "phase%s%.100s", index < 0 ? ", " : " of pipeline ",
                   pipeline);
    BB_TRY(BB_ALLOCATE(columns * rows, &dump->phases[map]));
    memcpy(dump->phases[map], phase, (size_t)(columns * rows) * sizeof *phase);
    (void)snprintf(dump->names[map], NAME_BYTES, "%s", name);
    ++dump->count;
    dump->views[map] = bb_view_matrix(dump->phases[map], rows, columns);
    dump->sources[map] = bb_matrix_source_dense(&dump->views[map], "phase", "rad");
    BB_TRY(bb_results_operator(dump->results, name, long_name, &dump->sources[map]));
done:
    return status;
}

double bb_fringe_dump_bytes(const char *names, double pipelines, double points)
{
    return bb_dump_wanted(names, "phase") ? 8.0 * points * (pipelines + 2.0) : 0.0;
}
