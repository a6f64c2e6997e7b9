// SPDX-License-Identifier: Apache-2.0
//
// Memory and time of a piece of work, estimated in advance: bb_<noun>_need next to
// bb_<noun>_create.
//
// Bytes are the peak of core/memory.h while the work runs, including the result; a `_held` next to
// a `_need` is the result alone, where that is much smaller. Seconds are for one core, or for one
// device where the work runs on it, at nominal rates: only good enough for a plan. With a parameter
// `threads`, bytes and seconds are for that many.
#ifndef BB_CORE_NEED_H
#define BB_CORE_NEED_H

#ifdef __cplusplus
extern "C" {
#endif

/// Operations per second of one core in large BLAS matrix products, fp64 and fp32.
#define BB_NEED_FP64_RATE 4.0e10
#define BB_NEED_FP32_RATE 8.0e10
/// Operations per second of a GPU (an H200) in such products, fp32 and fp64.
#define BB_NEED_DEVICE_RATE 5.0e13

/// A plan is an estimate and memory may be swapped: above this multiple of the machine's memory it
/// is hopeless.
enum { BB_NEED_HOPELESS = 16 };

typedef struct bb_need {
    double host_bytes, device_bytes, seconds;
} bb_need;

/// Need of two pieces of work at the same time: bytes and seconds add up.
bb_need bb_need_together(bb_need first, bb_need second);

/// Need of two pieces of work one after the other, the first released: the larger bytes, the sum of
/// seconds.
bb_need bb_need_in_turn(bb_need first, bb_need second);

/// Need of `count` pieces of work at the same time.
bb_need bb_need_copies(bb_need need, double count);

/// Need of `count` repetitions, one after the other: the bytes of one.
bb_need bb_need_repeated(bb_need need, double count);

/// Need of the result only: its bytes, no seconds.
bb_need bb_need_resident(bb_need need);

/// Need of work shared by `threads` cores: the same bytes, and the seconds divided.
bb_need bb_need_shared(bb_need need, double threads);

#ifdef __cplusplus
}
#endif

#endif
