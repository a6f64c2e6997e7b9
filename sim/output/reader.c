// SPDX-License-Identifier: Apache-2.0
#include "sim/output/reader.h"

#include "core/disk_file.h"
#include "core/memory.h"
#include "sim/input/hdf5_library.h"
#include "sim/output/former_name.h"
#include "sim/output/provenance.h"

#include <errno.h>
#include <hdf5.h>
#include <hdf5_hl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAXIMUM_ITEMS = 1 << 27, MAXIMUM_NAMES = 1000, TEXT_BYTES = 4096, NAME_BYTES = 128 };

#define READ_TRY(call)                                                                             \
    BB_REQUIRE((call) >= 0, BB_IO, "cannot read: %s (%s)", bb_hdf5_library_error(), #call)

static bb_status copy_root_attribute(hid_t file, const char *name, bool needed, bb_results *results)
{
    bb_status status = BB_OK;
    char text[TEXT_BYTES];
    BB_TRY(bb_hdf5_library_read_text(file, name, text, sizeof text));
    BB_REQUIRE(!needed || text[0] != '\0', BB_IO,
               "no attribute '%s': not a result file of bitbudget, or incomplete", name);
    if (text[0] != '\0') {
        BB_TRY(bb_results_note(results, "", bb_former_name_current(name), text));
    }
done:
    return status;
}

typedef struct names {
    char (*items)[NAME_BYTES];
    bb_index count, capacity;
} names;

static herr_t add_name(names *list, const char *name)
{
    if (list->count < list->capacity && strlen(name) < NAME_BYTES) {
        (void)snprintf(list->items[list->count++], NAME_BYTES, "%s", name);
    }
    return 0;
}

static herr_t collect_link(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    (void)group;
    return info->type == H5L_TYPE_HARD ? add_name(context, name) : 0;
}

typedef struct item {
    hid_t id, type, space;
    bb_index count;
    int rank;
    bool is_text, is_axis, measured;
    char unit[TEXT_BYTES];
    char long_name[TEXT_BYTES];
    char axes[BB_RESULTS_RANK * (NAME_BYTES + 2)]; // "a, b, c"
} item;

static void close_item(item *entry)
{
    (void)H5Sclose(entry->space);
    (void)H5Tclose(entry->type);
    (void)H5Dclose(entry->id);
}

static herr_t name_of_scale(hid_t dataset, unsigned axis, hid_t scale, void *context)
{
    item *entry = context;
    char path[TEXT_BYTES];
    (void)dataset;
    (void)axis;
    if (H5Iget_name(scale, path, sizeof path) <= 0) {
        return -1;
    }
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    if (strlen(name) >= NAME_BYTES || strpbrk(name, ", ") != NULL) {
        return -1;
    }
    size_t used = strlen(entry->axes);
    int added = snprintf(entry->axes + used, sizeof entry->axes - used, "%s%s",
                         used == 0 ? "" : ", ", name);
    return added > 0 && (size_t)added < sizeof entry->axes - used ? 1 : -1;
}

static bb_status open_item(hid_t group, const char *name, item *entry)
{
    bb_status status = BB_OK;
    READ_TRY(entry->id = H5Dopen2(group, name, H5P_DEFAULT));
    READ_TRY(entry->type = H5Dget_type(entry->id));
    READ_TRY(entry->space = H5Dget_space(entry->id));
    hssize_t count = H5Sget_simple_extent_npoints(entry->space);
    entry->rank = H5Sget_simple_extent_ndims(entry->space);
    H5T_class_t class = H5Tget_class(entry->type);
    entry->is_text = class == H5T_STRING && H5Tis_variable_str(entry->type) > 0;
    BB_REQUIRE(entry->is_text || class == H5T_FLOAT, BB_IO, "'%s' has neither numbers nor texts",
               name);
    BB_REQUIRE(count >= 0 && count <= MAXIMUM_ITEMS, BB_IO,
               "'%s' has an unsupported size of %lld items", name, (long long)count);
    BB_REQUIRE(entry->rank >= 0 && entry->rank <= BB_RESULTS_RANK, BB_IO,
               "'%s' has an unsupported number of axes, %d", name, entry->rank);
    entry->count = (bb_index)count;
    entry->is_axis = H5DSis_scale(entry->id) > 0;
    entry->measured = H5Aexists(entry->id, "measured") > 0;
    for (int a = 0; !entry->is_axis && a < entry->rank; ++a) {
        BB_REQUIRE(H5DSiterate_scales(entry->id, (unsigned)a, NULL, name_of_scale, entry) >= 0,
                   BB_IO, "'%s' has a dimension scale that is not named like an axis", name);
    }
    BB_TRY(bb_hdf5_library_read_text(entry->id, "units", entry->unit, sizeof entry->unit));
    BB_TRY(bb_hdf5_library_read_text(entry->id, "long_name", entry->long_name,
                                     sizeof entry->long_name));
done:
    return status;
}

// Refuses a dataset whose dimensions differ in length from their scales, which determine the copied
// size.
static bb_status check_shape(const bb_results *results, const char *path, const item *entry)
{
    bb_status status = BB_OK;
    hsize_t shape[BB_RESULTS_RANK] = {0};
    char axis[TEXT_BYTES + NAME_BYTES];
    int a = 0;
    const char *name = entry->axes;
    READ_TRY(H5Sget_simple_extent_dims(entry->space, shape, NULL));
    for (; *name != '\0' && a < entry->rank; ++a) {
        const int length = (int)strcspn(name, ", ");
        const char *slash = strrchr(path, '/');
        const int group = slash == NULL ? 0 : (int)(slash - path) + 1;
        (void)snprintf(axis, sizeof axis, "%.*s%.*s", group, path, length, name);
        const bb_dataset *scale = bb_results_find(results, axis);
        scale = scale != NULL ? scale : bb_results_find(results, axis + group);
        BB_REQUIRE(scale != NULL && (hsize_t)scale->count == shape[a], BB_IO,
                   "'/%s' has %llu items along '%.*s', expected %td", path,
                   (unsigned long long)shape[a], length, name, scale == NULL ? 0 : scale->count);
        name += length + (int)strspn(name + length, ", ");
    }
    // Other programs may have added a single value.
    BB_REQUIRE((a == entry->rank && *name == '\0') || entry->count == 1, BB_IO,
               "'/%s' has %d dimensions, expected %d with a scale", path, entry->rank, a);
done:
    return status;
}

static bb_status add_item(bb_results *results, const char *path, const item *entry)
{
    bb_status status = BB_OK;
    void *values = NULL; // texts or numbers [count]
    const hid_t type = entry->is_text ? entry->type : H5T_NATIVE_DOUBLE;
    const bb_results_form form = {.unit = entry->is_text ? NULL : entry->unit,
                                  .long_name = entry->long_name,
                                  .axes = entry->is_axis ? NULL : entry->axes,
                                  .count = entry->count,
                                  .measured = entry->measured};
    BB_TRY(
        bb_memory_zeroed(entry->count, entry->is_text ? sizeof(char *) : sizeof(double), &values));
    READ_TRY(H5Dread(entry->id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    BB_TRY(bb_results_add(results, path, &form, values));
done:
    if (values != NULL && entry->is_text) {
        (void)H5Dvlen_reclaim(entry->type, entry->space, H5P_DEFAULT, values);
    }
    BB_RELEASE(&values);
    return status;
}

// True for a link in the root to a dataset of /results (schema 2).
static bool is_link(hid_t file, const char *group_name, const char *name)
{
    char path[NAME_BYTES + 16];
    (void)snprintf(path, sizeof path, "results/%s", name);
    return group_name[1] == '\0' && H5Lexists(file, path, H5P_DEFAULT) > 0;
}

// Reads a text of any length; "" for a NULL attribute.
static bb_status read_text(hid_t attribute, hid_t type, char **out)
{
    bb_status status = BB_OK;
    if (H5Tis_variable_str(type) > 0) { // as written by h5py and xarray
        char *text = NULL;
        READ_TRY(H5Aread(attribute, type, (void *)&text));
        status = bb_memory_text(text == NULL ? "" : text, out);
        (void)H5free_memory(text);
        goto done;
    }
    const bb_index bytes = (bb_index)H5Tget_size(type);
    BB_REQUIRE(bytes <= MAXIMUM_ITEMS, BB_IO, "attribute with %td bytes exceeds the limit", bytes);
    BB_TRY(BB_ZEROED(bytes + 1, out));
    READ_TRY(H5Aread(attribute, type, *out));
done:
    return status;
}

// Reads an attribute with a single text or number; attributes added by other programs may be of
// other types.
static bb_status read_attribute(hid_t group, const char *owner, const char *name,
                                bb_results *results)
{
    bb_status status = BB_OK;
    hid_t attribute = -1;
    hid_t type = -1;
    hid_t space = -1;
    char *text = NULL;
    double number = NAN;
    READ_TRY(attribute = H5Aopen(group, name, H5P_DEFAULT));
    READ_TRY(type = H5Aget_type(attribute));
    READ_TRY(space = H5Aget_space(attribute));
    const H5T_class_t class = H5Tget_class(type);
    if (H5Sget_simple_extent_npoints(space) != 1) {
        goto done;
    }
    if (class == H5T_STRING) {
        BB_TRY(read_text(attribute, type, &text));
        BB_TRY(bb_results_note(results, owner, bb_former_name_current(name), text));
    } else if (class == H5T_FLOAT || class == H5T_INTEGER) {
        READ_TRY(H5Aread(attribute, H5T_NATIVE_DOUBLE, &number));
        BB_TRY(bb_results_note_number(results, owner, name, number));
    }
done:
    BB_RELEASE(&text);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)H5Aclose(attribute);
    return status;
}

// Attributes of datasets that commands read: the path of a swept key and the definition of a score.
static const char *const kept[] = {"key", "definition"};

// Reads the datasets of a group that are axes, or those that are not, with a given prefix of their
// names.
static bb_status read_datasets(hid_t file, const char *group_name, const char *prefix, bool axes,
                               bb_results *results)
{
    bb_status status = BB_OK;
    hid_t group = -1;
    char *path = NULL;
    names list = {.capacity = MAXIMUM_NAMES};
    item entry = {.id = -1, .type = -1, .space = -1};
    hsize_t start = 0;
    BB_TRY(BB_ZEROED(list.capacity, &list.items));
    READ_TRY(group = H5Gopen2(file, group_name, H5P_DEFAULT));
    READ_TRY(H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, &start, collect_link, &list));
    for (bb_index i = 0; i < list.count; ++i) {
        H5O_info_t about;
        READ_TRY(H5Oget_info_by_name2(group, list.items[i], &about, H5O_INFO_BASIC, H5P_DEFAULT));
        if (about.type != H5O_TYPE_DATASET || is_link(file, group_name, list.items[i]) ||
            strncmp(list.items[i], prefix, strlen(prefix)) != 0) {
            continue;
        }
        entry = (item){.id = -1, .type = -1, .space = -1};
        BB_TRY(open_item(group, list.items[i], &entry));
        BB_RELEASE(&path);
        BB_TRY(bb_memory_printf(&path, "%s%s%s", group_name[1] == '\0' ? "" : group_name + 1,
                                group_name[1] == '\0' ? "" : "/", list.items[i]));
        if (entry.is_axis == axes) {
            BB_TRY(axes ? BB_OK : check_shape(results, path, &entry));
            BB_TRY(add_item(results, path, &entry));
            for (size_t k = 0; k < sizeof kept / sizeof *kept; ++k) {
                if (H5Aexists(entry.id, kept[k]) > 0) {
                    BB_TRY(read_attribute(entry.id, path, kept[k], results));
                }
            }
        }
        close_item(&entry);
        entry = (item){.id = -1, .type = -1, .space = -1};
    }
done:
    close_item(&entry);
    (void)H5Gclose(group);
    BB_RELEASE(&path);
    BB_RELEASE(&list.items);
    return status;
}

// Datasets that must be texts in runs and sweeps.
static bb_status check_texts(const bb_results *results)
{
    bb_status status = BB_OK;
    static const char *const paths[] = {"results/pipeline", "results/status",
                                        "results/status_detail"};
    bb_index counts[sizeof paths / sizeof *paths];
    for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i) {
        const bb_dataset *found = bb_results_find(results, paths[i]);
        BB_REQUIRE(found == NULL || found->is_text, BB_IO, "'/%s' has numbers, expected texts",
                   paths[i]);
        counts[i] = found == NULL ? 0 : found->count;
    }
    // Root datasets of a run; sweeps have other axes.
    BB_REQUIRE(counts[0] == 0 || counts[1] == 0 || counts[1] == counts[0], BB_IO,
               "'/%s' has %td items, expected one for each of %td pipelines", paths[1], counts[1],
               counts[0]);
    BB_REQUIRE(counts[0] == 0 || counts[2] == 0 || counts[2] == counts[0], BB_IO,
               "'/%s' has %td items, expected one for each of %td pipelines", paths[2], counts[2],
               counts[0]);
done:
    return status;
}

