# SPDX-License-Identifier: Apache-2.0
"""Which chain a configuration is for."""

from anello.chains import Chain
from anello.config import CameraConfig, FrontEndsConfig, RichConfig


def chain_of(config: FrontEndsConfig) -> Chain:
    """The chain of a configuration; the other's libraries are not loaded."""
    if isinstance(config, CameraConfig):
        from anello.camera.chain import CameraChain

        return CameraChain(config)
    from anello.rich.chain import RichChain

    assert isinstance(config, RichConfig)
    return RichChain(config)
