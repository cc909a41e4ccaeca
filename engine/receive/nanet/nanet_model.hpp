// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "receive/nanet/nanet_abi.h"

namespace anello::receive {

/// The network card's model, loaded at run time from the shared library that `anello nanet library` makes: one card in
/// its state after power-on. Used by one thread at a time.
class NanetModel {
  public:
    explicit NanetModel(const std::string& library);  ///< Throws ConfigError.
    ~NanetModel();
    NanetModel(const NanetModel&) = delete;
    NanetModel& operator=(const NanetModel&) = delete;

    /// Hot path. Simulates one cycle; `out` gets the outputs just before the rising edge.
    void step(const anello_nanet_in& in, anello_nanet_out& out) noexcept { step_(card_, &in, &out); }
    /// Highest levels of the card's stores; a size is 0 if the model does not show the store.
    anello_nanet_levels highest_levels() const noexcept {
        anello_nanet_levels levels{};
        if (highest_levels_ != nullptr) highest_levels_(card_, &levels);
        return levels;
    }
    std::string sources() const { return sources_(); }  ///< A digest of the model's sources.
    const std::string& path() const noexcept { return path_; }

  private:
    template <typename Function>
    void find(Function& function, const char* name);
    void find_all();

    std::string path_;
    void* library_ = nullptr;
    void* card_ = nullptr;
    decltype(&anello_nanet_abi_version) abi_version_ = nullptr;
    decltype(&anello_nanet_sources) sources_ = nullptr;
    decltype(&anello_nanet_create) create_ = nullptr;
    decltype(&anello_nanet_destroy) destroy_ = nullptr;
    decltype(&anello_nanet_step) step_ = nullptr;
    decltype(&anello_nanet_highest_levels) highest_levels_ = nullptr;
};

}  // namespace anello::receive
