// SPDX-License-Identifier: Apache-2.0
#include "physics/wafer/response/coupled_plate.h"

#include "core/clock.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/portable.h"
#include "physics/wafer/response/plate_assembly.h"
#include "physics/wafer/response/plate_sample.h"

#include <string.h>
#include <xxhash.h>

enum { U = BB_PLATE_UNKNOWNS };

bb_status bb_coupled_plate_key(const bb_disc_mesh *mesh, const bb_plate_element *element,
                               const double *springs, bb_factor_key *out)
{
    bb_status status = BB_OK;
    int64_t *order = NULL;
    XXH3_state_t *hash = NULL;
    const int64_t shape[4] = {mesh->columns, mesh->rows, mesh->periodic, springs != NULL};
    BB_TRY(BB_ALLOCATE(U * mesh->node_count, &order));
    BB_TRY(bb_plate_order(mesh, order));
    hash = XXH3_createState();
    BB_REQUIRE(hash != NULL, BB_MEMORY, "out of memory for the key of a factor");
    (void)XXH3_128bits_reset(hash);
    (void)XXH3_128bits_update(hash, shape, sizeof shape);
    (void)XXH3_128bits_update(hash, mesh->cell_at,
                              (size_t)(mesh->columns * mesh->rows) * sizeof *mesh->cell_at);
    (void)XXH3_128bits_update(hash, element->elastic, sizeof element->elastic);
    (void)XXH3_128bits_update(hash, element->springs, sizeof element->springs);
    (void)XXH3_128bits_update(hash, order, (size_t)(U * mesh->node_count) * sizeof *order);
    if (springs != NULL) {
        (void)XXH3_128bits_update(hash, springs, (size_t)mesh->cell_count * sizeof *springs);
    }
    XXH128_hash_t made = XXH3_128bits_digest(hash);
    *out = (bb_factor_key){made.low64, made.high64};
done:
    (void)XXH3_freeState(hash);
    BB_RELEASE(&order);
    return status;
}

static bb_status factor_plate(const bb_disc_mesh *mesh, const bb_plate_element *element,
                              const double *springs, bb_plate_factor **out)
{
    bb_status status = BB_OK;
    bb_upper_triangle matrix = {0};
    int64_t *order = NULL;
    double begin = bb_clock_seconds();
    BB_TRY(BB_ALLOCATE(U * mesh->node_count, &order));
    BB_TRY(bb_plate_order(mesh, order));
    BB_TRY(bb_plate_assemble(mesh, element, springs, &matrix));
    BB_TRY(bb_plate_factor_create(&matrix, order, out));
    bb_log_detail(
        "plate of %lld unknowns: %lld values in the factor, %.1f s", (long long)matrix.unknowns,
        (long long)bb_plate_factor_supernodes(*out)->value_count, bb_clock_seconds() - begin);
done:
    bb_upper_triangle_release(&matrix);
    BB_RELEASE(&order);
    return status;
}

// From the folder, or made and kept there. A factor that cannot be kept is as good.
static bb_status find_factor(const bb_disc_mesh *mesh, const bb_plate_element *element,
                             const double *springs, const char *folder, bb_plate_factor **out)
{
    bb_status status = BB_OK;
    bb_factor_key key;
    BB_TRY(bb_coupled_plate_key(mesh, element, springs, &key));
    BB_TRY(bb_plate_factor_load(folder, key, U * (int64_t)mesh->node_count, out));
    if (*out != NULL) {
        bb_log_info("factor of the plate taken from '%s'", folder);
        goto done;
    }
    BB_TRY(factor_plate(mesh, element, springs, out));
    bb_status kept = bb_plate_factor_store(*out, folder, key);
    if (kept == BB_IO) {
        bb_log_warning("the factor of the plate is not kept: %s", bb_status_message());
        bb_status_clear();
    } else {
        BB_TRY(kept);
    }
done:
    return status;
}

