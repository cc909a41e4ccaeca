// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>
#include <zmq.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/errors.hpp"
#include "patience.hpp"
#include "publish/publisher.hpp"
#include "publish/record.hpp"
#include "stream/stream.hpp"

/// Both ways to publish, with a subscriber for each.
namespace anello::publish::test {

using anello::test::comes_true;
using anello::test::patience_ns;
inline constexpr std::size_t largest_bytes = 40'000;

inline std::string unused_name() {
    static std::atomic<int> n_used{0};
    return "anello-publish-" + std::to_string(getpid()) + "-" + std::to_string(n_used++);
}

/// Copies of records, 8-byte aligned.
using Received = std::vector<std::uint64_t>;
inline RecordView view_of(const Received& received) {
    RecordView view;
    EXPECT_EQ(RecordView::parse(std::as_bytes(std::span(received)), view), RecordVerdict::ok);
    return view;
}
inline Received copy_of(const void* data, std::size_t n_bytes) {
    Received received(n_bytes / 8);
    std::memcpy(received.data(), data, n_bytes);
    return received;
}

struct StreamWay {
    static constexpr bool shows_all_drops = true;
    static PublishConfig config(WhenFull when_full) {
        return {.to = PublishTo::stream, .address = "@" + unused_name(), .when_full = when_full};
    }

    class Subscriber {
      public:
        explicit Subscriber(const std::string& address) {
            stream::StreamConfig config;
            config.direction = stream::Direction::receive;
            config.ring_bytes = stream::smallest_ring_bytes;
            config.connect_ns = patience_ns;
            stream_ = stream::connect(address, config, page_.add_block<stream::StreamCounter>("stream"));
        }
        /// Returns none if no record is there now, or ever will be.
        std::optional<Received> next() {
            stream::ConstBytes message;
            const stream::StreamStatus status = stream_->peek_message(message, 0);
            has_ended_ = status == stream::StreamStatus::closed;
            if (status != stream::StreamStatus::ok) return std::nullopt;
            Received received = copy_of(message.data(), message.size());
            stream_->release_message();
            return received;
        }
        bool has_ended() const { return has_ended_; }
        void die() { stream_->abandon(); }

      private:
        CounterPage page_;
        std::unique_ptr<stream::Stream> stream_;
        bool has_ended_ = false;
    };
};

template <PublishTo to>
struct ZmqWay {
    static constexpr bool shows_all_drops = to == PublishTo::zmq_push;
    static PublishConfig config(WhenFull when_full) {
        return {.to = to,
                .address = "ipc://" + (std::filesystem::temp_directory_path() / unused_name()).string(),
                .when_full = when_full,
                .max_subscribers = 2,
                .n_buffers = 8};
    }

    class Subscriber {
      public:
        explicit Subscriber(const std::string& address)
            : context_(zmq_ctx_new(), zmq_ctx_term),
              socket_(zmq_socket(context_.get(), to == PublishTo::zmq_push ? ZMQ_PULL : ZMQ_SUB), zmq_close) {
            const int mark = 1, now = 0;
            zmq_setsockopt(socket_.get(), ZMQ_RCVHWM, &mark, sizeof mark);
            zmq_setsockopt(socket_.get(), ZMQ_LINGER, &now, sizeof now);
            if (to == PublishTo::zmq_pub) zmq_setsockopt(socket_.get(), ZMQ_SUBSCRIBE, nullptr, 0);
            EXPECT_EQ(zmq_connect(socket_.get(), address.c_str()), 0);
        }
        std::optional<Received> next() {
            zmq_msg_t message;
            zmq_msg_init(&message);
            std::optional<Received> received;
            if (zmq_msg_recv(&message, socket_.get(), ZMQ_DONTWAIT) >= 0)
                received = copy_of(zmq_msg_data(&message), zmq_msg_size(&message));
            zmq_msg_close(&message);
            if (!received || view_of(*received).header().kind != RecordKind::end) return received;
            EXPECT_GT(view_of(*received).header().published_ns, 0);
            has_ended_ = true;
            return std::nullopt;
        }
        bool has_ended() const { return has_ended_; }
        void die() { socket_.reset(); }

      private:
        std::unique_ptr<void, int (*)(void*)> context_, socket_;
        bool has_ended_ = false;
    };
};

using PushWay = ZmqWay<PublishTo::zmq_push>;
using PubWay = ZmqWay<PublishTo::zmq_pub>;

/// A publisher of records that say their own number.
class Publishing {
  public:
    explicit Publishing(const PublishConfig& config, const Clock& clock = SystemClock::instance())
        : publisher_(make_publisher(config, largest_bytes, clock, page_)) {}

    /// Tries once to publish the next record, of this number of values.
    bool try_next(std::size_t n_values = 100) {
        writer_.begin(7);
        writer_.add_value("number", n_taken_);
        values_.assign(n_values, n_taken_);
        writer_.add_array("values", std::span<const std::uint64_t>(values_));
        const bool is_taken = publisher_->try_publish(writer_.finish());
        n_taken_ += is_taken ? 1 : 0;
        return is_taken;
    }
    bool next(std::size_t n_values = 100) {
        return comes_true([&] { return try_next(n_values); });
    }
    /// Errors of the accounts; empty if there is none.
    std::string unbalanced() const {
        using enum PublishCounter;
        const auto& n = publisher_->counters();
        if (n[records_in] != n_taken_) return "records_in";
        const std::uint64_t sum = n[records_sent] + n[records_dropped_full] + n[records_dropped_nobody] +
                                  n[records_dropped_too_large] + n[records_dropped_failed] + n[records_dropped_at_end];
        if (sum != n_taken_) return "outcomes";
        for (std::size_t i = 0; const std::string& block : subscriber_blocks()) {
            if (sample(block, "records_offered") != sample(block, "records_sent") +
                                                        sample(block, "records_dropped_full") +
                                                        sample(block, "records_dropped_gone"))
                return "subscriber " + std::to_string(i);
            ++i;
        }
        return "";
    }
    std::uint64_t sample(const std::string& block, const std::string& name) const {
        for (const auto& found : page_.read())
            if (found.block == block && found.name == name) return found.value;
        return 0;
    }
    std::uint64_t operator[](PublishCounter counter) const { return publisher_->counters()[counter]; }
    std::uint64_t n_taken() const { return n_taken_; }
    Publisher& publisher() { return *publisher_; }
    std::string address() const { return publisher_->address(); }

  private:
    std::vector<std::string> subscriber_blocks() const {
        std::vector<std::string> blocks;
        for (const auto& found : page_.read())
            if (found.name == "records_offered") blocks.push_back(found.block);
        return blocks;
    }

    CounterPage page_;
    std::unique_ptr<Publisher> publisher_;
    RecordWriter writer_{RecordKind::mep, 2, 0};
    std::vector<std::uint64_t> values_;
    std::uint64_t n_taken_ = 0;
};

/// Checks, for the calling test, that a record is what Publishing made.
inline std::uint64_t checked_number(const Received& received) {
    const RecordView view = view_of(received);
    const auto number = view.value<std::uint64_t>("number", ~std::uint64_t{0});
    EXPECT_EQ(view.header().sequence, number);
    EXPECT_EQ(view.header().run, 7U);
    for (const std::uint64_t value : view.array<std::uint64_t>("values"))
        if (value != number) ADD_FAILURE() << "a value of record " << number << " is " << value;
    return number;
}

}  // namespace anello::publish::test
