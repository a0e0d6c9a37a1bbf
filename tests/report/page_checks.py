"""Checks for every report page: it reports no errors, loads nothing, draws all its charts and fits every display."""

import json
import subprocess

DISPLAYS = {
    "light": dict(width=1280, height=900),
    "dark": dict(width=1280, height=900, dark=True),
    "phone": dict(width=390, height=844, phone=True),
    "small_phone": dict(width=320, height=568, phone=True, dark=True),
}

# How many different colours a drawing has, nothing drawn counted as one: a blank canvas has one.
COLOURS = """[...document.querySelectorAll('canvas')].map((c) => {
  const seen = new Set(), p = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer);
  for (let i = 0; i < p.length && seen.size < 3; ++i) seen.add(p[i]);
  return seen.size; })"""
UNNAMED = """[...document.querySelectorAll('canvas, svg')].filter((c) => c.getAttribute('role') !== 'img' ||
  !c.getAttribute('aria-label')).length + [...document.querySelectorAll('table')].filter((t) => !t.caption || !t.caption.textContent).length"""
WORDS_THAT_MEAN_A_MISTAKE = ("NaN", "undefined", "Infinity", "[object", "null")


def write_page(maker, kind, out, name, data):
    """Writes OUT/name.json and the page of it; gives the page's path."""
    source = out / f"{name}.json"
    source.write_text(json.dumps(data), encoding="utf-8")
    page = out / f"{name}.html"
    subprocess.run([maker, kind, source, page], check=True)
    return page


def check_display(test, browser, page, display, picture=None):
    """The page as it is on one of DISPLAYS; picture: where to keep what it looks like, with BROADLOOM_PICTURES."""
    browser.leave()
    browser.display(**DISPLAYS[display])
    problems, requests = browser.open(page)
    test.assertEqual(problems, [])
    from_elsewhere = [
        address for address in requests if not address.startswith("data:")
    ]  # pictures inside of it are not
    test.assertEqual(from_elsewhere, [page.absolute().as_uri()])
    state = browser.evaluate("({...document.documentElement.dataset})")
    test.assertEqual(state["failures"], "")
    test.assertEqual(state["charts"], state["drawn"])
    if picture:
        browser.screenshot(picture, scale=0.6 if display == "phone" else 1)
    # Folded parts are drawn once they are open.
    browser.evaluate(
        "document.querySelectorAll('details').forEach((d) => { d.open = true; }), new Promise((r) => setTimeout(() => requestAnimationFrame(() => r(1)), 60))"
    )
    test.assertLessEqual(
        browser.evaluate("document.documentElement.scrollWidth"), DISPLAYS[display]["width"]
    )
    blank = [i for i, colours in enumerate(browser.evaluate(COLOURS)) if colours < 2]
    test.assertEqual(blank, [], "canvases with nothing on them")
    test.assertEqual(
        browser.evaluate(UNNAMED),
        0,
        "drawings or tables without a name for those who do not see them",
    )
    text = browser.evaluate("document.body.innerText")
    for word in WORDS_THAT_MEAN_A_MISTAKE:
        test.assertNotIn(word, text)
    test.assertEqual(browser.take_problems(), [])
