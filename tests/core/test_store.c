// SPDX-License-Identifier: Apache-2.0
//
// The keyed store: blocks within the limit, files that read back unchanged, and rejected files:
// incomplete, of another user, or writable by others.
#include "core/digest.h"
#include "core/store.h"
#include "tests/check.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const void *keep(const char *key, bb_index bytes)
{
    autofree void *block = NULL;
    check_ok(bb_memory_allocate(bytes, 1, &block));
    const void *kept = bb_store_insert(key, &block, bytes);
    assert_true((kept == NULL) == (block != NULL));
    return kept;
}

TEST(blocks_are_kept_within_their_bytes)
{
    bb_index bytes = 0;
    assert_null(keep("a", 100)); // nothing is allowed yet
    assert_false(bb_store_has_room(1.0));
    bb_store_allow(300.0);
    assert_true(bb_store_has_room(300.0));
    assert_false(bb_store_has_room(301.0));
    bb_store_next_study();
    const void *a = keep("a", 100);
    const void *b = keep("b", 100);
    assert_true(a != NULL && b != NULL && a != b);
    assert_ptr_equal(bb_store_find("a", &bytes), a);
    assert_int_equal(bytes, 100);
    assert_null(bb_store_find("c", &bytes));
    assert_int_equal(bytes, 0);
    // Blocks of the current study are not dropped.
    assert_null(keep("c", 150));
    assert_ptr_equal(bb_store_find("b", &bytes), b);
    // In the next study the least recently used block is dropped.
    bb_store_next_study();
    assert_ptr_equal(bb_store_find("a", &bytes), a);
    bb_store_next_study();
    assert_non_null(keep("c", 150));
    assert_null(bb_store_find("b", &bytes));
    assert_ptr_equal(bb_store_find("a", &bytes), a);
    bb_store_allow(0.0);
    assert_null(bb_store_find("a", &bytes));
}

enum { VALUES = 40000, HEAD_BYTES = 24 };

static const char KEY[] = "mesh: 1\n";
static double numbers[VALUES];

static void write_one(const char *path)
{
    fill_array(numbers, VALUES, i, sin(0.1 * i));
    const bb_index place = 17;
    const bb_store_piece pieces[] = {{&place, sizeof place}, {NULL, 0}, {numbers, sizeof numbers}};
    check_ok(bb_store_write(path, "state", KEY, pieces, 3));
}

static bb_status open_one(const char *path)
{
    autoclose(bb_store) file = NULL;
    bb_status status = bb_store_open(path, "state", &file);
    return status;
}

TEST(pieces_read_back)
{
    bb_index place = 0;
    bb_index bytes = 0;
    autofree void *block = NULL;
    void *none = NULL;
    autoclose(bb_store) file = NULL;
    const bb_store_piece list[] = {{&place, sizeof place}, {NULL, 0}};
    write_one("a");
    write_one("a"); // replacing the first
    check_ok(bb_store_open("a", "state", &file));
    assert_string_equal(bb_store_key(file), KEY);
    check_ok(bb_store_read_list(file, list, 2));
    assert_int_equal(place, 17);
    check_ok(bb_store_read_new(file, &block, &bytes));
    assert_int_equal(bytes, sizeof numbers);
    assert_memory_equal(block, numbers, sizeof numbers);
    check_fails(bb_store_read_new(file, &none, &bytes), BB_IO, "beyond its end"); // the checksum
    assert_null(none);
    bb_store_close(&file);
    check_ok(bb_store_open("a", "state", &file));
    check_fails(bb_store_read(file, numbers, 16), BB_IO, "record of 8 bytes, expected 16");
}

