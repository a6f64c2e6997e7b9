// SPDX-License-Identifier: Apache-2.0
//
// bb_wafer_loop_check: apart from the loop, which only builds with CUDA link.
#include "sim/wafer/realtime/wafer_loop.h"

bb_status bb_wafer_loop_check(const bb_wafer_study *study, const bb_product_pipeline *pipeline)
{
    bb_status status = BB_OK;
    BB_REQUIRE(study->mesh.stepping == (int)BB_STEPPING_EXPLICIT, BB_UNSUPPORTED,
               "mesh.stepping: the loop on a GPU steps explicitly, expected explicit");
    BB_REQUIRE(study->mesh.through_thickness == (int)BB_THROUGH_MEAN, BB_UNSUPPORTED,
               "mesh.through_thickness: the loop on a GPU has the mean alone, expected mean");
    BB_REQUIRE(study->mesh.substeps == 1, BB_UNSUPPORTED,
               "mesh.substeps = %td: the loop on a GPU takes whole steps, expected 1",
               study->mesh.substeps);
    BB_REQUIRE(!bb_hood_wanted(&study->hood), BB_UNSUPPORTED,
               "hood.exchange_w_per_m2_k = %g: the loop on a GPU has no hood, expected 0",
               study->hood.exchange_w_per_m2_k);
    BB_REQUIRE(study->wafers.count <= 1, BB_UNSUPPORTED,
               "wafers.count = %td: the loop on a GPU exposes one wafer, expected 1",
               study->wafers.count);
    BB_REQUIRE(
        study->wafers.arrival_rise_k == 0.0, BB_UNSUPPORTED,
        "wafers.arrival_rise_k = %g: the loop on a GPU starts from a wafer at the temperature "
        "of the water, expected 0",
        study->wafers.arrival_rise_k);
    BB_REQUIRE(!bb_edge_ring_wanted(&study->ring), BB_UNSUPPORTED,
               "ring.width_mm = %g: the loop on a GPU has no ring, expected 0",
               study->ring.width_mm);
    BB_REQUIRE(bb_delivery_on_time(&pipeline->delivery), BB_UNSUPPORTED,
               "pipeline %s, delivery: the loop on a GPU measures when corrections come, expected "
               "none late or missed",
               pipeline->name);
    BB_REQUIRE(pipeline->multiply == (int)BB_FORMAT_FP32, BB_UNSUPPORTED,
               "pipeline %s, multiply: the loop on a GPU multiplies in fp32, not %s",
               pipeline->name, bb_working_format_names[pipeline->multiply]);
    const char *absent = bb_codec_absent(&pipeline->storage, BB_DEVICE_CUDA);
    BB_REQUIRE(absent == NULL, BB_UNSUPPORTED, "pipeline %s, storage: %s", pipeline->name, absent);
    BB_REQUIRE(study->realtime.matrices == (int)BB_LOOP_RESIDENT ||
                   bb_coded_operator_moves(&pipeline->storage),
               BB_UNSUPPORTED,
               "pipeline %s, storage: realtime.matrices: streamed moves plain formats and bfp, "
               "whose rows all have the same bytes; take one of them, or resident",
               pipeline->name);
done:
    return status;
}
