// SPDX-License-Identifier: Apache-2.0
// The device's code, as it is.
#include "rich/rings/kernels_cuda.cu"  // NOLINT
