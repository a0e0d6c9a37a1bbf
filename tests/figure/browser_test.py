"""Every picture under experiments/ in a real browser: no text is cut or written over another, light and dark.

    browser_test.py REPOSITORY
"""
import pathlib
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(ROOT / "tests" / "report"))
import browser  # noqa: E402

# [text, left, top, right, bottom] of all upright texts, a letter's height each, and the size of the picture.
BOXES = """(() => { const svg = document.documentElement; const all = [...svg.querySelectorAll('text')].map((t) => {
  const r = t.getBoundingClientRect(), turned = /rotate/.test(t.getAttribute('transform') || ''), cut = turned ? 0 : 0.25 * r.height;
  return [t.textContent, r.left, r.top + cut, r.right, r.bottom - cut, turned]; });
  return {size: [svg.viewBox.baseVal.width, svg.viewBox.baseVal.height], texts: all}; })()"""
INKS = """(() => { const luminance = (c) => { const v = c.match(/\\d+/g).slice(0, 3).map((x) => x / 255).map((x) =>
  x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4); return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
  const paper = luminance(getComputedStyle(document.querySelector('.paper')).fill);
  return [...document.querySelectorAll('text:not(.on-dark):not(.on-light)')].map((t) => { const ink = luminance(getComputedStyle(t).fill);
  return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05); }); })()"""


def overlaps(texts):
    upright = [t for t in texts if not t[5]]
    for i, a in enumerate(upright):
        for b in upright[i + 1:]:
            if min(a[3], b[3]) - max(a[1], b[1]) > 1 and min(a[4], b[4]) - max(a[2], b[2]) > 1:
                yield f"'{a[0]}' and '{b[0]}'"


class Pictures(unittest.TestCase):
    def test_overlaps_are_found(self):
        texts = [["a", 0, 0, 10, 10, False], ["b", 5, 5, 20, 20, False], ["c", 30, 0, 40, 10, False], ["d", 0, 0, 50, 50, True]]
        self.assertEqual(list(overlaps(texts)), ["'a' and 'b'"])

    def test_every_text_can_be_read(self):
        pictures = sorted((ROOT / "experiments").rglob("*.svg"))
        self.assertTrue(pictures)
        with browser.Browser(browser.find_browser()) as page:
            for picture in pictures:
                for dark in (False, True):
                    with self.subTest(picture=picture.name, dark=dark):
                        page.display(width=1600, height=2000, dark=dark)  # larger than any of them
                        self.assertEqual(page.open(picture)[0], [])
                        found = page.evaluate(BOXES)
                        width, height = found["size"]
                        self.assertEqual([t[0] for t in found["texts"] if t[1] < 0 or t[2] < 0 or t[3] > width or t[4] > height], [], "cut")
                        self.assertEqual(list(overlaps(found["texts"])), [], "one over another")
                        self.assertGreater(min(page.evaluate(INKS)), 4.5, "contrast of text with the paper")


if __name__ == "__main__":
    if not browser.find_browser():
        print("no browser; skipped")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
