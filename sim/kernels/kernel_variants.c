// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/kernel_variants.h"

#include "core/log.h"
#include "core/memory.h"
#include "sim/kernels/wisdom.h"

#include <stdio.h>
#include <string.h>

static const char separator[] = "; ";
const char bb_kernel_ledger_default[] = "default";

enum { ORIGIN_BYTES = 192 };

// Kernel with given types in one variant.
typedef struct ledger_row {
    char name[64]; // bb_wisdom_name of its file
    char program[BB_WISDOM_DIGEST_BYTES];
    char types[BB_WISDOM_TYPES_BYTES];
    bb_device_kind device;
    bb_choice choice;
    char variant[BB_CHOICE_TEXT_BYTES]; // text of the choice
    char origin[ORIGIN_BYTES];
    bb_text sizes; // "96x72 96x72; 48x36 48x36": columns x rows of its objects in each set
} ledger_row;

struct bb_kernel_ledger {
    ledger_row *rows; // [count], in order of insertion
    bb_index count, capacity;
};

bb_status bb_kernel_ledger_create(bb_kernel_ledger **out)
{
    return BB_ZEROED(1, out);
}

void bb_kernel_ledger_destroy(bb_kernel_ledger **ledger)
{
    if (*ledger == NULL) {
        return;
    }
    for (bb_index i = 0; i < (*ledger)->count; ++i) {
        bb_text_release(&(*ledger)->rows[i].sizes);
    }
    BB_RELEASE(&(*ledger)->rows);
    BB_RELEASE(ledger);
}

static bool is_of(const ledger_row *row, const bb_wisdom_key *key)
{
    return row->device == key->device && strcmp(row->program, key->program) == 0 &&
           strcmp(row->types, key->types) == 0;
}

static bb_status add_sizes(const bb_wisdom_key *key, bb_text *out)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i + 1 < key->size_count; i += 2) {
        BB_TRY(bb_text_add(out, "%s%tdx%td", i == 0 ? "" : " ", key->sizes[i], key->sizes[i + 1]));
    }
done:
    return status;
}

static bb_status find_row(bb_kernel_ledger *ledger, const bb_wisdom_key *key,
                          const bb_choice *choice, const char *origin, ledger_row **out)
{
    bb_status status = BB_OK;
    for (bb_index i = 0; i < ledger->count; ++i) {
        ledger_row *row = &ledger->rows[i];
        if (is_of(row, key) && bb_choice_equal(&row->choice, choice) &&
            strcmp(row->origin, origin) == 0) {
            *out = row;
            goto done;
        }
    }
    if (ledger->count == ledger->capacity) {
        const bb_index capacity = 2 * ledger->capacity + 32;
        BB_TRY(bb_memory_resize(capacity, sizeof *ledger->rows, (void **)&ledger->rows));
        ledger->capacity = capacity;
    }
    *out = &ledger->rows[ledger->count++];
    **out = (ledger_row){.device = key->device, .choice = *choice};
    (void)snprintf((*out)->name, sizeof(*out)->name, "%s", key->kernel);
    (void)snprintf((*out)->program, sizeof(*out)->program, "%s", key->program);
    (void)snprintf((*out)->types, sizeof(*out)->types, "%s", key->types);
    (void)snprintf((*out)->origin, sizeof(*out)->origin, "%s", origin);
    bb_choice_write(choice, (*out)->variant);
done:
    return status;
}

bb_status bb_kernel_ledger_add(bb_kernel_ledger *ledger, const bb_wisdom_key *key,
                               const bb_choice *choice, const char *origin)
{
    bb_status status = BB_OK;
    ledger_row *row = NULL;
    BB_TRY(find_row(ledger, key, choice, origin, &row));
    BB_TRY(bb_text_add(&row->sizes, "%s", row->sizes.length > 0 ? separator : ""));
    BB_TRY(add_sizes(key, &row->sizes));
done:
    return status;
}

void bb_kernel_ledger_replace(bb_kernel_ledger *ledger, const bb_wisdom_key *key,
                              const bb_choice *failed, const bb_choice *replacement)
{
    for (bb_index i = 0; i < ledger->count; ++i) {
        ledger_row *row = &ledger->rows[i];
        if (is_of(row, key) && bb_choice_equal(&row->choice, failed)) {
            (void)snprintf(row->origin, sizeof row->origin, "default: %s failed", row->variant);
            row->choice = *replacement;
            bb_choice_write(replacement, row->variant);
        }
    }
}

// Row of /kernels.
typedef struct published {
    const char *name, *program, *types, *device, *variant, *origin, *sizes;
} published;

static const char title[] = "/kernels";

