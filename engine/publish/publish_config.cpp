// SPDX-License-Identifier: Apache-2.0
#include "publish/publish_config.hpp"

#include <sys/un.h>

#include <string_view>

#include "core/errors.hpp"
#include "core/keys.hpp"

namespace anello::publish {
namespace {

using C = PublishConfig;
using K = Key<C>;

constexpr std::array keys{
    K::of<&C::to>("to",
                  "stream: rings in shared memory, for programs on this machine, each of which gets all records; "
                  "zmq_pub: the same over ZeroMQ; zmq_push: each record goes to one of the subscribers."),
    K::of<&C::address>("address",
                       "Address for subscribers; stream: @name, or a path; ZeroMQ: tcp://INTERFACE:PORT (*: any free "
                       "port) or ipc://PATH. Exchange: {node} is the node's number."),
    K::of<&C::when_full>("when_full",
                         "What happens if a subscriber has no room, or there is none. wait: the previous stages wait, "
                         "too; drop: the record is dropped and counted."),
    K::of<&C::max_subscribers>(
        "max_subscribers", {1, 64},
        "stream: most subscribers at a time; ZeroMQ: a subscriber may use 1/max_subscribers of n_buffers."),
    K::of<&C::n_buffers>("n_buffers", {2, 65'536},
                         "ZeroMQ: records in flight to all subscribers together. A stream's ring belongs to the "
                         "subscriber."),
    K::of<&C::allow_users>("allow_users", "stream: ids of users that may subscribe, besides this user and root."),
};

bool is_endpoint(std::string_view address) {
    return (address.starts_with("tcp://") || address.starts_with("ipc://")) && address.size() > 6;
}

}  // namespace

constinit const Keys<PublishConfig> publish_keys{"publish",
                                                 "Results for programs that subscribe to them during the run.", keys};

void PublishConfig::validate() const {
    publish_keys.check(*this);
    if (!is_on()) return;
    const bool is_stream = to == PublishTo::stream;
    const bool is_name = address.size() >= 2 && address.size() < sizeof(sockaddr_un::sun_path) && !is_endpoint(address);
    if (is_stream ? !is_name : !is_endpoint(address))
        throw ConfigError(
            "publish.address",
            is_stream ? "must be a path, or @ and a name, of at most 107 letters, for a stream"
                      : "must be tcp://INTERFACE:PORT or ipc://PATH for ZeroMQ",
            address, is_stream ? "For example @anello or /run/anello.stream." : "For example tcp://127.0.0.1:5556.");
}

}  // namespace anello::publish
