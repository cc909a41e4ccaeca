# SPDX-License-Identifier: Apache-2.0
"""Requests made up from the API's own description: none may find a fault of ours."""

import os
from pathlib import Path

import hypothesis
import pytest
import schemathesis
from fake_control import FakeMemory, FakeOperator, FakePages
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from anello.control.access.tokens import Tokens
from anello.control.run_sampler import RunSampler
from anello.control.states import State
from anello.control.web.app import create_app

TOKENS = Tokens("v" * 32, "o" * 32)
HEADERS = {"authorization": f"Bearer {TOKENS.operator}", "host": "localhost"}


def application() -> object:
    operator, pages = FakeOperator(State.RUNNING), FakePages()
    sight = RunSampler(operator.status, copy=pages.copy, clock=pages.clock)
    sight.look()
    return create_app(operator, FakeMemory(Path("/nonexistent")), sight, TOKENS)


schema = schemathesis.openapi.from_asgi("/openapi.json", application(), headers={"host": "localhost"})
schema = schema.exclude(path="/api/v1/stream")  # it has no end; tests of its own
# Requests for each rule of the schema are made while tests are collected, by each process of them: only the long tests,
# of which this is one then, have them.
IS_LONG = "ANELLO_LONG" in os.environ
schema.config.phases.coverage.enabled = schema.config.phases.examples.enabled = IS_LONG
pytestmark = [pytest.mark.long] if IS_LONG else []


@schema.parametrize()
@hypothesis.settings(max_examples=25, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
def test_no_request_finds_a_fault(case: schemathesis.Case) -> None:
    case.headers = {**(case.headers or {}), **HEADERS}
    response = case.call()
    case.validate_response(response, checks=[not_a_server_error, status_code_conformance, response_schema_conformance])
