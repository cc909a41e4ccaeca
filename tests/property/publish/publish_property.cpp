// SPDX-License-Identifier: Apache-2.0
// Whatever subscribers do, every record has one outcome, and comes whole or not at all; any bytes are read or
// refused.
#include <rapidcheck/gtest.h>

#include "unit/publish/ways.hpp"

namespace anello::publish {
namespace {

template <typename Way>
void play(WhenFull when_full) {
    test::Publishing publishing(Way::config(when_full));
    std::vector<std::unique_ptr<typename Way::Subscriber>> subscribers;
    std::uint64_t n_received = 0;
    const auto read_from = [&](typename Way::Subscriber& subscriber) {
        const auto received = subscriber.next();
        if (!received) return false;
        test::checked_number(*received);
        ++n_received;
        return true;
    };
    const auto n_steps = *rc::gen::inRange(1, 40);
    for (int step = 0; step < n_steps; ++step) {
        const auto chosen = *rc::gen::inRange<std::size_t>(0, 8);
        switch (*rc::gen::weightedElement<int>({{10, 0}, {6, 1}, {2, 2}, {1, 3}})) {
            case 0:
                publishing.try_next(*rc::gen::element<std::size_t>(0, 1, 100, 4000, 6000));
                break;
            case 1:
                if (!subscribers.empty()) read_from(*subscribers[chosen % subscribers.size()]);
                break;
            case 2:
                if (subscribers.size() < 4)
                    subscribers.push_back(std::make_unique<typename Way::Subscriber>(publishing.address()));
                break;
            default:
                if (subscribers.empty()) break;
                subscribers[chosen % subscribers.size()]->die();
                subscribers.erase(subscribers.begin() + static_cast<std::ptrdiff_t>(chosen % subscribers.size()));
        }
    }
    publishing.publisher().give_up();
    publishing.try_next();
    std::atomic<bool> is_closed{false};
    std::thread closing([&] {
        publishing.publisher().close();
        is_closed.store(true);
    });
    while (!is_closed.load())
        for (auto& subscriber : subscribers) read_from(*subscriber);
    closing.join();
    RC_ASSERT(publishing.unbalanced() == "");
    if constexpr (Way::shows_all_drops && !std::is_same_v<Way, test::StreamWay>)
        RC_ASSERT(n_received <= publishing[PublishCounter::records_sent]);
}

RC_GTEST_PROP(PublishProperty, NothingIsLostUncounted, ()) {
    const auto when_full = *rc::gen::element(WhenFull::wait, WhenFull::drop);
    if (*rc::gen::arbitrary<bool>()) return play<test::StreamWay>(when_full);
    play<test::PushWay>(when_full);
}

RC_GTEST_PROP(PublishProperty, AnyBytesAreReadOrRefused, ()) {
    RecordWriter writer(RecordKind::mep, 3, 0);
    const auto values = *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::arbitrary<std::uint32_t>());
    writer.begin(1);
    writer.add_value("one", 1.5F);
    writer.add_array("values", std::span<const std::uint32_t>(values));
    const OutgoingRecord record = writer.finish();
    test::Received bytes(record.length_bytes() / 8);
    record.copy_to(reinterpret_cast<std::byte*>(bytes.data()));
    RecordView view;
    RC_ASSERT(RecordView::parse(std::as_bytes(std::span(bytes)), view) == RecordVerdict::ok);
    RC_ASSERT(view.value<float>("one") == 1.5F);
    const auto found = view.array<std::uint32_t>("values");
    RC_ASSERT(std::equal(found.begin(), found.end(), values.begin(), values.end()));
    // The head only: arrays may hold anything.
    const auto n_changes = *rc::gen::inRange(1, 4);
    auto* const raw = reinterpret_cast<std::uint8_t*>(bytes.data());
    for (int i = 0; i < n_changes; ++i)
        raw[*rc::gen::inRange<std::size_t>(0, 64 + 2 * 64)] = *rc::gen::arbitrary<std::uint8_t>();
    const auto n_left = *rc::gen::inRange<std::size_t>(0, bytes.size() + 1);
    const std::vector<std::uint64_t> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n_left));
    if (RecordView::parse(std::as_bytes(std::span(cut)), view) != RecordVerdict::ok) return;
    for (const ArrayEntry& entry : view.entries()) {
        const std::size_t end = entry.offset_bytes + RecordView::n_values(entry) * bytes_of(entry.type);
        RC_ASSERT(end <= cut.size() * 8);
    }
}

}  // namespace
}  // namespace anello::publish
