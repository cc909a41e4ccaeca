// SPDX-License-Identifier: Apache-2.0
#include "store/column_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "core/assert.hpp"
#include "core/errors.hpp"
#include "store/live_driver.hpp"

namespace anello::store {
namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::uint64_t metadata_bytes = 4 * page_bytes;  // most bytes of metadata for new rows of one column

constexpr std::uint64_t chunk_metadata_bytes = 2 * page_bytes;  // and for each filtered chunk, for its entry
constexpr std::size_t max_rank = 8;
using Sizes = std::array<hsize_t, max_rank>;  // by dimension; those beyond the column's rank are ignored

/// The sizes of n_rows rows.
Sizes sizes_of(const std::vector<hsize_t>& row_shape, hsize_t n_rows) noexcept {
    Sizes sizes{n_rows};
    std::ranges::copy(row_shape, sizes.begin() + 1);
    return sizes;
}

int rank_of(const ColumnLayout& layout) noexcept {
    return static_cast<int>(layout.row_shape.size()) + 1;
}

std::uint64_t row_bytes(hid_t type, const ColumnLayout& layout) noexcept {
    std::uint64_t n_bytes = H5Tget_size(type);
    for (const hsize_t n : layout.row_shape) n_bytes *= n;
    return n_bytes;
}

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

/// Keeps the innermost line of HDF5's error stack, which has the system's own error text.
herr_t keep_innermost(unsigned depth, const H5E_error2_t* error, void* text) {
    if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
    return 0;
}

/// Throws if the system or HDF5 refused, with HDF5's own words if there are any.
void require(bool holds, std::string action,
             const char* remedy = "Check the directory, its permissions and the space left.") {
    if (holds) return;
    const int error_number = errno;
    std::string words;
    if (error_number == 0) H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &words);
    if (!words.empty()) action += " (HDF5: " + words + ")";
    throw SystemError("cannot " + action, error_number == 0 ? EIO : error_number, remedy);
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

void attach(hid_t object, const std::string& name, std::uint64_t value) {
    attach(object, name, H5T_NATIVE_UINT64, &value);
}

/// Metadata stays in memory between flushes, so that all columns on disk are of the same moment.
void keep_metadata(hid_t access) {
    H5AC_cache_config_t cache{};
    cache.version = H5AC__CURR_CACHE_CONFIG_VERSION;
    H5Pget_mdc_config(access, &cache);
    cache.evictions_enabled = false;
    cache.incr_mode = H5C_incr__off;
    cache.flash_incr_mode = H5C_flash_incr__off;
    cache.decr_mode = H5C_decr__off;
    H5Pset_mdc_config(access, &cache);
}

/// No piece of metadata crosses a page, so a write of it is complete or absent whenever the process is killed. There is
/// no chunk cache, so that a full disk shows in the append that fills it.
void set_access(hid_t access, Disk& disk) {
    require(set_live_driver(access, disk), "register a driver of HDF5",
            "This HDF5 needs drivers of another kind than the versions that Anello is tested with: "
            "docs/decisions/0001-dependencies.md.");
    H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);
    H5Pset_alignment(access, 1, page_bytes);
    H5Pset_cache(access, 0, 0, 0, 1.0);
    keep_metadata(access);
}

}  // namespace

ColumnFile::ColumnFile(std::string path, FileRules rules)
    : path_(std::move(path)), rules_(std::move(rules)), attributes_(rules_.about) {
    // HDF5 would close again, at exit, a file that could not be closed, and HDF5 1.10 crashes there. This class closes
    // its files, so the library needs no exit handler.
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // this class reports errors, once
    // Rows are already filtered, so HDF5 needs no filters here. It would load those in HDF5_PLUGIN_PATH as soon as a
    // column names one, and a filter made for another program's HDF5 refuses the column, or worse.
    H5PLset_loading_state(0);
}

ColumnFile::~ColumnFile() {
    close();
}

std::size_t ColumnFile::add_column(std::string name, hid_t type, std::string unit, std::string meaning,
                                   ColumnLayout layout) {
    ANELLO_ASSERT(layout.row_shape.size() < max_rank && (layout.filters.empty() || layout.chunk_rows == 1));
    columns_.push_back({std::move(name), type, std::move(unit), std::move(meaning), std::move(layout)});
    return columns_.size() - 1;
}

