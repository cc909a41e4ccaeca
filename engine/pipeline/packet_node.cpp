// SPDX-License-Identifier: Apache-2.0
#include "pipeline/packet_node.hpp"

#include "pipeline/thread_keys.hpp"

namespace anello::pipeline {
namespace {

constexpr Nanoseconds last_packets_ns = 200'000'000;  // after the first board's end: packets of others are on their way

}  // namespace

constinit const Keys<PacketThreads> packet_threads_keys{"threads", threads_meaning,
                                                        thread_keys<PacketThreads, packet_chain>};

PacketNode::PacketNode(const PacketNodeConfig& config, receive::ParsePacket parse, const MakeUser& make_user,
                       const Clock& clock, Threads& threads)
    : config_(config),
      clock_(clock),
      page_(config.page),
      books_(parse, config.n_boards, config.sources, page_),
      user_(make_user(page_)),
      intake_(receive::make_backend(config.backend, clock, &page_), packets_, config.backend.batch_datagrams, clock,
              page_),
      came_to_used_(page_.add_leg("came_to_used")),
      speakers_(config.n_boards),
      runner_(clock, threads) {
    runner_.tell_in(page_);
    runner_.add({{stage()}, config.threads, config.wait});
    probe_ = add_probe(runner_, config.probe_share, config.threads, clock);
}

Stage PacketNode::stage() {
    Stage stage = intake_.stage();
    stage.add_notices = [this](Notices& notices) { add_notices(notices); };
    stage.add_states = [this](States& states) { intake_.add_states(states); };
    stage.add_latency = [this](Latencies& latency) { latency["came_to_used"] = &came_to_used_.run(); };
    return stage;
}

bool PacketNode::finished() const noexcept {
    if (intake_.finished()) return true;
    return config_.n_packets > 0 && books_.n_boards_at(config_.n_packets) * 2 >= books_.n_boards() &&
           clock_.monotonic_ns() - intake_.last_came_ns() >= last_packets_ns;
}

// Hot path from here on: no allocation, no lock, no log, no throw.
void PacketNode::Packets::use(const receive::Datagram& datagram) noexcept {
    receive::NumberedPacket packet;
    if (!node_.books_.take(datagram, packet)) return;
    node_.user_->use(packet);
    if (datagram.kernel_ns <= 0) return;
    const Nanoseconds now_ns = node_.clock_.wall_ns();
    node_.came_to_used_.record(now_ns, now_ns - datagram.kernel_ns);
}

std::size_t PacketNode::Packets::end_batch(Nanoseconds read_until_ns) noexcept {
    node_.books_.end_batch(read_until_ns);
    return 0;
}

void PacketNode::Packets::finish() noexcept {
    node_.user_->finish();
    node_.books_.close();
}

void PacketNode::add_notices(Notices& notices) {
    intake_.add_notices(notices);
    for (std::uint32_t board = 0; board < books_.n_boards(); ++board)
        speakers_[board].look(board, books_.counters(board)[receive::PacketCounter::strangers], books_.speakers(board),
                              notices);
}

}  // namespace anello::pipeline
