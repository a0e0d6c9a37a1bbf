#!/usr/bin/env python3
"""watch_page_test.py MAKE_PAGE OUT: watch.html in a real browser: shapes are where they were planted, buttons, keys and time move
the frames, and planes have their colours."""

import base64
import json
import struct
import sys
import unittest
import zlib
import xml.etree.ElementTree

from browser import run_tests
from page_checks import DISPLAYS, check_display, write_page

MAKE_PAGE = OUT = BROWSER = None
STEPS = 40


def episode(steps, end, success, shapes):
    """A disc that wanders to the right over a line."""
    frames = []
    for t in range(steps + 1):
        shapes.append(["circle", "ink", 1, t / 10, 0.5, 0.2])
        frames.append([len(shapes) - 1])
    return {
        "return": -0.5 * steps,
        "steps": steps,
        "end": end,
        "success": success,
        "rewards": [-0.5] * steps,
        "actions": ["push right" if t % 2 else "push left" for t in range(steps)],
        "backdrop": [0, 1],
        "frames": frames,
    }


def wandering():
    shapes = [["line", "muted", 1, 0.02, 0, 0, 4, 0], ["text", 3, 1, 3.5, 1.5, 0.4, "<G>"]]
    episodes = [episode(STEPS, "pole_fell", False, shapes), episode(8, "cut", None, shapes)]
    return {
        "format": 1,
        "kind": "watch",
        "created": "2026-01-01T00:00:00Z",
        "version": "0",
        "revision": "r",
        "command": ["watch", "runs/a"],
        "run": "runs/a",
        "checkpoint": "runs/a/checkpoints/x.safetensors",
        "global_step": 12345,
        "env_id": "Wander-v0",
        "action_kinds": "most_likely",
        "seed": 1,
        "max_steps": 8,
        "planes": 0,
        "view": [0, -1, 4, 2],
        "shapes": shapes,
        "episodes": episodes,
    }


def planes():
    shapes = [["rectangle", "panel", 1, 0, 0, 3, 2]] + [
        ["rectangle", c, 1, c, 0, 1, 1] for c in range(3)
    ]
    data = wandering()
    data.update(
        planes=3,
        env_id="Planes-v0",
        view=[0, 0, 3, 2],
        shapes=shapes,
        episodes=[
            {
                "return": 1.0,
                "steps": 2,
                "end": "time_limit",
                "success": None,
                "rewards": [0, 1],
                "actions": [0, 2],
                "backdrop": [0],
                "frames": [[1], [1, 2], [1, 2, 3]],
            }
        ],
    )
    return data


def png(red):
    """A data URI of a picture of one colour, 2 x 1."""
    chunk = lambda kind, data: (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    )
    pixels = zlib.compress(b"\0" + bytes([red, 0, 0]) * 2)
    file = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 1, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", pixels)
        + chunk(b"IEND", b"")
    )
    return "data:image/png;base64," + base64.b64encode(file).decode()


def pictures():
    """A picture for every other state of five, and the last."""
    data = wandering()
    shapes = [["image", "ink", 1, 0, 0, 2, 1, png(red)] for red in (40, 80, 120)]
    data.update(
        pictures_every=2,
        env_id="Pictures-v0",
        view=[0, 0, 2, 1],
        shapes=shapes,
        episodes=[
            {
                "return": 4.0,
                "steps": 4,
                "end": "time_limit",
                "success": None,
                "rewards": [1] * 4,
                "actions": [0] * 4,
                "backdrop": [],
                "frames": [[0], [0], [1], [1], [2]],
            }
        ],
    )
    return data


def js(expression):
    return BROWSER.evaluate(expression)


def key(name):
    js(
        f"document.dispatchEvent(new KeyboardEvent('keydown', {{key: {json.dumps(name)}, bubbles: true}}))"
    )


def frame():
    return int(js("document.documentElement.dataset.frame"))


