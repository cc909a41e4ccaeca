// SPDX-License-Identifier: Apache-2.0
#include "rich/decide/plugin.hpp"

#include <dlfcn.h>

#include <array>
#include <filesystem>

#include "core/errors.hpp"
#include "core/keys.hpp"

namespace anello::rich {
namespace {

constexpr const char* field = "trigger.plugin";

/// An open library with its four functions. All handles made from it share it, so that it is closed after the last one.
class Library {
  public:
    explicit Library(const std::string& path);
    ~Library() { dlclose(library_); }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    std::string path;
    decltype(&anello_trigger_abi_version) abi_version = nullptr;
    decltype(&anello_trigger_create) create = nullptr;
    decltype(&anello_trigger_decide) decide = nullptr;
    decltype(&anello_trigger_destroy) destroy = nullptr;

  private:
    template <typename Function>
    void find(Function& function, const char* name);
    void find_all();

    void* library_;
};

Library::Library(const std::string& wanted) : path(std::filesystem::absolute(wanted).string()), library_(nullptr) {
    if (!std::filesystem::is_regular_file(path))
        throw ConfigError(field, "must be the path of a shared library", wanted,
                          "There is no such file; a relative path begins at the working directory.");
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr)
        throw ConfigError(field, "must be a shared library that can be loaded", wanted, std::string(dlerror()) + ".");
    try {
        find_all();
    } catch (...) {
        dlclose(library_);  // the constructor failed, so the destructor does not run
        throw;
    }
}

void Library::find_all() {
    find(abi_version, "anello_trigger_abi_version");
    if (const std::uint32_t version = abi_version(); version != ANELLO_TRIGGER_ABI_VERSION)
        throw ConfigError(field, "must have interface version " + std::to_string(ANELLO_TRIGGER_ABI_VERSION),
                          path + ", version " + std::to_string(version),
                          "Compile it with the rich/plugin_abi.h of this Anello.");
    find(create, "anello_trigger_create");
    find(decide, "anello_trigger_decide");
    find(destroy, "anello_trigger_destroy");
}

template <typename Function>
void Library::find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr)
        throw ConfigError(field, std::string("must have the function ") + name, path,
                          "rich/plugin_abi.h declares it; in C++ include that header, which makes it extern \"C\".");
}

class LibraryPlugin final : public Plugin {
  public:
    LibraryPlugin(std::shared_ptr<const Library> library, const std::string& parameters)
        : library_(std::move(library)), handle_(create(parameters)) {}
    ~LibraryPlugin() override { library_->destroy(handle_); }

    bool decide(const anello_trigger_batch& batch, anello_trigger_decisions& out) noexcept override {
        try {
            return library_->decide(handle_, &batch, &out) == 0;
        } catch (...) {  // the library let a C++ exception escape
            return false;
        }
    }

  private:
    void* create(const std::string& parameters) const {
        std::array<char, 512> reason{};
        void* handle = library_->create(parameters.c_str(), reason.data(), reason.size());
        reason.back() = '\0';
        if (handle == nullptr)
            throw ConfigError("trigger.plugin_parameters", "must be what " + library_->path + " takes", parameters,
                              reason.front() == '\0' ? "It refused them without a reason." : reason.data());
        return handle;
    }

    std::shared_ptr<const Library> library_;
    void* handle_;
};

constexpr std::array of_plugin{
    Key<PluginConfig>::of<&PluginConfig::path>(
        "plugin", "Your own shared library, which decides instead of the ring finder; empty: none."),
    Key<PluginConfig>::of<&PluginConfig::parameters>("plugin_parameters", "Text passed to that library unchanged."),
    Key<PluginConfig>::of<&PluginConfig::python>(
        "python", "file.py:function, your own Python function instead; for prototypes; empty: none."),
};

}  // namespace

constinit const Keys<PluginConfig> plugin_keys{"trigger", "Events into rings, rings into decisions.", of_plugin};

MakePlugin load_plugin(const PluginConfig& config) {
    return [library = std::make_shared<const Library>(config.path), parameters = config.parameters] {
        return std::make_unique<LibraryPlugin>(library, parameters);
    };
}

}  // namespace anello::rich
