// SPDX-License-Identifier: Apache-2.0
//
// Tiles swapped to disk: values bit for bit, the order of eviction, the bytes moved, and no
// leftovers in memory or on disk.
#include "core/thread.h"
#include "solvers/factor/tiles/tile_store.h"
#include "tests/solvers/factor/tiles/swap_file.h"

#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { ROWS = 40, ITEMS = ROWS * ROWS, COUNT = 6, FLOATS = ITEMS * 4, SECTOR = 4096 };

// A folder for this test alone, so that files of others are not counted.
static char folder[] = "tile_store-XXXXXX";

static int begin(void)
{
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int leave(void **state)
{
    (void)state;
    return rmdir(folder);
}

typedef struct fixture {
    bb_tile tiles[COUNT];
    bb_tile_store *store;
} fixture;

// Tiles of one format, of which `buffers` fit into memory.
static void start(fixture *f, bb_format format, bb_index buffers, bool cached)
{
    *f = (fixture){.store = NULL};
    for (bb_index t = 0; t < COUNT; ++t) {
        f->tiles[t] = (bb_tile){.format = format, .rows = ROWS, .columns = ROWS};
    }
    const bb_tile_store_place place = {.limit = (size_t)buffers *
                                                bb_tile_store_bytes(format, ROWS, ROWS),
                                       .folder = folder,
                                       .cached = cached};
    check_ok(bb_tile_store_create(f->tiles, COUNT, &place, &f->store));
}

static void stop(fixture *f)
{
    bb_tile_store_destroy(&f->store);
    for (bb_index t = 0; t < COUNT; ++t) {
        assert_null(f->tiles[t].f32);
        assert_null(f->tiles[t].f64);
    }
    assert_int_equal(bb_memory_blocks(), 0);
    assert_int_equal(swap_file_find("self"), -1);
}

static bool hold(fixture *f, bb_index tile, bb_tile_store_use access)
{
    bool held = false;
    check_ok(bb_tile_store_acquire(f->store, tile, access, 1, &held));
    return held;
}

// Value i of tile t: the words of the format in turn, with zeros of both signs, subnormals and
// infinities if the format has them.
static double value_of(bb_format format, bb_index t, bb_index i)
{
    unsigned char words[8] = {0};
    double value = 0.0;
    const bb_index word = bb_format_describe(format)->bytes;
    const uint32_t pattern = (uint32_t)(i * 2654435761u + t * 40503u);
    if (word > 2) {
        return bb_format_round(format, ldexp((double)pattern - 0x1p31, (int)(i % 90) - 60));
    }
    memcpy(words, &pattern, (size_t)word);
    bb_format_decode(format, words, 1, &value);
    const bool is_kept = bb_format_describe(format)->saturates ? isfinite(value) : !isnan(value);
    return is_kept ? value : 0.0;
}

static void fill(fixture *f, bb_index t, bb_format format)
{
    for (bb_index i = 0; i < ITEMS; ++i) {
        const double value = value_of(format, t, i);
        if (format == BB_FORMAT_FP64) {
            f->tiles[t].f64[i] = value;
        } else {
            f->tiles[t].f32[i] = (float)value;
        }
    }
}

static void expect(const fixture *f, bb_index t, bb_format format)
{
    for (bb_index i = 0; i < ITEMS; ++i) {
        const double expected = value_of(format, t, i);
        const double got =
            format == BB_FORMAT_FP64 ? f->tiles[t].f64[i] : (double)f->tiles[t].f32[i];
        assert_memory_equal(&got, &expected, sizeof got); // -0 differs from 0
    }
}

// Every tile passes through the file, in the bytes of its format, each written once.
TEST(values_come_back_to_the_bit)
{
    for (int cached = 0; cached < 2; ++cached) {
        for (int format = 0; format < BB_FORMAT_COUNT; ++format) {
            fixture f;
            const size_t words = (size_t)ITEMS * (size_t)bb_format_describe(format)->bytes;
            const double sectors = (double)((words + SECTOR - 1) / SECTOR * SECTOR);
            start(&f, format, 1, cached == 1);
            for (bb_index t = 0; t < COUNT; ++t) {
                assert_true(hold(&f, t, BB_TILE_FRESH));
                assert_true((f.tiles[t].f64 != NULL) == (format == (int)BB_FORMAT_FP64));
                assert_true((f.tiles[t].f32 != NULL) == (format != (int)BB_FORMAT_FP64));
                fill(&f, t, format);
                bb_tile_store_release(f.store, t, 0);
            }
            for (bb_index t = 0; t < COUNT; ++t) {
                assert_true(hold(&f, t, BB_TILE_READ));
                expect(&f, t, format);
                bb_tile_store_release(f.store, t, 0);
            }
            const bb_tile_traffic traffic = bb_tile_store_traffic(f.store);
            assert_true(traffic.written_bytes ==
                        COUNT * sectors); // tiles only read are not written
            assert_true(traffic.read_bytes == COUNT * sectors);
            assert_true(traffic.seconds > 0.0);
            assert_true(swap_file_cached_bytes() <= 0);
            stop(&f);
        }
    }
}

// Only tiles modified since their last write are written again.
TEST(changes_are_written)
{
    fixture f;
    start(&f, BB_FORMAT_FP32, 1, false);
    const bb_tile_store_use accesses[] = {BB_TILE_FRESH, BB_TILE_CHANGE, BB_TILE_READ};
    double written[3];
    for (int i = 0; i < 3; ++i) {
        assert_true(hold(&f, 0, accesses[i]));
        f.tiles[0].f32[7] = (float)i; // the last change, in a read hold, is lost
        bb_tile_store_release(f.store, 0, 0);
        assert_true(hold(&f, 1, BB_TILE_READ)); // tile 0 is evicted
        bb_tile_store_release(f.store, 1, 0);
        written[i] = bb_tile_store_traffic(f.store).written_bytes;
    }
    assert_true(hold(&f, 0, BB_TILE_READ));
    assert_true(f.tiles[0].f32[7] == 1.0F);
    assert_true(written[1] == 2.0 * written[0]);
    assert_true(written[2] == written[1]);
    bb_tile_store_release(f.store, 0, 0);
    stop(&f);
}

TEST(the_farthest_next_use_goes_first)
{
    static const bb_index uses[] = {5, BB_TILE_STORE_NEVER, 9, 7};
    static const bb_index leaving[] = {1, 2, 3, 0};
    fixture f;
    start(&f, BB_FORMAT_FP16, 4, false);
    for (bb_index t = 0; t < 4; ++t) {
        assert_true(hold(&f, t, BB_TILE_FRESH));
        bb_tile_store_release(f.store, t, t == 0 ? uses[0] : 1);
        if (t > 0) {
            bb_tile_store_set_next_use(f.store, t, uses[t]);
        }
    }
    for (int i = 0; i < 2; ++i) {
        assert_true(hold(&f, 4 + i, BB_TILE_FRESH)); // and remains
        for (int other = 0; other < 4; ++other) {
            assert_true((f.tiles[leaving[other]].f32 == NULL) == (other <= i));
        }
    }
    bb_tile_store_release_all(f.store);
    stop(&f);
}

// A tile remains in memory until its last holder releases it; a request without free buffer changes
// nothing.
TEST(held_tiles_stay)
{
    fixture f;
    bool held = false;
    start(&f, BB_FORMAT_FP32, 2, false);
    check_ok(bb_tile_store_acquire(f.store, 0, BB_TILE_FRESH, 2, &held));
    assert_true(held && hold(&f, 1, BB_TILE_FRESH));
    assert_false(hold(&f, 2, BB_TILE_FRESH));
    assert_null(f.tiles[2].f32);
    assert_int_equal(bb_tile_store_holders(f.store), 3);
    bb_tile_store_release(f.store, 0, BB_TILE_STORE_NEVER);
    assert_false(hold(&f, 2, BB_TILE_FRESH));
    bb_tile_store_release(f.store, 0, BB_TILE_STORE_NEVER);
    assert_true(hold(&f, 2, BB_TILE_FRESH));
    assert_null(f.tiles[0].f32);
    bb_tile_store_release_all(f.store);
    assert_int_equal(bb_tile_store_holders(f.store), 0);
    stop(&f);
}

// Buffers of two sizes under a limit that fits one larger and one smaller buffer.
TEST(buffers_stay_within_the_limit)
{
    bb_tile tiles[COUNT];
    const bb_tile_store_place place = {.limit = 3 * FLOATS, .folder = folder};
    for (bb_index t = 0; t < COUNT; ++t) {
        tiles[t] = (bb_tile){
            .format = t % 2 == 0 ? BB_FORMAT_FP64 : BB_FORMAT_BF16, .rows = ROWS, .columns = ROWS};
    }
    bb_memory_peak_reset();
    autoptr(bb_tile_store) store = new_object(bb_tile_store, tiles, COUNT, &place);
    const size_t beside = bb_memory_bytes();
    for (bb_index i = 0; i < 5 * COUNT; ++i) {
        const bb_index t = i * i % COUNT;
        bool held = false;
        check_ok(bb_tile_store_acquire(store, t, BB_TILE_CHANGE, 1, &held));
        assert_true(held);
        bb_tile_store_release(store, t, i % 4);
    }
    assert_true(bb_memory_peak_bytes() <= beside + place.limit);
    assert_true(bb_memory_peak_bytes() > beside + 2 * FLOATS);
    const double need = bb_tile_store_need(COUNT, ITEMS, (double)place.limit).host_bytes;
    assert_true(need >= (double)bb_memory_peak_bytes());
    assert_true(need <= 1.5 * (double)bb_memory_peak_bytes());
}

static bb_status read_one(void *context, bb_index index)
{
    bb_status status = BB_OK;
    fixture *f = context;
    bool held = false;
    while (!held) {
        BB_TRY(bb_tile_store_acquire(f->store, index % COUNT, BB_TILE_READ, 1, &held));
    }
    BB_REQUIRE(f->tiles[index % COUNT].f32[3] == (float)(index % COUNT), BB_INTERNAL, "lost");
    bb_tile_store_release(f->store, index % COUNT, index % 5);
done:
    return status;
}

TEST(threads_share_a_store)
{
    fixture f;
    start(&f, BB_FORMAT_FP16, 3, false);
    for (bb_index t = 0; t < COUNT; ++t) {
        assert_true(hold(&f, t, BB_TILE_FRESH));
        memset(f.tiles[t].f32, 0, FLOATS);
        f.tiles[t].f32[3] = (float)t;
        bb_tile_store_release(f.store, t, 0);
    }
    check_ok(bb_threads_set(3));
    check_ok(bb_thread_for(300, read_one, &f));
    bb_threads_stop();
    assert_int_equal(bb_tile_store_holders(f.store), 0);
    stop(&f);
}

TEST(bad_folders_are_named)
{
    bb_tile tiles[1] = {{.format = BB_FORMAT_FP32, .rows = ROWS, .columns = ROWS}};
    bb_tile_store *store = NULL;
    bb_tile_store_place place = {.limit = FLOATS, .folder = "/nowhere/at/all"};
    check_fails(bb_tile_store_create(tiles, 1, &place, &store), BB_IO,
                "cannot create the tile file in folder '/nowhere/at/all': No such file");
    place.folder = "/proc/self/status";
    check_fails(bb_tile_store_create(tiles, 1, &place, &store), BB_IO, "Not a directory");
    place.folder = NULL; // TMPDIR
    assert_int_equal(setenv("TMPDIR", "/nowhere", 1), 0);
    check_fails(bb_tile_store_create(tiles, 1, &place, &store), BB_IO, "'/nowhere'");
    assert_int_equal(unsetenv("TMPDIR"), 0);
    assert_null(store);
}

// Missing disk space is an error before any work, with the bytes: by a file-size limit of the
// process, and by a full disk.
TEST(full_disks_are_told_before_any_work)
{
    bb_tile tiles[COUNT];
    bb_tile_store *store = NULL;
    bb_tile_store_place place = {.limit = FLOATS, .folder = folder};
    char path[64];
    struct rlimit usual;
    for (bb_index t = 0; t < COUNT; ++t) { // 1 MB each in the file
        tiles[t] = (bb_tile){.format = BB_FORMAT_FP16, .rows = 512, .columns = 1024};
    }
    place.limit = 512 * 1024 * 4;
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    const struct rlimit small = {5 << 20, usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const bb_status status = bb_tile_store_create(tiles, COUNT, &place, &store);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
    (void)signal(SIGXFSZ, before);
    check_fails(status, BB_IO, "need 0.00629146 GB in folder 'tile_store-");
    check_fails(status, BB_IO, "File too large");
    (void)snprintf(path, sizeof path, "%s/disk", folder);
    assert_int_equal(mkdir(path, 0777), 0);
    if (mount("none", path, "tmpfs", 0, "size=5m") != 0) {
        print_message("no tmpfs may be mounted here (%s)\n", strerror(errno));
    } else {
        place.folder = path;
        const bb_status full = bb_tile_store_create(tiles, COUNT, &place, &store);
        assert_int_equal(umount2(path, MNT_DETACH), 0); // also if this test fails
        check_fails(full, BB_IO, "No space left on device");
    }
    assert_int_equal(rmdir(path), 0);
    assert_null(store);
}

// A file that was truncated meanwhile: an error, neither SIGBUS nor zeros.
TEST(lost_tiles_are_errors)
{
    fixture f;
    bool held = false;
    start(&f, BB_FORMAT_FP32, 1, false);
    assert_int_equal(ftruncate(swap_file_find("self"), SECTOR), 0);
    for (int again = 0; again < 2; ++again) { // nothing of the first tile was stored
        check_fails(bb_tile_store_acquire(f.store, 0, BB_TILE_READ, 1, &held), BB_IO,
                    "unexpected end of file");
        assert_null(f.tiles[0].f32);
    }
    assert_true(hold(&f, 1, BB_TILE_FRESH)); // there is still room
    bb_tile_store_release_all(f.store);
    stop(&f);
}

TEST(killed_processes_leave_nothing)
{
    int ends[2], how = 0;
    char ready = 0, pid[32];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        fixture f;
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); // also if this test fails
        start(&f, BB_FORMAT_FP32, 1, false);
        for (bb_index t = 0; t < COUNT; ++t) {
            (void)hold(&f, t, BB_TILE_FRESH);
            bb_tile_store_release(f.store, t, 0);
        }
        (void)!write(ends[1], "r", 1);
        for (;;) {
            (void)pause();
        }
    }
    assert_int_equal(read(ends[0], &ready, 1), 1);
    (void)snprintf(pid, sizeof pid, "%d", (int)child);
    assert_true(swap_file_find(pid) >= 0); // it exists
    assert_int_equal(swap_file_count(folder), 0);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how));
    assert_int_equal(swap_file_count(folder), 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

TEST(failed_allocations_release_all)
{
    bb_tile tiles[2] = {{.format = BB_FORMAT_FP32, .rows = ROWS, .columns = ROWS},
                        {.format = BB_FORMAT_FP64, .rows = ROWS, .columns = ROWS}};
    const bb_tile_store_place place = {.limit = 3 * FLOATS, .folder = folder};
    failing_allocation walk = {0};
    bb_status status = BB_OK;
    while (fail_next(&walk, status)) {
        autoptr(bb_tile_store) store = NULL;
        bool held = false;
        status = bb_tile_store_create(tiles, 2, &place, &store);
        for (bb_index t = 0; t < 2 && status == BB_OK; ++t) {
            status = bb_tile_store_acquire(store, t, BB_TILE_READ, 1, &held);
        }
    }
    assert_int_equal(walk.k, 6); // store, table, scratch, two buffers
}

TEST_GROUP(.begin = begin, .leave = leave);
