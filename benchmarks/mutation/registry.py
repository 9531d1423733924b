"""The list of mutation operators: a name, a sentence, and a function from a script to its mutants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mutation.draft import Draft, Mutant
from mutation.script import Script

Mutate = Callable[[Script], Iterator[Draft]]


@dataclass(frozen=True)
class Operator:
    name: str
    bug: str
    """What a user did wrong, in a few words."""
    mutate: Mutate

    def mutants(self, script: Script) -> list[Mutant]:
        return [draft.mutant(self.name) for draft in self.mutate(script) if draft.possible]


OPERATORS: dict[str, Operator] = {}


def operator(name: str, bug: str) -> Callable[[Mutate], Mutate]:
    def register(mutate: Mutate) -> Mutate:
        if name in OPERATORS:
            raise ValueError(f"two operators are called {name}")
        OPERATORS[name] = Operator(name, bug, mutate)
        return mutate

    return register
