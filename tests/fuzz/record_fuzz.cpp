// SPDX-License-Identifier: Apache-2.0
// Built from: engine/publish/record_writer.cpp
// Published records, as a subscriber reads them: any bytes give a verdict, and of a record that is taken every array
// can be read.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "publish/record.hpp"

namespace publish = anello::publish;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::vector<std::byte> record(size);  // aligned, and exactly as long as the input
    if (size > 0) std::memcpy(record.data(), data, size);
    // The length is made right, or most changes of length would end there; not with an odd run, so that it is seen too.
    if (size >= sizeof(publish::RecordHeader) && (std::to_integer<unsigned>(record[24]) & 1U) == 0)
        std::memcpy(&record[32], &size, sizeof size);
    publish::RecordView view;
    if (publish::RecordView::parse(record, view) != publish::RecordVerdict::ok) return 0;
    unsigned sum = 0;
    for (const publish::ArrayEntry& entry : view.entries()) {
        const std::size_t n_bytes = publish::RecordView::n_values(entry) * publish::bytes_of(entry.type);
        if (n_bytes > size) std::abort();
        for (std::size_t i = 0; i < n_bytes; ++i) sum += std::to_integer<unsigned>(record[entry.offset_bytes + i]);
        if (view.find(entry.name.data()) == nullptr) std::abort();
        for (const float value : view.array<float>(entry.name.data())) sum += value > 0 ? 1 : 0;
        sum += view.value<std::uint8_t>(entry.name.data());
    }
    volatile unsigned read = sum;
    static_cast<void>(read);
    return 0;
}
