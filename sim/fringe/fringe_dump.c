// SPDX-License-Identifier: Apache-2.0
#include "sim/fringe/fringe_dump.h"

#include "core/memory.h"
#include "sim/dump.h"
#include "sim/study.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAPS = BB_STUDY_PIPELINES + 5, NAME_BYTES = 96 };

struct bb_fringe_dump {
    bb_results *results; // borrowed: they own this
    bool phases, sight;  // what is asked for
    bb_index count;
    char names[MAPS][NAME_BYTES];
    double *values[MAPS]; // [rows][columns]
    bb_view views[MAPS];
    bb_matrix_source sources[MAPS];
};

static void release(void *object)
{
    bb_fringe_dump *dump = object;
    for (bb_index i = 0; i < dump->count; ++i) {
        BB_RELEASE(&dump->values[i]);
    }
    BB_RELEASE(&dump);
}

bb_status bb_fringe_dump_create(bb_results *results, const char *names, bb_fringe_dump **out)
{
    bb_status status = BB_OK;
    const bool phases = bb_dump_wanted(names, "phase");
    const bool sight = bb_dump_wanted(names, "maps");
    *out = NULL;
    if (phases || sight) {
        BB_TRY(BB_ZEROED(1, out));
        (*out)->results = results;
        (*out)->phases = phases;
        (*out)->sight = sight;
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

// Adds a map whose values are already the dump's last ones.
static bb_status add_last(bb_fringe_dump *dump, const char *name, const char *long_name,
                          const char *unit, bb_index columns, bb_index rows)
{
    const bb_index map = dump->count++;
    (void)snprintf(dump->names[map], NAME_BYTES, "%s", name);
    dump->views[map] = bb_view_matrix(dump->values[map], rows, columns);
    dump->sources[map] = bb_matrix_source_dense(&dump->views[map], dump->names[map], unit);
    return bb_results_operator(dump->results, name, long_name, &dump->sources[map]);
}

static bb_status add(bb_fringe_dump *dump, const char *name, const char *long_name,
                     const char *unit, bb_index columns, bb_index rows, const double *values)
{
    bb_status status = BB_OK;
    BB_TRY(BB_ALLOCATE(columns * rows, &dump->values[dump->count]));
    memcpy(dump->values[dump->count], values, (size_t)(columns * rows) * sizeof *values);
    BB_TRY(add_last(dump, name, long_name, unit, columns, rows));
done:
    return status;
}

static bb_status add_parts(bb_fringe_dump *dump, const bb_unwrap_parts *parts)
{
    bb_status status = BB_OK;
    const bb_index points = parts->columns * parts->rows;
    BB_TRY(BB_ALLOCATE(points, &dump->values[dump->count]));
    for (bb_index p = 0; p < points; ++p) {
        dump->values[dump->count][p] = parts->labels[p] < 0 ? NAN : (double)parts->labels[p];
    }
    BB_TRY(add_last(dump, "parts", "index of the part of the pupil", "1", parts->columns,
                    parts->rows));
done:
    return status;
}

bb_status bb_fringe_dump_sight(bb_fringe_dump *dump, const bb_fringe_sight *sight)
{
    bb_status status = BB_OK;
    const bb_index columns = sight->parts->columns, rows = sight->parts->rows;
    if (dump != NULL && dump->phases) {
        if (sight->truth != NULL) {
            BB_TRY(add(dump, "phase_truth", "phase, truth", "rad", columns, rows, sight->truth));
        }
        BB_TRY(add(dump, "phase_wrapped", "phase, wrapped", "rad", columns, rows, sight->wrapped));
    }
    if (dump != NULL && dump->sight) {
        BB_TRY(add(dump, "quality", "mean weight of a point's edges", "1", columns, rows,
                   sight->quality));
        BB_TRY(add_parts(dump, sight->parts));
        if (sight->interferogram != NULL) {
            BB_TRY(add(dump, "interferogram", "first frame over full scale", "1", columns, rows,
                       sight->interferogram));
        }
    }
done:
    return status;
}

bb_status bb_fringe_dump_phase(bb_fringe_dump *dump, const char *pipeline, bb_index index,
                               bb_index columns, bb_index rows, const double *phase)
{
    bb_status status = BB_OK;
    char name[NAME_BYTES];
    char long_name[160];
    if (dump != NULL && dump->phases) {
        name_map(dump, pipeline, index, name);
        (void)snprintf(long_name, sizeof long_name, "phase of pipeline %.100s", pipeline);
        BB_TRY(add(dump, name, long_name, "rad", columns, rows, phase));
    }
done:
    return status;
}

double bb_fringe_dump_bytes(const char *names, double pipelines, double points)
{
    return 8.0 * points *
           ((bb_dump_wanted(names, "phase") ? pipelines + 2.0 : 0.0) +
            (bb_dump_wanted(names, "maps") ? 3.0 : 0.0));
}
