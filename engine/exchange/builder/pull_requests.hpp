// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exchange/builder/mfp_senders.hpp"
#include "exchange/exchange_config.hpp"
#include "exchange/messages/messages.hpp"
#include "exchange/messages/outbox.hpp"
#include "fabric/fifo.hpp"

namespace anello::exchange {

/// With the protocol pull, a builder unit asks the readout units for the MFPs of each MEP that it was assigned.
class PullRequests {
  public:
    /// All arguments must outlive the object.
    PullRequests(const ExchangeConfig& config, Outbox& outbox)
        : farm_(config.farm), outbox_(outbox), to_request_(config.n_credits) {}

    // Hot path: no allocation, no lock, no log, no throw.
    void add(const Assignment& assignment) noexcept { to_request_.try_push(assignment); }  // each slot once at most
    /// Sends the requests to all units that are live and connected, as far as there is room for messages.
    void send(const MfpSenders& senders) noexcept {
        if (to_request_.empty()) return;
        const Outbox::Message message = outbox_.try_open(MessageType::request);
        if (message == Outbox::none) return;
        while (!to_request_.empty() && outbox_.try_add(message, to_request_.front())) to_request_.pop();
        for (std::size_t readout = 0; readout < farm_.readouts.size(); ++readout)
            if (senders.is_reachable(readout)) outbox_.post(message, farm_.readouts[readout]);
        outbox_.close(message);
    }

  private:
    const Farm& farm_;
    Outbox& outbox_;
    fabric::Fifo<Assignment> to_request_;
};

}  // namespace anello::exchange
