"""Putting gradient bugs into healthy training scripts, and scoring what whygrad says about them."""

from mutation import operators
from mutation.draft import Mutant
from mutation.registry import OPERATORS, Operator
from mutation.script import Script

__all__ = ["OPERATORS", "Mutant", "Operator", "Script", "operators"]
