# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""chromium.py - Chromium without a window, driven by its own protocol (--remote-debugging-pipe): a page
at any size and pixel ratio, light or dark; scripts that wait; pictures."""

import base64
import json
import os
import subprocess
import tempfile


class Chromium:
    """A browser with one page. To be used with `with`."""

    def __init__(self, *options):
        self.directory = tempfile.TemporaryDirectory(prefix="chromium-")
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            ["sh", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "sh", "chromium", "--headless", "--no-sandbox", "--disable-gpu",
             "--hide-scrollbars", "--user-data-dir=" + self.directory.name, "--remote-debugging-pipe", *options],
            pass_fds=(commands, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self.number, self.buffer, self.session = 0, b"", None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        self.directory.cleanup()

    def read(self):
        while b"\0" not in self.buffer:
            more = os.read(self.answers, 1 << 20)
            if not more:
                raise EOFError("Chromium has ended")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.commands, data):]
        return self.number

    def call(self, method, **parameters):
        """Returns the answer to a command."""
        number = self.send(method, parameters)
        while True:
            message = self.read()
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]

    def processes(self, kind):
        """Returns the pids of the browser's processes of a kind, such as "renderer"."""
        session, self.session = self.session, None
        found = self.call("SystemInfo.getProcessInfo")["processInfo"]
        self.session = session
        return [each["id"] for each in found if each["type"] == kind]

    def look(self, width, height, ratio=1, theme="light"):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=ratio, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def open(self, path, fragment=""):
        """Opens a file anew and returns once it is loaded."""
        self.call("Page.navigate", url="about:blank")
        number = self.send("Page.navigate", {"url": f"file://{os.path.abspath(path)}{fragment}"})
        is_answered = is_loaded = False
        while not (is_answered and is_loaded):
            message = self.read()
            is_loaded |= is_answered and message.get("method") == "Page.loadEventFired"
            is_answered |= message.get("id") == number

    def run(self, script):
        """Returns the value of an expression, or of its promise."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"])[:2000])
        return result["result"].get("value")

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
