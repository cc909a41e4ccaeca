// SPDX-License-Identifier: Apache-2.0
#include "receive/nanet/nanet_model.hpp"

#include <dlfcn.h>

#include <filesystem>

#include "core/errors.hpp"

namespace anello::receive {
namespace {

constexpr const char* field = "receive.nanet_library";
constexpr const char* remedy = "`anello nanet library` makes it, in the source tree, in a few minutes.";

}  // namespace

NanetModel::NanetModel(const std::string& library) : path_(library) {
    if (!path_.empty()) path_ = std::filesystem::absolute(path_).string();  // so dlopen() does not search
    if (!std::filesystem::is_regular_file(path_))
        throw ConfigError(field, "must be the card's model as a shared library", library.empty() ? "none" : library,
                          std::string("There is no such file. ") + remedy);
    library_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr)
        throw ConfigError(field, "must be a shared library that can be loaded", path_, std::string(dlerror()) + ".");
    try {
        find_all();
    } catch (...) {
        dlclose(library_);  // the destructor of an incomplete object is not called
        throw;
    }
}

NanetModel::~NanetModel() {
    destroy_(card_);
    dlclose(library_);
}

void NanetModel::find_all() {
    find(abi_version_, "anello_nanet_abi_version");
    if (const auto version = abi_version_(); version != ANELLO_NANET_ABI_VERSION)
        throw ConfigError(field, "must have interface version " + std::to_string(ANELLO_NANET_ABI_VERSION),
                          path_ + ", version " + std::to_string(version), remedy);
    find(sources_, "anello_nanet_sources");
    find(create_, "anello_nanet_create");
    find(destroy_, "anello_nanet_destroy");
    find(step_, "anello_nanet_step");
    highest_levels_ = reinterpret_cast<decltype(highest_levels_)>(dlsym(library_, "anello_nanet_highest_levels"));
    card_ = create_();
    if (card_ == nullptr) throw ConfigError(field, "must find memory for a card", path_, "Free some memory.");
}

template <typename Function>
void NanetModel::find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr) throw ConfigError(field, std::string("must have the function ") + name, path_, remedy);
}

}  // namespace anello::receive
