// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "receive/datagrams/socket_backend.hpp"
#include "receive/frames/capture_file.hpp"
#include "receive/frames/udp_frame.hpp"

namespace anello::receive {

/// An Ethernet frame for the card's model, without FCS.
struct NanetFrame {
    std::span<const std::byte> bytes;
    std::int32_t stream = -1;   ///< destination according to the headers; -1: none of ours
    Nanoseconds kernel_ns = 0;  ///< as in Datagram
};

/// A source of frames for the card's model. As for Backend, one thread calls it, and functions of the same name have
/// the same meaning.
class NanetFrames {
  public:
    NanetFrames() = default;
    NanetFrames(const NanetFrames&) = delete;
    NanetFrames& operator=(const NanetFrames&) = delete;
    virtual ~NanetFrames() = default;

    static constexpr std::size_t most_at_once = 32;
    static constexpr MacAddress card_mac{2, 0, 0, 0, 0, 1}, other_mac{2, 0, 0, 0, 0, 2};

    virtual std::size_t n_streams() const noexcept = 0;
    virtual std::uint16_t port(std::uint16_t stream) const noexcept = 0;
    /// Fills `frames`, at most most_at_once, with the frames available now; valid until the next call.
    virtual std::size_t take(std::span<NanetFrame> frames) noexcept = 0;
    virtual void set_wanted(std::uint16_t stream, bool wanted) noexcept = 0;
    virtual bool is_read(std::uint16_t stream) const noexcept = 0;
    virtual bool has_time() const noexcept {
        return true;
    }  ///< False if frames have no arrival times, as in a file at full speed.
    virtual MacAddress mac() const noexcept { return card_mac; }  ///< The card's.
    virtual bool is_for_card() const noexcept { return true; }    ///< False if frames for other addresses come, too.
    virtual std::uint64_t kernel_dropped(std::uint16_t) const noexcept { return 0; }
    /// Datagrams dropped by the system for all streams, and for none. May cost system calls.
    virtual std::uint64_t socket_dropped() const noexcept;
    virtual std::uint64_t n_joined() const noexcept { return 0; }  ///< Joined frames, on no wire, skipped.
    virtual std::uint64_t n_super_packets(std::uint16_t) const noexcept { return 0; }
    virtual int descriptor() const noexcept { return -1; }
    virtual bool has_more_coming() const noexcept { return false; }
    virtual bool finished() const noexcept { return false; }
    virtual std::string describe() const = 0;

  protected:
    static constexpr std::size_t slot_bytes = udp_header_bytes + 65536;
    std::span<std::byte> slot(std::size_t i) noexcept { return {slots_.get() + i * slot_bytes, slot_bytes}; }

  private:
    std::unique_ptr<std::byte[]> slots_ = std::make_unique<std::byte[]>(most_at_once * slot_bytes);
};

/// Real datagrams from UDP sockets. Each is put into a new frame with correct checksums; the kernel has already handled
/// any damage to the original frame.
class UdpNanetFrames final : public NanetFrames {
  public:
    explicit UdpNanetFrames(const SocketBackendConfig& config);  ///< Throws ConfigError, SystemError.

    std::size_t n_streams() const noexcept override { return sockets_.n_streams(); }
    std::uint16_t port(std::uint16_t stream) const noexcept override { return sockets_.port(stream); }
    std::size_t take(std::span<NanetFrame> frames) noexcept override;
    void set_wanted(std::uint16_t stream, bool wanted) noexcept override { sockets_.set_wanted(stream, wanted); }
    bool is_read(std::uint16_t stream) const noexcept override { return sockets_.is_read(stream); }
    std::uint64_t kernel_dropped(std::uint16_t stream) const noexcept override {
        return sockets_.kernel_dropped(stream);
    }
    std::uint64_t n_super_packets(std::uint16_t stream) const noexcept override {
        return sockets_.n_super_packets(stream);
    }
    int descriptor() const noexcept override { return sockets_.descriptor(); }
    bool has_more_coming() const noexcept override { return sockets_.has_more_coming(); }
    std::string describe() const override;

  private:
    SocketBackend sockets_;
    std::uint32_t own_host_;
    std::vector<Datagram> batch_;
};

/// The unchanged frames of a capture file. Frames shorter than Ethernet allows are padded, like a sender's card does.
class CaptureNanetFrames final : public NanetFrames {
  public:
    /// Throws ConfigError.
    CaptureNanetFrames(const std::string& path, std::vector<std::uint16_t> ports, double speed, const Clock& clock);

    std::size_t n_streams() const noexcept override { return ports_.size(); }
    std::uint16_t port(std::uint16_t stream) const noexcept override { return ports_[stream]; }
    std::size_t take(std::span<NanetFrame> frames) noexcept override;
    void set_wanted(std::uint16_t stream, bool wanted) noexcept override { wanted_[stream] = wanted ? 1 : 0; }
    bool is_read(std::uint16_t stream) const noexcept override { return wanted_[stream] != 0 && !is_behind_; }
    bool has_time() const noexcept override { return pace_.has_time(); }
    bool is_for_card() const noexcept override { return false; }
    bool finished() const noexcept override { return file_.at_end() && !has_next_; }
    std::string describe() const override;

  private:
    bool find_next() noexcept;
    NanetFrame keep(std::size_t i) noexcept;

    std::string path_;
    std::vector<std::uint16_t> ports_;
    std::vector<std::int32_t> stream_of_port_;
    CapturePace pace_;
    CaptureFile file_;
    std::vector<std::uint8_t> wanted_;
    CapturedFrame next_;
    std::int32_t next_stream_ = -1;
    bool has_next_ = false, is_behind_ = false;
};

}  // namespace anello::receive
