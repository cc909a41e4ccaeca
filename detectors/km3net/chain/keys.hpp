// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/keys.hpp"
#include "km3net/chain/node.hpp"
#include "km3net/source/source.hpp"

/// Configuration keys of this chain that the engine reads; each is declared in keys.cpp only.
namespace anello::km3net {

extern const Keys<LineConfig> line_keys;
extern const Keys<SourceConfig> run_keys, boards_keys;
extern const Keys<source::FaultsConfig> faults_keys;
extern const Keys<SliceBuilderConfig> slices_keys;
extern const Keys<SliceTriggerConfig> coincidences_keys;
extern const Keys<MessageStoreConfig> store_keys;
extern const Keys<LineThreads> threads_keys;

}  // namespace anello::km3net
