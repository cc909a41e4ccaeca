// SPDX-License-Identifier: Apache-2.0
// A node of an exchange among peers that say anything at any time: the transport keeps its contract, and what it
// carries is hostile. Nothing is written where it must not be, and the node's own books close.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "exchange/generator.hpp"
#include "exchange/station/station.hpp"

using namespace anello;
using namespace anello::exchange;

namespace {

constexpr Node n_nodes = 3;
constexpr auto n_types = static_cast<std::uint8_t>(MessageType::again) + 2;  ///< with two that are none

void require(bool condition) {
    if (!condition) std::abort();
}

/// Reads values from the input one after the other; 0 past its end.
class Input {
  public:
    Input(const std::uint8_t* data, std::size_t size) : left_(data, size) {}
    bool is_empty() const { return left_.empty(); }
    std::uint8_t byte() {
        if (left_.empty()) return 0;
        const std::uint8_t value = left_.front();
        left_ = left_.subspan(1);
        return value;
    }
    std::uint32_t number() {  // mostly small, as what is near is what may go wrong
        const std::uint8_t first = byte();
        if (first < 0xf0) return first;
        std::uint32_t value = 0;
        for (int i = 0; i < 4; ++i) value = value << 8 | byte();
        return value;
    }
    std::vector<std::byte> bytes(std::size_t n) {
        n = std::min(n, left_.size());
        std::vector<std::byte> taken(n);
        if (n > 0) std::memcpy(taken.data(), left_.data(), n);
        left_ = left_.subspan(n);
        return taken;
    }

  private:
    std::span<const std::uint8_t> left_;
};

/// Keeps each message until the input decides its outcome, within a fabric's contract: messages for a peer that is
/// given up are reported as failed, with the next progress.
class Transport final : public fabric::Fabric {
  public:
    struct Sent {
        Node to;
        std::uint64_t token;
    };
    std::vector<Sent> sent;
    fabric::Status answer = fabric::Status::ok;
    fabric::Listener* listener = nullptr;
    std::array<bool, n_nodes> is_up{};

    void give_back(Node peer) {
        const std::vector<Sent> all = std::exchange(sent, {});
        for (const Sent& one : all)
            if (one.to != peer) sent.push_back(one);
        for (const Sent& one : all)
            if (one.to == peer) listener->on_done(peer, one.token, fabric::Status::peer_down);
    }

    std::vector<std::byte> address() const override { return {}; }
    void connect(Node peer, std::span<const std::byte>) override { disconnect(peer); }
    void disconnect(Node peer) noexcept override {
        is_up[peer] = false;
        is_given_up_[peer] = true;
    }
    fabric::Status send(Node to, std::span<const std::byte>, std::span<const std::byte>,
                        std::uint64_t token) noexcept override {
        if (!is_up[to]) return fabric::Status::peer_down;
        if (answer == fabric::Status::ok) sent.push_back({to, token});
        return answer;
    }
    std::size_t progress() noexcept override {
        for (Node peer = 0; peer < n_nodes; ++peer)
            if (std::exchange(is_given_up_[peer], false)) give_back(peer);
        return 0;
    }
    fabric::PeerState state(Node peer) const noexcept override {
        return is_up[peer] ? fabric::PeerState::up : fabric::PeerState::down;
    }

    fabric::Region register_memory(std::span<std::byte>) override { return {}; }
    void deregister(fabric::Region) noexcept override {}
    std::vector<std::byte> key(fabric::Region) const override { return {}; }
    fabric::RemoteRegion attach(Node, std::span<const std::byte>) override { return {}; }
    fabric::Status put(fabric::RemoteRegion, std::size_t, std::span<const std::byte>, std::uint64_t,
                       std::uint64_t) noexcept override {
        return fabric::Status::refused;
    }
    fabric::Status get(fabric::RemoteRegion, std::size_t, std::span<std::byte>, std::uint64_t) noexcept override {
        return fabric::Status::refused;
    }
    int descriptor() const noexcept override { return -1; }
    bool arm() noexcept override { return false; }
    void wake() noexcept override {}
    std::size_t max_message_bytes() const noexcept override { return 1 << 20; }
    bool reliable() const noexcept override { return true; }
    std::string describe() const override { return "hostile"; }

  private:
    std::array<bool, n_nodes> is_given_up_{};
};

class KeepingSink final : public MepSink {
  public:
    bool is_full = false;
    bool try_take(const MepView& mep) noexcept override {
        if (is_full) return false;
        slots_.push_back(mep.slot);
        std::size_t n_bytes = 0;
        for (const auto& mfp : mep.mfps)
            for (const std::byte one : mfp) n_bytes += std::to_integer<std::size_t>(one);  // all of it is there
        return n_bytes < SIZE_MAX;
    }
    bool try_give_back(std::uint32_t& slot) noexcept override {
        if (slots_.empty()) return false;
        slot = slots_.front();
        slots_.pop_front();
        return true;
    }

