// SPDX-License-Identifier: Apache-2.0
#include "store/new_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "core/errors.hpp"

namespace anello::store {
namespace {

bool is_no_file(const std::string& path) {
    struct stat about {};
    return stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode);
}

}  // namespace

int create_new(const std::string& path) {
    const int flags = is_no_file(path) ? O_WRONLY | O_CLOEXEC : O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
    const int file = open(path.c_str(), flags, 0644);
    if (file < 0)
        throw SystemError("cannot create " + path, errno,
                          errno == EEXIST ? "Name another directory, or give --overwrite."
                                          : "Check the directory, its permissions and the space left.");
    return file;
}

std::string number_in_series(const std::string& path, std::uint32_t n) {
    const std::filesystem::path first(path);
    return (first.parent_path() / fmt::format("{}-{:04}{}", first.stem().string(), n, first.extension().string()))
        .string();
}

}  // namespace anello::store