def press(words):
    js(
        f"[...document.querySelectorAll('button')].find((b) => b.textContent === {json.dumps(words)} || b.ariaLabel === {json.dumps(words)}).click()"
    )


def shown():
    return js(
        "[...document.querySelectorAll('.stage svg > g > *')].map((n) => [n.tagName, n.getAttribute('cx'), n.getAttribute('cy')])"
    )


class WatchPage(unittest.TestCase):
    def open(self, name, data):
        BROWSER.leave()
        BROWSER.display(**DISPLAYS["light"])
        problems, _ = BROWSER.open(write_page(MAKE_PAGE, "watch", OUT, name, data))
        self.assertEqual(problems, [])

    def test_on_every_display(self):
        for name, data in (
            ("watch", wandering()),
            ("watch_planes", planes()),
            ("watch_pictures", pictures()),
        ):
            page = write_page(MAKE_PAGE, "watch", OUT, name, data)
            for display in DISPLAYS:
                with self.subTest(file=name, display=display):
                    check_display(self, BROWSER, page, display, OUT / f"{name}_{display}.png")
                    self.assertIn(data["env_id"], js("document.querySelector('h1').innerText"))

    def test_shapes_are_where_they_were_planted(self):
        self.open("watch", wandering())
        # 4 x 3 units are 1000 x 750; y goes downwards there.
        self.assertEqual(
            js("document.querySelector('.stage svg').getAttribute('viewBox')"), "0 0 1000 750"
        )
        self.assertEqual(
            shown(), [["polyline", None, None], ["text", None, None], ["circle", "0", "375"]]
        )
        self.assertEqual(js("document.querySelector('.stage text').textContent"), "<G>")
        key("ArrowRight")
        self.assertEqual(shown()[-1], ["circle", "25", "375"])

    def test_buttons_keys_and_slider_move_it(self):
        self.open("watch", wandering())
        moves = [
            (lambda: press("One step on"), 1),
            (lambda: key("ArrowRight"), 2),
            (lambda: press("One step back"), 1),
            (lambda: key("End"), STEPS),
            (lambda: key("ArrowRight"), STEPS),
            (lambda: key("Home"), 0),
            (lambda: key("ArrowLeft"), 0),
            (
                lambda: js(
                    "const s = document.querySelector('input[type=range]'); s.value = '7'; s.dispatchEvent(new Event('input'))"
                ),
                7,
            ),
        ]
        for move, expected in moves:
            move()
            self.assertEqual(frame(), expected)

    def test_it_says_what_happens(self):
        self.open("watch", wandering())
        facts = lambda: js(
            "[...document.querySelectorAll('dl.facts dd')].map((d) => d.textContent)"
        )
        self.assertEqual(facts(), ["0 of 40", "push left", "–", "0"])
        for _ in range(3):
            key("ArrowRight")
        self.assertEqual(facts(), ["3 of 40", "push right", "-0.5000", "-1.5000"])
        key("End")
        self.assertEqual(facts(), ["40 of 40", "the episode is over", "-0.5000", "-20"])
        self.assertIn(
            "return so far -20",
            js("document.querySelector('.stage svg').getAttribute('aria-label')"),
        )
        answer = js("document.querySelector('.answer').textContent")
        self.assertEqual(
            answer, "Episode 1 of 2: return -20 in 40 steps, ended by pole_fell, no success."
        )

    def test_another_episode(self):
        self.open("watch", wandering())
        key("End")
        js(
            "const s = [...document.querySelectorAll('select')].pop(); s.value = '1'; s.dispatchEvent(new Event('change'))"
        )
        self.assertEqual(frame(), 0)
        key("End")
        self.assertEqual(frame(), 8)
        self.assertIn(
            "cut after 8 steps, not at its end", js("document.querySelector('.answer').textContent")
        )
        self.assertIn("1 of 2 was cut after 8 steps (--max_steps)", js("document.body.textContent"))

    def test_it_plays_pauses_and_stops_at_the_end(self):
        self.open("watch", wandering())
        speed = lambda: js("document.querySelector('select').value")
        self.assertEqual(speed(), "5")
        key("ArrowUp")
        self.assertEqual(speed(), "10")
        wait = (
            "new Promise((r) => { const look = () => (%s ? r(1) : setTimeout(look, 20)); look(); })"
        )
        key(" ")
        js(wait % "Number(document.documentElement.dataset.frame) > 2 && (KEYS[' '](), true)")
        stopped_at = frame()
        self.assertLess(stopped_at, STEPS)
        self.assertEqual(js("document.documentElement.dataset.playing"), "false")
        js("new Promise((r) => setTimeout(() => r(1), 150))")
        self.assertEqual(frame(), stopped_at)
        for _ in range(5):
            key("ArrowUp")
        self.assertEqual(speed(), "100")
        key("ArrowDown")
        self.assertEqual(speed(), "50")
        press("Play")
        js(wait % "document.documentElement.dataset.playing === 'false'")
        self.assertEqual(frame(), STEPS)
        press("Again")
        self.assertLess(frame(), STEPS)

    def test_planes_have_colours_of_their_own(self):
        self.open("watch_planes", planes())
        key("End")
        fills = js(
            "[...document.querySelectorAll('.stage rect')].map((n) => getComputedStyle(n).fill)"
        )
        self.assertEqual(len(set(fills)), 4, fills)
        self.assertEqual(
            js("[...document.querySelectorAll('.legend span')].map((n) => n.textContent)"),
            ["plane 0", "plane 1", "plane 2"],
        )
        self.assertEqual(
            len(js("[...document.querySelectorAll('select')].map((s) => s.value)")),
            1,
            "one episode needs no picker",
        )

    def test_pictures_are_shown(self):
        self.open("watch_pictures", pictures())
        red = """(async () => { const image = new Image(); image.src = document.querySelector('.stage image').getAttribute('href'); await image.decode();
          const canvas = document.createElement('canvas').getContext('2d'); canvas.drawImage(image, 0, 0);
          return canvas.getImageData(0, 0, 1, 1).data[0]; })()"""
        for expected in (40, 40, 80, 80, 120):
            self.assertEqual(js(red), expected, "its place in a row is that of the state")
            key("ArrowRight")
        box = js(
            "(({x, y, width, height}) => [x, y, width, height])(document.querySelector('.stage image').getBBox())"
        )
        self.assertEqual(box, [0, 0, 1000, 500])
        self.assertEqual(js("document.querySelector('select').value"), "50", "25 pictures a second")
        self.assertIn(
            "There is a picture every 2 steps, and of the last state",
            js("document.body.textContent"),
        )
        self.assertIn(png(120), js("frameText(player.stage.svg)"))

    def test_all_colours_differ_in_light_and_dark(self):
        for dark in (False, True):
            BROWSER.display(1280, 900, dark=dark)
            BROWSER.open(write_page(MAKE_PAGE, "watch", OUT, "watch_planes", planes()))
            colours = js("""Array.from({length: 12}, (_, i) => { const n = document.createElement('i'); n.style.color = `var(--colour-${i})`;
              document.body.append(n); return getComputedStyle(n).color; })""")
            self.assertEqual(len(set(colours)), 12, colours)

    def test_a_saved_frame_is_a_picture_of_its_own(self):
        self.open("watch", wandering())
        text = js("frameText(player.stage.svg)")
        self.assertNotIn("var(", text)
        self.assertIn('xmlns="http://www.w3.org/2000/svg"', text)
        self.assertIn("&lt;G&gt;", text)
        root = xml.etree.ElementTree.fromstring(text)
        self.assertEqual(root.get("viewBox"), "0 0 1000 750")
        self.assertEqual(
            [node.tag.split("}")[1] for node in root.iter() if len(node) == 0],
            ["rect", "polyline", "text", "circle"],
        )


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
