"""PyTorch's own errors: what the shadow graph knows about them, noted at the moment they are raised."""

from __future__ import annotations

import re
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

from whygrad.capture import frames
from whygrad.capture.torch.holding import Held
from whygrad.capture.torch.parameters import Parameters
from whygrad.capture.torch.protocol import Protocol
from whygrad.capture.torch.regions import OpenRegion
from whygrad.capture.torch.shadow import Node, Shadow
from whygrad.source import expressions
from whygrad.source.defining import call_that_made
from whygrad.source.enclosing import off_around
from whygrad.trace import Backward, Kind, Raised, Region, Site
from whygrad.trace.operations import NEGATING, SCALINGS, SUMS

if TYPE_CHECKING:
    from whygrad.capture.torch.recording import Recorder

PATTERNS = (
    ("WG601", "does not require grad and does not have a grad_fn"),
    ("WG602", "has been modified by an inplace operation"),
    ("WG603", "backward through the graph a second time"),
    ("WG604", "grad can be implicitly created only for scalar outputs"),
    ("WG605", "Expected all tensors to be on the same device"),
    ("WG605", "is not on the expected device"),
    ("WG606", "Inference tensors cannot be saved for backward"),
    ("WG607", r"(same dtype|[Ee]xpected .*(scalar type|dtype)|dtypes? .*(match|mismatch)|Found dtype)"),
    ("WG607", "floating point .*can require gradients"),
    ("WG608", "a (leaf Variable|view of a leaf Variable) that requires grad is being used in an in-place"),
)
PARTS = frozenset({"select", "unbind", "split", "reshape", "squeeze", "unsqueeze", "permute"})
ELEMENTWISE = SUMS | SCALINGS | NEGATING
MOST_NODES = 50_000


def code_of(error: BaseException) -> str | None:
    """The rule that explains this error, if one does."""
    text = str(error)
    return next((code for code, pattern in PATTERNS if re.search(pattern, text)), None)