void ColumnFile::add_attribute(std::string name, std::variant<std::string, std::uint64_t> value) {
    attributes_.emplace_back(std::move(name), std::move(value));
}

void ColumnFile::start() {
    create(path_);
}

/// Gives the file its name only once it can be read, so that a killed process leaves no unreadable file.
void ColumnFile::create(const std::string& path) {
    const std::string unnamed = path + ".new";
    rules_.disk->remove(unnamed);
    errno = 0;
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    set_access(access, *rules_.disk);
    file_ = H5Fcreate(unnamed.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, access);
    if (file_ < 0) refuse_to_create(path);
    try {
        make_columns();
        for (const auto& [name, value] : attributes_)
            std::visit([&, &of = name](const auto& given) { attach(file_, of, given); }, value);
        require(H5Fflush(file_, H5F_SCOPE_LOCAL) >= 0 && H5Fstart_swmr_write(file_) >= 0, "write " + path);
        if (!rules_.disk->give_name(unnamed, path)) refuse_to_create(path);
    } catch (...) {
        close_file();
        rules_.disk->remove(unnamed);
        throw;
    }
    ++n_files_;
}

void ColumnFile::make_columns() {
    for (Column& column : columns_) make(column);
}

/// PERF NOTE: with a second dimension that could grow, though it never does, HDF5 finds chunks by a tree of small
/// nodes. With one dimension it uses an array, whose blocks of more than 256 filtered chunks are larger than a page, so
/// that a kill could cut one.
void ColumnFile::make(Column& column) {
    const ColumnLayout& rows = column.layout;
    Sizes chunk = sizes_of(rows.row_shape, rows.chunk_rows), most = sizes_of(rows.row_shape, H5S_UNLIMITED);
    if (!rows.filters.empty() && !rows.row_shape.empty()) most[1] = H5S_UNLIMITED;
    const Sizes none = sizes_of(rows.row_shape, 0);
    const Handle space(H5Screate_simple(rank_of(rows), none.data(), most.data()), H5Sclose);
    const Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_chunk(layout, rank_of(rows), chunk.data());
    for (const ChunkFilter& filter : rows.filters)  // optional: else HDF5 would need them
        H5Pset_filter(layout, filter.number, H5Z_FLAG_OPTIONAL, filter.values.size(), filter.values.data());
    column.dataset = H5Dcreate2(file_, column.name.c_str(), column.type, space, H5P_DEFAULT, layout, H5P_DEFAULT);
    require(column.dataset >= 0, "create the column " + column.name);
    attach(column.dataset, "unit", column.unit);
    attach(column.dataset, "meaning", column.meaning);
}

/// Opens the next file of the series, skipping names that exist.
bool ColumnFile::try_next() noexcept {
    if (is_closed_ || n_files_ == 0) return false;
    for (;; ++n_files_) try {
            create(number_in_series(path_, n_files_));
            return true;
        } catch (const SystemError& error) {
            if (error.error_number() == EEXIST) continue;
            refusal_.begin(error.error_number());
            last_error_ = error.what();
            return false;
        }
}

/// Keeps errno if the system refused.
bool ColumnFile::note_error() noexcept {
    refusal_.begin(errno == 0 ? EIO : errno);
    last_error_.clear();
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &last_error_);
    return false;
}

/// Includes the chunks that these rows begin.
std::uint64_t ColumnFile::most_bytes(std::span<const Rows> all) const noexcept {
    std::uint64_t n_bytes = 0;
    for (const Rows& rows : all) {
        const Column& to = columns_[rows.column];
        if (!to.layout.filters.empty()) {
            const std::span chunks(static_cast<const Chunk*>(rows.rows), rows.n_rows);
            for (const Chunk& chunk : chunks) n_bytes += chunk.n_bytes + page_bytes + chunk_metadata_bytes;
            n_bytes += metadata_bytes;
            continue;
        }
        const std::size_t chunk_rows = to.layout.chunk_rows;
        const auto n_chunks = [chunk_rows](std::uint64_t n) { return (n + chunk_rows - 1) / chunk_rows; };
        const std::uint64_t n_new = n_chunks(to.n_rows + rows.n_rows) - n_chunks(to.n_rows);
        n_bytes += n_new * (chunk_rows * row_bytes(to.type, to.layout) + page_bytes) + metadata_bytes;
    }
    return n_bytes;
}

