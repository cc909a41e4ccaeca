// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "camera/wire/packet_formats.hpp"
#include "km3net/wire/packet_formats.hpp"
#include "rich/wire/packet_formats.hpp"

namespace anello::test {

/// A test that includes this file knows the formats of all detectors.
inline const bool formats_are_added = [] {
    for (const auto formats : {rich::packet_formats(), camera::packet_formats(), km3net::packet_formats()})
        wire::add_packet_formats(formats);
    return true;
}();

}  // namespace anello::test
