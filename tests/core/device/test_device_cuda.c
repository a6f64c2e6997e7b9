// SPDX-License-Identifier: Apache-2.0
#include "tests/core/device/device_conformance.h"

int main(void)
{
    return run_device_tests(BB_DEVICE_CUDA);
}
