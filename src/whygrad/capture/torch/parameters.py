"""Every trainable tensor the run has shown: who made it, who holds it, what became of it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from whygrad.capture.torch.leaves import leaves
from whygrad.capture.torch.unheard import opaque
from whygrad.trace import Site
from whygrad.trace.ledger import Changes

if TYPE_CHECKING:
    from whygrad.capture.torch.families import Family


@dataclass
class Known:
    """One parameter. Only a weak reference: watching must not keep a model alive."""

    number: int
    ref: Callable[[], torch.Tensor | None]
    shape: tuple[int, ...]
    name: str = ""
    module: str = ""
    created: Site | None = None
    stack: tuple[Site, ...] = ()
    replaced: Site | None = None
    """The assignment that put it in the place of another."""
    frozen: Site | None = None
    family: Family | None = None
    used: bool = False
    consumed: int = 0
    absent: int = 0
    """Consecutive steps of its optimizer, up to now, that found no gradient on it."""
    waited: int = 0
    """Looks before the first one that found a gradient."""
    first: int = 0
    """The update at which a look first found a gradient."""
    last: int = 0
    """The same of the latest such look."""
    grad: str = "none"
    wanted: bool = False
    """It required a gradient at some step of its optimizer; before the first step, when it was made."""
    asks: bool = True
    """It required a gradient at the latest look."""
    looked: bool = False
    """A step has looked at it."""
    loaded: bool = False
    derived_from: tuple[int, ...] = ()
    version: int = -1
    unwatched: int = 0
    """Of its values, when a step first looked at it: whoever writes in place moves it on."""
    deposits: list[int] = field(default_factory=list)
    """Backwards that deposited since the gradient was last cleared."""
    assigned: bool = False
    """The gradient was put there by hand."""
    leftover: int = 0
    """Identity of the gradient that the step applied at which tracing was taken up, until somebody clears it."""
    moved: bool | None = None
    shift: float = 0.0
    finite: bool | None = None
    rewritten: bool = False
    still: int = 0
    changes: Changes = field(default_factory=Changes)
    vain: int = 0
    """Of `consumed`, the steps before a look at which all values were exactly the first ones."""
    sampled: bool = False
    """Only some of the values are compared."""
    same_memory: set[int] = field(default_factory=set)
    thread: int = 0
    """Who was seen to train it; 0 while nobody was, -1 when several threads were."""


class Parameters:
    """The register of parameters, by identity and by memory."""

    def __init__(self) -> None:
        self.known_list: list[Known] = []
        self._by_id: dict[int, Known] = {}
        self._by_storage: dict[int, Known] = {}

    def __getitem__(self, number: int) -> Known:
        return self.known_list[number]

    def find(self, tensor: torch.Tensor) -> Known | None:
        found = self._by_id.get(id(tensor))
        return found if found is not None and found.ref() is tensor else None

    def known(self, tensor: torch.Tensor) -> bool:
        return self.find(tensor) is not None or isinstance(tensor, torch.nn.Parameter)

    def number(self, tensor: torch.Tensor) -> int | None:
        """The parameter's number; None for a tensor that nobody trains."""
        found = self.find(tensor)
        if found is not None:
            return found.number
        trainable = tensor.is_leaf and (tensor.requires_grad or isinstance(tensor, torch.nn.Parameter))
        return self.register(tensor).number if trainable else None

    def register(self, tensor: torch.Tensor) -> Known:
        found = self.find(tensor)
        if found is None:
            found = Known(len(self.known_list), weakref.ref(tensor), shape(tensor))
            found.wanted = tensor.requires_grad
            self.known_list.append(found)
            self._by_id[id(tensor)] = found
            address = storage(tensor)
            if address:
                self._by_storage[address] = found
        return found

    def let_go(self, tensors: list[torch.Tensor]) -> None:
        """Refer to these no more, until they are taken up again."""
        for tensor in tensors:
            found = self.find(tensor)
            if found is not None:
                found.ref = _nothing

    def take_up(self, tensors: list[torch.Tensor]) -> None:
        for tensor in tensors:
            found = self._by_id.get(id(tensor))
            if found is not None and found.ref is _nothing:
                found.ref = weakref.ref(tensor)
                self._by_storage[storage(tensor)] = found

    def written(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """The parameter whose memory an in-place operation writes, also through `.data` or a view."""
        if self.find(tensor) is not None:
            return tensor
        if tensor.requires_grad:
            return None
        address = storage(tensor)
        found = self._by_storage.get(address)
        parameter = found.ref() if found is not None else None
        return parameter if parameter is not None and address and storage(parameter) == address else None

    def find_shared(self) -> None:
        """Parameters that are different objects in the very same memory."""
        places: dict[Any, Known] = {}
        for known, tensor in self.living():
            address = storage(tensor)
            if not address or type(tensor) not in (torch.Tensor, torch.nn.Parameter):
                continue
            first = places.setdefault((address, tensor.storage_offset(), known.shape, tensor.stride()), known)
            if first is not known:
                first.same_memory.add(known.number)
                known.same_memory.add(first.number)

    def stepped(self, knowns: Iterable[Known]) -> None:
        """This thread's optimizer moves them."""
        me = threading.get_ident()
        for known in knowns:
            known.thread = me if known.thread in (0, me) else -1

    def differentiated(self, roots: list[torch.Tensor]) -> None:
        """This thread is about to write gradients."""
        if not _alone():
            self.stepped(known for tensor in leaves(roots) if (known := self.find(tensor)) is not None)

    def within_reach(self) -> Iterator[tuple[Known, torch.Tensor]]:
        """Those whose gradients this thread may look at.

        Another thread's backward writes gradients without holding the interpreter's lock (torch 2.13): reading one at
        that moment ends the process. Where there are several threads, each looks at what it was seen to train itself;
        of the rest nobody knows who trains it while nothing is traced.
        """
        # Asked one by one: another thread may begin while the caller looks at the first of them.
        return ((known, tensor) for known, tensor in self.living() if self.reachable(known))

    def reachable(self, known: Known) -> bool:
        return _alone() or known.thread in (-1, threading.get_ident())

    def living(self) -> list[tuple[Known, torch.Tensor]]:
        pairs = ((known, known.ref()) for known in self.known_list)
        return [(known, tensor) for known, tensor in pairs if tensor is not None]


def _alone() -> bool:
    return threading.active_count() < 2


_WHOLE = {int}


def _nothing() -> None:
    """Stands for a tensor that was let go."""


def continuous(tensor: torch.Tensor) -> bool:
    """Of real or complex numbers, so that gradient can pass."""
    return tensor.is_floating_point() or tensor.is_complex()


def shape(tensor: torch.Tensor) -> tuple[int, ...]:
    try:
        sizes = tuple(tensor.shape)
    except (RuntimeError, NotImplementedError, ValueError):
        return ()  # Nested tensors have no one shape, lazy parameters have none yet.
    return sizes if set(map(type, sizes)) <= _WHOLE else ()  # Of jagged ones a size is a symbol, and no number.


def storage(tensor: Any) -> int:
    try:
        return 0 if opaque(tensor) else int(tensor.untyped_storage().data_ptr())
    except (RuntimeError, NotImplementedError, ValueError):
        return 0  # Meta, fake and wrapper tensors have no memory of their own.
