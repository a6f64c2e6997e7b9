// SPDX-License-Identifier: Apache-2.0
//
// bitbudget rerun: repeats the study of a result file from that file alone. Files are read in a
// child process first, because the HDF5 library can crash on damaged ones.
#include "core/memory.h"
#include "sim/cli/execution.h"
#include "sim/cli/source.h"
#include "sim/config/difference.h"
#include "sim/output/comparison.h"
#include "sim/run/device_choice.h"

#include <stdio.h>
#include <string.h>

// Finds the study as resolved by the recorded run; `*out` is borrowed from `recorded`.
static bb_status find_study(const char *path, const bb_results *recorded, const char **out)
{
    bb_status status = BB_OK;
    const bb_dataset *resolved = bb_results_find(recorded, "provenance/config_resolved");
    BB_REQUIRE(bb_results_find(recorded, "results/pipeline") != NULL && resolved != NULL &&
                   resolved->is_text && resolved->count == 1,
               BB_IO, "cannot rerun '%s': it is not a file of 'bitbudget run'", path);
    *out = resolved->texts[0];
done:
    return status;
}

// True if an override sets the key to another file.
static bool is_named_anew(const bb_options *options, const char *key)
{
    const size_t length = strlen(key);
    for (bb_index i = 1; i < options->operand_count; ++i) {
        if (strncmp(options->operands[i], key, length) == 0 &&
            options->operands[i][length] == '=') {
            return true;
        }
    }
    return false;
}

// True if an override sets a key of kernels, which disables the recorded variants.
static bool are_kernels_anew(const bb_options *options)
{
    static const char key[] = "kernels";
    const size_t length = strlen(key);
    bool found = false;
    for (bb_index i = 1; i < options->operand_count && !found; ++i) {
        const char *word = options->operands[i];
        found = strncmp(word, key, length) == 0 && (word[length] == '.' || word[length] == '=');
    }
    return found;
}

// True for the file of tuned variants if the result records the variants that ran: the file may
// have changed.
static bool is_recorded(const bb_results *recorded, const char *key)
{
    return strcmp(key, "kernels.wisdom") == 0 &&
           bb_results_find(recorded, "kernels/variant") != NULL;
}

// Compares the digest of an input file with the recorded one; prints a message if it differs.
static bb_status is_unchanged(const char *key, const char *file, const char *recorded, bool *out)
{
    bb_status status = BB_OK;
    char digest[BB_DIGEST_BYTES] = "";
    *out = true;
    if (recorded[0] == '\0') {
        goto done;
    }
    status = bb_digest_file(file, digest);
    *out = status == BB_OK && strcmp(digest, recorded) == 0;
    if (status == BB_MEMORY) {
        goto done;
    }
    if (status != BB_OK) {
        (void)fprintf(stderr, "%s: %s\n", key, bb_status_message());
    } else if (!*out) {
        (void)fprintf(stderr, "%s: '%s' has changed: digest %s, digest of the recorded run %s\n",
                      key, file, digest, recorded);
    }
    status = BB_OK;
done:
    return status;
}

// Checks the input files of the study and reports all missing or changed ones at once.
static bb_status check_inputs(const bb_options *options, const bb_results *recorded)
{
    bb_status status = BB_OK;
    bb_index changed = 0;
    const bb_dataset *keys = bb_results_find(recorded, "provenance/input");
    const bb_dataset *files = bb_results_find(recorded, "provenance/input_file");
    const bb_dataset *digests = bb_results_find(recorded, "provenance/input_digest");
    if (keys == NULL || files == NULL || digests == NULL || !keys->is_text || !files->is_text ||
        !digests->is_text) {
        goto done;
    }
    for (bb_index i = 0; i < keys->count; ++i) {
        bool unchanged = true;
        if (!is_named_anew(options, keys->texts[i]) && !is_recorded(recorded, keys->texts[i])) {
            BB_TRY(is_unchanged(keys->texts[i], files->texts[i], digests->texts[i], &unchanged));
        }
        changed += !unchanged;
    }
    BB_REQUIRE(changed == 0, BB_IO,
               "cannot rerun '%s': %td file%s named by its study %s missing or changed; name "
               "another by key=FILE",
               options->operands[0], changed, changed == 1 ? "" : "s", changed == 1 ? "is" : "are");
done:
    return status;
}