bool ColumnFile::try_append(std::span<const Rows> all) noexcept {
    errno = 0;
    if (file_ < 0 && !try_next()) return false;
    if (!reserve(file_, most_bytes(all))) {
        refusal_.begin(errno == 0 ? EIO : errno);
        last_error_ = std::generic_category().message(errno);
        return false;
    }
    for (const Rows& rows : all)
        if (!write(rows)) {
            take_back(all.first(static_cast<std::size_t>(&rows - all.data())));
            close_file();  // the file may be damaged: the next rows go to another one
            return false;
        }
    refusal_.end();
    if (rules_.max_bytes > 0 && length_bytes(file_) >= rules_.max_bytes) close_file();
    return true;
}

bool ColumnFile::write(const Rows& rows) noexcept {
    if (rows.n_rows == 0) return true;
    Column& to = columns_[rows.column];
    if (!resize(to, to.n_rows + rows.n_rows)) return note_error();
    if (!(to.layout.filters.empty() ? write_values(to, rows) : write_chunks(to, rows))) {
        note_error();
        resize(to, to.n_rows);
        return false;
    }
    to.n_rows += rows.n_rows;
    return true;
}

bool ColumnFile::resize(const Column& column, std::uint64_t n_rows) noexcept {
    const Sizes sizes = sizes_of(column.layout.row_shape, n_rows);
    return H5Dset_extent(column.dataset, sizes.data()) >= 0;
}

bool ColumnFile::write_values(const Column& to, const Rows& rows) noexcept {
    const Sizes begin{to.n_rows}, n = sizes_of(to.layout.row_shape, rows.n_rows);
    const Handle memory(H5Screate_simple(rank_of(to.layout), n.data(), nullptr), H5Sclose);
    const Handle space(H5Dget_space(to.dataset), H5Sclose);
    return H5Sselect_hyperslab(space, H5S_SELECT_SET, begin.data(), nullptr, n.data(), nullptr) >= 0 &&
           H5Dwrite(to.dataset, to.type, memory, space, H5P_DEFAULT, rows.rows) >= 0;
}

/// Writes chunks unchanged: HDF5 only finds their place.
bool ColumnFile::write_chunks(const Column& to, const Rows& rows) noexcept {
    Sizes begin{to.n_rows};
    for (const Chunk& chunk : std::span(static_cast<const Chunk*>(rows.rows), rows.n_rows)) {
        if (H5Dwrite_chunk(to.dataset, H5P_DEFAULT, chunk.skipped_filters, begin.data(), chunk.n_bytes, chunk.bytes) <
            0)
            return false;
        ++begin[0];
    }
    return true;
}

void ColumnFile::take_back(std::span<const Rows> all) noexcept {
    for (const Rows& rows : all) {
        Column& column = columns_[rows.column];
        column.n_rows -= rows.n_rows;
        resize(column, column.n_rows);
    }
}

bool ColumnFile::flush() noexcept {
    errno = 0;
    return file_ < 0 || H5Fflush(file_, H5F_SCOPE_LOCAL) >= 0 || note_error();
}

bool ColumnFile::close_file() noexcept {
    if (file_ < 0) return true;
    bool closed = flush();
    for (Column& column : columns_) {
        if (column.dataset >= 0) closed = (H5Dclose(column.dataset) >= 0 || note_error()) && closed;
        column.dataset = H5I_INVALID_HID;
        column.n_rows = 0;
    }
    closed = (H5Fclose(file_) >= 0 || note_error()) && closed;
    file_ = H5I_INVALID_HID;
    return closed;
}

bool ColumnFile::close() noexcept {
    is_closed_ = true;
    return close_file();
}

}  // namespace anello::store