static bb_status check_digest(const bb_results *results)
{
    bb_status status = BB_OK;
    char digest[BB_DIGEST_BYTES];
    const char *recorded = bb_results_note_text(results, "", "results_digest");
    BB_TRY(bb_results_digest(results, false, digest));
    BB_REQUIRE(strcmp(digest, recorded) == 0, BB_IO,
               "damaged: the results have digest %s, the file records %s", digest, recorded);
done:
    return status;
}

// Schema 2 added links in the root to the result table. A file without a version is older.
static bb_status check_schema(const bb_results *results)
{
    bb_status status = BB_OK;
    const char *version = bb_results_note_text(results, "", "schema_version");
    BB_REQUIRE(version == NULL || strcmp(version, "1") == 0 || strcmp(version, "2") == 0, BB_IO,
               "schema %s is not supported, expected 1 or 2; a newer bitbudget wrote the file",
               version);
done:
    return status;
}

static herr_t collect_attribute(hid_t group, const char *name, const H5A_info_t *info,
                                void *context)
{
    (void)group;
    (void)info;
    return add_name(context, name);
}

static bb_status read_attributes(hid_t file, const char *group_name, bb_results *results)
{
    bb_status status = BB_OK;
    hid_t group = -1;
    hsize_t start = 0;
    names list = {.capacity = MAXIMUM_NAMES};
    BB_TRY(BB_ZEROED(list.capacity, &list.items));
    READ_TRY(group = H5Gopen2(file, group_name, H5P_DEFAULT));
    READ_TRY(H5Aiterate2(group, H5_INDEX_NAME, H5_ITER_INC, &start, collect_attribute, &list));
    for (bb_index i = 0; i < list.count; ++i) {
        BB_TRY(read_attribute(group, group_name + 1, list.items[i], results));
    }
done:
    (void)H5Gclose(group);
    BB_RELEASE(&list.items);
    return status;
}

