// SPDX-License-Identifier: Apache-2.0
//
// Work that is distributed over the processes of mpirun is gathered completely, with the bits of
// one process.
#include "solvers/distributed/team_mpi.h"
#include "solvers/factor/residual_covariance.h"
#include "tests/solvers/dense.h"

#include <mpi.h>

// More than one panel of Cmm, blocks for three processes, and an estimate of one block.
enum { N = 1100, M = 600, FEW = 9, SIZE = 5 };

static double *cmm, *ctm, *ctt, *r, *weights;

static void score(double *large, double *small, double *weighed)
{
    const bb_view views[] = {bb_view_matrix(cmm, N, N), bb_view_matrix(ctm, M, N),
                             bb_view_matrix(ctt, M, M), bb_view_matrix(ctm, FEW, N),
                             bb_view_matrix(ctt, SIZE, SIZE)};
    const bb_matrix_source sources[] = {bb_matrix_source_dense(&views[0], "Cmm", "1"),
                                        bb_matrix_source_dense(&views[1], "Ctm", "1"),
                                        bb_matrix_source_dense(&views[2], "Ctt", "1"),
                                        bb_matrix_source_dense(&views[3], "Ctm", "1"),
                                        bb_matrix_source_dense(&views[4], "B Ctt B", "1")};
    const bb_residual_task tasks[] = {
        {.r = r, .ctm = &sources[1], .ctt = &sources[2], .cee = large},
        {.r = r, .ctm = &sources[3], .cee = small},
        {.r = r,
         .ctm = &sources[1],
         .ctt = &sources[4],
         .cee = weighed,
         .rows = M,
         .weights = weights,
         .truth_weights = weights},
    };
    check_ok(bb_residual_covariance(&sources[0], 3, tasks));
}

TEST(residuals_have_the_bits_of_one_process)
{
    const bb_team *team = bb_team_joined();
    double *expected[] = {dense_new(M * M), dense_new(FEW * FEW), dense_new(SIZE * SIZE)};
    double *found[] = {dense_new(M * M), dense_new(FEW * FEW), dense_new(SIZE * SIZE)};
    bb_team_join(NULL);
    score(expected[0], expected[1], expected[2]);
    bb_team_join(team);
    score(found[0], found[1], found[2]);
    assert_memory_equal(found[0], expected[0], sizeof **found * M * M);
    assert_memory_equal(found[1], expected[1], sizeof **found * FEW * FEW);
    assert_memory_equal(found[2], expected[2], sizeof **found * SIZE * SIZE);
    for (int i = 0; i < 3; ++i) {
        BB_RELEASE(&expected[i]);
        BB_RELEASE(&found[i]);
    }
}

// Every byte arrives from its root, also beyond one message.
TEST(bytes_come_from_the_root)
{
    enum { COUNT = 100003 };
    const bb_team *team = bb_team_joined();
    unsigned char *bytes = new_array(unsigned char, COUNT);
    for (int root = 0; root < team->size; ++root) {
        fill_array(bytes, COUNT, i, (unsigned char)(i * 7 + team->rank));
        check_ok(team->broadcast(root, bytes, COUNT));
        for (int i = 0; i < COUNT; ++i) {
            assert_int_equal(bytes[i], (unsigned char)(i * 7 + root));
        }
    }
    BB_RELEASE(&bytes);
}

static int begin(void)
{
    int level = MPI_THREAD_SINGLE;
    int size = 0;
    (void)MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &size);
    bb_team_mpi_join();
    cmm = dense_new((bb_index)N * N);
    ctm = dense_new(M * N);
    ctt = dense_new(M * M);
    r = dense_new(M * N);
    weights = dense_new(SIZE * M);
    dense_covariance(N, 15.0, 0.1, cmm);
    dense_random(M * N, 6, ctm);
    dense_random(M * N, 7, r);
    dense_random(SIZE * M, 8, weights);
    dense_covariance(M, 4.0, 0.0, ctt);
    return size != bb_team_joined()->size;
}

static void end(void)
{
    BB_RELEASE(&cmm);
    BB_RELEASE(&ctm);
    BB_RELEASE(&ctt);
    BB_RELEASE(&r);
    BB_RELEASE(&weights);
    (void)MPI_Finalize();
}

TEST_GROUP(.begin = begin, .end = end);
