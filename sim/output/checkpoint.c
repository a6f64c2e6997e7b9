// SPDX-License-Identifier: Apache-2.0
#include "sim/output/checkpoint.h"

#include "build_info.h"
#include "core/clock.h"
#include "core/disk_file.h"
#include "core/memory.h"
#include "core/team.h"
#include "sim/config/difference.h"
#include "sim/output/file.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

bb_status bb_restart_open(const bb_run_options *options, double usual_s, bb_text *subject,
                          bb_restart *out)
{
    bb_status status = BB_OK;
    const double every_s = options->checkpoint_every_s;
    *out = (bb_restart){.checkpoint = options->checkpoint,
                        .every_s = isnan(every_s) ? usual_s : every_s,
                        .always = every_s == 0.0,
                        .last = bb_clock_seconds(),
                        .subject = *subject};
    *subject = (bb_text){0};
    if (options->resume != NULL) {
        BB_TRY(bb_checkpoint_open(options->resume, bb_text_string(&out->subject), &out->resumed));
    }
done:
    return status;
}

void bb_restart_release(bb_restart *restart)
{
    bb_checkpoint_close(&restart->resumed);
    bb_text_release(&restart->subject);
}

bool bb_restart_is_due(const bb_restart *restart, bool now)
{
    if (bb_team_joined()->rank > 0) {
        return false; // the first process writes
    }
    if (restart == NULL || restart->checkpoint == NULL) {
        return false;
    }
    const double wait = fmax(restart->every_s, 9.0 * restart->cost);
    return now || restart->always || bb_clock_seconds() - restart->last >= wait;
}

bb_status bb_restart_write(bb_restart *restart, const bb_checkpoint_piece *pieces, bb_index count)
{
    bb_status status = BB_OK;
    const double begin = bb_clock_seconds();
    BB_TRY(
        bb_checkpoint_write(restart->checkpoint, bb_text_string(&restart->subject), pieces, count));
    restart->last = bb_clock_seconds();
    restart->cost = restart->last - begin;
done:
    return status;
}

enum { BUILD_BYTES = 96, BUFFER_BYTES = 1 << 16, MOST_SUBJECT_BYTES = 1 << 24 };

static const char MAGIC[8] = "BBSTATE";
static const uint64_t ORDER = 0x0102030405060708U;

typedef struct head {
    char magic[8];
    uint64_t order;
    char build[BUILD_BYTES];
} head;

struct bb_checkpoint {
    FILE *file;
    char *path;
};

static head make_head(void)
{
    head header = {.order = ORDER};
    memcpy(header.magic, MAGIC, sizeof header.magic);
    (void)snprintf(header.build, sizeof header.build, "%s (%s)", BB_VERSION, BB_COMMIT);
    return header;
}

// What goes into one file.
typedef struct writing {
    const char *path;
    const char *subject;
    head head;
    const bb_checkpoint_piece *pieces;
    bb_index count;
    FILE *file;
    XXH3_state_t *state;
} writing;

static bb_status put(writing *writer, const void *data, bb_index bytes)
{
    bb_status status = BB_OK;
    if (bytes > 0) {
        (void)XXH3_128bits_update(writer->state, data, (size_t)bytes);
        BB_REQUIRE(fwrite(data, 1, (size_t)bytes, writer->file) == (size_t)bytes, BB_IO,
                   "cannot write checkpoint '%s': %s", writer->path, strerror(errno));
    }
done:
    return status;
}

static bb_status put_piece(writing *writer, const void *data, bb_index bytes)
{
    bb_status status = BB_OK;
    const uint64_t length = (uint64_t)bytes;
    BB_TRY(put(writer, &length, sizeof length));
    BB_TRY(put(writer, data, bytes));
done:
    return status;
}