static bb_status read_checked(hid_t file, bb_results *results)
{
    bb_status status = BB_OK;
    BB_TRY(copy_root_attribute(file, "status", true, results));
    BB_TRY(copy_root_attribute(file, "experiment", true, results));
    BB_TRY(copy_root_attribute(file, "results_digest", true, results));
    BB_TRY(copy_root_attribute(file, "title", false, results));
    BB_TRY(copy_root_attribute(file, "source", false, results));
    BB_TRY(copy_root_attribute(file, "loss_note", false, results));
    BB_TRY(copy_root_attribute(file, "price_note", false, results)); // in older files
    BB_TRY(copy_root_attribute(file, "schema_version", false, results));
    BB_TRY(copy_root_attribute(file, "sweep_plan", false, results));
    BB_TRY(copy_root_attribute(file, "status_reason", false, results));
    BB_TRY(check_schema(results));
    const char *text = bb_results_note_text(results, "", "status");
    BB_REQUIRE(strcmp(text, "complete") == 0 || strcmp(text, "partial") == 0, BB_IO,
               "status '%s', expected complete, or partial for a sweep", text);
    BB_TRY(read_datasets(file, "/", "", true, results));
    if (H5Lexists(file, "/results", H5P_DEFAULT) > 0) { // a stream has no results
        BB_TRY(read_datasets(file, "/results", "", true, results));
        BB_TRY(read_datasets(file, "/results", "", false, results));
    }
    BB_TRY(check_texts(results));
    // The digest covers names as they are in the file, in their order.
    BB_TRY(check_digest(results));
    BB_TRY(bb_results_update_names(results));
done:
    return status;
}