// clang-format off
static const bb_output axes[] = {
    {"kernel", "kernel", "1", "index of the kernel, its types and its variant", .indices = true},
};
static const bb_output rows[] = {
    {"name", "kernel", NULL, "name of the kernel", .member = offsetof(published, name)},
    {"program", "kernel", NULL, "XXH3-128 of its description",
     .member = offsetof(published, program)},
    {"types", "kernel", NULL, "types assigned to its type names",
     .member = offsetof(published, types)},
    {"device", "kernel", NULL, "device", .member = offsetof(published, device)},
    {"variant", "kernel", NULL, "variant that ran", .note = "in the notation of `kernel explain`",
     .member = offsetof(published, variant)},
    {"origin", "kernel", NULL, "origin of the variant",
     .note = "default, wisdom, shipped or an earlier result",
     .member = offsetof(published, origin)},
    {"sizes", "kernel", NULL, "sizes of its objects with this variant",
     .note = "empty: all sizes", .member = offsetof(published, sizes)},
};
// clang-format on

const bb_output_table bb_kernel_ledger_axes = {
    .title = title,
    .when = "Written if generated kernels ran; `rerun` uses the same variants.",
    .group = "kernels",
    BB_OUTPUT_ROWS(axes)};
const bb_output_table bb_kernel_ledger_outputs = {
    .title = title, .group = "kernels", .axes = "kernel", BB_OUTPUT_ROWS(rows)};

static bool is_only(const bb_kernel_ledger *ledger, bb_index number)
{
    const ledger_row *row = &ledger->rows[number];
    bool only = true;
    for (bb_index i = 0; i < ledger->count && only; ++i) {
        const ledger_row *other = &ledger->rows[i];
        only = i == number || other->device != row->device ||
               strcmp(other->program, row->program) != 0 || strcmp(other->types, row->types) != 0;
    }
    return only;
}

bb_status bb_kernel_ledger_publish(const bb_kernel_ledger *ledger, bb_results *results)
{
    bb_status status = BB_OK;
    published *records = NULL; // [ledger->count]
    if (ledger->count == 0) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(ledger->count, &records));
    for (bb_index i = 0; i < ledger->count; ++i) {
        const ledger_row *row = &ledger->rows[i];
        records[i] = (published){row->name,
                                 row->program,
                                 row->types,
                                 bb_device_names[row->device],
                                 row->variant,
                                 row->origin,
                                 is_only(ledger, i) ? "" : bb_text_string(&row->sizes)};
    }
    BB_TRY(bb_output_table_add_axis(&bb_kernel_ledger_axes, "kernel", ledger->count, NULL, NULL,
                                    results));
    BB_TRY(bb_output_table_publish_records(&bb_kernel_ledger_outputs, records, sizeof *records,
                                           ledger->count, NULL, results));
done:
    BB_RELEASE(&records);
    return status;
}

static const char *const *find_texts(const bb_results *results, const char *path, bb_index *count)
{
    const bb_dataset *found = bb_results_find(results, path);
    if (found == NULL || !found->is_text) {
        *count = 0;
        return NULL;
    }
    *count = found->count < *count ? found->count : *count;
    return (const char *const *)found->texts;
}

bb_status bb_kernel_ledger_report(const bb_results *results, bb_text *out)
{
    bb_status status = BB_OK;
    bb_index count = PTRDIFF_MAX;
    bb_index plain = 0;
    const char *const *origins = find_texts(results, "kernels/origin", &count);
    for (bb_index i = 0; i < count; ++i) {
        plain +=
            strncmp(origins[i], bb_kernel_ledger_default, strlen(bb_kernel_ledger_default)) == 0;
    }
    if (plain < count) {
        BB_TRY(bb_text_add(out, "kernels: %td of %td in a measured variant (/kernels)",
                           count - plain, count));
    }
done:
    return status;
}

// True if one of the sets of sizes in a text is `wanted`; an empty text means all sizes.
static bool has_sizes(const char *text, const char *wanted)
{
    const size_t length = strlen(wanted);
    bool found = text[0] == '\0';
    while (!found && text[0] != '\0') {
        const char *end = strstr(text, separator);
        const size_t piece = end == NULL ? strlen(text) : (size_t)(end - text);
        found = piece == length && strncmp(text, wanted, length) == 0;
        text += end == NULL ? piece : piece + strlen(separator);
    }
    return found;
}

