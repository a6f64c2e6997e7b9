// SPDX-License-Identifier: Apache-2.0
#include "sim/output/provenance.h"

#include "build_info.h"
#include "core/clock.h"
#include "core/device/device.h"
#include "core/memory.h"
#include "sim/config/config.h"
#include "sim/output/cell.h"

#include <cblas.h>
#include <cholmod.h>
#include <fftw3.h>
#include <gsl/gsl_version.h>
#include <hdf5.h>
#include <lapacke.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <yaml.h>
#include <zfp.h>

#define SCHEMA_VERSION "2"

enum { PATH_BYTES = 4096 };

// Variables that affect libraries or the placement of a run.
static const char *const recorded_environment[] = {
    "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE",
    "OMP_NUM_THREADS",      "CUDA_VISIBLE_DEVICES",
    "HDF5_PLUGIN_PATH",     "HDF5_USE_FILE_LOCKING",
    "SLURM_JOB_ID",         "SLURM_ARRAY_JOB_ID",
    "SLURM_ARRAY_TASK_ID",  "POCL_DEVICES",
    "LD_LIBRARY_PATH",      "LD_PRELOAD",
    "BB_OPENCL_DEVICE",     "BB_CC",
    "BITBUDGET_PREBUILT",   "BB_CUDA_PORTABLE",
};

void bb_provenance_libraries(bb_library out[BB_LIBRARIES])
{
    unsigned major = 0;
    unsigned minor = 0;
    unsigned release = 0;
    int yaml[3] = {0};
    int cholmod[3] = {0};
    lapack_int lapack[3] = {0};
    enum { HDF5, OPENBLAS, LAPACK, CHOLMOD, FFTW, GSL, ZFP, YAML };
    static const char *const library_names[BB_LIBRARIES] = {
        "hdf5", "openblas", "lapack", "cholmod", "fftw", "gsl", "zfp", "libyaml"};
    for (int i = 0; i < BB_LIBRARIES; ++i) {
        out[i].name = library_names[i];
    }
    (void)H5get_libversion(&major, &minor, &release);
    LAPACKE_ilaver(&lapack[0], &lapack[1], &lapack[2]);
    (void)cholmod_version(cholmod);
    yaml_get_version(&yaml[0], &yaml[1], &yaml[2]);
    (void)snprintf(out[HDF5].version, sizeof out[HDF5].version, "%u.%u.%u", major, minor, release);
    (void)snprintf(out[OPENBLAS].version, sizeof out[OPENBLAS].version, "%.80s, core %.30s",
                   openblas_get_config(), openblas_get_corename());
    (void)snprintf(out[LAPACK].version, sizeof out[LAPACK].version, "%d.%d.%d", (int)lapack[0],
                   (int)lapack[1], (int)lapack[2]);
    (void)snprintf(out[CHOLMOD].version, sizeof out[CHOLMOD].version, "%d.%d.%d", cholmod[0],
                   cholmod[1], cholmod[2]);
    (void)snprintf(out[FFTW].version, sizeof out[FFTW].version, "%s", fftw_version);
    (void)snprintf(out[GSL].version, sizeof out[GSL].version, "%s", gsl_version);
    (void)snprintf(out[ZFP].version, sizeof out[ZFP].version, "%s, codec %u", ZFP_VERSION_STRING,
                   zfp_codec_version);
    (void)snprintf(out[YAML].version, sizeof out[YAML].version, "%d.%d.%d", yaml[0], yaml[1],
                   yaml[2]);
}

static bb_status note(bb_results *results, const char *name, const char *text)
{
    return bb_results_note(results, "provenance", name, text);
}

static bb_status record_build(bb_results *results)
{
    bb_status status = BB_OK;
    bb_library libraries[BB_LIBRARIES];
    char name[80];
    BB_TRY(note(results, "version", BB_VERSION));
    BB_TRY(note(results, "commit", BB_COMMIT));
    BB_TRY(note(results, "compiler", BB_COMPILER));
    BB_TRY(note(results, "flags", BB_FLAGS));
    BB_TRY(note(results, "fp_contraction",
                strstr(BB_FLAGS, "-ffp-contract=off") != NULL ? "off" : "not pinned"));
    bb_provenance_libraries(libraries);
    for (int i = 0; i < BB_LIBRARIES; ++i) {
        (void)snprintf(name, sizeof name, "library_%s", libraries[i].name);
        BB_TRY(note(results, name, libraries[i].version));
    }
done:
    return status;
}

static bb_status record_processor(bb_results *results)
{
    bb_status status = BB_OK;
    bb_device *cpu = NULL;
    bb_device_report report;
    BB_TRY(bb_device_open(BB_DEVICE_CPU, 0, &cpu));
    BB_TRY(bb_device_describe(cpu, &report));
    BB_TRY(note(results, "processor", report.name));
done:
    bb_device_close(&cpu);
    return status;
}

