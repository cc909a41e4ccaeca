// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/kernel_handle.hpp"
#include "fabric/fabric_config.hpp"
#include "fabric/fifo.hpp"
#include "fabric/region_table.hpp"

namespace anello::fabric {

class InProcessFabric;

/// The switchboard of the fabrics of one process. Its lock is held while bytes are copied: no other transport locks.
class InProcessHub {
  public:
    /// The hub of all fabrics with this farm_id; it lives as long as one of them.
    static std::shared_ptr<InProcessHub> of_farm(std::uint64_t farm_id);

    /// Acts as if the peer's process had died: its fabric does nothing any more, the others find it down.
    void kill(Peer peer) noexcept;

  private:
    friend class InProcessFabric;

    void join(InProcessFabric& fabric);
    void leave(InProcessFabric& fabric) noexcept;
    InProcessFabric* find(std::uint64_t incarnation) noexcept;
    void notify_all() noexcept;

    std::recursive_mutex mutex_;  ///< recursive: place() may send
    std::map<std::uint64_t, InProcessFabric*> members_;
    std::uint64_t last_incarnation_ = 0;
};

/// Messages between fabrics of one process, copied once, from the sender's memory to where place() says, when the
/// receiver makes progress. The same calls in the same order do the same each time. FabricConfig::transport is not
/// read.
class InProcessFabric final : public Fabric {
  public:
    InProcessFabric(const FabricConfig& config, Listener& listener, const Clock& clock,
                    Counters<FabricCounter> counters, std::shared_ptr<InProcessHub> hub);
    ~InProcessFabric() override;

    std::vector<std::byte> address() const override;
    void connect(Peer peer, std::span<const std::byte> address) override;
    void disconnect(Peer peer) noexcept override;
    Region register_memory(std::span<std::byte> memory) override;
    void deregister(Region region) noexcept override;
    std::vector<std::byte> key(Region region) const override;
    RemoteRegion attach(Peer peer, std::span<const std::byte> key) override;

    Status send(Peer to, std::span<const std::byte> header, std::span<const std::byte> payload,
                std::uint64_t token) noexcept override;
    Status put(RemoteRegion to, std::size_t offset, std::span<const std::byte> from, std::uint64_t signal,
               std::uint64_t token) noexcept override;
    Status get(RemoteRegion from, std::size_t offset, std::span<std::byte> to, std::uint64_t token) noexcept override;
    std::size_t progress() noexcept override;

    int descriptor() const noexcept override { return wake_.number(); }
    bool arm() noexcept override;
    void wake() noexcept override;

    PeerState state(Peer peer) const noexcept override;
    std::size_t max_message_bytes() const noexcept override { return config_.max_message_bytes; }
    bool reliable() const noexcept override { return true; }
    std::string describe() const override;

  private:
    friend class InProcessHub;

    enum class Kind : std::uint8_t { given_back, message, put, get };
    struct Item {  ///< on its way; its bytes are still the sender's
        Kind kind = Kind::given_back;
        Peer from = 0;
        std::uint8_t header_bytes = 0;
        std::byte header[max_header_bytes] = {};
        std::span<const std::byte> payload{};
        std::span<std::byte> destination{};
        std::uint32_t region = 0;
        std::size_t offset = 0;
        std::uint64_t signal = 0, token = 0;
    };
    struct Done {
        Kind kind = Kind::message;
        Peer to = 0;
        Status status = Status::ok;
        std::uint64_t token = 0;
    };
    struct Link {
        PeerState state = PeerState::absent;
        std::uint64_t incarnation = 0;
        Nanoseconds since_ns = 0;
        InProcessFabric* partner = nullptr;  ///< set on both sides at once, taken from both at once
        std::size_t in_flight = 0;           ///< until on_done()
    };

    void die() noexcept;
    void part(Peer peer) noexcept;
    void give_back(Peer from) noexcept;
    void notify() noexcept;
    std::size_t follow_links() noexcept;
    std::size_t follow(Peer peer) noexcept;
    void try_pair(Link& link) noexcept;
    Status post(Peer to, const Item& item) noexcept;
    std::size_t report_done() noexcept;
    void report(const Done& done) noexcept;
    std::size_t take_in() noexcept;
    bool try_take_one() noexcept;
    void receive(const Item& item, std::unique_lock<std::recursive_mutex>& lock) noexcept;
    Status move_bytes(const Item& item) noexcept;

    const FabricConfig config_;
    Listener& listener_;
    const Clock& clock_;
    Counters<FabricCounter> counters_;
    const std::shared_ptr<InProcessHub> hub_;
    std::uint64_t incarnation_ = 0;
    Descriptor wake_;
    std::vector<Link> links_;
    Fifo<Item> inbox_;
    Fifo<Done> done_;
    RegionTable regions_;
    bool dead_ = false, pending_ = false, armed_ = false;
};

/// Replaces make_fabric(): farms with different farm_id are separate.
std::unique_ptr<Fabric> make_in_process_fabric(const FabricConfig& config, Listener& listener, const Clock& clock,
                                               Counters<FabricCounter> counters);

}  // namespace anello::fabric
