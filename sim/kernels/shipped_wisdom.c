// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/shipped_wisdom.h"

#include "core/log.h"
#include "core/memory.h"
#include "sim/config/shipped_folder.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const double SIZE_FACTOR = 4.0; // beyond which the rule of the default is the better guess
static const char folder_name[] = "kernels/tuned/";
static const char *const endings[] = {".yaml", NULL};

// Reads a file of the first folder that has it.
static bb_status read_file(char *const folders[BB_SHIPPED_FOLDERS], const char *name,
                           bb_wisdom_file *out)
{
    bb_status status = BB_OK;
    char *path = NULL;
    for (int i = 0; i < BB_SHIPPED_FOLDERS && (path == NULL || access(path, F_OK) != 0); ++i) {
        BB_RELEASE(&path);
        BB_TRY(bb_memory_printf(&path, "%s%s%s%s", folders[i], folder_name, name, endings[0]));
    }
    status = bb_wisdom_file_read(path, out);
    if (status == BB_IO || status == BB_INVALID) {
        bb_log_warning("shipped variants of kernels are not used: %s", bb_status_message());
        bb_status_clear();
        status = BB_OK;
    }
done:
    BB_RELEASE(&path);
    return status;
}

bb_status bb_shipped_wisdom_read(bb_wisdom_file *out)
{
    bb_status status = BB_OK;
    bb_shipped_names names = {0};
    char *folders[BB_SHIPPED_FOLDERS] = {NULL, NULL};
    BB_TRY(bb_shipped_folder_find(folders));
    BB_TRY(bb_shipped_names_list(&(bb_shipped_listing){.folder = folder_name, .endings = endings},
                                 &names));
    for (bb_index i = 0; i < names.count; ++i) {
        BB_TRY(read_file(folders, names.names[i], out));
    }
done:
    bb_shipped_names_release(&names);
    for (int i = 0; i < BB_SHIPPED_FOLDERS; ++i) {
        BB_RELEASE(&folders[i]);
    }
    return status;
}

bb_status bb_shipped_wisdom_choose(const bb_wisdom_file *file, const bb_wisdom_key *key,
                                   const bb_program *program, const bb_wisdom_record **out,
                                   char origin[BB_SHIPPED_ORIGIN_BYTES], bb_text *reasons)
{
    bb_status status = BB_OK;
    bool is_exact = false;
    bb_wisdom_key wanted = *key;
    wanted.size_factor = SIZE_FACTOR;
    wanted.tolerance = BB_WISDOM_ANY_BUILD;
    BB_TRY(bb_wisdom_choose(file, &wanted, program, false, out, &is_exact, NULL));
    if (*out == NULL) {
        wanted.tolerance = BB_WISDOM_ANY_ARCHITECTURE;
    }
    if (reasons != NULL) {
        BB_TRY(bb_text_add(reasons, "shipped (%td records):\n", file->count));
    }
    BB_TRY(bb_wisdom_choose(file, &wanted, program, false, out, &is_exact, reasons));
    if (*out != NULL) {
        (void)snprintf(origin, BB_SHIPPED_ORIGIN_BYTES, "tuned, shipped for %.100s", (*out)->name);
    }
done:
    return status;
}

const char *bb_shipped_wisdom_device(const bb_wisdom_file *file, const bb_wisdom_key *key,
                                     bb_index *count)
{
    const char *name = NULL;
    bb_wisdom_key wanted = *key;
    *count = 0;
    for (int tolerance = BB_WISDOM_ANY_BUILD;
         tolerance <= BB_WISDOM_ANY_ARCHITECTURE && name == NULL; ++tolerance) {
        wanted.tolerance = (bb_wisdom_tolerance)tolerance;
        for (bb_index i = 0; i < file->count; ++i) {
            const bb_wisdom_record *record = &file->records[i];
            if (bb_wisdom_record_is_usable(record, &wanted)) {
                name = name == NULL ? record->name : name;
                *count += strcmp(record->name, name) == 0;
            }
        }
    }
    return name;
}