bb_status bb_kernel_ledger_recall(const bb_results *results, const bb_wisdom_key *key, bool *found,
                                  bb_choice *out)
{
    bb_status status = BB_OK;
    bb_text wanted = {0};
    bb_index count = PTRDIFF_MAX;
    const char *const *programs = find_texts(results, "kernels/program", &count);
    const char *const *types = find_texts(results, "kernels/types", &count);
    const char *const *devices = find_texts(results, "kernels/device", &count);
    const char *const *variants = find_texts(results, "kernels/variant", &count);
    const char *const *sizes = find_texts(results, "kernels/sizes", &count);
    *found = false;
    BB_TRY(add_sizes(key, &wanted));
    for (bb_index i = 0; i < count && !*found; ++i) {
        if (strcmp(programs[i], key->program) == 0 && strcmp(types[i], key->types) == 0 &&
            strcmp(devices[i], bb_device_names[key->device]) == 0 &&
            has_sizes(sizes[i], bb_text_string(&wanted))) {
            BB_REQUIRE(bb_choice_read(variants[i], out) == BB_OK, BB_IO,
                       "/kernels/variant of the results is not a variant: %.96s", variants[i]);
            *found = true;
        }
    }
done:
    bb_text_release(&wanted);
    return status;
}

// Device of the run.
typedef struct place {
    bb_kernel_variants *variants;
    bb_device *device;
    char compiler[BB_WISDOM_COMPILER_BYTES]; // "": not yet determined
} place;

struct bb_kernel_variants {
    const bb_kernel_keys *keys;
    bb_kernel_wish wish;
    bb_wisdom_file file, shipped;
    bool is_read, is_shipped_read;
    char origin[BB_SHIPPED_ORIGIN_BYTES];
    bb_kernel_ledger *ledger;
    place places[BB_DEVICE_KIND_COUNT];
};

bb_status bb_kernel_variants_create(const bb_kernel_keys *keys, const bb_kernel_wish *wish,
                                    bb_kernel_variants **out)
{
    bb_status status = BB_OK;
    bb_kernel_variants *made = NULL;
    BB_TRY(BB_ZEROED(1, &made));
    BB_TRY(bb_kernel_ledger_create(&made->ledger));
    made->keys = keys;
    made->wish = wish != NULL ? *wish : (bb_kernel_wish){.context = NULL};
    made->is_read = made->wish.is_deterministic || made->wish.replay != NULL;
    if (!made->is_read && keys->wisdom != NULL) {
        BB_TRY(bb_kernel_keys_read(keys, &made->file));
        made->is_read = true;
    }
    *out = made;
    made = NULL;
done:
    bb_kernel_variants_destroy(&made);
    return status;
}

void bb_kernel_variants_destroy(bb_kernel_variants **variants)
{
    if (*variants == NULL) {
        return;
    }
    bb_kernel_ledger_destroy(&(*variants)->ledger);
    bb_wisdom_file_release(&(*variants)->file);
    bb_wisdom_file_release(&(*variants)->shipped);
    BB_RELEASE(variants);
}

// Reads the user's file. A damaged one is skipped with a warning, because it does not affect the
// results.
static bb_status read_own(bb_kernel_variants *variants)
{
    bb_status status = BB_OK;
    char *path = NULL;
    variants->is_read = true;
    status = bb_wisdom_file_place(NULL, &path);
    if (status == BB_OK) {
        status = bb_wisdom_file_read(path, &variants->file);
        if (status == BB_IO || status == BB_INVALID) {
            bb_log_warning("measured variants of kernels are ignored: %s", bb_status_message());
            bb_wisdom_file_release(&variants->file);
        }
    }
    if (status == BB_IO || status == BB_INVALID) { // without a home directory there is no file
        bb_status_clear();
        status = BB_OK;
    }
    BB_RELEASE(&path);
    return status;
}

bb_status bb_kernel_variants_key(bb_device *device, const bb_kernel_site *site, bb_wisdom_key *out)
{
    bb_status status = BB_OK;
    enum { WORD_BYTES = 64 };
    char texts[BB_KERNEL_CONTEXT_TYPES][WORD_BYTES];
    char *words[BB_KERNEL_CONTEXT_TYPES];
    const bb_kernel_use *use = site->use;
    for (int i = 0; i < use->type_count; ++i) {
        (void)snprintf(texts[i], WORD_BYTES, "%.40s=%.20s", use->types[i].name, use->types[i].type);
        words[i] = texts[i];
    }
    *out = (bb_wisdom_key){.device = bb_device_kind_of(device)};
    bb_wisdom_name(use->file, out->kernel);
    BB_TRY(bb_wisdom_program(site->description, out->program));
    BB_TRY(bb_wisdom_types(words, use->type_count, out->types));
    BB_TRY(bb_device_describe(device, &out->report));
    bb_wisdom_key_set_sizes(out, site->program, site->data);
done:
    return status;
}

// Determines the compiler only if there are records of this kernel.
static bb_status find_compiler(place *where, bb_wisdom_key *key)
{
    bb_status status = BB_OK;
    const bb_wisdom_file *file = &where->variants->file;
    bool has_records = false;
    for (bb_index i = 0; i < file->count && !has_records; ++i) {
        has_records = bb_wisdom_record_fit(&file->records[i], key) == BB_WISDOM_FITS;
    }
    if (has_records && where->compiler[0] == '\0') {
        BB_TRY(bb_wisdom_find_compiler(where->device, where->compiler, sizeof where->compiler));
    }
    (void)snprintf(key->compiler, sizeof key->compiler, "%s", where->compiler);
done:
    return status;
}

