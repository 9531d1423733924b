"""Watches a PyTorch run and turns it into a trace."""

import torch

from whygrad.capture import frames
from whygrad.capture.options import Options
from whygrad.capture.torch.capture import Capture

frames.framework(torch.__file__)

__all__ = ["Capture", "Options"]