// Changes `count` bytes at `place`, and updates the checksum if `mended`.
static void edit(const char *path, long place, const char *bytes, size_t count, bool mended)
{
    static char all[VALUES * sizeof(double) + 4096];
    char sum[BB_DIGEST_BYTES];
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    const size_t size = fread(all, 1, sizeof all, file);
    memcpy(all + place, bytes, count);
    bb_digest_of(all, size - 32, sum);
    if (mended) {
        memcpy(all + size - 32, sum, 32);
    }
    rewind(file);
    assert_int_equal(fwrite(all, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

TEST(others_are_refused)
{
    check_fails(open_one("nothing"), BB_IO, "cannot read 'nothing': No such");
    write_text("text", "BBSTATUS quo");
    check_fails(open_one("text"), BB_IO, "'text' is not a state of bitbudget, or has an earlier");
    write_text("empty", "");
    check_fails(open_one("empty"), BB_IO, "not a state of bitbudget");
    write_one("a");
    edit("a", 8, "\1\2\3\4\5\6\7\x8", 8, true);
    check_fails(open_one("a"), BB_IO, "state 'a' was written on a machine with another byte order");
    write_one("a");
    edit("a", 16, "\2", 1, true);
    check_fails(open_one("a"), BB_IO, "state 'a' has format 2, expected 1");
    write_one("a");
    edit("a", HEAD_BYTES + 8, "9", 1, true);
    check_fails(open_one("a"), BB_INVALID, "state 'a' was written by bitbudget 9");
    check_ok(bb_store_write("a", "factor", KEY, NULL, 0));
    check_fails(open_one("a"), BB_INVALID, "'a' is a factor, expected a state");
}

// Another user could have written such a file.
TEST(files_open_to_others_are_refused)
{
    write_one("a");
    assert_int_equal(chmod("a", 0666), 0);
    check_fails(open_one("a"), BB_IO, "'a' is writable by other users");
    assert_int_equal(chmod("a", 0644), 0);
    check_ok(open_one("a"));
    const mode_t before = umask(0); // as in containers; parents may be open too
    write_one("b");
    check_ok(open_one("b"));
    assert_int_equal(chmod("b", 0666), 0);
    write_one("b");
    (void)umask(before);
    check_ok(open_one("b"));
    if (geteuid() == 0) { // only root can change a file's owner
        assert_int_equal(chown("a", 65534, 65534), 0);
        check_fails(open_one("a"), BB_IO, "'a' is owned by user 65534");
    }
}

TEST(a_part_is_refused)
{
    struct stat about;
    write_one("a");
    assert_int_equal(stat("a", &about), 0);
    const off_t all = about.st_size;
    const off_t kept[] = {8, 20, 24, 25, 60, 120, 160, 65536, 65568, all - 33, all - 32, all - 1};
    for (size_t k = 0; k < sizeof kept / sizeof *kept; ++k) {
        write_one("a");
        assert_int_equal(truncate("a", kept[k]), 0);
        check_fails(open_one("a"), BB_IO, "truncated or corrupted");
    }
    write_one("a");
    assert_int_equal(truncate("a", all + 1), 0);
    check_fails(open_one("a"), BB_IO, "truncated or corrupted");
    for (off_t index = 0; index < all; index += index < 200 ? 1 : 7919) {
        write_one("b");
        edit("b", index, "\x7f", 1, false); // none of its bytes
        assert_int_equal(open_one("b"), BB_IO);
    }
}

TEST(what_stood_there_stays_where_it_cannot_be_replaced)
{
    const bb_store_piece piece = {numbers, sizeof numbers};
    struct rlimit before;
    check_fails(bb_store_write("missing/a", "state", KEY, &piece, 1), BB_IO, "missing/a");
    check_fails(bb_store_write(".", "state", KEY, &piece, 1), BB_IO, "not a regular file");
    write_one("a");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit few = {1 << 16, before.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    bb_status status = bb_store_write("a", "state", "other", &piece, 1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    check_fails(status, BB_IO, "cannot write state 'a': File too large");
    check_ok(open_one("a"));
}

static bool is_found(const char *key)
{
    autoclose(bb_store) file = NULL;
    check_ok(bb_store_load("folder", "state", key, &file));
    bool found = file != NULL;
    return found;
}

// An unusable file of a folder is treated as missing.
TEST(files_of_a_folder_are_found_by_key)
{
    const bb_store_piece piece = {numbers, sizeof numbers};
    autofree char *path = NULL;
    autofree char *other = NULL;
    assert_false(is_found(KEY));
    check_ok(bb_store_save("folder", "state", KEY, &piece, 1));
    assert_true(is_found(KEY));
    assert_false(is_found("other"));
    check_ok(bb_store_path("folder", "state", KEY, &path));
    check_ok(bb_store_path("folder", "state", "other", &other));
    assert_int_equal(rename(path, other), 0);
    assert_false(is_found("other")); // intact, with another key
    assert_int_equal(rename(other, path), 0);
    edit(path, 400, "\x7f", 1, false);
    assert_false(is_found(KEY));
    check_ok(bb_store_save("folder", "state", KEY, &piece, 1));
    assert_true(is_found(KEY));
    check_fails(bb_store_save("no/such", "state", KEY, &piece, 1), BB_IO,
                "cannot make folder 'no/such'");
}

TEST_GROUP(.has_folder = true, .is_quiet = true);