class Errors:
    """Keeps the facts of the latest error and the object, so that only an escaping one is reported."""

    def __init__(self, shadow: Shadow, parameters: Parameters, protocol: Protocol) -> None:
        self.shadow = shadow
        self.parameters = parameters
        self.protocol = protocol
        self.raised: Raised | None = None
        self.error = 0
        """Identity of the exception; to hold it would keep every tensor of its frames alive."""
        self._freed: dict[int, Backward] = {}
        self._steps: dict[int, tuple[int, Site | None]] = {}
        self._writes: dict[int, Node] = {}

    def about(self, error: Exception) -> Raised | None:
        """What is known of this one."""
        return self.raised if self.error == id(error) else None

    def stepped(self, held: Held, frame: FrameType) -> None:
        """From here on the values of these parameters are not those the earlier forward saw."""
        place = (self.shadow.serial, frames.user_site(frame))
        for number in held.parameters:
            self._steps[number] = place

    def overwrote(self, tensor: torch.Tensor, node: Node) -> None:
        known = self.parameters.find(tensor)
        if known is not None:
            self._writes[known.number] = node

    def freed(self, root: Node | None, backward: Backward) -> None:
        """The graph behind this loss is gone: remember which operations it had."""
        if root is None or len(self._freed) > MOST_NODES:
            self._freed.clear()
        for node in _behind(root) if root is not None else ():
            self._freed.setdefault(node.serial, backward)

    def _set(self, code: str, error: BaseException, site: Site | None) -> Raised:
        self.error = id(error)
        self.raised = Raised(code, str(error).split("\n")[0], type(error).__name__, site)
        return self.raised

    def in_backward(self, error: Exception, backward: Backward, root: Node | None, region: OpenRegion | None) -> None:
        code = code_of(error)
        if code is None:
            return
        raised = self._set(code, error, backward.site)
        raised.backward = backward.id
        raised.subject = backward.name
        raised.region = region.freeze() if region is not None and code == "WG601" else None
        if root is None:
            return
        made = _site(root)
        if code == "WG602":
            self._modified(raised, str(error), root)
        elif code == "WG603":
            self._twice(raised, root, backward)
        elif code == "WG604":
            raised.detail["shape"] = str(tuple(root.shape))
            origin = _grew(root)
            if origin is not None:
                raised.labels.append((origin, f"this gave the loss its shape {tuple(root.shape)}"))
        elif code == "WG601" and made is not None:
            raised.culprit = made
        elif code == "WG607":
            mixed = next((n for n in _behind(root) if len(_dtypes(n)) > 1), None)
            raised.culprit = _site(mixed) if mixed is not None else None
            _odd_dtype(raised, [operand for operand, _, _ in mixed.inputs] if mixed is not None else [root])

    def still_off(self, stack: tuple[Site, ...]) -> None:
        """Gradient was off when an untraced backward failed: by what the lines stand inside of, or the one switch."""
        if self.raised is None or self.raised.code != "WG601":
            return
        around = next((found for site in stack if (found := off_around(site)) is not None), None)
        if around is not None:
            self.raised.region = Region(0, around[0], "user", around[1])
            return
        switches = [
            found for file in dict.fromkeys(site.file for site in stack) for found in expressions.switches(file)
        ]
        if len(switches) == 1:
            self.raised.region = Region(0, "set_grad_enabled(False)", "user", switches[0])

    def in_operation(self, name: str, args: Any, error: Exception, frame: FrameType, recorder: Recorder) -> None:
        code = code_of(error)
        if code is None:
            return
        raised = self._set(code, error, frames.user_site(frame))
        tensors = _tensors(args)
        nodes = [recorder.shadow.get(t) or recorder.node_of(t) for t in tensors]
        raised.detail["operation"] = name
        if code == "WG606":
            self._inference(raised, tensors, nodes)
        elif code == "WG605":
            for tensor, node in zip(tensors, nodes, strict=True):
                origin = _moved(node)
                if origin is not None:
                    raised.labels.append((origin, f"this operand is on {tensor.device}"))
            raised.detail["devices"] = ", ".join(dict.fromkeys(str(t.device) for t in tensors))
        elif code == "WG607":
            _odd_dtype(raised, nodes)
        elif code == "WG608" and tensors:
            known = self.parameters.find(tensors[0])
            raised.subject = known.name if known is not None else ""

    def _inference(self, raised: Raised, tensors: list[torch.Tensor], nodes: list[Node]) -> None:
        for tensor, node in zip(tensors, nodes, strict=True):
            if not tensor.is_inference():
                continue
            while node.region is None and node.inputs:  # A view taken outside is an inference tensor too.
                node = node.inputs[0][0]
            raised.subject = expressions.name(_site(node))
            if node.region is not None:
                raised.culprit = node.region.freeze().site
                made = _site(node)
                if made is not None:
                    raised.labels.append((made, "this tensor was created inside it"))
                return

    def _modified(self, raised: Raised, text: str, root: Node) -> None:
        """Find the value that was changed after an operation had kept it for its backward."""
        found = re.search(r"\[torch\.\w+ \[([\d, ]*)\]\], which is output \d+ of (\w+)", text)
        shape = sorted(int(n) for n in found.group(1).split(",") if n.strip()) if found else None
        made_by = found.group(2).lower() if found else ""
        candidates: list[tuple[int, int, Site, Node, str]] = []
        for node in _behind(root):
            for operand, _, _ in node.inputs:
                candidates.extend(self._changed_after(node, operand, shape))
            if node.overwritten is not None and node.overwritten.serial > node.serial:
                score = int(shape is None or sorted(node.shape) == shape) + 2 * (node.written.strip("_") in made_by)
                site = _site(node.overwritten)
                if site is not None:
                    candidates.append((score, node.overwritten.serial, site, node, expressions.name(_site(node))))
        if not candidates:
            return
        score, _, site, saved, name = max(candidates, key=lambda c: (c[0], -c[1]))
        raised.culprit, raised.subject = site, name
        kept = _site(saved)
        if kept is not None and kept != site:
            raised.labels.append((kept, "this kept the value for its backward"))

    def _changed_after(self, node: Node, operand: Node, shape: list[int] | None) -> Any:
        """The operand of a recorded operation, if it was overwritten since."""
        fits = int(shape is None or sorted(operand.shape) == shape)
        whole = _whole(operand)
        if whole.overwritten is not None and whole.overwritten.serial > node.serial:
            site = _site(whole.overwritten)
            if site is not None:
                yield fits, whole.overwritten.serial, site, node, expressions.name(_site(operand))
        number = operand.parameter
        if number is None:
            return
        name = self.parameters[number].name
        stepped = self._steps.get(number)
        if stepped is not None and stepped[0] >= node.serial and stepped[1] is not None:
            yield fits + 1, stepped[0], stepped[1], node, name
        write = self._writes.get(number)
        if write is not None and write.serial > node.serial:
            site = _site(write)
            if site is not None:
                yield fits + 1, write.serial, site, node, name

    def _twice(self, raised: Raised, root: Node, backward: Backward) -> None:
        """The part of the graph nearest this loss that an earlier backward has freed."""
        for user in _behind(root):
            for node in (operand for operand, carries, _ in user.inputs if carries):
                earlier = self._freed.get(node.serial)
                if earlier is None or earlier is backward or not node.inputs or node.kind is Kind.PARAMETER:
                    continue
                raised.culprit = _called(node, user)
                raised.subject = expressions.name(_site(node))
                if earlier.site is not None:
                    again = "this same call freed it one round earlier" if earlier.site == backward.site else ""
                    raised.labels.append((earlier.site, again or "this backward freed it"))
                return