bb_status bb_coupled_plate_create(const bb_disc_mesh *mesh, const bb_plate *plate,
                                  const double *springs, const char *cache_folder,
                                  bb_coupled_plate **out)
{
    bb_status status = BB_OK;
    bb_coupled_plate *made = NULL;
    BB_TRY(BB_ZEROED(1, &made));
    BB_TRY(bb_workspace_pool_create(BB_PLATE_BATCH * U * mesh->node_count, &made->right_sides));
    BB_TRY(bb_workspace_pool_create(BB_PLATE_BATCH * mesh->node_count, &made->nodal_rows));
    made->mesh = mesh;
    made->plate = *plate;
    bb_plate_element_make(plate, mesh->spacing, &made->element);
    if (cache_folder != NULL) {
        BB_TRY(find_factor(mesh, &made->element, springs, cache_folder, &made->factor));
    } else {
        BB_TRY(factor_plate(mesh, &made->element, springs, &made->factor));
    }
    *out = made;
    made = NULL;
done:
    bb_coupled_plate_destroy(&made);
    return status;
}

static const double per_unknown = 17.5; // as measured at 1 and 0.5 mm, see plate_factor.h

bb_need bb_coupled_plate_held(double nodes)
{
    return bb_plate_factor_held(U * nodes, per_unknown);
}

bb_need bb_coupled_plate_need(double nodes)
{
    return bb_plate_factor_need(U * nodes, per_unknown, bb_plate_matrix_values(nodes));
}

void bb_coupled_plate_load(const bb_coupled_plate *plate, const double *temperature,
                           const double *tau, double *right)
{
    const bb_disc_mesh *mesh = plate->mesh;
    const bb_plate_element *element = &plate->element;
    memset(right, 0, (size_t)(U * mesh->node_count) * sizeof *right);
    for (bb_index cell = 0; cell < mesh->cell_count; ++cell) {
        const int32_t *node = mesh->cell_nodes + 4 * cell;
        for (int i = 0; i < BB_PLATE_ELEMENT; ++i) {
            double sum = 0.0;
            for (int l = 0; l < 4; ++l) {
                sum += element->load[i][l] * temperature[node[l]];
                sum += tau == NULL ? 0.0 : element->moment[i][l] * tau[node[l]];
            }
            right[U * node[i / U] + i % U] += sum;
        }
    }
}

bb_status bb_coupled_plate_solve(const bb_coupled_plate *plate, const double *right, double *x)
{
    bb_status status = BB_OK;
    const bb_supernodes *factor = bb_plate_factor_supernodes(plate->factor);
    const int64_t *place = bb_plate_factor_places(plate->factor);
    double *placed = NULL;
    BB_TRY(BB_ALLOCATE(factor->unknowns, &placed));
    for (int64_t i = 0; i < factor->unknowns; ++i) {
        placed[place[i]] = right[i];
    }
    BB_TRY(bb_supernodes_solve(factor, 1, 0, NULL, placed));
    for (int64_t i = 0; i < factor->unknowns; ++i) {
        x[i] = placed[place[i]];
    }
done:
    BB_RELEASE(&placed);
    return status;
}

double bb_coupled_plate_at(const bb_coupled_plate *plate, const double *unknowns,
                           const double *temperature, double x, double y, int axis)
{
    bb_plate_sample sample;
    double sum = 0.0;
    bb_plate_sample_make(plate->mesh, &plate->plate, x, y, axis, &sample);
    for (int i = 0; i < sample.count; ++i) {
        sum += sample.weight[i] * unknowns[sample.unknown[i]];
    }
    for (int k = 0; k < 4; ++k) {
        sum += sample.growth * sample.bilinear[k] * temperature[sample.node[k]];
    }
    return sum;
}

// Adds G' of one cell: forces of a temperature act on u and v alone.
BB_CLONES static void add_cell(const bb_plate_element *element, const int32_t *node,
                               const int64_t *place, const double *adjoint, double *rows)
{
    for (int k = 0; k < 4; ++k) {
        for (int c = 0; c < 2; ++c) {
            const double *source = adjoint + place[U * node[k] + c] * BB_PLATE_BATCH;
            for (int l = 0; l < 4; ++l) {
                double force = element->load[U * k + c][l];
                double *target = rows + (bb_index)node[l] * BB_PLATE_BATCH;
                for (int p = 0; p < BB_PLATE_BATCH; ++p) {
                    target[p] += force * source[p];
                }
            }
        }
    }
}