static bb_status record_machine(bb_results *results)
{
    bb_status status = BB_OK;
    struct utsname system;
    char text[600];
    char name[80];
    if (uname(&system) == 0) {
        BB_TRY(note(results, "host", system.nodename));
        (void)snprintf(text, sizeof text, "%.100s %.100s %.100s", system.sysname, system.release,
                       system.machine);
        BB_TRY(note(results, "system", text));
    }
    BB_TRY(record_processor(results));
    for (size_t i = 0; i < sizeof recorded_environment / sizeof recorded_environment[0]; ++i) {
        const char *value = getenv(recorded_environment[i]);
        if (value != NULL) {
            (void)snprintf(name, sizeof name, "environment_%s", recorded_environment[i]);
            BB_TRY(note(results, name, value));
        }
    }
done:
    return status;
}

typedef struct config_record {
    const char **names, **texts; // [count]
    bb_index count;
    const char *resolved;
    char **keys, **files, **digests; // [input_count], NULL if the study names no files
    bb_index input_count;
} config_record;

static const bb_output outputs[] = {
    {"config_file", "config_file", NULL, "configuration files: the study, then its bases",
     .member = offsetof(config_record, names), .count = offsetof(config_record, count)},
    {"config_as_typed", "config_file", NULL, "configuration files as read",
     .member = offsetof(config_record, texts)},
    {"config_resolved", "", NULL, "the study with bases, overrides, defaults and the drawn seed",
     .note = "can be run unchanged from any folder (absolute file names)",
     .member = offsetof(config_record, resolved)},
};

static const bb_output inputs[] = {
    {"input", "input", NULL, "keys of the study that name a file",
     .member = offsetof(config_record, keys), .count = offsetof(config_record, input_count)},
    {"input_file", "input", NULL, "absolute paths of these files",
     .member = offsetof(config_record, files)},
    {"input_digest", "input", NULL, "XXH3-128 of their bytes at the start of the run",
     .note = "empty for an unused file that could not be read",
     .member = offsetof(config_record, digests)},
};

const bb_output_table bb_provenance_outputs = {
    .title = "/provenance", .group = "provenance", BB_OUTPUT_ROWS(outputs)};

const bb_output_table bb_provenance_inputs = {.title = "/provenance",
                                              .when = "If the study names files:",
                                              .group = "provenance",
                                              BB_OUTPUT_ROWS(inputs)};

static bb_status count_input(void *context, const char *key, const char *file)
{
    (void)key;
    (void)file;
    ++*(bb_index *)context;
    return BB_OK;
}

static bb_status add_input(void *context, const char *key, const char *file)
{
    bb_status status = BB_OK;
    config_record *record = context;
    const bb_index i = record->input_count++;
    char digest[BB_DIGEST_BYTES];
    char folder[PATH_BYTES];
    const bool named = file[0] == '/' || getcwd(folder, sizeof folder) == NULL;
    BB_TRY(bb_memory_text(key, &record->keys[i]));
    BB_TRY(named ? bb_memory_text(file, &record->files[i])
                 : bb_memory_printf(&record->files[i], "%s/%s", folder, file));
    const bb_status read = bb_digest_file(file, digest);
    BB_REQUIRE(read != BB_MEMORY, BB_MEMORY, "host memory exhausted while hashing '%s'", file);
    BB_TRY(bb_memory_text(read == BB_OK ? digest : "", &record->digests[i]));
done:
    return status;
}

static bb_status find_inputs(const bb_config *config, config_record *record)
{
    bb_status status = BB_OK;
    bb_index count = 0;
    const bb_schema *schema = bb_config_schema(config);
    const void *study = bb_config_study(config);
    BB_TRY(bb_config_visit_files(schema, study, count_input, &count));
    if (count > 0) {
        BB_TRY(BB_ZEROED(count, &record->keys));
        BB_TRY(BB_ZEROED(count, &record->files));
        BB_TRY(BB_ZEROED(count, &record->digests));
        BB_TRY(bb_config_visit_files(schema, study, add_input, record));
    }
done:
    return status;
}

static void release_inputs(config_record *record)
{
    for (bb_index i = 0; i < record->input_count; ++i) {
        BB_RELEASE(&record->keys[i]);
        BB_RELEASE(&record->files[i]);
        BB_RELEASE(&record->digests[i]);
    }
    BB_RELEASE(&record->keys);
    BB_RELEASE(&record->files);
    BB_RELEASE(&record->digests);
}

typedef struct table_record {
    const char **names, **texts, **digests; // [count]
    bb_index count;
} table_record;

static const bb_output table_outputs[] = {
    {"table_file", "table_file", NULL, "tables from which records of the configuration were read",
     .member = offsetof(table_record, names), .count = offsetof(table_record, count)},
    {"table_as_read", "table_file", NULL, "tables as read",
     .member = offsetof(table_record, texts)},
    {"table_digest", "table_file", NULL, "XXH3-128 of the bytes of each table",
     .member = offsetof(table_record, digests)},
};