// Reads the groups other than /results, and all attributes.
static bb_status read_rest(hid_t file, const char *operators, bb_results *results)
{
    bb_status status = BB_OK;
    hsize_t start = 0;
    char path[NAME_BYTES + 2];
    names list = {.capacity = MAXIMUM_NAMES};
    BB_TRY(BB_ZEROED(list.capacity, &list.items));
    BB_TRY(read_attributes(file, "/", results));
    READ_TRY(H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, &start, collect_link, &list));
    for (bb_index i = 0; i < list.count; ++i) {
        H5O_info_t about;
        READ_TRY(H5Oget_info_by_name2(file, list.items[i], &about, H5O_INFO_BASIC, H5P_DEFAULT));
        const bool is_operators = strcmp(list.items[i], "operators") == 0;
        if (about.type != H5O_TYPE_GROUP || (is_operators && operators == NULL)) {
            continue;
        }
        (void)snprintf(path, sizeof path, "/%s", list.items[i]);
        BB_TRY(read_attributes(file, path, results));
        if (strcmp(path, "/results") != 0) {
            const char *prefix = is_operators ? operators : "";
            BB_TRY(read_datasets(file, path, prefix, true, results));
            BB_TRY(read_datasets(file, path, prefix, false, results));
        }
    }
    BB_TRY(read_datasets(file, "/", "", false, results));
    BB_TRY(bb_results_update_names(results));