static bb_status fill(const char *temporary, void *context)
{
    bb_status status = BB_OK;
    writing *writer = context;
    XXH128_canonical_t sum;
    writer->file = fopen(temporary, "wb");
    BB_REQUIRE(writer->file != NULL, BB_IO, "cannot write checkpoint '%s': %s", writer->path,
               strerror(errno));
    BB_TRY(put(writer, &writer->head, sizeof writer->head));
    BB_TRY(put_piece(writer, writer->subject, (bb_index)strlen(writer->subject)));
    for (bb_index i = 0; i < writer->count; ++i) {
        BB_TRY(put_piece(writer, writer->pieces[i].data, writer->pieces[i].bytes));
    }
    XXH128_canonicalFromHash(&sum, XXH3_128bits_digest(writer->state));
    BB_TRY(put(writer, &sum, sizeof sum));
    FILE *file = writer->file;
    writer->file = NULL;
    BB_REQUIRE(fclose(file) == 0, BB_IO, "cannot write checkpoint '%s': %s", writer->path,
               strerror(errno));
done:
    if (writer->file != NULL) {
        (void)fclose(writer->file);
        writer->file = NULL;
    }
    return status;
}

bb_status bb_checkpoint_write(const char *path, const char *subject,
                              const bb_checkpoint_piece *pieces, bb_index count)
{
    bb_status status = BB_OK;
    writing writer = {
        .path = path, .subject = subject, .head = make_head(), .pieces = pieces, .count = count};
    writer.state = XXH3_createState();
    BB_REQUIRE(writer.state != NULL, BB_MEMORY, "host memory exhausted: state of a digest");
    (void)XXH3_128bits_reset(writer.state);
    BB_TRY(bb_file_write_by(path, true, fill, &writer));
done:
    (void)XXH3_freeState(writer.state);
    return status;
}

// Whether the last bytes are the checksum of all before them.
static bb_status verify(const bb_checkpoint *checkpoint)
{
    bb_status status = BB_OK;
    unsigned char *buffer = NULL;
    XXH128_canonical_t sum;
    XXH128_canonical_t stored;
    XXH3_state_t *state = XXH3_createState();
    BB_REQUIRE(state != NULL, BB_MEMORY, "host memory exhausted: state of a digest");
    BB_TRY(BB_ALLOCATE(BUFFER_BYTES, &buffer));
    (void)XXH3_128bits_reset(state);
    rewind(checkpoint->file);
    size_t held = 0; // the last of what is read may be the checksum
    for (;;) {
        size_t got = fread(buffer + held, 1, BUFFER_BYTES - held, checkpoint->file);
        held += got;
        if (got == 0) {
            break;
        }
        if (held > sizeof sum) {
            (void)XXH3_128bits_update(state, buffer, held - sizeof sum);
            memmove(buffer, buffer + held - sizeof sum, sizeof sum);
            held = sizeof sum;
        }
    }
    BB_REQUIRE(ferror(checkpoint->file) == 0, BB_IO, "cannot read checkpoint '%s': %s",
               checkpoint->path, strerror(errno));
    XXH128_canonicalFromHash(&sum, XXH3_128bits_digest(state));
    memcpy(&stored, buffer, sizeof stored);
    BB_REQUIRE(held == sizeof sum && memcmp(&sum, &stored, sizeof sum) == 0, BB_IO,
               "checkpoint '%s' is truncated or corrupted: its checksum does not hold",
               checkpoint->path);
    rewind(checkpoint->file);
done:
    BB_RELEASE(&buffer);
    (void)XXH3_freeState(state);
    return status;
}

// The word after "experiment: " in the first line of a subject, and its length; 0: there is none.
static const char *experiment_of(const char *subject, int *length)
{
    static const char key[] = "experiment: ";
    const bool has = strncmp(subject, key, sizeof key - 1) == 0;
    const char *word = has ? subject + sizeof key - 1 : subject;
    *length = has ? (int)strcspn(word, "\n") : 0;
    return word;
}

// Two experiments have hardly a key in common: naming those that differ would not help.
static bb_status check_experiment(const char *path, const char *kept_subject, const char *subject)
{
    bb_status status = BB_OK;
    int length = 0;
    int expected_length = 0;
    const char *word = experiment_of(kept_subject, &length);
    const char *expected = experiment_of(subject, &expected_length);
    const bool same = length == expected_length && strncmp(word, expected, (size_t)length) == 0;
    BB_REQUIRE(same || length == 0 || expected_length == 0, BB_INVALID,
               "checkpoint '%s' is of experiment %.*s, this study is of %.*s", path, length, word,
               expected_length, expected);
done:
    return status;
}

