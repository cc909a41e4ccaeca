# SPDX-License-Identifier: Apache-2.0
"""What a host will be used for, as far as the checks need it."""

from dataclasses import dataclass

from anello.configuration.load import Config, FrontEndsConfig
from anello.doctor.finding import NotApplicable


@dataclass(frozen=True)
class Subject:
    """What the host will be used for."""

    config: Config
    interface: str
    is_configured: bool = True  # False: the user gave no configuration, and its values are the defaults

    @property
    def packet_bytes(self) -> int:
        """Greatest IP packet that the front ends send; 0: not known."""
        return self.config.packet_bytes if self.is_configured and isinstance(self.config, FrontEndsConfig) else 0

    @property
    def with_front_ends(self) -> FrontEndsConfig:
        """The configuration of a chain with front ends. Raises NotApplicable where the chain has none."""
        if not isinstance(self.config, FrontEndsConfig):
            raise NotApplicable(f"the chain {self.config.chain} has no front ends")
        return self.config

    def value(self, key: str) -> object:
        """The value of a key that not all chains have; None where this one does not."""
        return self.config.as_given().get(key)

    @property
    def pinned_cores(self) -> list[int]:
        return [core for core in self.config.placement.cores if core >= 0]

    @property
    def spins(self) -> bool:
        return self.config.spins
