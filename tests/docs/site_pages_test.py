"""site_pages_test.py SITE PICTURES: the site's first pages in a browser, on a screen and a phone,
light and dark. BROADLOOM_PICTURES=1 keeps pictures of them."""

import os
import pathlib
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "report"))
from browser import Browser, find_browser

SITE, PICTURES = pathlib.Path(sys.argv.pop(1)), pathlib.Path(sys.argv.pop(1))
PAGES = ("index", "experiments/index", "docs/python", "docs/study")


class SitePages(unittest.TestCase):
    def test_pages_fit_and_follow_the_readers_colours(self):
        for dark in (False, True):
            with Browser(find_browser()) as browser:  # a new reader, whose choice is not kept
                for page in PAGES:
                    for width, height, phone in ((1280, 900, False), (390, 844, True)):
                        with self.subTest(page, dark=dark, width=width):
                            browser.display(width, height, dark=dark, phone=phone)
                            self.look_at(browser, page, dark, width)

    def look_at(self, browser, page, dark, width):
        problems, requests = browser.open(SITE / f"{page}.html")
        self.assertEqual(problems, [])
        self.assertFalse([url for url in requests if not url.startswith(("file:", "data:"))])
        scheme = browser.evaluate("document.body.getAttribute('data-md-color-scheme')")
        self.assertEqual(scheme, "slate" if dark else "default")
        shown, room = browser.evaluate(
            "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        self.assertLessEqual(shown, room)
        cut = browser.evaluate(
            "[...document.querySelectorAll('article pre > code')].filter((c) => !c.closest("
            "'.highlighttable') && c.scrollWidth > c.clientWidth + 1).length"
        )
        self.assertEqual(cut, 0, "code is cut at the right")
        name = f"{page.replace('/', '_')}_{width}_{'dark' if dark else 'light'}.png"
        browser.screenshot(PICTURES / name, height=2400, scale=0.5)

    def test_the_start_page_has_an_agent_three_doors_and_the_version(self):
        with Browser(find_browser()) as browser:
            browser.display(1280, 900)
            browser.open(SITE / "index.html")
            self.assertGreater(browser.evaluate("document.querySelector('.agent').naturalWidth"), 0)
            doors = browser.evaluate(
                "[...document.querySelectorAll('.doors a')].map((a) => a.getAttribute('href'))"
            )
            self.assertEqual(len(doors), 3)
            for door in doors:
                self.assertTrue((SITE / door).is_file(), door)
            foot = browser.evaluate("document.querySelector('.md-copyright').innerText")
            self.assertRegex(foot, r"Broadloom \d+\.\d+\.\d+, revision [0-9a-f]{7,}")

    def test_results_are_a_gallery_of_figures_with_their_answers(self):
        with Browser(find_browser()) as browser:
            browser.display(1280, 900)
            browser.open(SITE / "experiments/index.html")
            cards = browser.evaluate(
                "[...document.querySelectorAll('.gallery a')].map((a) => "
                "[a.querySelector('span').innerText, a.querySelector('img').naturalWidth])"
            )
            self.assertGreater(len(cards), 10)
            for words, width in cards:
                self.assertTrue(len(words) > 10 and width > 0, (words, width))


if __name__ == "__main__":
    if find_browser() is None or not (SITE / "index.html").is_file():
        print("SKIPPED: no chromium, or the site was not built")
        sys.exit(77)
    PICTURES.mkdir(parents=True, exist_ok=True)
    unittest.main()
