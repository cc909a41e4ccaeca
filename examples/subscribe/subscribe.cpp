// SPDX-License-Identifier: Apache-2.0
// Adds up what a running chain publishes: subscribe ADDRESS [sub|pull]
#include <zmq.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <publish/record.hpp>
#include <stdexcept>
#include <stream/stream.hpp>
#include <string>
#include <vector>

namespace publish = anello::publish;
namespace stream = anello::stream;

namespace {

class Sums {
  public:
    /// False: the publisher is done.
    bool add(std::span<const std::byte> bytes) {
        publish::RecordView record;
        if (const auto verdict = publish::RecordView::parse(bytes, record); verdict != publish::RecordVerdict::ok)
            throw std::runtime_error(std::string("the message is no record: ") + publish::name_of(verdict));
        const publish::RecordHeader& header = record.header();
        if (has_first_) n_missed_ += header.sequence - next_sequence_;
        has_first_ = true;
        next_sequence_ = header.sequence + 1;
        if (header.kind == publish::RecordKind::end) return false;
        ++n_records_;
        if (header.kind == publish::RecordKind::decisions) {
            n_events_ += record.array<std::uint64_t>("event_key").size();
            n_rings_ += record.array<float>("ring_x_mm").size();
        } else if (header.kind == publish::RecordKind::kept_event) {
            ++n_events_;
            const auto charge = record.array<float>("charge");
            charge_ += std::accumulate(charge.begin(), charge.end(), 0.0);
        } else {
            n_events_ += record.value<std::uint32_t>("n_events");
        }
        return true;
    }
    void print() const {
        std::printf("%zu records (%zu missed), %zu events, %zu rings, charge %.0f\n", n_records_, n_missed_, n_events_,
                    n_rings_, charge_);
    }

  private:
    bool has_first_ = false;
    std::uint64_t next_sequence_ = 0;
    std::size_t n_records_ = 0, n_missed_ = 0, n_events_ = 0, n_rings_ = 0;
    double charge_ = 0;
};

void read_stream(const std::string& address, Sums& sums) {
    anello::CounterPage page;
    stream::StreamConfig config;
    config.direction = stream::Direction::receive;
    config.ring_bytes = std::size_t{16} << 20;  // what may be on its way to us; no record may be larger
    config.connect_ns = 60'000'000'000;
    const auto incoming = stream::connect(address, config, page.add_block<stream::StreamCounter>("stream"));
    stream::ConstBytes message;
    stream::StreamStatus status;
    while ((status = incoming->peek_message(message)) == stream::StreamStatus::ok) {
        sums.add(message);  // where it lies, until it is released
        incoming->release_message();
    }
    if (status != stream::StreamStatus::closed) throw std::runtime_error(stream::name_of(status));
}

void read_zmq(const std::string& address, bool pull, Sums& sums) {
    const std::unique_ptr<void, int (*)(void*)> context(zmq_ctx_new(), zmq_ctx_term);
    const std::unique_ptr<void, int (*)(void*)> socket(zmq_socket(context.get(), pull ? ZMQ_PULL : ZMQ_SUB), zmq_close);
    if (!pull) zmq_setsockopt(socket.get(), ZMQ_SUBSCRIBE, "", 0);
    if (zmq_connect(socket.get(), address.c_str()) != 0) throw std::runtime_error(zmq_strerror(zmq_errno()));
    std::vector<std::uint64_t> aligned;
    for (bool goes_on = true; goes_on;) {
        zmq_msg_t message;
        zmq_msg_init(&message);
        const int n_bytes = zmq_msg_recv(&message, socket.get(), 0);
        if (n_bytes < 0) throw std::runtime_error(zmq_strerror(zmq_errno()));
        const void* data = zmq_msg_data(&message);
        const auto size_bytes = static_cast<std::size_t>(n_bytes);
        if (reinterpret_cast<std::uintptr_t>(data) % publish::record_alignment != 0) {  // small ones lie anywhere
            aligned.resize(size_bytes / sizeof(std::uint64_t) + 1);
            data = std::memcpy(aligned.data(), data, size_bytes);
        }
        goes_on = sums.add({static_cast<const std::byte*>(data), size_bytes});
        zmq_msg_close(&message);
    }
}

}  // namespace

int main(int n_arguments, char** arguments) try {
    if (n_arguments < 2) throw std::invalid_argument("subscribe ADDRESS [sub|pull]");
    const std::string address = arguments[1];
    Sums sums;
    if (address.starts_with("stream://"))
        read_stream(address.substr(9), sums);
    else
        read_zmq(address, n_arguments > 2 && std::string(arguments[2]) == "pull", sums);
    sums.print();
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
