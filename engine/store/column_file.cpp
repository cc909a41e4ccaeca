// SPDX-License-Identifier: Apache-2.0
#include "store/column_file.hpp"

#include <cerrno>

#include "core/errors.hpp"

namespace anello::store {
namespace {

/// Closes an HDF5 object at the end of its scope.
class Handle {
  public:
    Handle(hid_t id, herr_t (*close)(hid_t)) noexcept : id_(id), close_(close) {}
    ~Handle() {
        if (id_ >= 0) close_(id_);
    }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    operator hid_t() const noexcept { return id_; }

  private:
    hid_t id_;
    herr_t (*close_)(hid_t);
};

void require(bool holds, const std::string& action) {
    if (!holds)
        throw SystemError("cannot " + action, errno, "Check the directory, its permissions and the space left.");
}

void attach(hid_t object, const std::string& name, hid_t type, const void* value) {
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const Handle attribute(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    require(attribute >= 0 && H5Awrite(attribute, type, value) >= 0, "write the attribute " + name);
}

void attach(hid_t object, const std::string& name, const std::string& text) {
    const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type, text.empty() ? 1 : text.size());
    H5Tset_cset(type, H5T_CSET_UTF8);
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    attach(object, name, type, text.c_str());
}

/// The innermost line of HDF5's error stack, which holds the system's own text.
herr_t keep_innermost(unsigned depth, const H5E_error2_t* error, void* text) {
    if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
    return 0;
}

}  // namespace

ColumnFile::ColumnFile(const std::string& path) {
    // A file that could not be closed (disk full) would be closed again at exit, and HDF5 1.10 crashes there. We close
    // our files ourselves, so the library needs no exit handler.
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // errors are ours to tell, once
    errno = 0;
    file_ = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    require(file_ >= 0, "create " + path);
}

ColumnFile::~ColumnFile() {
    close();
}

std::size_t ColumnFile::add_column(const std::string& name, hid_t type, const std::string& unit,
                                   const std::string& meaning, std::size_t chunk_rows) {
    const hsize_t none = 0, endless = H5S_UNLIMITED, chunk = chunk_rows;
    const Handle space(H5Screate_simple(1, &none, &endless), H5Sclose);
    const Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_chunk(layout, 1, &chunk);
    // Without a chunk cache, so that a full disk shows in the append that fills it and not much later.
    const Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
    H5Pset_chunk_cache(access, 0, 0, 1.0);
    const hid_t dataset = H5Dcreate2(file_, name.c_str(), type, space, H5P_DEFAULT, layout, access);
    require(dataset >= 0, "create the column " + name);
    columns_.push_back({dataset, type, 0});
    attach(dataset, "unit", unit);
    attach(dataset, "meaning", meaning);
    return columns_.size() - 1;
}

void ColumnFile::add_attribute(const std::string& name, const std::string& text) {
    attach(file_, name, text);
}

void ColumnFile::add_attribute(const std::string& name, std::uint64_t value) {
    attach(file_, name, H5T_NATIVE_UINT64, &value);
}

bool ColumnFile::note_error() noexcept {
    last_error_.clear();
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &last_error_);
    return false;
}

bool ColumnFile::append(std::size_t column, const void* rows, std::size_t n_rows) noexcept {
    if (n_rows == 0) return true;
    Column& to = columns_[column];
    const hsize_t begin = to.n_rows, n = n_rows, end = begin + n;
    if (H5Dset_extent(to.dataset, &end) < 0) return note_error();
    const Handle memory(H5Screate_simple(1, &n, nullptr), H5Sclose);
    const Handle space(H5Dget_space(to.dataset), H5Sclose);
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, &begin, nullptr, &n, nullptr) < 0 ||
        H5Dwrite(to.dataset, to.type, memory, space, H5P_DEFAULT, rows) < 0) {
        note_error();
        H5Dset_extent(to.dataset, &begin);
        return false;
    }
    to.n_rows = end;
    return true;
}

bool ColumnFile::shorten(std::size_t column, std::uint64_t n_rows) noexcept {
    Column& cut = columns_[column];
    const hsize_t end = n_rows;
    if (cut.n_rows == n_rows) return true;
    if (H5Dset_extent(cut.dataset, &end) < 0) return note_error();
    cut.n_rows = n_rows;
    return true;
}

bool ColumnFile::flush() noexcept {
    return H5Fflush(file_, H5F_SCOPE_LOCAL) >= 0 || note_error();
}

bool ColumnFile::close() noexcept {
    if (file_ < 0) return true;
    bool closed = flush();
    for (const Column& column : columns_) closed = (H5Dclose(column.dataset) >= 0 || note_error()) && closed;
    closed = (H5Fclose(file_) >= 0 || note_error()) && closed;
    columns_.clear();
    file_ = H5I_INVALID_HID;
    return closed;
}

}  // namespace anello::store
