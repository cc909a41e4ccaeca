# SPDX-License-Identifier: Apache-2.0
"""What the exchange gives to the rest of anello: a chain without front ends of its own."""

from anello.registry import Registration

REGISTRATION = Registration(
    about="the events of many nodes",
    config="anello.exchange.config:ExchangeConfig",
    presentation="anello.exchange.report:ExchangePresentation",
    live="anello.exchange.live_view:ExchangeLive",
)
