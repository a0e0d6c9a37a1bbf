"""A headless Chromium, driven through the DevTools protocol over a pair of pipes. Standard library only."""

import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PATIENCE = 120  # seconds without a word of the browser, which a busy machine may need
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_browser():
    """The browser's path, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """with Browser(path) as browser: ...; one page, which open() brings to a file."""

    def __init__(self, path):
        self.path = path
        self.buffer = b""
        self.last_id = 0
        self.events = []

    def __enter__(self):
        self.home = tempfile.mkdtemp(prefix="broadloom_browser_")
        command_read, self.write_end = os.pipe()
        self.read_end, answer_write = os.pipe()
        # The browser reads commands from descriptor 3 and writes answers to 4. Its ends are moved out of the way
        # first, since they may have those very numbers.
        ends = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (command_read, answer_write)]

        def prepare():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        options = [
            "--headless=new",
            "--remote-debugging-pipe",
            f"--user-data-dir={self.home}/profile",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--hide-scrollbars",
            "--force-color-profile=srgb",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-extensions",
            "--host-resolver-rules=MAP * ~NOTFOUND",
        ]
        if os.geteuid() == 0:
            options.append("--no-sandbox")  # the sandbox refuses to run as root
        self.log = open(os.path.join(self.home, "browser.log"), "wb")
        self.process = subprocess.Popen(
            [self.path, *options, "about:blank"],
            preexec_fn=prepare,
            close_fds=False,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
        )
        for fd in (command_read, answer_write, *ends):
            os.close(fd)
        try:
            self.attach()
        except BaseException:
            self.__exit__()
            raise
        return self

    def attach(self):
        self.session = None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.log.close()
        for fd in (self.write_end, self.read_end):
            os.close(fd)
        shutil.rmtree(self.home, ignore_errors=True)

    def call(self, method, **params):
        """The answer to one command; events that come meanwhile are kept."""
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_end, data) :]
        while True:
            answer = self.receive(PATIENCE)
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def receive(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            if not select.select([self.read_end], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError(f"the browser said nothing for {seconds} s")
            chunk = os.read(self.read_end, 1 << 20)
            if not chunk:
                with open(self.log.name, encoding="utf-8", errors="replace") as log:
                    raise RuntimeError(f"the browser ended:\n{log.read()[-3000:]}")
            self.buffer += chunk
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def display(self, width, height, dark=False, phone=False):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )
        self.call(
            "Emulation.setEmulatedMedia",
            media="",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )

    def leave(self):
        """Puts the page away, so that what comes next is not drawn for it as well."""
        self.load("about:blank")

    def load(self, url):
        """Goes there and waits until all of it is loaded. Pages before it may still send events of theirs."""
        loader = self.call("Page.navigate", url=url).get("loaderId")
        loaded = lambda e: (
            e.get("method") == "Page.lifecycleEvent"
            and e["params"]["name"] == "load"
            and e["params"]["loaderId"] == loader
        )
        while not any(map(loaded, self.events)):
            self.events.append(self.receive(PATIENCE))

    def open(self, path):
        """Loads a file; gives what it complained about and what it asked for: (problems, requests)."""
        self.events.clear()
        self.load(pathlib.Path(path).absolute().as_uri())
        self.evaluate(
            "new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(1))))"
        )
        seen, self.events = self.events, []
        return problems_in(seen), requests_in(seen)

    def evaluate(self, expression):
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def take_problems(self):
        seen, self.events = self.events, []
        return problems_in(seen)

    def screenshot(self, path, top=0, height=None, scale=1):
        """A picture for people who look, where BROADLOOM_PICTURES is set: it takes longer than what is checked of a page."""
        if not os.environ.get("BROADLOOM_PICTURES"):
            return
        width = self.evaluate("document.documentElement.clientWidth")
        height = height or self.evaluate("document.documentElement.scrollHeight") - top
        shot = self.call(
            "Page.captureScreenshot",
            format="png",
            captureBeyondViewport=True,
            clip={"x": 0, "y": top, "width": width, "height": min(height, 16000), "scale": scale},
        )
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def print_pdf(self, path):
        """The page as a printer gets it: A4, with backgrounds as the page's style asks for them."""
        answer = self.call(
            "Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True
        )
        with open(path, "wb") as file:
            file.write(base64.b64decode(answer["data"]))


def problems_in(events):
    """Errors and warnings of the console, exceptions, and what the browser itself logged."""
    found = []
    for event in events:
        params = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            found.append(details.get("exception", {}).get("description") or details["text"])
        elif event.get("method") == "Runtime.consoleAPICalled" and params["type"] in (
            "error",
            "warning",
            "assert",
        ):
            found.append(
                " ".join(str(a.get("value", a.get("description"))) for a in params["args"])
            )
        elif event.get("method") == "Log.entryAdded" and params["entry"]["level"] in (
            "error",
            "warning",
        ):
            found.append(params["entry"]["text"])
    return found


def requests_in(events):
    return [
        e["params"]["request"]["url"]
        for e in events
        if e.get("method") == "Network.requestWillBeSent"
    ]


def run_tests(module, folder=""):
    """Runs the tests of a script MAKE_PAGE OUT, and returns its exit status; 77: there is no browser.

    module: the script's globals(), which get MAKE_PAGE, OUT (with `folder` behind it) and BROWSER.
    """
    module["MAKE_PAGE"], module["OUT"] = sys.argv[1], pathlib.Path(sys.argv[2]) / folder
    path = find_browser()
    if not path:
        print(
            "SKIPPED: there is no chromium, so no page was looked at; tools/setup.sh --tests installs it"
        )
        return 77
    module["OUT"].mkdir(parents=True, exist_ok=True)
    with Browser(path) as module["BROWSER"]:
        return 0 if unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful() else 1
