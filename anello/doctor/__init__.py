# SPDX-License-Identifier: Apache-2.0
"""Checks of what limits data acquisition on this host: `anello doctor`, docs/how-to/tune-the-host.md.

A check is a function of a Host (files of /proc and /sys, and the running machine) and a Subject (the configuration and
the interface). A check only reads and measures; only fixing.carry_out changes anything.
"""

from anello.doctor.checks import CHECKS, examine, make_subject
from anello.doctor.finding import Finding, Fix, Grade, Price
from anello.doctor.subject import Subject
from anello.host.host import Host

__all__ = ["CHECKS", "Finding", "Fix", "Grade", "Host", "Price", "Subject", "examine", "make_subject"]