// The same of tau: moments act on w and its derivatives alone.
BB_CLONES static void add_moment(const bb_plate_element *element, const int32_t *node,
                                 const int64_t *place, const double *adjoint, double *rows)
{
    for (int k = 0; k < 4; ++k) {
        for (int c = 2; c < U; ++c) {
            const double *source = adjoint + place[U * node[k] + c] * BB_PLATE_BATCH;
            for (int l = 0; l < 4; ++l) {
                double force = element->moment[U * k + c][l];
                double *target = rows + (bb_index)node[l] * BB_PLATE_BATCH;
                for (int p = 0; p < BB_PLATE_BATCH; ++p) {
                    target[p] += force * source[p];
                }
            }
        }
    }
}

static void apply_moment(const bb_coupled_plate *plate, const double *adjoint, double *rows)
{
    const bb_disc_mesh *mesh = plate->mesh;
    const int64_t *place = bb_plate_factor_places(plate->factor);
    memset(rows, 0, (size_t)(BB_PLATE_BATCH * mesh->node_count) * sizeof *rows);
    for (bb_index cell = 0; cell < mesh->cell_count; ++cell) {
        add_moment(&plate->element, mesh->cell_nodes + 4 * cell, place, adjoint, rows);
    }
}

static void apply_load(const bb_coupled_plate *plate, const double *adjoint, double *rows)
{
    const bb_disc_mesh *mesh = plate->mesh;
    const int64_t *place = bb_plate_factor_places(plate->factor);
    memset(rows, 0, (size_t)(BB_PLATE_BATCH * mesh->node_count) * sizeof *rows);
    for (bb_index cell = 0; cell < mesh->cell_count; ++cell) {
        add_cell(&plate->element, mesh->cell_nodes + 4 * cell, place, adjoint, rows);
    }
}

bb_status bb_coupled_plate_rows(const bb_coupled_plate *plate, int axis, bb_index count,
                                const double *x, const double *y, double *rows, double *moments)
{
    bb_status status = BB_OK;
    const bb_supernodes *factor = bb_plate_factor_supernodes(plate->factor);
    const int64_t *place = bb_plate_factor_places(plate->factor);
    bb_plate_sample *samples = NULL; // [count]
    int64_t *touched = NULL;
    double *adjoint = NULL;
    bb_index touches = 0;
    BB_REQUIRE(count >= 0 && count <= BB_PLATE_BATCH, BB_INVALID,
               "%td plate rows at once, expected 0..%d", count, (int)BB_PLATE_BATCH);
    BB_REQUIRE(axis >= BB_AXIS_X && axis <= BB_AXIS_Z, BB_INVALID, "axis %d, expected 0..2", axis);
    BB_TRY(BB_ALLOCATE(count, &samples));
    BB_TRY(BB_ALLOCATE(count * BB_PLATE_SAMPLE, &touched));
    BB_TRY(bb_workspace_pool_take(plate->right_sides, &adjoint));
    memset(adjoint, 0, (size_t)(BB_PLATE_BATCH * factor->unknowns) * sizeof *adjoint);
    for (bb_index p = 0; p < count; ++p) {
        bb_plate_sample_make(plate->mesh, &plate->plate, x[p], y[p], axis, &samples[p]);
        for (int i = 0; i < samples[p].count; ++i) {
            int64_t index = place[samples[p].unknown[i]];
            adjoint[index * BB_PLATE_BATCH + p] += samples[p].weight[i];
            touched[touches++] = index;
        }
    }
    BB_TRY(bb_supernodes_solve(factor, BB_PLATE_BATCH, touches, touched, adjoint));
    apply_load(plate, adjoint, rows);
    if (moments != NULL) {
        apply_moment(plate, adjoint, moments);
    }
    for (bb_index p = 0; p < count; ++p) {
        for (int k = 0; k < 4; ++k) {
            rows[(bb_index)samples[p].node[k] * BB_PLATE_BATCH + p] +=
                samples[p].growth * samples[p].bilinear[k];
        }
    }
done:
    BB_RELEASE(&samples);
    BB_RELEASE(&touched);
    bb_workspace_pool_give(plate->right_sides, &adjoint);
    return status;
}

void bb_coupled_plate_destroy(bb_coupled_plate **plate)
{
    if (plate == NULL || *plate == NULL) {
        return;
    }
    bb_plate_factor_destroy(&(*plate)->factor);
    bb_workspace_pool_destroy(&(*plate)->right_sides);
    bb_workspace_pool_destroy(&(*plate)->nodal_rows);
    BB_RELEASE(plate);
}