const bb_output_table bb_provenance_table_outputs = {
    .title = "/provenance",
    .when = "If records of the study are read from tables:",
    .group = "provenance",
    BB_OUTPUT_ROWS(table_outputs)};

static bb_status record_tables(bb_results *results, const bb_config *config)
{
    bb_status status = BB_OK;
    table_record record = {.count = bb_config_table_count(config)};
    if (record.count == 0) {
        goto done;
    }
    BB_TRY(BB_ALLOCATE(record.count, &record.names));
    BB_TRY(BB_ALLOCATE(record.count, &record.texts));
    BB_TRY(BB_ALLOCATE(record.count, &record.digests));
    for (bb_index i = 0; i < record.count; ++i) {
        const bb_config_table table = bb_config_table_at(config, i);
        record.names[i] = table.name;
        record.texts[i] = table.text;
        record.digests[i] = table.digest;
    }
    BB_TRY(bb_output_table_publish(&bb_provenance_table_outputs, &record, NULL, results));
done:
    BB_RELEASE(&record.digests);
    BB_RELEASE(&record.texts);
    BB_RELEASE(&record.names);
    return status;
}

static bb_status record_config(bb_results *results, const bb_config *config)
{
    bb_status status = BB_OK;
    config_record record = {.count = bb_config_file_count(config)};
    bb_text resolved = {0};
    BB_TRY(BB_ALLOCATE(record.count, &record.names));
    BB_TRY(BB_ALLOCATE(record.count, &record.texts));
    for (bb_index i = 0; i < record.count; ++i) {
        const bb_config_file file = bb_config_file_at(config, i);
        record.names[i] = file.name;
        record.texts[i] = file.text;
    }
    BB_TRY(bb_config_resolved(config, &resolved));
    record.resolved = bb_text_string(&resolved);
    BB_TRY(find_inputs(config, &record));
    BB_TRY(bb_output_table_publish(&bb_provenance_outputs, &record, NULL, results));
    if (record.input_count > 0) {
        BB_TRY(bb_output_table_publish(&bb_provenance_inputs, &record, NULL, results));
    }
done:
    bb_text_release(&resolved);
    release_inputs(&record);
    BB_RELEASE(&record.texts);
    BB_RELEASE(&record.names);
    return status;
}

static bb_status record_command(bb_results *results, int argument_count, char *const *arguments)
{
    bb_status status = BB_OK;
    bb_text line = {0};
    for (int i = 0; i < argument_count; ++i) {
        // Writes the word in quotes if a shell needs them, so that the line can be repeated.
        bool plain =
            arguments[i][0] != '\0' && strpbrk(arguments[i], " \t\n\"'\\$`*?[]{}()<>|&;#~") == NULL;
        BB_TRY(bb_text_add(&line, "%s", i == 0 ? "" : " "));
        BB_TRY(plain ? bb_text_add(&line, "%s", arguments[i])
                     : bb_cell_add_quoted(arguments[i], &line));
    }
    BB_TRY(note(results, "command", bb_text_string(&line)));
done:
    bb_text_release(&line);
    return status;
}

bb_status bb_provenance_begin(bb_results *results, const bb_config *config, const bb_study *study,
                              int argument_count, char *const *arguments, bb_index threads)
{
    bb_status status = BB_OK;
    char now[21];
    bb_clock_utc(now);
    BB_TRY(bb_results_note(results, "", "Conventions", "CF-1.8"));
    BB_TRY(bb_results_note(results, "", "title", study->title));
    BB_TRY(bb_results_note(results, "", "source", "bitbudget " BB_VERSION));
    BB_TRY(bb_results_note(results, "", "experiment", study->experiment));
    BB_TRY(bb_results_note(results, "", "schema_version", SCHEMA_VERSION));
    BB_TRY(note(results, "start_utc", now));
    BB_TRY(record_command(results, argument_count, arguments));
    BB_TRY(bb_results_note_number(results, "provenance", "seed", (double)study->seed));
    BB_TRY(bb_results_note_number(results, "provenance", "threads", (double)threads));
    BB_TRY(note(results, "device", bb_device_names[study->device]));
    BB_TRY(record_build(results));
    BB_TRY(record_machine(results));
    if (config != NULL) {
        BB_TRY(record_config(results, config));
        BB_TRY(record_tables(results, config));
        BB_TRY(bb_provenance_study(bb_config_schema(config), study, results));
    }
done:
    return status;
}

bb_status bb_provenance_end(bb_results *results)
{
    bb_status status = BB_OK;
    char now[21];
    char digest[BB_DIGEST_BYTES];
    bb_clock_utc(now);
    BB_TRY(note(results, "end_utc", now));
    BB_TRY(bb_results_digest(results, false, digest));
    BB_TRY(bb_results_note(results, "", "results_digest", digest));
    BB_TRY(bb_results_digest(results, true, digest));
    BB_TRY(bb_results_note(results, "", "reproducible_digest", digest));
    BB_TRY(bb_results_note(results, "", "status", "complete"));
done:
    return status;
}
