// SPDX-License-Identifier: Apache-2.0
#include "receive/xdp/shared_mapping.hpp"

#include <sys/mman.h>

namespace anello::receive {

SharedMapping::SharedMapping(int descriptor, std::uint64_t offset, std::size_t n_bytes) noexcept {
    void* const mapped = mmap(nullptr, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor,
                              static_cast<off_t>(offset));
    if (mapped == MAP_FAILED) return;
    begin_ = static_cast<std::byte*>(mapped);
    n_bytes_ = n_bytes;
}

SharedMapping::~SharedMapping() {
    if (begin_ != nullptr) munmap(begin_, n_bytes_);
}

}  // namespace anello::receive
