// SPDX-License-Identifier: Apache-2.0
#include "core/team.h"

static bb_status broadcast_alone(int root, void *values, size_t bytes)
{
    (void)root;
    (void)values;
    (void)bytes;
    return BB_OK;
}

static const bb_team single = {.rank = 0, .size = 1, .host_size = 1, .broadcast = broadcast_alone};
static const bb_team *joined = &single;

void bb_team_join(const bb_team *team)
{
    joined = team != NULL ? team : &single;
}

const bb_team *bb_team_joined(void)
{
    return joined;
}

void bb_team_part(bb_index count, int rank, bb_index *begin, bb_index *end)
{
    *begin = count * rank / joined->size;
    *end = count * (rank + 1) / joined->size;
}

bb_status bb_team_gather(bb_index count, bb_index block, size_t row_bytes, void *values)
{
    const bb_index blocks = (count + block - 1) / block;
    for (int rank = 0; rank < joined->size; ++rank) {
        bb_index begin = 0;
        bb_index end = 0;
        bb_team_part(blocks, rank, &begin, &end);
        begin *= block;
        end = end * block < count ? end * block : count;
        if (begin < end) {
            BB_RETURN_IF_FAILED(joined->broadcast(rank, (char *)values + (size_t)begin * row_bytes,
                                                  (size_t)(end - begin) * row_bytes));
        }
    }
    return BB_OK;
}