// Path -o or outputs/<name of the file>-rerun.h5; NULL if no output is requested.
static bb_status choose_path(const bb_options *options, char **out)
{
    if (options->output != NULL) {
        return bb_memory_text(options->output, out);
    }
    if (options->verify) {
        *out = NULL;
        return BB_OK;
    }
    const char *slash = strrchr(options->operands[0], '/');
    const char *name = slash == NULL ? options->operands[0] : slash + 1;
    const char *dot = strrchr(name, '.');
    const bool ending = dot != NULL && dot != name && strcmp(dot, ".h5") == 0;
    const int length = ending ? (int)(dot - name) : (int)strlen(name);
    return bb_memory_printf(out, "outputs/%.*s-rerun.h5", length, name);
}

// Lists possible causes: differing keys, programs and machines.
static bb_status write_causes(const bb_comparison *pair, bb_text *out)
{
    bb_status status = BB_OK;
    const char *studies[2];
    bb_index keys = 0;
    for (int side = 0; side < 2; ++side) {
        studies[side] =
            bb_results_find(pair->results[side], "provenance/config_resolved")->texts[0];
    }
    BB_TRY(bb_text_add(out, "possible causes: another key, version, compiler, library, device "
                            "or\nprocessor (OpenBLAS selects its kernels by processor)\n"));
    BB_TRY(bb_difference_write_keys(studies, pair->names, out, &keys));
    BB_TRY(bb_comparison_write_origins(pair, out));
done:
    return status;
}

// Prints the common digest, or the differences and their possible causes.
static bb_status verify(const bb_comparison *pair)
{
    bb_status status = BB_OK;
    bb_text text = {0};
    bb_index count = 0;
    char digests[2][BB_DIGEST_BYTES];
    for (int side = 0; side < 2; ++side) {
        BB_TRY(bb_results_digest(pair->results[side], true, digests[side]));
    }
    if (strcmp(digests[0], digests[1]) == 0) {
        (void)printf("equal: bit-identical except times (digest %s)\n", digests[0]);
        goto done;
    }
    BB_TRY(bb_text_add(&text, "different:\n"));
    BB_TRY(bb_comparison_write_results(pair, &text, &count));
    if (count == 0) {
        BB_TRY(bb_text_add(&text, "  values are equal; names, units or signs of zero differ\n"));
    }
    BB_TRY(write_causes(pair, &text));
    bb_text_print(bb_text_string(&text), stdout);
    status = bb_status_set(BB_DIFFERENT, __FILE__, __LINE__, "results differ");
done:
    bb_text_release(&text);
    return status;
}

bb_status bb_command_rerun(const bb_options *options, const bb_experiment_table *experiments)
{
    bb_status status = BB_OK;
    bb_results *recorded = NULL;
    bb_results *results = NULL;
    bb_config *config = NULL;
    const char *study = NULL;
    char *path = NULL;
    char *origin = NULL;
    bb_text upgraded = {0};
    bb_text changes = {0};
    BB_TRY(bb_source_read_recorded(options->operands[0], "rerun", &recorded));
    BB_TRY(find_study(options->operands[0], recorded, &study));
    BB_TRY(check_inputs(options, recorded));
    BB_TRY(bb_memory_printf(&origin, "%s:/provenance/config_resolved", options->operands[0]));
    BB_TRY(bb_command_upgrade(experiments, &(bb_config_file){origin, study}, &upgraded, &changes));
    if (changes.length > 0) {
        bb_log_info("%s: renamed keys of an earlier version:\n%s", origin,
                    bb_text_string(&changes));
    }
    const bb_config_file file = {origin, bb_text_string(&upgraded)};
    BB_TRY(bb_command_load_text(options, experiments, bb_device_choice_require, &file, &config));
    BB_TRY(choose_path(options, &path));
    BB_TRY(bb_results_create(&results));
    const bb_execution work = {options, experiments, config, path,
                               are_kernels_anew(options) ? NULL : recorded};
    BB_TRY(bb_execution_run(&work, results));
    if (options->verify) {
        const bb_comparison pair = {bb_experiment_find(experiments, bb_config_schema(config)->name),
                                    {recorded, results},
                                    {"the file", "this run"},
                                    0.0};
        BB_TRY(verify(&pair));
    }
done:
    bb_text_release(&changes);
    bb_text_release(&upgraded);
    BB_RELEASE(&origin);
    BB_RELEASE(&path);
    bb_results_destroy(&results);
    bb_results_destroy(&recorded);
    bb_config_destroy(&config);
    return status;
}
