// SPDX-License-Identifier: Apache-2.0
#include "stream/stream_keys.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstring>

#include "core/errors.hpp"
#include "stream/control_connection.hpp"
#include "stream/fabric_wire.hpp"
#include "stream/handshake.hpp"

namespace anello::stream {
namespace {

static_assert(crypto_box_BEFORENMBYTES == sizeof(Key) && crypto_auth_KEYBYTES == sizeof(Key) &&
              crypto_auth_BYTES == sizeof(Tag) && crypto_box_PUBLICKEYBYTES == sizeof(Key) &&
              crypto_box_SECRETKEYBYTES == sizeof(Key));

/// The messages of both sides so far, in one order.
struct Transcript {
    KeyHello of_connector, of_listener;
};
static_assert(sizeof(Transcript) == 2 * sizeof(KeyHello));

void start_sodium() {
    if (sodium_init() < 0) throw SystemError("cannot start libsodium", errno, "Does this system have randomness?");
}

KeyHello make_hello(const StreamKeys& keys) {
    KeyHello hello;
    hello.public_key = keys.own_public;
    randombytes_buf(hello.nonce.data(), hello.nonce.size());
    return hello;
}

KeyHello hear_hello(const Descriptor& control, const StreamKeys& keys, Nanoseconds deadline_ns) {
    KeyHello hello;
    receive_all(control, std::as_writable_bytes(std::span(&hello.magic, 1)), deadline_ns);
    if (hello.magic != key_hello_magic) throw Refused{Refusal::key, "the other side has no keys, and we ask for them"};
    receive_all(control, std::as_writable_bytes(std::span(&hello, 1)).subspan(sizeof hello.magic), deadline_ns);
    if (hello.version != key_hello_version)
        throw Refused{Refusal::version, "the other side's keys are of another version"};
    if (std::find(keys.allowed.begin(), keys.allowed.end(), hello.public_key) == keys.allowed.end())
        throw Refused{Refusal::key, "we do not know the other side's key"};
    return hello;
}

/// The key of one direction. It is derived from one of the secret keys, and the nonces bind it to this connection.
Key derive(const Key& shared, const Transcript& transcript, FabricSide side) {
    Key derived{};
    crypto_generichash_state state;
    const auto role = static_cast<std::uint8_t>(side);
    crypto_generichash_init(&state, shared.data(), shared.size(), derived.size());
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(&transcript), sizeof transcript);
    crypto_generichash_update(&state, &role, sizeof role);
    crypto_generichash_final(&state, derived.data(), derived.size());
    return derived;
}

Key share(const Key& their_public, const Key& own_secret) {
    Key shared{};
    if (crypto_box_beforenm(shared.data(), their_public.data(), own_secret.data()) != 0)
        throw Refused{Refusal::key, "the other side's key is none at all"};
    return shared;
}

}  // namespace

Session Session::open(const Descriptor& control, FabricSide side, const StreamKeys& keys, Nanoseconds deadline_ns) {
    start_sodium();
    const bool listens = side == FabricSide::listener;
    const KeyHello own = make_hello(keys);
    const auto say = [&](std::span<const std::byte> words) {
        if (!send_all(control, words)) throw Refused{Refusal::gone, "the other side has gone"};
    };
    if (!listens) say(std::as_bytes(std::span(&own, 1)));
    const KeyHello theirs = hear_hello(control, keys, deadline_ns);
    const Transcript transcript = listens ? Transcript{theirs, own} : Transcript{own, theirs};
    const Key shared = share(theirs.public_key, keys.own_secret);
    Session session;
    session.own_ = derive(shared, transcript, side);
    session.theirs_ = derive(shared, transcript, listens ? FabricSide::connector : FabricSide::listener);
    // The listener's proof comes with its hello, before the connector reveals anything. The connector's proof is the
    // tag of what it says afterwards.
    Tag proof{};
    if (listens) {
        say(std::as_bytes(std::span(&own, 1)));
        proof = session.tag_of({});
        say(std::as_bytes(std::span(proof)));
    } else {
        receive_all(control, std::as_writable_bytes(std::span(proof)), deadline_ns);
        if (!session.is_genuine(proof, {})) throw Refused{Refusal::key, "the other side does not have its own key"};
    }
    return session;
}

Tag Session::tag_of(std::span<const std::byte> own_words) const {
    Tag tag{};
    crypto_auth(tag.data(), reinterpret_cast<const unsigned char*>(own_words.data()), own_words.size(), own_.data());
    return tag;
}

bool Session::is_genuine(const Tag& tag, std::span<const std::byte> their_words) const {
    return crypto_auth_verify(tag.data(), reinterpret_cast<const unsigned char*>(their_words.data()),
                              their_words.size(), theirs_.data()) == 0;
}

StreamKeys make_keys() {
    start_sodium();
    StreamKeys keys;
    crypto_box_keypair(keys.own_public.data(), keys.own_secret.data());
    return keys;
}

}  // namespace anello::stream
