"""What a probe needs and may not be there."""

from __future__ import annotations


class GymnasiumMissingError(ImportError):
    """Probes are environments; without gymnasium there are none."""

    def __init__(self, error: ModuleNotFoundError) -> None:
        super().__init__(f'probing needs gymnasium: pip install "whygrad[probe]" ({error})')
