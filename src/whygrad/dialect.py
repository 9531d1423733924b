"""The words of the framework that ran, where they differ from PyTorch's, in which the rules speak.

A finding is translated once, after the rules: some rules' advice is replaced, and what is left of PyTorch's
vocabulary gets its counterpart.
"""

from __future__ import annotations

from collections.abc import Mapping

from whygrad.finding import Finding, Label

DIFFERENTIATING = {"torch": "backward", "tensorflow": "tape.gradient"}
"""How a loss is differentiated, as the user writes it."""

ADVICE: Mapping[str, Mapping[str, str]] = {
    "WG101": {
        "why": "the numbers are copied and the history stays behind; the tape cannot follow a copy.",
        "fix": "use the tensor itself; tf.stack and tf.convert_to_tensor keep gradients, tf.Variable(x) does not",
    },
    "WG102": {"fix": "keep the tensor in the loss; use .numpy() and float() only for printing and logging"},
    "WG103": {"fix": "remove tf.stop_gradient here; put it around the side of the loss that is meant to be constant"},
    "WG104 outside the tape": {
        "here": "this runs outside the tape that is asked for gradients",
        "why": "a tape records only what runs inside its `with`, and the loss is computed from what ran outside.",
        "fix": "move this line into the `with tf.GradientTape()` block",
    },
    "WG104 watch_accessed_variables=False": {
        "here": "this tape watches only what tape.watch() shows it",
        "why": "with watch_accessed_variables=False a variable that is read is not watched, so there is no gradient.",
        "fix": "call tape.watch(variable) before the forward, or leave the option out",
    },
    "WG107": {"fix": "add a loss term for {who}, or leave it out of the variables you pass on"},
    "WG108": {
        "why": "a tape does not watch variables with trainable=False, nor plain tensors.",
        "fix": "make it with trainable=True, or call tape.watch() on it before the forward",
    },
    "WG109": {"fix": "add their variables to those you pass to tape.gradient and apply_gradients"},
    "WG113": {
        "here": "gradient arrives here and nothing is passed on",
        "why": "what this function says about its own gradient is nothing, or has the wrong shape.",
        "fix": "give the function a gradient (tf.custom_gradient), or use TensorFlow operations in its place",
    },
    "WG201": {"fix": "compute the target before the `with tf.GradientTape()`, or wrap it in tf.stop_gradient"},
    "WG202": {"fix": "pass only the online network's variables to apply_gradients"},
    "WG601 none": {},
    "WG603": {
        "here": "this tape answers once",
        "why": "a tape frees what it recorded with its first answer, unless it is persistent.",
        "fix": "ask for all gradients in one call, open one tape per loss, or tf.GradientTape(persistent=True)",
        "not_a_fix": "persistent=True for the same loss twice: the second answer is the same gradient",
    },
    "WG601": {"fix": "compute the loss, inside the tape, from the output of the network that should train"},
}
"""By code, and where one has several causes, by code and cause."""

PHRASES = (
    (".stop_gradient()", "tf.stop_gradient()"),
    (".numpy_function()", "tf.numpy_function()"),
    ("leaves torch", "leaves TensorFlow"),
    ("left torch", "left TensorFlow"),
    ("sample() runs under no_grad", "the sample is drawn without gradient"),
    ("requires_grad=False", "trainable=False"),
    ("requires_grad is False", "trainable is False"),
    ("requires grad", "is watched by the tape"),
    ("requires a gradient", "is watched by the tape"),
    ("loss.requires_grad_(): backward then runs and trains nothing", "tape.watch(loss): it has no history to follow"),
    ("requires_grad=True", "tape.watch()"),
    ("backward raised", "TensorFlow raised"),
    ("the loss has no graph at all", "no gradient arrives"),
    ("backward fails: ", "tape.gradient fails: the tape of "),
    (" was already used by an earlier backward", " has been asked before"),
    ("backward cannot start", "there is nothing to differentiate"),
    ("backward()", "tape.gradient()"),
    ("torch.no_grad()", "tf.stop_gradient"),
    ("no_grad would", "tf.stop_gradient would"),
    ("PyTorch", "TensorFlow"),
)


def translated(finding: Finding, framework: str) -> Finding:
    """The finding in the framework's own words."""
    if framework != "tensorflow":
        return finding
    detail = finding.evidence.get("region") or finding.evidence.get("variables")
    advice = ADVICE.get(f"{finding.code} {detail}", ADVICE.get(finding.code, {}))
    if finding.severity != "note":
        who = ", ".join(finding.parameters[:1])
        for field, text in advice.items():
            setattr(finding, field, text.replace("{who}", who))
    for field in ("message", "here", "why", "seen", "fix", "not_a_fix"):
        setattr(finding, field, _said(getattr(finding, field) or ""))
    finding.labels = [Label(label.site, _said(label.text)) for label in finding.labels]
    return finding


def _said(text: str) -> str:
    for theirs, ours in PHRASES:
        text = text.replace(theirs, ours)
    return text
