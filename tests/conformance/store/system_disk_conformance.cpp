// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "conformance/store/disk_conformance.hpp"

namespace anello::store::test {
namespace {

class SystemDisk final : public DiskUnderTest {
  public:
    SystemDisk() { std::filesystem::create_directories(directory_); }
    ~SystemDisk() override { std::filesystem::remove_all(directory_); }

    Disk& disk() override { return Disk::system(); }
    std::string path(const std::string& name) const override { return directory_ / name; }
    std::string content(const std::string& name) const override {
        std::ifstream file(path(name), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    bool exists(const std::string& name) const override { return std::filesystem::exists(path(name)); }

  private:
    const std::filesystem::path directory_ =
        std::filesystem::temp_directory_path() / ("disk_conformance_" + std::to_string(getpid()));
};

INSTANTIATE_TYPED_TEST_SUITE_P(System, DiskConformance, SystemDisk);

}  // namespace
}  // namespace anello::store::test
