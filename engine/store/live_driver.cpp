// SPDX-License-Identifier: Apache-2.0
#include "store/live_driver.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>

#include "wire/bytes.hpp"

namespace anello::store {
namespace {

/// Of a superblock of version 3, HDF5 file format specification 3.0, section II.A.
constexpr std::size_t superblock_bytes = 48, flags_offset = 11, end_offset = 28, checksum_offset = 44;
constexpr std::array<unsigned char, 9> superblock_begin{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n', 3};
constexpr haddr_t min_step_bytes = 64U << 10, max_step_bytes = 16U << 20;  // of allocated disk space
constexpr haddr_t longest = haddr_t{1} << 62;

struct On {
    Disk* disk;
};

struct LiveFile {
    H5FD_t base{};  // must be first: HDF5 uses only this part
    std::unique_ptr<OpenFile> open;
    haddr_t end = 0;   // end of what HDF5 has allocated
    haddr_t room = 0;  // end of the file, and of the allocated disk space
    std::array<std::byte, superblock_bytes> superblock{};
    bool has_superblock = false;
};

LiveFile& live(H5FD_t* file) noexcept {
    return *reinterpret_cast<LiveFile*>(file);
}

const LiveFile& live(const H5FD_t* file) noexcept {
    return *reinterpret_cast<const LiveFile*>(file);
}

/// Bob Jenkins' lookup3 of a superblock's first 44 bytes, as in HDF5.
std::uint32_t superblock_checksum(const std::byte* bytes) noexcept {
    const auto word = [bytes](std::size_t i) { return wire::load_le<std::uint32_t>(bytes + 4 * i); };
    std::uint32_t a = 0xdeadbeef + checksum_offset, b = a, c = a;
    for (std::size_t i = 0; i < 9; i += 3) {
        a += word(i), b += word(i + 1), c += word(i + 2);
        a = (a - c) ^ std::rotl(c, 4), c += b;
        b = (b - a) ^ std::rotl(a, 6), a += c;
        c = (c - b) ^ std::rotl(b, 8), b += a;
        a = (a - c) ^ std::rotl(c, 16), c += b;
        b = (b - a) ^ std::rotl(a, 19), a += c;
        c = (c - b) ^ std::rotl(b, 4), b += a;
    }
    a += word(9), b += word(10);
    c = (c ^ b) - std::rotl(b, 14);
    a = (a ^ c) - std::rotl(c, 11);
    b = (b ^ a) - std::rotl(a, 25);
    c = (c ^ b) - std::rotl(b, 16);
    a = (a ^ c) - std::rotl(c, 4);
    b = (b ^ a) - std::rotl(a, 14);
    return (c ^ b) - std::rotl(b, 24);
}

bool write_all(const LiveFile& file, haddr_t at, const void* from, std::size_t n_bytes) noexcept {
    return write_all_at(*file.open, at, std::span(static_cast<const std::byte*>(from), n_bytes));
}

/// Written by one call, so that a reader that opens the file sees all of it.
bool write_superblock(LiveFile& file) noexcept {
    std::byte* block = file.superblock.data();
    block[flags_offset] = std::byte{0};  // not marked as open
    wire::store_le(block + end_offset, std::uint64_t{file.room});
    wire::store_le(block + checksum_offset, superblock_checksum(block));
    return write_all(file, 0, block, superblock_bytes);
}

/// First the file grows, then the superblock gets the new end, then HDF5 writes metadata that refer to it.
bool try_make_room(LiveFile& file, haddr_t end) noexcept {
    if (end <= file.room) return true;
    const haddr_t generous = end + std::clamp(end / 8, min_step_bytes, max_step_bytes);
    for (const haddr_t wanted : {generous, end}) {
        if (!file.open->reserve(file.room, wanted - file.room)) continue;
        file.room = wanted;
        return !file.has_superblock || write_superblock(file);
    }
    return false;
}

// --- What HDF5 calls --------------------------------------------------------------------------------------------
H5FD_t* open_live(const char* name, unsigned flags, hid_t access, haddr_t) {
    const auto* on = static_cast<const On*>(H5Pget_driver_info(access));
    if ((flags & H5F_ACC_CREAT) == 0 || on == nullptr) return nullptr;
    auto open = on->disk->create(name);
    if (open == nullptr) return nullptr;
    auto* file = new LiveFile;
    file->open = std::move(open);
    return &file->base;
}

herr_t close_live(H5FD_t* file) {
    const bool is_closed = live(file).open->close();
    delete &live(file);
    return is_closed ? 0 : -1;
}

herr_t query_live(const H5FD_t*, unsigned long* features) {
    *features = H5FD_FEAT_SUPPORTS_SWMR_IO | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
}

haddr_t end_of_allocated(const H5FD_t* file, H5FD_mem_t) {
    return live(file).end;
}

herr_t set_end_of_allocated(H5FD_t* file, H5FD_mem_t, haddr_t end) {
    if (!try_make_room(live(file), end)) return -1;
    live(file).end = end;
    return 0;
}

haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t) {
    return live(file).room;
}

herr_t handle_of(H5FD_t* file, hid_t, void** handle) {
    *handle = file;
    return 0;
}

herr_t read_live(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, std::size_t n_bytes, void* to) {
    std::span bytes(static_cast<std::byte*>(to), n_bytes);
    while (!bytes.empty()) {
        const ssize_t n = live(file).open->read_at(at, bytes);
        if (n < 0) return -1;
        if (n == 0) break;
        at += static_cast<haddr_t>(n);
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    std::ranges::fill(bytes, std::byte{0});  // after the file's end
    return 0;
}

herr_t write_live(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, std::size_t n_bytes, const void* from) {
    LiveFile& to = live(file);
    if (!try_make_room(to, at + n_bytes)) return -1;
    const bool is_superblock = at == 0 && n_bytes >= superblock_bytes &&
                               std::memcmp(from, superblock_begin.data(), superblock_begin.size()) == 0;
    if (!is_superblock) return write_all(to, at, from, n_bytes) ? 0 : -1;
    std::memcpy(to.superblock.data(), from, superblock_bytes);
    to.has_superblock = true;
    const auto* behind = static_cast<const std::byte*>(from) + superblock_bytes;
    return write_superblock(to) && write_all(to, superblock_bytes, behind, n_bytes - superblock_bytes) ? 0 : -1;
}

/// Frees unused disk space when the file is closed. The superblock is written first, otherwise it would have an end
/// beyond the file's.
herr_t truncate_live(H5FD_t* file, hid_t, hbool_t closing) {
    LiveFile& cut = live(file);
    if (!closing) return 0;
    cut.room = cut.end;
    if (cut.has_superblock && !write_superblock(cut)) return -1;
    return cut.open->cut(cut.end) ? 0 : -1;
}

/// HDF5 1.14 requires a version of H5FD_class_t and a driver number; 1.10 and 1.12 have no such members. Members not
/// set here are zero: HDF5 then uses its defaults.
#ifdef H5FD_CLASS_VERSION
constexpr unsigned class_version = H5FD_CLASS_VERSION;
#else
constexpr unsigned class_version = 0;
#endif
static_assert(class_version <= 1, "HDF5 has a newer H5FD_class_t than this driver knows: read H5FDdevelop.h");
constexpr int number_of_ours = 256;  // the first number for use within an organisation

template <typename Class>
constexpr Class driver_class() noexcept {
    Class made{};
    if constexpr (requires { made.version; }) made.version = class_version;
    if constexpr (requires { made.value; }) made.value = number_of_ours;
    made.name = "anello_live";
    made.maxaddr = longest;
    made.fc_degree = H5F_CLOSE_STRONG;
    made.fapl_size = sizeof(On);
    made.open = open_live;
    made.close = close_live;
    made.query = query_live;
    made.get_eoa = end_of_allocated;
    made.set_eoa = set_end_of_allocated;
    made.get_eof = end_of_file;
    made.get_handle = handle_of;
    made.read = read_live;
    made.write = write_live;
    made.truncate = truncate_live;
    for (H5FD_mem_t& type : made.fl_map) type = H5FD_MEM_DEFAULT;
    return made;
}

LiveFile* live_of(hid_t file) noexcept {
    void* handle = nullptr;
    return H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) < 0 ? nullptr : static_cast<LiveFile*>(handle);
}

}  // namespace

bool set_live_driver(hid_t access, Disk& disk) noexcept {
    static constexpr H5FD_class_t class_of_ours = driver_class<H5FD_class_t>();
    static const hid_t driver = H5FDregister(&class_of_ours);
    const On on{&disk};  // HDF5 copies it
    return driver >= 0 && H5Pset_driver(access, driver, &on) >= 0;
}

bool reserve(hid_t file, std::uint64_t n_bytes) noexcept {
    LiveFile* const of = live_of(file);
    return of != nullptr && try_make_room(*of, of->end + n_bytes);
}

std::uint64_t length_bytes(hid_t file) noexcept {
    const LiveFile* const of = live_of(file);
    return of == nullptr ? 0 : of->end;
}

}  // namespace anello::store
