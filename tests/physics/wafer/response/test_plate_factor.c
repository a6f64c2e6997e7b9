// SPDX-License-Identifier: Apache-2.0
//
// Cached factors: a hit gives the same bits, a truncated, modified or foreign file is recomputed,
// and the dependencies of the key.
#include "core/memory.h"
#include "core/store.h"
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

// Counts the files in the folder; the last name goes into `name` unless NULL.
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

static void key_of(const bb_disc_mesh *mesh, const bb_plate *plate, const double *springs,
                   char out[BB_DIGEST_BYTES])
{
    bb_plate_element element;
    bb_plate_element_make(plate, mesh->spacing, &element);
    check_ok(bb_coupled_plate_key(mesh, &element, springs, out));
}

// A modified file, or an intact one whose arrays are not a factor: nothing is loaded, and the plate
// is the same and cached again. The tests of the store cover all other files.
TEST(spoilt_files_are_made_anew, .setup_func = clear, .teardown_func = clear)
{
    autoptr(bb_disc_mesh) mesh = make_mesh();
    bb_plate constants = bb_plate_make(&SILICON, &CLAMP);
    char key[BB_DIGEST_BYTES];
    char name[512];
    bb_plate_factor *loaded = NULL;
    autoptr(bb_coupled_plate) plain = make_plate(mesh, FOLDER);
    const bb_supernodes *view = bb_plate_factor_supernodes(plain->factor);
    const bb_index starts = 8 * (view->count + 1);
    key_of(mesh, &constants, NULL, key);
    assert_int_equal(count_files(name), 1);
    for (int k = 0; k < 5; ++k) {
        bb_store_piece pieces[] = {{view->first, starts},
                                   {view->row_start, starts},
                                   {view->value_start, starts},
                                   {view->row, 8 * view->row_count},
                                   {view->permutation, 8 * view->unknowns},
                                   {view->value, 8 * view->value_count}};
        switch (k) {
        case 0:
            pieces[0].bytes -= 8;
            break;
        case 1:
            pieces[1].data = view->first;
            break; // rows beyond their array
        case 2:
            pieces[4].bytes -= 8;
            break;
        case 3:
            pieces[5].bytes -= 1;
            break;
        default:
            break; // and cut
        }
        check_ok(bb_store_save(FOLDER, "factor", key, pieces, 6));
        if (k == 4) {
            assert_int_equal(truncate(name, 1000), 0);
        }
        check_ok(bb_plate_factor_load(FOLDER, key, view->unknowns, &loaded));
        assert_null(loaded);
        autoptr(bb_coupled_plate) again = make_plate(mesh, FOLDER);
        assert_true(same(plain, again));
        check_ok(bb_plate_factor_load(FOLDER, key, view->unknowns, &loaded));
        assert_non_null(loaded);
        bb_plate_factor_destroy(&loaded);
        assert_int_equal(count_files(NULL), 1);
    }
}

TEST(the_key_is_of_all_that_matters)
{
    autoptr(bb_disc_mesh) mesh = make_mesh();
    bb_plate plate = bb_plate_make(&SILICON, &CLAMP);
    char keys[7][BB_DIGEST_BYTES];
    autoptr(bb_disc_mesh) wider = disc_mesh(0.055, 0.005);
    autofree double *springs = doubles(mesh->cell_count);
    fill_array(springs, mesh->cell_count, i, 1.0);
    key_of(mesh, &plate, NULL, keys[0]);
    key_of(wider, &plate, NULL, keys[1]);
    key_of(mesh, &plate, springs, keys[2]);
    springs[17] = 0.0;
    key_of(mesh, &plate, springs, keys[3]);
    plate.normal *= 1.0 + 1e-15;
    key_of(mesh, &plate, NULL, keys[4]);
    plate = bb_plate_make(&SILICON, &CLAMP);
    plate.shear *= 0.99;
    key_of(mesh, &plate, NULL, keys[5]);
    for (int i = 0; i < 6; ++i) {
        for (int j = 0; j < i; ++j) {
            assert_string_not_equal(keys[i], keys[j]);
        }
    }
    // The load does not affect the factor.
    plate = bb_plate_make(&SILICON, &CLAMP);
    plate.thermal *= 2.0;
    key_of(mesh, &plate, NULL, keys[6]);
    assert_string_equal(keys[6], keys[0]);
}

TEST(a_folder_that_cannot_be_is_a_warning)
{
    autoptr(bb_disc_mesh) mesh = make_mesh();
    write_text("plate-in-the-way", "");
    bb_coupled_plate *plate = make_plate(mesh, "plate-in-the-way");
    bb_coupled_plate_destroy(&plate);
    (void)unlink("plate-in-the-way");
}

// Every allocation of a plate that is stored and of one that is loaded may fail.
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
