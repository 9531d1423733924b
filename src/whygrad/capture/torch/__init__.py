"""Watches a PyTorch run and turns it into a trace."""

from whygrad.capture.torch.capture import Capture, Options

__all__ = ["Capture", "Options"]
