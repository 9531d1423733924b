"""A headless Chromium, driven over its debugging pipe: no package, no port."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

LONGEST = 30.0
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-background-networking "
    "--disable-component-update --disable-sync --no-first-run --no-default-browser-check --hide-scrollbars "
    "--disable-extensions --remote-debugging-pipe"
).split()

STARTER = """
import os, sys
for number, pipe in zip((98, 99), sys.argv[1:3]):
    os.dup2(int(pipe), number)
os.dup2(98, 3)
os.dup2(99, 4)
os.closerange(5, 100)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Gives the pipe the two numbers that Chromium expects."""


def chromium() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """One browser for many tabs."""

    def __init__(self) -> None:
        program = chromium()
        assert program is not None
        self._folder = tempfile.TemporaryDirectory(prefix="whygrad-chromium-", ignore_cleanup_errors=True)
        profile = f"--user-data-dir={self._folder.name}"
        their_in, self._out = os.pipe()
        self._in, their_out = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-c", STARTER, str(their_in), str(their_out), program, *FLAGS, profile, "about:blank"],
            pass_fds=(their_in, their_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self._folder.name},
        )
        os.close(their_in)
        os.close(their_out)
        self._left = b""
        self._last = 0
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        with contextlib.suppress(OSError, AssertionError):
            self.call("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._folder.cleanup()

    def call(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        self._last += 1
        number = self._last
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + LONGEST
        while True:
            found = self._next(deadline)
            assert found is not None, f"Chromium does not answer {method}"
            if found.get("id") == number:
                assert "error" not in found, f"{method}: {found['error']}"
                result: dict[str, Any] = found["result"]
                return result

    def _next(self, deadline: float) -> dict[str, Any] | None:
        """The next message; what is no answer is kept as an event."""
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._in], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                return None
            read = os.read(self._in, 1 << 20)
            assert read, "Chromium has ended"
            self._left += read
        first, self._left = self._left.split(b"\0", 1)
        message: dict[str, Any] = json.loads(first)
        if "id" not in message:
            self.events.append(message)
        return message

    def listen(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self._next(deadline) is not None:
            pass

    def tab(self, **options: Any) -> Tab:
        return Tab(self, **options)


class Tab:
    """A page in it, of a size and a colour scheme, and everything it asked for or complained about."""

    def __init__(self, browser: Browser, width: int = 1280, height: int = 900, scheme: str = "light") -> None:
        self._browser = browser
        self.width = width
        context = browser.call("Target.createBrowserContext")["browserContextId"]
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        self._target = target
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        allowed = ["clipboardReadWrite", "clipboardSanitizedWrite"]
        browser.call("Browser.grantPermissions", browserContextId=context, permissions=allowed)
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **parameters)

    def resize(self, width: int, height: int = 900) -> None:
        self.width = width
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def media(self, media: str) -> None:
        self.call("Emulation.setEmulatedMedia", media=media)

    def without_script(self) -> None:
        self.call("Emulation.setScriptExecutionDisabled", value=True)

    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)
        self.until(lambda: self.run("document.readyState") == "complete")

    def until(self, holds: Callable[[], object]) -> None:
        deadline = time.monotonic() + LONGEST
        while not holds():
            assert time.monotonic() < deadline, "it did not come to hold"
            time.sleep(0.02)

    def run(self, expression: str) -> Any:
        """The value of an expression in the page; promises are waited for."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def key(self, name: str, code: int) -> None:
        text = {"Enter": "\r"}.get(name, "")
        for kind in ("keyDown", "keyUp"):
            extra = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code, **extra)

    def type(self, words: str) -> None:
        self.call("Input.insertText", text=words)

    def _mine(self, *methods: str) -> list[dict[str, Any]]:
        self._browser.listen(0.05)
        events = self._browser.events
        return [e["params"] for e in events if e.get("sessionId") == self._session and e["method"] in methods]

    def requests(self) -> list[str]:
        return [e["request"]["url"] for e in self._mine("Network.requestWillBeSent")]

    def complaints(self) -> list[str]:
        """Errors, warnings and refusals that a console would show."""
        thrown = [str(e["exceptionDetails"]) for e in self._mine("Runtime.exceptionThrown")]
        logged = [e["entry"]["text"] for e in self._mine("Log.entryAdded") if e["entry"]["level"] != "verbose"]
        said = [str(e["args"]) for e in self._mine("Runtime.consoleAPICalled") if e["type"] in ("error", "warning")]
        return thrown + logged + said

    def screenshot(self, file: Path, *, whole: bool = True) -> None:
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=whole, format="png", **self._clip(whole))
        file.write_bytes(base64.b64decode(shot["data"]))

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        height = min(self.run("document.documentElement.scrollHeight"), 12000)
        return {"clip": {"x": 0, "y": 0, "width": self.width, "height": height, "scale": 1}}

    def close(self) -> None:
        self._browser.call("Target.closeTarget", targetId=self._target)
