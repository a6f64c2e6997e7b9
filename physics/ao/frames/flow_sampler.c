// SPDX-License-Identifier: Apache-2.0
#include "physics/ao/frames/flow_sampler.h"

#include "core/memory.h"

struct bb_flow_sampler {
    const bb_frame_sampler *sampler;
    const double (*wind)[2];
    bb_index screens;
    bb_amplitude **amplitudes; // [screens] at time 0
};

bb_status bb_flow_sampler_create(const bb_frame_sampler *sampler, const double (*wind)[2],
                                 bb_flow_sampler **out)
{
    bb_status status = BB_OK;
    bb_flow_sampler *flow = NULL;
    BB_TRY(BB_ZEROED(1, &flow));
    flow->sampler = sampler;
    flow->wind = wind;
    flow->screens = bb_frame_sampler_screens(sampler);
    BB_TRY(BB_ZEROED(flow->screens, &flow->amplitudes));
    for (bb_index index = 0; index < flow->screens; ++index) {
        BB_TRY(
            BB_ALLOCATE(bb_frame_sampler_waves(sampler, index)->waves, &flow->amplitudes[index]));
    }
    *out = flow;
    flow = NULL;
done:
    bb_flow_sampler_destroy(&flow);
    return status;
}

void bb_flow_sampler_destroy(bb_flow_sampler **flow)
{
    bb_flow_sampler *f = *flow;
    if (f == NULL) {
        return;
    }
    for (bb_index index = 0; f->amplitudes != NULL && index < f->screens; ++index) {
        BB_RELEASE(&f->amplitudes[index]);
    }
    BB_RELEASE(&f->amplitudes);
    BB_RELEASE(flow);
}

void bb_flow_sampler_start(bb_flow_sampler *flow, uint64_t seed, uint64_t number)
{
    for (bb_index index = 0; index < flow->screens; ++index) {
        bb_frame_sampler_draw(flow->sampler, seed, number, index, flow->amplitudes[index]);
    }
}

static bb_status show(const bb_flow_sampler *flow, int part, double time_s, double exposure_s,
                      bb_index index, bb_frame *frame)
{
    bb_status status = BB_OK;
    const double *wind = flow->wind[index * bb_frame_sampler_layers(flow->sampler) / flow->screens];
    const double shift_m[2] = {time_s * wind[0], time_s * wind[1]};
    const double path_m[2] = {exposure_s * wind[0], exposure_s * wind[1]};
    BB_TRY(bb_phase_screen_move(bb_frame_sampler_waves(flow->sampler, index), shift_m, path_m,
                                flow->amplitudes[index], frame->amplitudes));
    BB_TRY(bb_frame_show(flow->sampler, part, index, frame->amplitudes, frame));
done:
    return status;
}

bb_status bb_flow_sampler_look(bb_flow_sampler *flow, int parts, double time_s, double exposure_s,
                               uint64_t seed, uint64_t noise_number, bb_frame *frame)
{
    bb_status status = BB_OK;
    bb_frame_clear(flow->sampler, parts, frame);
    for (bb_index index = 0; index < flow->screens; ++index) {
        if ((parts & BB_FRAME_GUIDES) != 0) {
            BB_TRY(show(flow, BB_FRAME_GUIDES, time_s, exposure_s, index, frame));
        }
        if ((parts & BB_FRAME_TARGETS) != 0) {
            BB_TRY(show(flow, BB_FRAME_TARGETS, time_s, 0.0, index, frame));
        }
    }
    bb_frame_finish(flow->sampler, parts, seed, noise_number, frame);
done:
    return status;
}

bb_need bb_flow_sampler_need(const bb_frame_sampler_extent *frames)
{
    const bb_need coarse = bb_phase_screen_draw_need(frames->screen.points);
    const bb_need fine = bb_phase_screen_draw_need(frames->screen.fine_points);
    return bb_need_copies(bb_need_together(coarse, fine), frames->layers);
}

// As an independent frame, whose drawing takes longer than a move.
bb_need bb_flow_sampler_look_need(const bb_frame_sampler_extent *frames)
{
    bb_frame_sampler_extent one = *frames;
    one.frames = 1.0;
    const bb_need moves =
        bb_need_repeated(bb_need_in_turn(bb_phase_screen_move_need(frames->screen.points),
                                         bb_phase_screen_move_need(frames->screen.fine_points)),
                         frames->layers);
    bb_need look = bb_need_together(bb_frame_need(&one, 1.0), moves);
    look.seconds -= bb_flow_sampler_need(frames).seconds;
    return look;
}
