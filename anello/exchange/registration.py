# SPDX-License-Identifier: Apache-2.0
"""The registration of the exchange: a chain without front ends of its own."""

from anello.registry import Registration

REGISTRATION = Registration(
    about="the events of many nodes",
    config="anello.exchange.configuration.config:ExchangeConfig",
    complete="anello.exchange.configuration.complete:with_its_chain",
    presentation="anello.exchange.report.presentation:ExchangePresentation",
    live="anello.exchange.report.live_view:ExchangeLive",
)
