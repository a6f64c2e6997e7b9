// SPDX-License-Identifier: Apache-2.0
//
// Kept factors: a hit gives the same bits, a file that is cut, changed or foreign is made anew, and
// what the key depends on.
#include "core/memory.h"
#include "physics/wafer/response/coupled_plate.h"
#include "tests/physics/wafer/wafer_defaults.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static const char FOLDER[] = "kept-plates";

static bb_disc_mesh *make_mesh(void)
{
    bb_disc_mesh *mesh = disc_mesh(0.050, 0.005);
    return mesh;
}

static bb_coupled_plate *make_plate(const bb_disc_mesh *mesh, const char *folder)
{
    bb_plate plate = bb_plate_make(&SILICON, &CLAMP);
    bb_coupled_plate *made = new_object(bb_coupled_plate, mesh, &plate, NULL, folder);
    return made;
}

// Files in the folder; the last name into `name` unless NULL.
static int count_files(char name[512])
{
    int count = 0;
    DIR *folder = opendir(FOLDER);
    if (folder == NULL) {
        return -1;
    }
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] != '.') {
            ++count;
            if (name != NULL) {
                (void)snprintf(name, 512, "%s/%s", FOLDER, entry->d_name);
            }
        }
    }
    (void)closedir(folder);
    return count;
}

static int clear(void **state)
{
    char name[512];
    (void)state;
    while (count_files(name) > 0) {
        (void)unlink(name);
    }
    (void)rmdir(FOLDER);
    return 0;
}

static bool same(const bb_coupled_plate *a, const bb_coupled_plate *b)
{
    const bb_supernodes *x = bb_plate_factor_supernodes(a->factor);
    const bb_supernodes *y = bb_plate_factor_supernodes(b->factor);
    size_t places = (size_t)x->unknowns * sizeof(int64_t);
    return x->count == y->count && x->value_count == y->value_count &&
           memcmp(x->value, y->value, (size_t)x->value_count * sizeof(double)) == 0 &&
           memcmp(x->permutation, y->permutation, places) == 0 &&
           memcmp(bb_plate_factor_places(a->factor), bb_plate_factor_places(b->factor), places) ==
               0;
}

TEST(a_hit_has_the_same_bits, .setup_func = clear, .teardown_func = clear)
{
    autoptr(bb_disc_mesh) mesh = make_mesh();
    autoptr(bb_coupled_plate) plain = make_plate(mesh, NULL);
    assert_int_equal(count_files(NULL), -1);
    autoptr(bb_coupled_plate) first = make_plate(mesh, FOLDER);
    assert_int_equal(count_files(NULL), 1);
    autoptr(bb_coupled_plate) second = make_plate(mesh, FOLDER);
    assert_int_equal(count_files(NULL), 1);
    assert_true(same(plain, first) && same(plain, second));
    double *rows[2] = {NULL, NULL};
    const double x[2] = {0.01, -0.03};
    const double y[2] = {0.02, 0.0};
    for (int i = 0; i < 2; ++i) {
        check_ok(BB_ALLOCATE(BB_PLATE_BATCH * mesh->node_count, &rows[i]));
        check_ok(bb_coupled_plate_rows(i == 0 ? plain : second, BB_AXIS_Z, 2, x, y, rows[i], NULL));
    }
    assert_memory_equal(rows[0], rows[1],
                        (size_t)(BB_PLATE_BATCH * mesh->node_count) * sizeof(double));
    BB_RELEASE(&rows[0]);
    BB_RELEASE(&rows[1]);
}

static bb_factor_key key_of(const bb_disc_mesh *mesh, const bb_plate *plate, const double *springs)
{
    bb_factor_key key;
    bb_plate_element element;
    bb_plate_element_make(plate, mesh->spacing, &element);
    check_ok(bb_coupled_plate_key(mesh, &element, springs, &key));
    return key;
}

// Changes one byte of a file, counted from its end when `at` is negative.
static void spoil(const char *path, long index)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, index, index < 0 ? SEEK_END : SEEK_SET), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, -1, SEEK_CUR), 0);
    assert_true(fputc(byte ^ 0x40, file) != EOF);
    assert_int_equal(fclose(file), 0);
}

// Every way to spoil a file: nothing is loaded, and the plate is the same, kept again.
TEST(spoilt_files_are_made_anew, .setup_func = clear, .teardown_func = clear)
{
    autoptr(bb_disc_mesh) mesh = make_mesh();
    bb_plate constants = bb_plate_make(&SILICON, &CLAMP);
    bb_factor_key key = key_of(mesh, &constants, NULL);
    bb_plate_factor *loaded = NULL;
    autoptr(bb_coupled_plate) plain = make_plate(mesh, FOLDER);
    int64_t unknowns = bb_plate_factor_supernodes(plain->factor)->unknowns;
    autofree char *path = NULL;
    struct stat about;
    check_ok(bb_plate_factor_path(FOLDER, key, &path));
    assert_int_equal(stat(path, &about), 0);
    // Magic, byte order, version, key, three sizes, digest, an index, a value; cut twice; longer.
    static const long places[] = {2, 8, 16, 24, 40, 48, 63, 75, 130, -3};
    enum { PLACES = sizeof places / sizeof *places };
    for (int k = 0; k < PLACES + 3; ++k) {
        if (k < PLACES) {
            spoil(path, places[k]);
        } else {
            long size = k == PLACES ? 20 : k == PLACES + 1 ? about.st_size - 8 : about.st_size + 8;
            assert_int_equal(truncate(path, size), 0);
        }
        check_ok(bb_plate_factor_load(FOLDER, key, unknowns, &loaded));
        assert_null(loaded);
        autoptr(bb_coupled_plate) again = make_plate(mesh, FOLDER);
        assert_true(same(plain, again));
        check_ok(bb_plate_factor_load(FOLDER, key, unknowns, &loaded));
        assert_non_null(loaded);
        bb_plate_factor_destroy(&loaded);
        assert_int_equal(count_files(NULL), 1);
    }
    // A whole file of another plate under this name.
    bb_factor_key other = {key.low ^ 1, key.high};
    check_ok(bb_plate_factor_store(plain->factor, FOLDER, other));
    autofree char *foreign = NULL;
    check_ok(bb_plate_factor_path(FOLDER, other, &foreign));
    assert_int_equal(rename(foreign, path), 0);
    check_ok(bb_plate_factor_load(FOLDER, key, unknowns, &loaded));
    assert_null(loaded);
}

