// SPDX-License-Identifier: Apache-2.0
// A page that anybody may have written: whatever stands in it, and however short it is, reading it does no harm.
#include <fcntl.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/counters/page_layout.hpp"
#include "core/counters/page_reader.hpp"
#include "core/errors.hpp"
#include "core/kernel_handle.hpp"

namespace anello {
namespace {

/// Noise of the size of a page. It is drawn once; each call returns another piece of it.
std::vector<std::uint64_t> noise(std::uint64_t first) {
    constexpr std::size_t n_words = sizeof(PageLayout) / sizeof(std::uint64_t), n_pieces = 4096;
    static const std::vector<std::uint64_t> drawn = [] {
        std::vector<std::uint64_t> words(n_words + n_pieces);
        std::ranges::generate(words, std::mt19937_64(1));
        return words;
    }();
    const auto begin = drawn.begin() + static_cast<std::ptrdiff_t>(first % n_pieces);
    return {begin, begin + static_cast<std::ptrdiff_t>(n_words)};
}

/// A page of n_bytes, random where it may be, in shared memory as long as this lives.
class HostilePage {
  public:
    HostilePage(std::uint64_t seed, std::size_t n_bytes, bool numbers_too) {
        const Descriptor file(shm_open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600));
        RC_ASSERT(file.open());
        std::mt19937_64 random(seed);
        auto words = noise(random());
        words[0] = page_magic;
        words[1] = page_version;
        if (!numbers_too) {  // else they are beyond all bounds
            auto* const head = reinterpret_cast<PageHead*>(words.data());
            for (auto* number : {&head->n_counters, &head->n_legs, &head->n_threads, &head->n_buffers})
                number->store(random() % 8);
        }
        RC_ASSERT(write(file.number(), words.data(), std::min(n_bytes, words.size() * sizeof(std::uint64_t))) >= 0);
    }
    ~HostilePage() { shm_unlink(name.c_str()); }
    HostilePage(const HostilePage&) = delete;
    HostilePage& operator=(const HostilePage&) = delete;

    const std::string name = "/anello.test-hostile." + std::to_string(getpid());
};

template <typename Read>
void tried(const Read& read) {
    try {
        read();
    } catch (const ConfigError&) {
    }
}

void is_printable(const std::string& text) {
    RC_ASSERT(std::ranges::all_of(text, [](char letter) { return letter >= ' ' && letter <= '~'; }));
}

void read_all(const std::string& name) {
    const PageReader page(name);
    tried([&] {
        const auto header = page.header();
        is_printable(header.run_name + header.chain + header.state + header.config_digest);
        still_runs(header.owner);
    });
    tried([&] {
        const auto cells = page.cells();
        RC_ASSERT(cells.size() <= max_counters);
        for (const auto& cell : cells) is_printable(cell.block + cell.name + cell.meaning);
    });
    tried([&] {
        for (const auto& leg : page.legs()) leg.last_1s->quantile_ns(0.999), leg.run->quantile_ns(0.5);
    });
    tried([&] {
        for (const auto& thread : page.threads()) RC_ASSERT(thread.told.busy >= 0 && thread.told.busy <= 1);
    });
    tried([&] { page.buffers(); });
    tried([&] {
        if (const auto event = page.event()) RC_ASSERT(event->payload.size() <= EventSlot::max_bytes);
    });
}

RC_GTEST_PROP(PageReader, NoPageDoesHarm, (std::uint64_t seed, bool numbers_too)) {
    const auto n_bytes = *rc::gen::oneOf(rc::gen::just(sizeof(PageLayout)),
                                         rc::gen::inRange<std::size_t>(2 * sizeof(std::uint64_t), sizeof(PageLayout)));
    const HostilePage page(seed, n_bytes, numbers_too);
    tried([&] { read_all(page.name); });
}

}  // namespace
}  // namespace anello
