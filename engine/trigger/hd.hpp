// SPDX-License-Identifier: Apache-2.0
#pragma once

/// ANELLO_HD marks the kernels: code for the host and, where the CUDA compiler reads it, for the device too.
/// ANELLO_LANE marks what must vanish into its caller: one processor instruction or a few.
#if defined(__CUDACC__)
#define ANELLO_HD __host__ __device__
#define ANELLO_LANE __host__ __device__ __forceinline__
#else
#define ANELLO_HD
#define ANELLO_LANE __attribute__((always_inline)) inline
#endif