static bb_status find_shipped_variant(bb_kernel_variants *variants, const bb_kernel_site *site,
                                      const bb_wisdom_key *key, bb_choice *choice,
                                      const char **origin)
{
    bb_status status = BB_OK;
    const bb_wisdom_record *record = NULL;
    if (!variants->is_shipped_read) {
        variants->is_shipped_read = true;
        BB_TRY(bb_wisdom_read_shipped(&variants->shipped));
    }
    BB_TRY(bb_wisdom_choose_shipped(&variants->shipped, key, site->program, &record,
                                    variants->origin, NULL));
    if (record != NULL) {
        *choice = record->choice;
        *origin = variants->origin;
    }
done:
    return status;
}

static bb_status find_variant(place *where, const bb_kernel_site *site, bb_wisdom_key *key,
                              bb_choice *choice, const char **origin)
{
    bb_status status = BB_OK;
    bb_kernel_variants *variants = where->variants;
    const bb_wisdom_record *record = NULL;
    bool is_exact = false;
    if (!variants->is_read) {
        BB_TRY(read_own(variants));
    }
    BB_TRY(find_compiler(where, key));
    BB_TRY(bb_wisdom_choose(&variants->file, key, site->program, variants->keys->reorder, &record,
                            &is_exact, NULL));
    if (record != NULL) {
        *choice = record->choice;
        *origin = is_exact ? "wisdom, same sizes" : "wisdom, nearest sizes";
    } else {
        BB_TRY(find_shipped_variant(variants, site, key, choice, origin));
    }
done:
    return status;
}

// Uses the variant of an earlier result, if the kernel still has it.
static bb_status repeat(const bb_kernel_variants *variants, const bb_kernel_site *site,
                        const bb_wisdom_key *key, bb_choice *choice, const char **origin)
{
    bb_status status = BB_OK;
    bb_choice known;
    bool found = false;
    char why[160];
    char text[BB_CHOICE_TEXT_BYTES];
    BB_TRY(bb_kernel_ledger_recall(variants->wish.replay, key, &found, &known));
    if (!found) {
        goto done;
    }
    if (bb_choice_is_legal(&known, key->device, site->program, why, sizeof why)) {
        *choice = known;
        *origin = "earlier result";
    } else {
        bb_choice_write(&known, text);
        bb_log_warning("kernel %s: variant %s no longer exists, using the default: %s", key->kernel,
                       text, why);
    }
done:
    return status;
}

static bb_status choose(void *context, const bb_kernel_site *site, bb_choice *choice)
{
    bb_status status = BB_OK;
    place *where = context;
    bb_kernel_variants *variants = where->variants;
    bb_wisdom_key key;
    const char *origin = bb_kernel_ledger_default;
    BB_TRY(bb_kernel_variants_key(where->device, site, &key));
    if (variants->wish.replay != NULL) {
        BB_TRY(repeat(variants, site, &key, choice, &origin));
    } else if (!variants->wish.is_deterministic) {
        BB_TRY(find_variant(where, site, &key, choice, &origin));
    }
    BB_TRY(bb_kernel_ledger_add(variants->ledger, &key, choice, origin));
    if (variants->wish.visit != NULL) {
        BB_TRY(variants->wish.visit(variants->wish.context, where->device, site));
    }
done:
    return status;
}

static void fall_back(void *context, const bb_kernel_site *site, const bb_choice *failed,
                      const bb_choice *replacement)
{
    place *where = context;
    bb_wisdom_key key;
    if (bb_kernel_variants_key(where->device, site, &key) == BB_OK) {
        bb_kernel_ledger_replace(where->variants->ledger, &key, failed, replacement);
    }
}

bb_status bb_kernel_variants_join(bb_kernel_variants *variants, bb_kernel_context *context)
{
    bb_status status = BB_OK;
    if (variants == NULL) {
        goto done;
    }
    bb_device *device = bb_kernel_context_device(context);
    place *where = &variants->places[bb_device_kind_of(device)];
    *where = (place){.variants = variants, .device = device};
    bb_kernel_context_set_chooser(context, &(bb_kernel_chooser){where, choose, fall_back});
done:
    return status;
}

bb_status bb_kernel_variants_publish(const bb_kernel_variants *variants, bb_results *results)
{
    bb_status status = BB_OK;
    bb_text summary = {0};
    BB_TRY(bb_kernel_ledger_publish(variants->ledger, results));
    BB_TRY(bb_kernel_ledger_report(results, &summary));
    if (summary.length > 0) {
        bb_log_info("%s", bb_text_string(&summary));
    }
done:
    bb_text_release(&summary);
    return status;
}
