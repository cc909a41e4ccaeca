// SPDX-License-Identifier: Apache-2.0
#include "receive/datagrams/source_address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstring>
#include <ctime>
#include <optional>
#include <utility>

#include "core/errors.hpp"

namespace anello::receive {
namespace {

using Words = std::array<std::uint64_t, 2>;

Words words_of(const Ip6Bytes& host) noexcept {
    Words words;
    std::memcpy(words.data(), host.data(), host.size());
    return words;
}

// --- The digest: SipHash-2-4 (Aumasson and Bernstein 2012) of 16 bytes
Words make_key() noexcept {
    Words key{};
    if (getrandom(key.data(), sizeof key, 0) != sizeof key) key = {static_cast<std::uint64_t>(std::time(nullptr)), 1};
    return key;
}

class SipHash {
  public:
    explicit SipHash(const Words& key) noexcept
        : v_{key[0] ^ 0x736f6d6570736575U, key[1] ^ 0x646f72616e646f6dU, key[0] ^ 0x6c7967656e657261U,
             key[1] ^ 0x7465646279746573U} {}
    std::uint64_t of(const Words& words) noexcept {
        constexpr std::uint64_t length = std::uint64_t{sizeof(Words)} << 56;
        for (const std::uint64_t word : {words[0], words[1], length}) {
            v_[3] ^= word;
            mix(2);
            v_[0] ^= word;
        }
        v_[2] ^= 0xff;
        mix(4);
        return v_[0] ^ v_[1] ^ v_[2] ^ v_[3];
    }

  private:
    void mix(int n_rounds) noexcept {
        for (int i = 0; i < n_rounds; ++i) {
            cross(0, 1, 13, 32);
            cross(2, 3, 16, 0);
            cross(0, 3, 21, 0);
            cross(2, 1, 17, 32);
        }
    }
    void cross(std::size_t a, std::size_t b, int turn_b, int turn_a) noexcept {
        v_[a] += v_[b];
        v_[b] = std::rotl(v_[b], turn_b) ^ v_[a];
        v_[a] = std::rotl(v_[a], turn_a);
    }

    std::array<std::uint64_t, 4> v_;
};

constexpr std::uint64_t ip6_bit = std::uint64_t{1} << 63, digest_mask = (std::uint64_t{1} << 47) - 1;

std::uint64_t digest_of(const Words& host) noexcept {
    static const Words key = make_key();
    return SipHash(key).of(host) & digest_mask;
}

// --- Names, for display only
struct Name {
    std::atomic<std::uint64_t> digest{0};  ///< 0: free
    std::array<std::atomic<std::uint64_t>, 2> host{};
};
constexpr std::size_t n_names = 1024, n_tries = 8;
constexpr std::uint64_t being_written = ~std::uint64_t{0};
std::array<Name, n_names> names;

Name& place(std::uint64_t digest, std::size_t attempt) noexcept {
    return names[(digest + attempt) % n_names];
}

void note_name(std::uint64_t digest, const Words& host) noexcept {
    for (std::size_t i = 0; i < n_tries; ++i) {
        Name& name = place(digest, i);
        std::uint64_t found = 0;
        if (name.digest.compare_exchange_strong(found, being_written, std::memory_order_relaxed)) {
            for (std::size_t word = 0; word < host.size(); ++word)
                name.host[word].store(host[word], std::memory_order_relaxed);
            return name.digest.store(digest, std::memory_order_release);  // pairs with name_of()
        }
        if (found == digest) return;
    }
}

std::optional<Words> name_of(std::uint64_t digest) noexcept {
    for (std::size_t i = 0; i < n_tries; ++i) {
        const Name& name = place(digest, i);
        if (name.digest.load(std::memory_order_acquire) != digest) continue;  // pairs with note_name()
        return Words{name.host[0].load(std::memory_order_relaxed), name.host[1].load(std::memory_order_relaxed)};
    }
    return std::nullopt;
}

// --- Text
[[noreturn]] void refuse(const std::string& text) {
    throw ConfigError("receive.sources", "must be an IP address, with or without a port, or empty", text,
                      "For example \"10.0.0.5\", \"10.0.0.5:4711\" or \"[2001:db8::5]:4711\".");
}

std::uint16_t parse_port(const std::string& digits, const std::string& text) {
    std::uint16_t port = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, port);
    if (error != std::errc{} || stop != end || port == 0) refuse(text);
    return port;
}

/// "[2001:db8::5]:4711" or "2001:db8::5".
SourceAddress parse_ip6(const std::string& text) {
    const bool has_brackets = text.front() == '[';
    const std::size_t end = has_brackets ? text.find(']') : text.size();
    if (end == std::string::npos) refuse(text);
    const std::string rest = has_brackets ? text.substr(end + 1) : "";
    if (!rest.empty() && rest.front() != ':') refuse(text);
    Ip6Bytes host{};
    if (inet_pton(AF_INET6, text.substr(has_brackets ? 1 : 0, end - (has_brackets ? 1 : 0)).c_str(), host.data()) != 1)
        refuse(text);
    if (words_of(host) == Words{}) refuse(text);
    return SourceAddress::of_ip6(host, rest.empty() ? std::uint16_t{0} : parse_port(rest.substr(1), text));
}

}  // namespace

/// PERF NOTE: packets come from few addresses, and mostly from the same as the previous packet, so the last digest is
/// kept.
SourceAddress SourceAddress::of_ip6(const Ip6Bytes& host, std::uint16_t port) noexcept {
    constexpr std::array<std::byte, 12> mapped{
        {{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, std::byte{0xff}, std::byte{0xff}}};
    if (std::equal(mapped.begin(), mapped.end(), host.begin())) {
        std::uint32_t ip4 = 0;
        std::memcpy(&ip4, host.data() + mapped.size(), sizeof ip4);
        return {ntohl(ip4), port};
    }
    thread_local std::pair<Words, std::uint64_t> last{};
    const Words words = words_of(host);
    if (words != last.first || last.second == 0) {
        last = {words, ip6_bit >> 16 | digest_of(words)};
        note_name(last.second, words);
    }
    return of_value(last.second << 16 | port);
}

std::string to_text(SourceAddress address) {
    const std::uint32_t host = address.host();
    if (!address.is_ip6())
        return fmt::format("{}.{}.{}.{}:{}", host >> 24, host >> 16 & 255, host >> 8 & 255, host & 255, address.port());
    const auto known = name_of(address.value() >> 16);
    if (!known) return fmt::format("[an IPv6 address]:{}", address.port());
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(AF_INET6, known->data(), text.data(), text.size());
    return fmt::format("[{}]:{}", text.data(), address.port());
}

SourceAddress parse_source(const std::string& text) {
    if (text.empty()) return {};
    const std::size_t colon = text.find(':');
    if (text.front() == '[' || (colon != std::string::npos && text.find(':', colon + 1) != std::string::npos))
        return parse_ip6(text);
    in_addr host{};
    if (inet_pton(AF_INET, text.substr(0, colon).c_str(), &host) != 1 || host.s_addr == 0) refuse(text);
    const std::uint16_t port = colon == std::string::npos ? std::uint16_t{0} : parse_port(text.substr(colon + 1), text);
    return {ntohl(host.s_addr), port};
}

}  // namespace anello::receive
