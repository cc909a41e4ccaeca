// SPDX-License-Identifier: Apache-2.0
#include "simulate/farm/farm_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "exchange/messages/messages.hpp"

namespace anello::simulate {
namespace {

using exchange::MessageType;

const char* name_of(MessageType type) {
    constexpr std::array names{"mfp",    "absent",  "hello",    "farm",   "assign",  "request", "cancel",
                               "credit", "leave",   "end",      "stop",   "stopped", "alive",   "acknowledge",
                               "step",   "outcome", "takeover", "follow", "again"};
    static_assert(names.size() == static_cast<std::size_t>(MessageType::again));
    const auto place = static_cast<std::size_t>(type) - 1;
    return place < names.size() ? names[place] : "unknown";
}

std::string text_of(const Packet& packet) {
    constexpr std::array kinds{"open", "close", "alive", "message", "put", "get", "taken", "read"};
    exchange::MessageHeader header;
    const std::span bytes(packet.header.data(), packet.header_bytes);
    if (packet.kind != Packet::Kind::message || !read(bytes, header))
        return kinds[static_cast<std::size_t>(packet.kind)];
    const bool has_mep = header.type == MessageType::mfp || header.type == MessageType::absent;
    return has_mep ? fmt::format("{} {}", name_of(header.type), header.mep) : name_of(header.type);
}

class Tracer {
  public:
    Tracer(SimulatedFarm& farm, std::size_t max_messages)
        : farm_(farm), max_messages_(max_messages), nodes_(farm.hosts().size()) {
        for (auto& node : nodes_) node.seen.assign(nodes_.size(), exchange::NodeState::connecting);
        farm.on_delivery([this](const Packet& packet) { note(packet); });
    }

    std::vector<TraceLine> run() {
        farm_.run([this] {
            for (Node node = 0; node < nodes_.size(); ++node) look_at(node);
        });
        note_faults();
        lines_.insert(lines_.end(), messages_.begin(), messages_.end());
        std::ranges::stable_sort(lines_, {}, &TraceLine::at_ns);
        return std::move(lines_);
    }

  private:
    struct Known {
        std::size_t n_processes = 0, n_built = 0;
        bool is_running = false;
        std::vector<exchange::NodeState> seen;
    };

    Nanoseconds now_ns() const { return farm_.world().monotonic_ns() - World::begin_ns; }
    void add(const char* kind, Node node, Node other, std::string text) {
        lines_.push_back({kind, now_ns(), now_ns(), node, other, std::move(text)});
    }

    void note(const Packet& packet) {
        if (packet.kind >= Packet::Kind::taken || packet.kind == Packet::Kind::alive) return;
        messages_.push_back(
            {"message", packet.sent_ns - World::begin_ns, now_ns(), packet.from, packet.to, text_of(packet)});
        if (messages_.size() > max_messages_) messages_.pop_front();
    }

    void look_at(Node node) {
        const FarmHost& host = *farm_.hosts()[node];
        if (host.processes().empty()) return;
        const FarmProcess& process = *host.processes().back();
        Known& known = nodes_[node];
        if (known.n_processes != host.processes().size()) {
            known = {host.processes().size(), 0, true, known.seen};
            add("process", node, node, "starts");
        }
        for (Node other = 0; other < nodes_.size(); ++other) {
            const exchange::NodeState seen = process.station().seen(other);
            if (seen == std::exchange(known.seen[other], seen) || other == node) continue;
            add("link", node, other, fmt::format("sees node {} {}", other, exchange::name_of(seen)));
        }
        note_built(node, process);
        if (std::exchange(known.is_running, host.is_running()) && !host.is_running()) note_end(node, process);
    }

    void note_built(Node node, const FarmProcess& process) {
        if (process.sink() == nullptr) return;
        const auto& built = process.sink()->built();
        for (std::size_t& n = nodes_[node].n_built; n < built.size(); ++n) {
            std::string text = fmt::format("MEP {}", built[n].mep);
            if (!built[n].missing.empty()) text += fmt::format(", lacks {} parts", built[n].missing.size());
            if (!built[n].wrong.empty()) text += ": " + built[n].wrong;
            add("built", node, node, std::move(text));
        }
    }

    void note_end(Node node, const FarmProcess& process) {
        const exchange::Station& station = process.station();
        if (station.failed()) return add("process", node, node, "fails: " + station.failure());
        add("process", node, node, station.finished() ? "finishes" : "dies");
    }

    void note_faults() {
        for (std::size_t i = 0; i < farm_.scenario().faults.size(); ++i) {
            const Fault& fault = farm_.scenario().faults[i];
            const FaultTimes& times = farm_.fault_times()[i];
            if (!times.happened) continue;
            lines_.push_back({"fault", times.begin_ns - World::begin_ns, times.end_ns - World::begin_ns, fault.node,
                              fault.kind == FaultKind::cut ? fault.other : fault.node, fault.describe()});
        }
    }

    SimulatedFarm& farm_;
    const std::size_t max_messages_;
    std::vector<Known> nodes_;
    std::vector<TraceLine> lines_;
    std::deque<TraceLine> messages_;
};

}  // namespace

std::vector<TraceLine> run_traced(SimulatedFarm& farm, std::size_t max_messages) {
    return Tracer(farm, max_messages).run();
}

}  // namespace anello::simulate