def _called(node: Node, user: Node) -> Site | None:
    """Where a value was made, as the function that uses it sees that: by a call of another one."""
    made, used = _site(node), _site(user)
    if made is None or used is None or made.function == used.function:
        return made
    return call_that_made(used, made.function) or made


def _whole(node: Node) -> Node:
    """What a value is a part of: whoever writes into the rest of it makes the part count as changed."""
    while node.overwritten is None and node.name in PARTS and node.inputs:
        node = node.inputs[0][0]
    return node


def _behind(root: Node) -> Any:
    """Nodes that carry gradient to the loss, nearest first."""
    queue, seen = [root], {root.serial}
    index = 0
    while index < len(queue) and index < MOST_NODES:
        node = queue[index]
        index += 1
        yield node
        for operand, carries, _ in sorted(node.inputs, key=lambda i: -i[0].serial):
            if carries and operand.serial not in seen:
                seen.add(operand.serial)
                queue.append(operand)


def _grew(root: Node) -> Site | None:
    """The operation that gave the loss its dimensions, before those that only passed them on."""
    node = root
    while node.name in ELEMENTWISE and node.inputs:
        wider = [o for o, _, _ in node.inputs if o.shape == node.shape and o.inputs]
        if not wider:
            break
        node = wider[0]
    return _site(node)


def _odd_dtype(raised: Raised, nodes: list[Node]) -> None:
    """Follow each operand back to where its dtype began."""
    seen: set[str] = set()
    for node in nodes:
        if node.parameter is not None or str(node.dtype) in seen:
            continue
        seen.add(str(node.dtype))
        origin = node
        while True:
            same = [o for o, _, _ in origin.inputs if o.dtype == origin.dtype and o.parameter is None]
            if not same:
                break
            origin = same[0]
        site = _site(origin)
        if site is not None:
            raised.labels.append((site, f"{str(node.dtype).removeprefix('torch.')} comes from here"))
    raised.detail["dtypes"] = ", ".join(str(n.dtype).removeprefix("torch.") for n in nodes)


def _dtypes(node: Node) -> set[Any]:
    """Floating types that meet in an operation."""
    return {operand.dtype for operand, _, _ in node.inputs if operand.floating}


def _moved(node: Node) -> Site | None:
    while node.name != "to" and node.inputs:
        node = node.inputs[0][0]
    return _site(node)


def _site(node: Node) -> Site | None:
    return frames.site(node.code, node.lasti, node.inner)


def _tensors(args: Any) -> list[torch.Tensor]:
    out: list[torch.Tensor] = []
    for value in args:
        if isinstance(value, torch.Tensor):
            out.append(value)
        elif isinstance(value, (list, tuple)):
            out.extend(_tensors(value))
    return out
