"""Traces by hand: a few words per operation, in torch's spelling."""

from __future__ import annotations

from whygrad.capture.torch.spelling import canonical
from whygrad.trace import Backward, Input, Kind, Op, Optimizer, Parameter, Region, Site, Step, Trace

FILE = "train.py"


def site(line: int, col: int = 4, width: int = 12) -> Site:
    return Site(FILE, line, col, line, col + width, "update")


class Building:
    """Grows a trace; every method returns the number of what it made."""

    def __init__(self) -> None:
        self.trace = Trace()
        self._order = 0

    def _tick(self) -> int:
        self._order += 1
        return self._order

    def parameter(self, name: str, *, requires_grad: bool = True, frozen: Site | None = None) -> int:
        """A parameter together with the operation that reads it; returns the operation."""
        number = len(self.trace.parameters)
        module = name.rsplit(".", 1)[0]
        self.trace.parameters.append(
            Parameter(number, name, module, (4, 2), requires_grad, created=site(1), frozen=frozen, used=True)
        )
        return self._add(Op(self._next(), "input", Kind.PARAMETER, requires_grad=requires_grad, parameter=number))

    def op(
        self,
        written: str,
        *inputs: int,
        line: int,
        kind: Kind = Kind.COMPUTE,
        region: Region | None = None,
        layer: bool = False,
        selects: tuple[int, ...] = (),
        silenced: tuple[int, ...] = (),
    ) -> int:
        """An operation whose history follows from its operands, as torch would have it."""
        graph = self.trace.graph
        carries = [graph[i].requires_grad for i in inputs]
        keeps = region is None and kind in (Kind.COMPUTE, Kind.FUNCTION) and any(carries)
        operands = tuple(Input(i, c, i in selects) for i, c in zip(inputs, carries, strict=True))
        return self._add(
            Op(
                self._next(),
                canonical(written),
                kind,
                site(line),
                None,
                operands,
                keeps or kind is Kind.FLAG,
                region=region,
                layer=layer,
                silenced=silenced,
                written=written,
            )
        )

    def linear(self, parameter: int, *inputs: int, line: int, region: Region | None = None) -> int:
        return self.op("linear", *inputs, parameter, line=line, layer=True, region=region)

    def optimizer(self, name: str, *operations: int) -> int:
        numbers = tuple(n for n in (self.trace.graph[o].parameter for o in operations) if n is not None)
        self.trace.optimizers.append(Optimizer(len(self.trace.optimizers), name, site(3), (), numbers))
        return len(self.trace.optimizers) - 1

    def update(self, loss: int, *optimizers: int, line: int = 20, deposits: frozenset[int] | None = None) -> Backward:
        """backward and the steps that follow it; deposits what the graph reaches unless told otherwise."""
        trace = self.trace
        found = trace.graph.reach(loss) if deposits is None else deposits
        backward = Backward(len(trace.backwards) + 1, site(line), loss, "loss", found, order=self._tick())
        backward.update = trace.updates
        trace.backwards.append(backward)
        for number in optimizers:
            held = trace.optimizers[number]
            consumed: dict[int, tuple[int, ...]] = {n: (backward.id,) for n in held.parameters if n in found}
            trace.steps.append(Step(number, site(line + 1), consumed, self._tick()))
            held.steps += 1
            trace.updates += 1
            trace.steps[-1].update = trace.updates
            for parameter in held.parameters:
                row = trace.parameters[parameter]
                row.held_steps += 1
                if parameter in consumed:
                    row.consumed += 1
                    row.absent, row.grad, row.changed = False, "nonzero", True
        return backward

    def _next(self) -> int:
        return len(self.trace.graph.ops) + 1

    def _add(self, op: Op) -> int:
        self.trace.graph.add(op)
        return op.id


def no_grad(line: int, by: str = "user", number: int = 1) -> Region:
    return Region(number, "no_grad", by, site(line))