// The next piece is the subject: the same text as here, or what differs is said.
static bb_status check_subject(bb_checkpoint *checkpoint, const char *subject)
{
    bb_status status = BB_OK;
    uint64_t length = 0;
    char *there = NULL;
    bb_text difference = {0};
    BB_REQUIRE(fread(&length, sizeof length, 1, checkpoint->file) == 1 &&
                   length <= (uint64_t)MOST_SUBJECT_BYTES,
               BB_IO, "cannot read checkpoint '%s': its configuration has %llu bytes",
               checkpoint->path, (unsigned long long)length);
    BB_TRY(BB_ZEROED((bb_index)length + 1, &there));
    BB_REQUIRE(fread(there, 1, (size_t)length, checkpoint->file) == (size_t)length, BB_IO,
               "cannot read checkpoint '%s': %s", checkpoint->path, strerror(errno));
    BB_TRY(check_experiment(checkpoint->path, there, subject));
    BB_TRY(bb_difference_write(there, subject, &difference));
    BB_REQUIRE(strcmp(there, subject) == 0, BB_INVALID,
               "checkpoint '%s' belongs to another configuration: %s", checkpoint->path,
               bb_text_string(&difference));
done:
    bb_text_release(&difference);
    BB_RELEASE(&there);
    return status;
}

static bb_status check_head(const bb_checkpoint *checkpoint)
{
    bb_status status = BB_OK;
    const char *path = checkpoint->path;
    const head expected = make_head();
    head got = {.order = 0};
    const bool is_whole = fread(&got, sizeof got, 1, checkpoint->file) == 1;
    BB_REQUIRE(memcmp(got.magic, expected.magic, sizeof got.magic) == 0, BB_IO,
               "'%s' is no checkpoint of bitbudget", path);
    BB_REQUIRE(is_whole, BB_IO,
               "checkpoint '%s' is truncated or corrupted: its checksum does not hold", path);
    BB_REQUIRE(got.order == expected.order, BB_IO,
               "checkpoint '%s' comes from a machine of another byte order", path);
    BB_TRY(verify(checkpoint));
    BB_REQUIRE(strcmp(got.build, expected.build) == 0, BB_INVALID,
               "checkpoint '%s' was written by bitbudget %s, this is %s: only the same build goes "
               "on bit for bit",
               path, got.build, expected.build);
    BB_REQUIRE(fseek(checkpoint->file, (long)sizeof got, SEEK_SET) == 0, BB_IO,
               "cannot read checkpoint '%s': %s", path, strerror(errno));
done:
    return status;
}

bb_status bb_checkpoint_open(const char *path, const char *subject, bb_checkpoint **out)
{
    bb_status status = BB_OK;
    bb_checkpoint *checkpoint = NULL;
    *out = NULL;
    BB_TRY(BB_ZEROED(1, &checkpoint));
    BB_TRY(bb_memory_text(path, &checkpoint->path));
    BB_TRY(bb_disk_file_open(path, true, &checkpoint->file));
    BB_TRY(check_head(checkpoint));
    BB_TRY(check_subject(checkpoint, subject));
    *out = checkpoint;
    checkpoint = NULL;
done:
    bb_checkpoint_close(&checkpoint);
    return status;
}

bb_status bb_checkpoint_take(bb_checkpoint *checkpoint, void *data, bb_index bytes)
{
    bb_status status = BB_OK;
    uint64_t stored = 0;
    BB_REQUIRE(fread(&stored, sizeof stored, 1, checkpoint->file) == 1 &&
                   stored == (uint64_t)bytes &&
                   fread(data, 1, (size_t)bytes, checkpoint->file) == (size_t)bytes,
               BB_IO, "checkpoint '%s' holds a piece of %llu bytes, expected %td", checkpoint->path,
               (unsigned long long)stored, bytes);
done:
    return status;
}

void bb_checkpoint_close(bb_checkpoint **checkpoint)
{
    if (*checkpoint != NULL) {
        if ((*checkpoint)->file != NULL) {
            (void)fclose((*checkpoint)->file);
        }
        BB_RELEASE(&(*checkpoint)->path);
        BB_RELEASE(checkpoint);
    }
}