done:
    BB_RELEASE(&list.items);
    return status;
}

// Reads all groups, or the results only.
static bb_status read_file(const char *path, bool is_whole, const char *operators, bb_results **out)
{
    bb_status status = BB_OK;
    bb_results *results = NULL;
    hid_t file = -1;
    struct stat about;
    BB_REQUIRE(stat(path, &about) == 0 && access(path, R_OK) == 0, BB_IO, "%s", strerror(errno));
    BB_REQUIRE(S_ISREG(about.st_mode), BB_IO, "not a regular file");
    BB_REQUIRE(H5Fis_hdf5(path) > 0, BB_IO, "not an HDF5 file");
    BB_TRY(bb_disk_file_check(path));
    READ_TRY(file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
    BB_TRY(bb_results_create(&results));
    BB_TRY(read_checked(file, results));
    if (is_whole) {
        BB_TRY(read_rest(file, operators, results));
        BB_TRY(bb_output_table_check(&bb_provenance_outputs, results));
        BB_TRY(bb_output_table_check(&bb_provenance_inputs, results));
        BB_TRY(bb_output_table_check(&bb_provenance_table_outputs, results));
    }
    *out = results;
    results = NULL;
done:
    bb_results_destroy(&results);
    (void)H5Fclose(file);
    return status;
}

bb_status bb_reader_read(const char *path, bb_results **out)
{
    return read_file(path, false, NULL, out);
}

bb_status bb_reader_read_all(const char *path, const char *operators, bb_results **out)
{
    return read_file(path, true, operators, out);
}
