// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zmq.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "memory/persistent_buffers.hpp"
#include "publish/publisher.hpp"

namespace anello::publish {

/// What libzmq holds in a buffer.
enum class Lent : std::uint8_t { no, record, end };

/// Sends records as ZeroMQ messages of one part, PUSH or PUB: one copy into a buffer that libzmq sends and returns. PUB
/// is an XPUB socket, which reports subscriptions and can wait for subscribers.
///
/// A subscriber's high-water mark is its share of the buffers. Only gaps in the sequence numbers show what PUB drops
/// beyond it (when_full drop), and what is in a queue when a subscriber dies.
class ZmqPublisher final : public Publisher {
  public:
    /// Binds immediately; a wildcard port (tcp://127.0.0.1:*) takes any free one. Throws ConfigError, SystemError.
    ZmqPublisher(const PublishConfig& config, std::size_t largest_record_bytes, const Clock& clock, CounterPage& page);
    ~ZmqPublisher() override;

    void close() noexcept override;
    std::string address() const override { return address_; }
    Notices notices() override;

  private:
    struct TermContext {
        void operator()(void* context) const noexcept { zmq_ctx_term(context); }
    };
    struct CloseSocket {
        void operator()(void* socket) const noexcept { zmq_close(socket); }
    };

    Outcome offer(const OutgoingRecord& record, bool may_drop) noexcept override;
    bool is_pub() const noexcept { return config().to == PublishTo::zmq_pub; }
    void make_socket();
    void set(int option, int value);
    bool has_peers() noexcept;
    bool has_room() noexcept;
    bool fill_message(const OutgoingRecord& record) noexcept;
    Outcome send_message(bool may_drop) noexcept;
    void send_end() noexcept;
    std::uint32_t n_lent() const noexcept;
    std::uint32_t n_lent(Lent what) const noexcept;

    memory::PersistentBuffers buffers_;
    std::unique_ptr<std::atomic<Lent>[]> lent_;  ///< of each buffer
    std::uint32_t next_buffer_ = 0;
    std::unique_ptr<void, TermContext> context_;  ///< must end before the buffers
    std::unique_ptr<void, CloseSocket> socket_;
    std::string address_;
    bool is_openness_reported_ = false;
    zmq_msg_t message_{};
    bool holds_message_ = false;  ///< the message holds the record that is being offered
    std::uint64_t n_topics_ = 0;  ///< PUB: topics requested by subscribers
};

}  // namespace anello::publish
