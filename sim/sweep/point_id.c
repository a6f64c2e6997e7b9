// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/point_id.h"

#include "core/memory.h"
#include "sim/config/named_files.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

static bb_status add_file(void *context, const char *key, const char *path)
{
    bb_status status = BB_OK;
    bb_point_files *files = context;
    bb_file_stamp stamp;
    bb_index index = 0;
    (void)key;
    BB_TRY(bb_file_stamp_find(path, &stamp));
    while (index < files->count && strcmp(files->files[index].path, path) != 0) {
        ++index;
    }
    BB_REQUIRE(index < BB_POINT_FILES && strlen(path) < BB_POINT_PATH_BYTES, BB_INVALID,
               "'%s': over %d files, or a path of over %d bytes", path, BB_POINT_FILES,
               BB_POINT_PATH_BYTES - 1);
    bb_point_file *file = &files->files[index];
    if (index < files->count && bb_file_stamp_equal(&file->stamp, &stamp)) {
        goto done;
    }
    (void)snprintf(file->path, sizeof file->path, "%s", path);
    file->stamp = stamp;
    BB_TRY(bb_value_digest_file(path, file->digest));
    files->count += index == files->count;
done:
    return status;
}

bb_status bb_point_files_add(const bb_config *config, bb_point_files *files)
{
    return bb_named_files_visit(bb_config_schema(config), bb_config_study(config), add_file, files);
}

// One line of a resolved study as it counts: without the title, with the device that computes, and
// files as their contents.
static bb_status add_line(const char *line, size_t length, bb_device_kind device,
                          const bb_point_files *files, bb_text *out)
{
    bb_status status = BB_OK;
    char *copy = NULL;
    BB_TRY(bb_memory_printf(&copy, "%.*s", (int)length, line));
    if (strncmp(copy, "title:", 6) == 0) {
        goto done;
    }
    if (strcmp(copy, "device: auto") == 0) {
        BB_TRY(bb_text_add(out, "device: %s\n", bb_device_names[device]));
        goto done;
    }
    const char *rest = copy;
    while (*rest != '\0') {
        const bb_point_file *found = NULL;
        for (bb_index f = 0; f < files->count; ++f) {
            const size_t bytes = strlen(files->files[f].path);
            // Of paths that begin alike the longest.
            if (strncmp(rest, files->files[f].path, bytes) == 0 &&
                (found == NULL || bytes > strlen(found->path))) {
                found = &files->files[f];
            }
        }
        if (found != NULL) {
            BB_TRY(bb_text_add(out, "%s", found->digest));
            rest += strlen(found->path);
        } else {
            BB_TRY(bb_text_add_bytes(out, rest++, 1));
        }
    }
    BB_TRY(bb_text_add(out, "\n"));
done:
    BB_RELEASE(&copy);
    return status;
}

bb_status bb_point_id(const bb_config *config, bb_device_kind device, bb_point_files *files,
                      char out[BB_DIGEST_BYTES])
{
    bb_status status = BB_OK;
    bb_text resolved = {0};
    bb_text text = {0};
    BB_TRY(bb_point_files_add(config, files));
    BB_TRY(bb_config_resolved(config, &resolved));
    BB_TRY(bb_text_add(&text, "numerics: %d\n", BB_NUMERICS));
    for (const char *line = bb_text_string(&resolved); *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        BB_TRY(add_line(line, length, device, files, &text));
        line += length + (line[length] == '\n');
    }
    const XXH128_hash_t hash = XXH3_128bits(bb_text_string(&text), (size_t)text.length);
    (void)snprintf(out, BB_DIGEST_BYTES, "%016llx%016llx", (unsigned long long)hash.high64,
                   (unsigned long long)hash.low64);
done:
    bb_text_release(&text);
    bb_text_release(&resolved);
    return status;
}
