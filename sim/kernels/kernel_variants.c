// SPDX-License-Identifier: Apache-2.0
#include "sim/kernels/kernel_variants.h"

#include "core/log.h"
#include "core/memory.h"
#include "sim/kernels/shipped_wisdom.h"

#include <stdio.h>
#include <string.h>

// A device of the run.
typedef struct place {
    bb_kernel_variants *variants;
    bb_device *device;
    char compiler[BB_WISDOM_COMPILER_BYTES]; // "": not yet asked for
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

// The user's own file: a study does without one that is damaged, its numbers are the same.
static bb_status read_own(bb_kernel_variants *variants)
{
    bb_status status = BB_OK;
    char *path = NULL;
    variants->is_read = true;
    status = bb_wisdom_file_place(NULL, &path);
    if (status == BB_OK) {
        status = bb_wisdom_file_read(path, &variants->file);
        if (status == BB_IO || status == BB_INVALID) {
            bb_log_warning("measured variants of kernels are left aside: %s", bb_status_message());
            bb_wisdom_file_release(&variants->file);
        }
    }
    if (status == BB_IO || status == BB_INVALID) { // without a home there is no file
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

// Only records of this kernel are worth asking for the compiler.
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

static bb_status look_up_shipped(bb_kernel_variants *variants, const bb_kernel_site *site,
                                 const bb_wisdom_key *key, bb_choice *choice, const char **origin)
{
    bb_status status = BB_OK;
    const bb_wisdom_record *record = NULL;
    if (!variants->is_shipped_read) {
        variants->is_shipped_read = true;
        BB_TRY(bb_shipped_wisdom_read(&variants->shipped));
    }
    BB_TRY(bb_shipped_wisdom_choose(&variants->shipped, key, site->program, &record,
                                    variants->origin, NULL));
    if (record != NULL) {
        *choice = record->choice;
        *origin = variants->origin;
    }
done:
    return status;
}

static bb_status look_up(place *where, const bb_kernel_site *site, bb_wisdom_key *key,
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
        *origin = is_exact ? "wisdom, these sizes" : "wisdom, the nearest sizes";
    } else {
        BB_TRY(look_up_shipped(variants, site, key, choice, origin));
    }
done:
    return status;
}

// The variant that an earlier result has, where this kernel still has such a one.
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
        bb_log_warning("kernel %s: it has no variant %s any more, the default takes its place: %s",
                       key->kernel, text, why);
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
        BB_TRY(look_up(where, site, &key, choice, &origin));
    }
    BB_TRY(bb_kernel_ledger_add(variants->ledger, &key, choice, origin));
    if (variants->wish.meet != NULL) {
        BB_TRY(variants->wish.meet(variants->wish.context, where->device, site));
    }
done:
    return status;
}

static void fall_back(void *context, const bb_kernel_site *site, const bb_choice *failed,
                      const bb_choice *taken)
{
    place *where = context;
    bb_wisdom_key key;
    if (bb_kernel_variants_key(where->device, site, &key) == BB_OK) {
        bb_kernel_ledger_replace(where->variants->ledger, &key, failed, taken);
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
    bb_text told = {0};
    BB_TRY(bb_kernel_ledger_publish(variants->ledger, results));
    BB_TRY(bb_kernel_ledger_report(results, &told));
    if (told.length > 0) {
        bb_log_info("%s", bb_text_string(&told));
    }
done:
    bb_text_release(&told);
    return status;
}