// What others may plant in a folder of factors: a link is not followed, a FIFO holds nobody up.
TEST(planted_files_are_not_read, .setup_func = clear, .teardown_func = clear)
{
    autoptr(bb_disc_mesh) mesh = make_mesh();
    bb_plate constants = bb_plate_make(&SILICON, &CLAMP);
    const bb_factor_key key = key_of(mesh, &constants, NULL);
    bb_plate_factor *loaded = NULL;
    autoptr(bb_coupled_plate) plate = make_plate(mesh, FOLDER);
    const int64_t unknowns = bb_plate_factor_supernodes(plate->factor)->unknowns;
    autofree char *path = NULL;
    check_ok(bb_plate_factor_path(FOLDER, key, &path));
    assert_int_equal(rename(path, "moved-factor"), 0);
    assert_int_equal(symlink("../moved-factor", path), 0);
    check_ok(bb_plate_factor_load(FOLDER, key, unknowns, &loaded));
    assert_null(loaded);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0666), 0);
    check_ok(bb_plate_factor_load(FOLDER, key, unknowns, &loaded));
    assert_null(loaded);
    assert_int_equal(unlink("moved-factor"), 0);
}

TEST(the_key_is_of_all_that_matters)
{
    autoptr(bb_disc_mesh) mesh = make_mesh();
    bb_plate plate = bb_plate_make(&SILICON, &CLAMP);
    bb_factor_key keys[6];
    autoptr(bb_disc_mesh) wider = disc_mesh(0.055, 0.005);
    autofree double *springs = doubles(mesh->cell_count);
    fill_array(springs, mesh->cell_count, i, 1.0);
    keys[0] = key_of(mesh, &plate, NULL);
    keys[1] = key_of(wider, &plate, NULL);
    keys[2] = key_of(mesh, &plate, springs);
    springs[17] = 0.0;
    keys[3] = key_of(mesh, &plate, springs);
    plate.normal *= 1.0 + 1e-15;
    keys[4] = key_of(mesh, &plate, NULL);
    plate = bb_plate_make(&SILICON, &CLAMP);
    plate.shear *= 0.99;
    keys[5] = key_of(mesh, &plate, NULL);
    for (int i = 0; i < 6; ++i) {
        for (int j = 0; j < i; ++j) {
            assert_true(keys[i].low != keys[j].low && keys[i].high != keys[j].high);
        }
    }
    // The load does not enter the factor.
    plate = bb_plate_make(&SILICON, &CLAMP);
    plate.thermal *= 2.0;
    bb_factor_key same_key = key_of(mesh, &plate, NULL);
    assert_true(same_key.low == keys[0].low && same_key.high == keys[0].high);
}

TEST(a_folder_that_cannot_be_is_a_warning)
{
    autoptr(bb_disc_mesh) mesh = make_mesh();
    write_text("plate-in-the-way", "");
    bb_coupled_plate *plate = make_plate(mesh, "plate-in-the-way");
    check_fails(bb_plate_factor_store(plate->factor, "no/such/folder", (bb_factor_key){1, 2}),
                BB_IO, "cannot make folder 'no/such/folder'");
    bb_coupled_plate_destroy(&plate);
    (void)unlink("plate-in-the-way");
}

// Every allocation of a plate that is kept and of one that is taken may fail.
TEST(every_allocation_may_fail, .setup_func = clear, .teardown_func = clear)
{
    autoptr(bb_disc_mesh) mesh = make_mesh();
    bb_plate constants = bb_plate_make(&SILICON, &CLAMP);
    for (int kept = 0; kept < 2; ++kept) {
        bb_status status = BB_OK;
        for (failing_allocation walk = {0}; fail_next(&walk, status);) {
            autoptr(bb_coupled_plate) plate = NULL;
            if (kept == 0) {
                (void)clear(NULL);
            }
            status = bb_coupled_plate_create(mesh, &constants, NULL, FOLDER, &plate);
        }
        assert_int_equal(count_files(NULL), 1);
    }
}

TEST(a_plate_that_is_not_held_is_refused)
{
    autoptr(bb_disc_mesh) mesh = make_mesh();
    bb_coupled_plate *made = NULL;
    bb_plate plate = bb_plate_make(&SILICON, &CLAMP);
    plate.normal = -1e12;
    check_fails(bb_coupled_plate_create(mesh, &plate, NULL, NULL, &made), BB_INVALID,
                "not positive definite");
    assert_null(made);
}
