// SPDX-License-Identifier: Apache-2.0
#include "receive/xdp/xdp_program.hpp"

#include <arpa/inet.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "core/errors.hpp"

namespace anello::receive {
namespace {

constexpr std::uint32_t n_ports = 65536;
constexpr const char* remedy_for_rights =
    "Run as root, or give the program CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF, or set receive.backend = \"socket\".";
constexpr const char* remedy_for_kernel =
    "Linux 5.18 or newer with AF_XDP is needed: set receive.backend = \"socket\".";

const char* remedy_for(int error_number) noexcept {
    return error_number == EPERM || error_number == EACCES ? remedy_for_rights : remedy_for_kernel;
}

int call_bpf(int command, bpf_attr& attributes) noexcept {
    return static_cast<int>(syscall(__NR_bpf, command, &attributes, sizeof attributes));
}

Descriptor checked(int number, const char* action) {
    if (number < 0) throw SystemError(action, errno, remedy_for(errno));
    return Descriptor(number);
}

Descriptor make_map(std::uint32_t type, std::uint32_t value_bytes, std::uint32_t n_entries, std::uint32_t flags) {
    bpf_attr attributes{};
    attributes.map_type = type;
    attributes.key_size = sizeof(std::uint32_t);
    attributes.value_size = value_bytes;
    attributes.max_entries = n_entries;
    attributes.map_flags = flags;
    return checked(call_bpf(BPF_MAP_CREATE, attributes), "cannot make a BPF map");
}

// The program is assembled here from single instructions, so that building Anello needs no BPF compiler.
enum Register : std::uint8_t { r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, stack };
enum class Label : std::uint8_t { pass, leave, ip, first_tag, second_tag, count };

class Assembler {
  public:
    void put(int code, int destination, int source, std::int16_t offset, std::int32_t value) {
        bpf_insn instruction{};
        instruction.code = static_cast<std::uint8_t>(code);
        instruction.dst_reg = static_cast<std::uint8_t>(destination & 15);
        instruction.src_reg = static_cast<std::uint8_t>(source & 15);
        instruction.off = offset;
        instruction.imm = value;
        code_.push_back(instruction);
    }
    void load(int size, Register to, Register from, std::int16_t offset) {
        put(BPF_LDX | size | BPF_MEM, to, from, offset, 0);
    }
    void copy(Register to, Register from) { put(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
    void set(Register to, std::int32_t value) { put(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value); }
    void reckon(int operation, Register to, std::int32_t value) { put(BPF_ALU64 | operation | BPF_K, to, 0, 0, value); }
    void add(Register to, Register what) { put(BPF_ALU64 | BPF_ADD | BPF_X, to, what, 0, 0); }
    void load_map(Register to, const Descriptor& map) {
        put(BPF_LD | BPF_IMM | BPF_DW, to, BPF_PSEUDO_MAP_FD, 0, map.number());
        put(0, 0, 0, 0, 0);
    }
    void call(int function) { put(BPF_JMP | BPF_CALL, 0, 0, 0, function); }
    /// Compares the lower 32 bits.
    void jump_if(int comparison, Register what, std::uint32_t value, Label to) {
        jumps_.emplace_back(code_.size(), to);
        put(BPF_JMP32 | comparison | BPF_K, what, 0, 0, static_cast<std::int32_t>(value));
    }
    void jump_if_null(Register pointer, Label to) {
        jumps_.emplace_back(code_.size(), to);
        put(BPF_JMP | BPF_JEQ | BPF_K, pointer, 0, 0, 0);
    }
    /// Jumps to `pass` if fewer than n_bytes are left from `at` to the end (r3); uses r4.
    void need(Register at, std::int32_t n_bytes) {
        copy(r4, at);
        reckon(BPF_ADD, r4, n_bytes);
        jumps_.emplace_back(code_.size(), Label::pass);
        put(BPF_JMP | BPF_JGT | BPF_X, r4, r3, 0, 0);
    }
    void exit() { put(BPF_JMP | BPF_EXIT, 0, 0, 0, 0); }
    void here(Label label) { places_[static_cast<std::size_t>(label)] = code_.size(); }

    std::vector<bpf_insn> finish() {
        for (const auto& [from, label] : jumps_)
            code_[from].off = static_cast<std::int16_t>(places_[static_cast<std::size_t>(label)] - from - 1);
        return std::move(code_);
    }

  private:
    std::vector<bpf_insn> code_;
    std::vector<std::pair<std::size_t, Label>> jumps_;
    std::array<std::size_t, static_cast<std::size_t>(Label::count)> places_{};
};

/// r7 is at an Ethernet type: jumps to `ip` for IPv4, continues with the next type after a VLAN tag, otherwise jumps to
/// `pass`.
void read_type(Assembler& code, Label tag) {
    code.need(r7, 2);
    code.load(BPF_H, r5, r7, 0);
    code.jump_if(BPF_JEQ, r5, htons(0x0800), Label::ip);
    code.jump_if(BPF_JEQ, r5, htons(0x8100), tag);
    code.jump_if(BPF_JNE, r5, htons(0x88a8), Label::pass);
    code.here(tag);
    code.reckon(BPF_ADD, r7, 4);
}

void read_last_type(Assembler& code) {
    code.need(r7, 2);
    code.load(BPF_H, r5, r7, 0);
    code.jump_if(BPF_JNE, r5, htons(0x0800), Label::pass);
}

/// r7 is at the IPv4 header, and afterwards at the UDP header.
void read_ip(Assembler& code, std::uint32_t destination) {
    code.need(r7, 20);
    code.load(BPF_B, r5, r7, 0);
    code.copy(r4, r5);
    code.reckon(BPF_RSH, r4, 4);
    code.jump_if(BPF_JNE, r4, 4, Label::pass);
    code.reckon(BPF_AND, r5, 15);
    code.jump_if(BPF_JLT, r5, 5, Label::pass);
    code.reckon(BPF_LSH, r5, 2);
    code.load(BPF_H, r4, r7, 6);
    code.reckon(BPF_AND, r4, htons(0x3fff));  // more fragments, or an offset
    code.jump_if(BPF_JNE, r4, 0, Label::pass);
    code.load(BPF_B, r4, r7, 9);
    code.jump_if(BPF_JNE, r4, 17, Label::pass);
    if (destination != 0) {
        code.load(BPF_W, r4, r7, 16);
        code.jump_if(BPF_JNE, r4, destination, Label::pass);
    }
    code.add(r7, r5);
}

/// r7 is at the UDP header; afterwards r8 points to the port's element of the map.
void find_port(Assembler& code, const Descriptor& ports_map) {
    code.need(r7, 8);
    code.load(BPF_H, r5, r7, 2);
    code.put(BPF_ALU | BPF_END | BPF_TO_BE, r5, 0, 0, 16);
    code.put(BPF_STX | BPF_MEM | BPF_W, stack, r5, -4, 0);
    code.load_map(r1, ports_map);
    code.copy(r2, stack);
    code.reckon(BPF_ADD, r2, -4);
    code.call(BPF_FUNC_map_lookup_elem);
    code.jump_if_null(r0, Label::pass);
    code.copy(r8, r0);
    code.load(BPF_W, r1, r8, 8);
    code.jump_if(BPF_JEQ, r1, 0, Label::pass);
}

std::vector<bpf_insn> assemble(std::uint32_t destination, const Descriptor& ports_map, const Descriptor& sockets_map) {
    Assembler code;
    code.load(BPF_W, r9, r1, offsetof(xdp_md, rx_queue_index));
    code.load(BPF_W, r7, r1, offsetof(xdp_md, data));
    code.load(BPF_W, r3, r1, offsetof(xdp_md, data_end));
    code.reckon(BPF_ADD, r7, 12);
    read_type(code, Label::first_tag);
    read_type(code, Label::second_tag);
    read_last_type(code);
    code.here(Label::ip);
    code.reckon(BPF_ADD, r7, 2);
    read_ip(code, destination);
    find_port(code, ports_map);
    code.load_map(r1, sockets_map);
    code.copy(r2, r9);
    code.set(r3, XDP_PASS);  // if the queue has no socket
    code.call(BPF_FUNC_redirect_map);
    code.jump_if(BPF_JNE, r0, XDP_REDIRECT, Label::leave);
    code.set(r1, 1);
    code.put(BPF_STX | BPF_ATOMIC | BPF_DW, r8, r1, 0, BPF_ADD);
    code.here(Label::leave);
    code.exit();
    code.here(Label::pass);
    code.set(r0, XDP_PASS);
    code.exit();
    return code.finish();
}

Descriptor load(const std::vector<bpf_insn>& code, bool pieces) {
    static constexpr char licence[] = "Apache-2.0", name[] = "anello_receive";
    bpf_attr attributes{};
    attributes.prog_type = BPF_PROG_TYPE_XDP;
    attributes.expected_attach_type = BPF_XDP;
    attributes.insns = reinterpret_cast<std::uintptr_t>(code.data());
    attributes.insn_cnt = static_cast<std::uint32_t>(code.size());
    attributes.license = reinterpret_cast<std::uintptr_t>(licence);
    attributes.prog_flags = pieces ? BPF_F_XDP_HAS_FRAGS : 0;
    std::copy(std::begin(name), std::end(name), attributes.prog_name);
    // The kernel's check of a program fails with EAGAIN if the thread is interrupted; this repeats it as often as
    // libbpf.
    int number = -1;
    for (int attempt = 0; attempt < 5 && number < 0; ++attempt) {
        number = call_bpf(BPF_PROG_LOAD, attributes);
        if (number < 0 && errno != EAGAIN) break;
    }
    return checked(number, "cannot load the XDP program");
}

}  // namespace

XdpProgram::XdpProgram(std::uint32_t destination, std::uint32_t n_queues, bool pieces)
    : ports_map_(make_map(BPF_MAP_TYPE_ARRAY, sizeof(Port), n_ports, BPF_F_MMAPABLE)),
      sockets_map_(make_map(BPF_MAP_TYPE_XSKMAP, sizeof(std::uint32_t), n_queues, 0)),
      program_(load(assemble(destination, ports_map_, sockets_map_), pieces)),
      shared_ports_(ports_map_.number(), 0, n_ports * sizeof(Port)) {
    if (!shared_ports_.mapped()) throw SystemError("cannot share a BPF map", errno, remedy_for_kernel);
    ports_ = reinterpret_cast<Port*>(shared_ports_.begin());
}

void XdpProgram::add_socket(std::uint32_t queue, int socket) {
    const auto value = static_cast<std::uint32_t>(socket);
    bpf_attr attributes{};
    attributes.map_fd = static_cast<std::uint32_t>(sockets_map_.number());
    attributes.key = reinterpret_cast<std::uintptr_t>(&queue);
    attributes.value = reinterpret_cast<std::uintptr_t>(&value);
    if (call_bpf(BPF_MAP_UPDATE_ELEM, attributes) != 0)
        throw SystemError("cannot join an AF_XDP socket to its queue", errno, remedy_for(errno));
}

/// Attaches by a link: the kernel detaches the program when the link's descriptor is closed, however the process ends.
void XdpProgram::attach(std::uint32_t interface_index, XdpAttachment attachment) {
    bpf_attr attributes{};
    attributes.link_create.prog_fd = static_cast<std::uint32_t>(program_.number());
    attributes.link_create.target_ifindex = interface_index;
    attributes.link_create.attach_type = BPF_XDP;
    attributes.link_create.flags = attachment == XdpAttachment::native ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
    const int link = call_bpf(BPF_LINK_CREATE, attributes);
    if (link < 0)
        throw SystemError(attachment == XdpAttachment::native ? "cannot attach the XDP program to the driver"
                                                              : "cannot attach the XDP program to the interface",
                          errno,
                          errno == EBUSY || errno == EEXIST
                              ? "Another XDP program is attached: `ip link` names it, `bpftool link` its owner."
                              : remedy_for(errno));
    link_ = Descriptor(link);
}

std::uint64_t XdpProgram::n_handed_on(std::uint16_t port) const noexcept {
    return std::atomic_ref(ports_[port].n_handed_on).load(std::memory_order_acquire);  // the program's atomic add
}

}  // namespace anello::receive