  private:
    std::deque<std::uint32_t> slots_;
};

class Rig {
  public:
    Rig(Protocol protocol, bool waits_for_data, bool is_standby)
        : ring_({.n_buffers = 6, .buffer_bytes = source_config().max_mfp_bytes()}),
          generator_(source_config(), ring_, clock_, page_),
          station_(config_of(protocol, waits_for_data, is_standby), memory::Kind::host, &ring_, &sink_, clock_, page_) {
        fabric_.listener = &station_.listener();
        station_.join(fabric_);
        station_.begin();
    }

    void act(Input& input) {
        switch (input.byte() % 11) {
            case 0:
            case 1:
            case 2:
                return take_message(input, header_of(input));
            case 3:
                return take_message(input, input.bytes(message_header_bytes));
            case 4:
                return change_peer(static_cast<Node>(input.byte() % n_nodes), input.byte());
            case 5:
                return finish_arrival(input.byte());
            case 6:
                return finish_send(input);
            case 7:
                clock_.advance(Nanoseconds{input.number()} * 100'000);
                generator_.do_work();
                station_.do_work();
                return;
            case 8:
                fabric_.answer = input.byte() % 3 == 0 ? fabric::Status::busy : fabric::Status::ok;
                sink_.is_full = input.byte() % 3 == 0;
                return;
            case 9:
                return hear_manager(input);
            default:
                return hear_follower(input);
        }
    }

    void end() {
        station_.settle();
        check_readout();
        check_builder();
    }

  private:
    void check_readout() const {
        using enum ReadoutCounter;
        const auto& readout = station_.readout()->counters();
        require(readout[mfps_taken] == readout[mfps_sent] + readout[mfps_lost] + readout[mfps_lost_to_dead_builder] +
                                           readout[mfps_too_late] + readout[mfps_before_start] +
                                           readout[mfps_left_at_end] + readout[mfps_in_flight_at_end]);
    }
    void check_builder() const {
        using enum BuilderCounter;
        const auto& builder = station_.builder()->counters();
        require(builder[meps_opened] == builder[meps_complete] + builder[meps_incomplete] + builder[meps_left]);
        require(builder[sources_missing] ==
                builder[sources_absent] + builder[sources_gone] + builder[sources_spoilt] + builder[sources_timed_out]);
    }

  private:
    struct Arrival {
        Node from;
        std::vector<std::byte> header, payload;
        std::span<std::byte> place;
        std::uint32_t connection;
    };

    static GeneratorConfig source_config() {
        return {.fragment_mean_bytes = 8,
                .fragment_sigma_bytes = 1,
                .fragment_min_bytes = 1,
                .fragment_max_bytes = 16,
                .payload = PayloadMode::fresh,
                .source_id = 1,
                .packing = 2};
    }
    /// Node 1 of three that all read out and build; node 0 is the manager, which node 1 may stand by for.
    static ExchangeConfig config_of(Protocol protocol, bool waits_for_data, bool is_standby) {
        ExchangeConfig config;
        config.farm = parse_roles({is_standby ? "all+sb" : "all"}, n_nodes);
        config.self = 1;
        config.protocol = protocol;
        config.packing = 2;
        config.n_credits = 2;
        config.max_mfp_bytes = source_config().max_mfp_bytes();
        config.verify_share = 1;
        config.waits_for_data = waits_for_data;
        return config;
    }

    std::vector<std::byte> header_of(Input& input) {
        MessageHeader header{.type = static_cast<MessageType>(input.byte() % n_types), .from = 0};
        header.from = static_cast<Node>(input.byte() % (n_nodes + 1));
        header.sequence = input.number();
        header.acknowledged = input.number();
        header.n_entries = input.number();
        header.mep = input.number();
        header.use = input.number();
        header.slot = static_cast<std::uint16_t>(input.number());
        std::array<std::byte, message_header_bytes> bytes;
        write(header, bytes);
        return {bytes.begin(), bytes.end()};
    }

    /// A payload's place is the transport's until it has come, or the connection is gone.
    void take_message(Input& input, std::vector<std::byte> header) {
        const Node from = static_cast<Node>(input.byte() % n_nodes);
        if (!fabric_.is_up[from]) return;
        Arrival arrival{from, std::move(header), payload_of(input), {}, connections_[from]};
        if (!arrival.payload.empty()) {
            arrival.place = station_.listener().place(from, arrival.header, arrival.payload.size());
            if (arrival.place.size() < arrival.payload.size()) return;
        }
        arrivals_.push_back(std::move(arrival));
    }
    /// Bytes of anything, or our own card's packet: what another would send.
    std::vector<std::byte> payload_of(Input& input) {
        if (input.byte() % 2 == 0) return input.bytes(input.number() % 600);
        std::vector<std::byte> packet(source_config().max_mfp_bytes());
        wire::mfp::Writer writer(packet, {.alignment_log2 = GeneratorConfig::alignment_log2,
                                          .source_id = static_cast<std::uint16_t>(input.byte() % 4),
                                          .n_fragments = 2,
                                          .first_event = std::uint64_t{input.number()} * 2});
        for (int i = 0; i < 2; ++i) std::ranges::fill(writer.add(8), std::byte{7});
        packet.resize(writer.finish());
        return packet;
    }

    void finish_arrival(std::uint8_t how) {
        if (arrivals_.empty()) return;
        const std::size_t which = how % arrivals_.size();
        const Arrival arrival = std::move(arrivals_[which]);
        arrivals_.erase(arrivals_.begin() + static_cast<std::ptrdiff_t>(which));
        if (!fabric_.is_up[arrival.from] || arrival.connection != connections_[arrival.from]) return;
        std::ranges::copy(arrival.payload, arrival.place.begin());
        station_.listener().on_message(arrival.from, arrival.header, arrival.place.first(arrival.payload.size()));
    }

    void change_peer(Node peer, std::uint8_t how) {
        ++connections_[peer];
        if (!fabric_.is_up[peer]) {
            station_.connect(peer, how, {});
            fabric_.progress();
            fabric_.is_up[peer] = true;
            said_[peer] = 0;
            return station_.listener().on_peer(peer, fabric::PeerState::up);
        }
        fabric_.is_up[peer] = false;
        fabric_.give_back(peer);
        station_.listener().on_peer(peer, fabric::PeerState::down);
    }

    void finish_send(Input& input) {
        if (fabric_.sent.empty()) return;
        const std::size_t which = input.byte() % fabric_.sent.size();
        const Transport::Sent sent = fabric_.sent[which];
        fabric_.sent.erase(fabric_.sent.begin() + static_cast<std::ptrdiff_t>(which));
        station_.listener().on_done(sent.to, sent.token,
                                    input.byte() % 4 == 0 ? fabric::Status::lost : fabric::Status::ok);
    }

    /// Messages that bring a node into the run: all are live; and an assignment.
    void hear_manager(Input& input) {
        if (!fabric_.is_up[0]) return;
        std::vector<std::byte> entries;
        const bool is_farm = input.byte() % 2 == 0;
        const std::uint32_t n_entries = is_farm ? n_nodes : 1 + input.byte() % 4;
        entries.resize(n_entries * entry_bytes);
        for (std::uint32_t i = 0; i < n_entries; ++i) {
            if (is_farm)
                write(NodeEntry{.node = static_cast<Node>(i),
                                .live = input.byte() % 8 != 0,
                                .life = input.byte() % 4U,
                                .is_standby = i == 1},
                      entries.data() + i * entry_bytes);
            else
                write(Assignment{input.number(), input.number(), static_cast<std::uint16_t>(input.byte() % 4),
                                 static_cast<std::uint16_t>(input.byte() % 4)},
                      entries.data() + i * entry_bytes);
        }
        hear({.type = is_farm ? MessageType::farm : MessageType::assign, .from = 0, .n_entries = n_entries}, entries);
    }

    /// A node has let the manager go, this one or another, and says anything of itself.
    void hear_follower(Input& input) {
        const auto from = static_cast<Node>(1 + input.byte() % 2);
        if (!fabric_.is_up[from]) return;
        const std::uint32_t n_entries = 1 + input.byte() % 4;
        std::vector<std::byte> entries(n_entries * entry_bytes);
        write(Totals{input.number(), input.number()}, entries.data());
        for (std::uint32_t i = 1; i < n_entries; ++i)
            write(Assignment{input.byte() % 2 == 0 ? input.number() : free_slot, input.number(),
                             static_cast<std::uint16_t>(input.byte() % 4 == 0 ? built_lately : input.byte() % 4),
                             static_cast<std::uint16_t>(input.byte() % 8 == 0 ? input.byte() : from)},
                  entries.data() + i * entry_bytes);
        hear({.type = MessageType::follow,
              .from = from,
              .n_entries = n_entries,
              .mep = input.number(),
              .slot = static_cast<std::uint16_t>(input.byte() % 8)},
             entries);
    }

    /// Delivers it as the next message of its sender.
    void hear(MessageHeader header, std::span<const std::byte> entries) {
        header.sequence = ++said_[header.from];
        std::array<std::byte, message_header_bytes> bytes;
        write(header, bytes);
        const std::span<std::byte> place = station_.listener().place(header.from, bytes, entries.size());
        if (place.size() < entries.size()) return;
        std::ranges::copy(entries, place.begin());
        station_.listener().on_message(header.from, bytes, place.first(entries.size()));
    }

    ManualClock clock_{1'000'000'000};
    CounterPage page_;
    Transport fabric_;
    KeepingSink sink_;
    MfpRing ring_;
    Generator generator_;
    Station station_;
    std::array<std::uint32_t, n_nodes> connections_{};  ///< so many there were
    std::deque<Arrival> arrivals_;
    std::array<std::uint32_t, n_nodes> said_{};  ///< messages in order, over this connection
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input(data, size);
    const std::uint8_t kind = input.byte();
    Rig rig(static_cast<Protocol>(kind % 3), kind / 3 % 2 == 1, kind / 6 % 2 == 1);
    while (!input.is_empty()) rig.act(input);
    rig.end();
    return 0;
}
