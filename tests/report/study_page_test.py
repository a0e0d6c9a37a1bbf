#!/usr/bin/env python3
"""study_page_test.py MAKE_PAGE OUT: study.html in a real browser: nothing complains, nothing is loaded from elsewhere, every chart
is drawn, in light and dark, at a phone's width and on paper; tables, copies and downloads say what the file says. Pages
and PDFs stay in OUT, with BROADLOOM_PICTURES=1 screenshots, too. Without a browser: SKIPPED, exit 77."""

import copy
import csv
import io
import json
import re
import sys
import unittest
from xml.etree import ElementTree

from browser import run_tests
import study_fixture as fixture
from page_checks import COLOURS, DISPLAYS, check_display, write_page

PICTURED = ("ladder", "matches", "several_tasks")  # pictures take much of the test's time
ALL_DISPLAYS = (
    "ladder",
    "matches",
    "odd_names",
)  # the others: what is widest and what is narrowest
MAKE_PAGE = OUT = BROWSER = None

# Downloads are kept in the page instead of being saved: [name, text] in the order of their buttons.
DOWNLOADS = """(() => { const kept = []; const real = download; download = (name, text) => kept.push([name, text]);
  [...document.querySelectorAll('button')].filter((b) => b.textContent === 'Download CSV').forEach((b) => b.click());
  download = real; return kept; })()"""


def open_page(name, data=None, display="light"):
    page = write_page(MAKE_PAGE, "study", OUT, name, data or fixture.ALL[name]())
    BROWSER.leave()
    BROWSER.display(**DISPLAYS[display])
    problems, _ = BROWSER.open(page)
    return problems


def downloads():
    """Every table of the page as {name: rows}, rows as dicts by column."""
    return {
        name: list(csv.DictReader(io.StringIO(text))) for name, text in BROWSER.evaluate(DOWNLOADS)
    }


def table_rows(title):
    """The texts of the table in the figure of that title."""
    return BROWSER.evaluate(f"""(() => {{ const figure = [...document.querySelectorAll('figure')].find((f) => f.querySelector('h3')?.textContent.includes({json.dumps(title)}));
      return [...figure.querySelector('table').rows].map((r) => [...r.cells].map((c) => c.textContent)); }})()""")


def labels():
    return BROWSER.evaluate(
        "[...document.querySelectorAll('canvas')].map((c) => c.getAttribute('aria-label'))"
    )


class DisplayTest(unittest.TestCase):
    def test_every_file_on_every_display(self):
        for name, make in fixture.ALL.items():
            page = write_page(MAKE_PAGE, "study", OUT, name, make())
            for display in DISPLAYS if name in ALL_DISPLAYS else ("light", "small_phone"):
                with self.subTest(file=name, display=display):
                    check_display(
                        self,
                        BROWSER,
                        page,
                        display,
                        OUT / f"{name}_{display}.png" if name in PICTURED else None,
                    )

    def test_paper(self):
        for name in ("ladder", "matches"):
            with self.subTest(file=name):
                self.assertEqual(open_page(name, display="dark"), [])
                BROWSER.print_pdf(OUT / f"{name}.pdf")
                pages = len(re.findall(rb"/Type\s*/Page\b", (OUT / f"{name}.pdf").read_bytes()))
                self.assertTrue(4 <= pages <= 14, f"{pages} pages")
                self.assertEqual(BROWSER.take_problems(), [])

    def test_paper_is_light_and_the_page_dark_again_after_it(self):
        open_page("doubled", display="dark")
        picture = "document.querySelector('canvas').toDataURL()"
        dark = BROWSER.evaluate(picture)
        BROWSER.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        self.assertNotEqual(BROWSER.evaluate(picture), dark)
        self.assertEqual(
            BROWSER.evaluate("getComputedStyle(document.body).backgroundColor"),
            "rgb(255, 255, 255)",
        )
        BROWSER.evaluate("window.dispatchEvent(new Event('afterprint'))")
        self.assertEqual(BROWSER.evaluate(picture), dark)

    def test_names_are_text_and_nothing_else(self):
        data = fixture.odd_names()
        self.assertEqual(open_page("odd_names", data), [])
        self.assertEqual(BROWSER.evaluate("document.title"), f"Study: {data['heading']}")
        self.assertEqual(
            BROWSER.evaluate("document.querySelector('h1').textContent"), data["heading"]
        )
        self.assertIn(
            data["title"],
            BROWSER.evaluate("document.querySelector('main > .subtitle').textContent"),
        )
        self.assertEqual(BROWSER.evaluate("document.querySelectorAll('img, main b').length"), 0)
        names = {row[0] for row in table_rows("Plan")[1:]}
        self.assertEqual(names, {cell["name"] for cell in data["cells"]})

    def test_a_part_that_cannot_be_shown_is_counted_and_leaves_the_rest(self):
        data = fixture.doubled()
        data["cells"][0]["curves"] = 7
        open_page("damaged", data)
        state = BROWSER.evaluate("({...document.documentElement.dataset})")
        self.assertIn("How they learnt", state["failures"])
        self.assertGreater(BROWSER.evaluate("document.querySelectorAll('.failed').length"), 0)
        self.assertIn("Final training return against N, CartPole-v1", labels())


class FirstScreenTest(unittest.TestCase):
    """Heading, sentence and figure within the first screen, light and dark, on a desk and on a phone."""

    SCREENS = {"desk": (1280, 800, False), "phone": (390, 844, True)}
    BOXES = """Object.fromEntries([['h1', 'h1'], ['answer', '.first .answer'], ['figure', '.first figure'], ['caption', '.first figcaption']].map(([k, s]) => {
      const b = document.querySelector(s).getBoundingClientRect(); return [k, [b.left, b.top, b.right, b.bottom]]; }))"""

    def first_screen(self, name, data, screen, dark):
        width, height, phone = self.SCREENS[screen]
        page = write_page(MAKE_PAGE, "study", OUT, f"first_{name}", data)
        BROWSER.leave()
        BROWSER.display(width, height, dark=dark, phone=phone)
        problems, _ = BROWSER.open(page)
        self.assertEqual(problems, [])
        BROWSER.screenshot(
            OUT / f"first_{name}_{screen}_{'dark' if dark else 'light'}.png", height=height
        )
        return BROWSER.evaluate(self.BOXES), width, height

    def studies(self):
        variants = fixture.study(
            seed=21,
            shapes=[(8, 128)],
            seeds=range(1, 11),
            title="rates",
            others=[(f"learning_rate={r}", 1.0, "minibatch_count") for r in (0.001, 0.0001)],
        )
        rows = fixture.study(
            seed=22,
            shapes=[(8, 128)],
            seeds=range(1, 6),
            points=3,
            others=[(f"clip_vloss={c}", 1.0, "minibatch_count") for c in ("true", "false")],
        )
        return {
            "ladder": fixture.ladder(),
            "matches": fixture.matches(),
            "several_tasks": fixture.several_tasks(),
            "curves": variants,
            "rows": rows,
        }

    def test_the_sentence_and_the_figure_are_within_the_first_screen(self):
        for name, data in self.studies().items():
            for screen in self.SCREENS:
                for dark in (False, True) if name in ("ladder", "curves") else (False,):
                    with self.subTest(study=name, screen=screen, dark=dark):
                        boxes, width, height = self.first_screen(name, data, screen, dark)
                        for what, (left, top, right, bottom) in boxes.items():
                            if (
                                name == "several_tasks"
                                and screen == "phone"
                                and what in ("figure", "caption")
                            ):
                                continue  # three charts one below the other: the first of them
                            self.assertTrue(
                                0 <= left < right <= width and 0 <= top < bottom <= height,
                                f"{what}: {left, top, right, bottom}",
                            )
                        self.assertLessEqual(boxes["answer"][3], boxes["figure"][1] + 1)
                        self.assertGreater(
                            boxes["figure"][3] - boxes["figure"][1],
                            40 if name == "rows" else 0.3 * height,
                        )
                        self.assertEqual(
                            BROWSER.evaluate(
                                "document.querySelector('.first .answer').textContent"
                            ).replace("\u00a0", " "),
                            data["answer"],
                        )

    def test_the_first_chart_of_several_tasks_is_within_a_phone_and_the_others_follow(self):
        self.first_screen("several_tasks", fixture.several_tasks(), "phone", False)
        charts = BROWSER.evaluate(
            "[...document.querySelectorAll('.first canvas')].map((c) => c.getBoundingClientRect().bottom)"
        )
        self.assertEqual(len(charts), 3)
        self.assertLessEqual(charts[0], 844)

    def test_the_figure_is_what_the_study_has(self):
        kinds = {}
        for name, data in self.studies().items():
            open_page(f"kind_{name}", data)
            kinds[name] = (
                BROWSER.evaluate("""(() => { const c = document.querySelector('.first canvas');
              return c ? c.getAttribute('aria-label') : [...document.querySelectorAll('.first .rows .arm')].map((a) => a.textContent); })()""")
            )
        self.assertEqual(kinds["ladder"], "The answer, along what varies, CartPole-v1")
        self.assertEqual(kinds["curves"], "The answer, along the steps, CartPole-v1")
        self.assertEqual(sorted(kinds["rows"]), ["clip_vloss=false", "clip_vloss=true"])

    def test_its_points_are_those_of_the_line(self):
        data = fixture.ladder()
        open_page("ladder", data)
        points = BROWSER.evaluate(
            "Chart.getChart(document.querySelector('.first canvas')).data.datasets[0].data.map((p) => p.y)"
        )
        arms = data["lines"][0]["arms"]
        self.assertEqual(
            points, [data["cells"][a]["scores"]["training"]["iqm"]["value"] for a in arms]
        )


class LookTest(unittest.TestCase):
    def test_lines_are_named_at_their_ends_in_full_and_apart(self):
        open_page("doubled")
        found = BROWSER.evaluate("""(() => { const c = [...document.querySelectorAll('#curves canvas')][0]; const chart = Chart.getChart(c);
          const ends = [{ y: 10 }, { y: 11 }, { y: 200 }, { y: 201 }]; spread(ends, 0, 205);
          return { named: chart.data.datasets.map((d) => d.endLabel).filter(Boolean), room: chart.width - chart.chartArea.right - 11, wide: Math.max(...chart.data.datasets.map((d) => textWidth(d.endLabel || ""))), ends: ends.map((e) => e.at) }; })()""")
        self.assertEqual(found["named"], ["8x128", "8x256", "16x128"])
        self.assertGreaterEqual(found["room"], found["wide"])
        self.assertTrue(all(b - a >= 13 for a, b in zip(found["ends"], found["ends"][1:])))
        self.assertTrue(all(0 <= y <= 205 for y in found["ends"]))

    def test_arms_of_one_setting_and_several_shapes_are_named_by_their_shapes(self):
        open_page("ladder")

        def names(*arms):
            rows = [
                {"other": other, "num_envs": n, "num_steps": t, "name": f"{n}x{t} {other}"}
                for other, n, t in arms
            ]
            return BROWSER.evaluate(
                f"namesApart({{arms: {json.dumps(rows)}}}, [...{json.dumps(rows)}.keys()])"
            )

        self.assertEqual(names(("0.001", 256, 4), ("0.001", 1024, 4)), ["256x4", "1024x4"])
        self.assertEqual(names(("rate=0.001", 8, 8), ("rate=0.01", 8, 8)), ["0.001", "0.01"])
        self.assertEqual(
            names(("a", 8, 8), ("a", 16, 4), ("b", 8, 8)), ["8x8 a", "16x4 a", "8x8 b"]
        )

    def test_neighbours_of_many_lines_differ_in_more_than_their_shade(self):
        open_page("ladder")
        dashes = BROWSER.evaluate(
            "Chart.getChart(document.querySelector('#curves canvas')).data.datasets.filter((d) => d.endLabel).map((d) => String(d.borderDash))"
        )
        self.assertEqual(len(dashes), 11)
        self.assertTrue(all(a != b for a, b in zip(dashes, dashes[1:])))

    def test_numbers_of_a_column_have_as_many_decimals(self):
        text = "cellText(alikeColumns([{ read: (r) => r, interval: true, alike: true }], ROWS)[0], ROWS[I])"
        rows = "[{value: 500, low: 500, high: 500}, {value: 500, low: 480.5, high: 500}, {value: 478.2, low: 464.4, high: 487.1}]"
        got = [
            BROWSER.evaluate(text.replace("ROWS", rows).replace("[I]", f"[{i}]")) for i in range(3)
        ]
        self.assertEqual(got, ["500 [500, 500]", "500 [481, 500]", "478 [464, 487]"])
        self.assertEqual(
            BROWSER.evaluate("formatEstimate({value: 500, low: 500, high: 500})"), "500 [500, 500]"
        )

    def test_an_axis_ends_at_a_round_number_that_is_near(self):
        self.assertEqual(
            BROWSER.evaluate("[roundEnd(0, 199680), roundEnd(0, 180000)]"), [200000, 180000]
        )

    def test_logarithmic_axes_say_so(self):
        self.assertEqual(
            BROWSER.evaluate(
                "[axisTitle('samples', true).text, axisTitle('', true).text, axisTitle('samples', false).text]"
            ),
            ["samples (log scale)", "(log scale)", "samples"],
        )

    def test_what_is_wider_than_a_phone_says_that_it_scrolls(self):
        hints = "[...document.querySelectorAll('#results .hint')].map((h) => [h.hidden, h.nextElementSibling.scrollWidth > h.nextElementSibling.clientWidth + 2])"
        for display in ("phone", "light"):
            open_page("matches", display=display)
            BROWSER.evaluate(
                "document.querySelectorAll('details').forEach((d) => { d.open = true; }), new Promise((r) => setTimeout(r, 80))"
            )
            found = BROWSER.evaluate(hints)
            self.assertTrue(all(hidden != wide for hidden, wide in found), found)
            if display == "phone":
                self.assertTrue(any(wide for _, wide in found))

    def test_training_returns_are_folded_where_they_leave_out_episodes(self):
        data = fixture.doubled()
        for cell in data["cells"]:
            cell["scores"]["evaluation"] = copy.deepcopy(cell["scores"]["training"])
        folded = "[...document.querySelectorAll('details.folded canvas')].map((c) => c.getAttribute('aria-label').split(',')[0])"
        open_page("trusted", {**data, "main_score": "evaluation", "training_leaves_out": False})
        self.assertEqual(BROWSER.evaluate(folded), [])
        open_page("untrusted", {**data, "main_score": "evaluation", "training_leaves_out": True})
        self.assertEqual(
            sorted(set(BROWSER.evaluate(folded))),
            [
                "Final training return against N",
                "Training return against environment steps",
                "Training return against wall time",
            ],
        )
        self.assertFalse(
            any("raining" in title for title in table_rows("Final returns, CartPole-v1")[0])
        )

    def test_an_instrument_that_is_the_same_everywhere_is_said_and_not_drawn(self):
        data = fixture.doubled()
        data["instruments"][0]["constant"] = 4
        open_page("constant", data)
        self.assertFalse(any("Gradient noise scale" in label for label in labels()))
        self.assertIn(
            "not drawn: Gradient noise scale (4)",
            BROWSER.evaluate("document.querySelector('#instruments').textContent"),
        )


class ContentTest(unittest.TestCase):
    def test_every_question_has_its_section_and_every_chart_its_name(self):
        open_page("matches")
        sections = BROWSER.evaluate(
            "[...document.querySelectorAll('main > section[id]')].map((s) => s.id)"
        )
        self.assertEqual(
            sections,
            ["answer", "results", "curves", "pairs", "profiles", "plan", "instruments", "made"],
        )
        found = labels()
        self.assertEqual(len(found), len(set(found)))
        self.assertFalse(
            any("all tasks" in label or "normalised" in label for label in found)
        )  # of one task they say nothing new
        for match in ("minibatch_count", "minibatch_size", "gradient_steps"):
            for what in (
                "Training return against environment steps",
                "Training return against wall time",
                "Performance profile",
            ):
                self.assertIn(f"{what}, {match}", found)
        # The first figure shows one of the three scores.
        self.assertEqual(sum(label.startswith("Final ") for label in found), 2)
        self.assertEqual(
            sum("Idle units" in label for label in found), 1
        )  # one group at a time; the reader chooses
        BROWSER.evaluate(
            """(() => { const s = document.querySelector('select'); s.value = '2'; s.dispatchEvent(new Event('change')); })()"""
        )
        self.assertIn("Idle units against environment steps, gradient_steps", labels())

    def test_several_tasks_have_panels_and_normalised_scores(self):
        data = fixture.several_tasks()
        open_page("several_tasks", data)
        titles = BROWSER.evaluate(
            "[...document.querySelectorAll('#results h3')].map((h) => h.textContent)"
        )
        self.assertIn("Final returns, all tasks", titles[0])
        self.assertEqual(sum("Final returns, " in title for title in titles), 4)
        for task in data["tasks"]:
            self.assertIn(f"Training return against environment steps, {task['name']}", labels())
        best = max(data["arms"], key=lambda a: a["normalised"]["training"]["iqm"]["value"])
        self.assertEqual(table_rows("Final returns, all tasks")[1][0], best["name"])
        # Results of single tasks are listed with the mean over tasks.
        pairs = downloads()["pairs_of_arms_training.csv"]
        self.assertTrue(
            any(t["result"] != "none" for c in data["comparisons"] for t in c["by_task"])
        )
        for row, c in zip(pairs, data["comparisons"], strict=True):
            called = [
                f"{data['tasks'][t['task']]['name']}: {data['arms'][c[t['result']]]['name']}"
                for t in c["by_task"]
                if t["result"] != "none"
            ]
            self.assertEqual(row["better on a task by itself"], "; ".join(called) or "–")
        open_page("no_range")
        self.assertNotIn(
            "all tasks", BROWSER.evaluate("document.querySelector('#results').textContent")
        )
        self.assertIn(
            "OwnEnv-v0 has no reference score",
            BROWSER.evaluate("document.querySelector('#made').textContent"),
        )

    def test_the_notes_stand_first(self):
        data = fixture.ladder()
        open_page("ladder", data)
        notes = "[...document.querySelectorAll('.notes li')].map((l) => l.textContent)"
        self.assertEqual(BROWSER.evaluate(notes), data["notes"])

    def test_the_ranking_says_what_a_verdict_needs(self):
        for tuned in ([], ["learning_rate"]):
            with self.subTest(tuned=tuned):
                self.assertEqual(open_page("ladder", fixture.ladder() | {"tuned": tuned}), [])
                caption = BROWSER.evaluate(
                    "[...document.querySelectorAll('figcaption')].map((c) => c.textContent)"
                    ".find((text) => text.includes('leads: no other arm'))"
                )
                self.assertIn(
                    "A verdict needs the interval of P to leave out a half, a permutation p of at "
                    "most 5 %",
                    caption,
                )
                self.assertEqual("no choice of tuned keys" in caption, bool(tuned))
                self.assertNotIn("P alone", caption)

    def test_lines_say_how_each_value_stands_and_what_else_differs(self):
        data = fixture.doubled()
        ahead = {"value": 40, "low": 35, "high": 45, "count": 20}
        data["lines"][0] |= {
            "differ": True,
            "standings": ["leads", "lower"],
            "ahead": [None, ahead],
            "room": 0.0,
            "confounds": ["gradient steps (1,600 to 6,400)"],
        }
        # A pair that is called, though all arms of the line together differ no more than by chance.
        data["lines"][1] |= {
            "differ": False,
            "standings": ["leads", "lower"],
            "ahead": [None, ahead],
            "room": 7.5,
            "confounds": [],
        }
        data["calls"] = [
            {
                "kind": "setting",
                "key": "gamma",
                "lines": 4,
                "pairs": 8,
                "later": "larger gamma",
                "later_better": 3,
                "earlier": "smaller gamma",
                "earlier_better": 1,
                "chance": 0.25,
            },
            {
                "kind": "num_envs",
                "key": "num_envs",
                "lines": 1,
                "pairs": 1,
                "later": "larger N",
                "later_better": 1,
                "earlier": "smaller N",
                "earlier_better": 0,
                "chance": 1,
            },
        ]
        open_page("lines", data)
        head, first, second, *_ = table_rows("What each thing that varies does")
        value = lambda row, title: row[head.index(title)]
        stand = ("leads", "no difference found", "lower")
        one, other = data["lines"][0]["values"]
        self.assertEqual([value(first, title) for title in stand], [one, "–", other])
        self.assertTrue(value(first, "leads by").startswith("40"))
        self.assertEqual(value(first, "differs too"), "gradient steps (1,600 to 6,400)")
        both = ", ".join(data["lines"][1]["values"])
        self.assertEqual([value(second, title) for title in stand], ["–", both, "–"])
        self.assertEqual(value(second, "leads by"), "–")
        self.assertEqual(value(second, "may differ by up to"), "7.500")
        self.assertEqual(value(second, "differs too"), "–")
        rows = table_rows("Neighbours that differ in one key alone")[1:]
        self.assertEqual(rows, [["larger gamma", "3", "smaller gamma", "1", "8", "0.2500"]])

    def test_what_is_needed_to_do_it_again(self):
        data = fixture.ladder()
        open_page("ladder", data)
        made = BROWSER.evaluate("document.querySelector('#made').textContent")
        s = data["studies"][0]
        for part in (
            " ".join(data["command"]),
            s["revision"],
            s["hash"],
            "1–10",
            s["hardware"][0],
            s["isa"][0],
            s["definition"],
            "50,000 replicates",
        ):
            self.assertIn(part, made)
        self.assertFalse(BROWSER.evaluate("document.querySelector('#made pre').parentElement.open"))
        self.assertEqual(
            BROWSER.evaluate(
                """[shellWord('a b'), shellWord("it's"), commandText(['report', 'x.sqlite'])]"""
            ),
            ["'a b'", "'it'\\''s'", "broadloom report x.sqlite"],
        )

    def test_what_differs_is_told_from_what_is_equal(self):
        terms = "Object.fromEntries(['same', 'different'].map((c) => [c, [...document.querySelectorAll(`.${c} dt`)].map((t) => t.textContent)]))"
        open_page("ladder")
        self.assertIn("gradient steps", BROWSER.evaluate(terms)["same"])
        self.assertEqual(BROWSER.evaluate(terms)["different"], [])
        self.assertEqual(BROWSER.evaluate("document.querySelectorAll('td.gradients').length"), 0)
        open_page("matches")
        self.assertEqual(BROWSER.evaluate(terms)["same"], ["environment steps", "epochs"])
        self.assertIn("gradient steps", BROWSER.evaluate(terms)["different"])
        head = table_rows("Plan")[0]
        self.assertIn("gradient steps ≠", head)
        self.assertNotIn("epochs", head)

    def test_the_table_of_returns_gives_a_verdict_on_each_arm(self):
        data = fixture.matches()
        open_page("matches", data)
        head, *rows = table_rows("Final returns, CartPole-v1")
        order = sorted(
            range(len(data["arms"])),
            key=lambda i: -data["cells"][i]["scores"]["training"]["iqm"]["value"],
        )
        self.assertEqual([row[0] for row in rows], [data["arms"][i]["name"] for i in order])
        best = order[0]
        for i, row in zip(order, rows):
            verdict = row[head.index("verdict")]
            if i == best:
                results = {
                    c["result"] if c["a"] == best else {"a": "b", "b": "a"}.get(c["result"])
                    for c in data["comparisons"]
                    if best in (c["a"], c["b"])
                }
                self.assertEqual(verdict, "best" if results == {"a"} else "leads")
                continue
            pair = next(c for c in data["comparisons"] if {c["a"], c["b"]} == {i, best})
            expected = (
                ("no difference found" if pair["enough_runs"] else "not called")
                if pair["result"] == "none"
                else "higher"
                if pair["result"] == ("a" if pair["a"] == i else "b")
                else "lower"
            )
            self.assertEqual(
                verdict, expected if pair["equal"]["gradient_steps"] else f"{expected} ≠"
            )
            p = (
                pair["probability"]["value"]
                if pair["a"] == best
                else 1 - pair["probability"]["value"]
            )
            self.assertAlmostEqual(
                float(row[head.index("P(leader better)")].split()[0]), p, delta=0.006
            )

    def test_an_arm_is_best_only_where_all_others_can_be_told_from_it(self):
        data = fixture.matches()
        best = max(
            range(len(data["arms"])),
            key=lambda i: data["cells"][i]["scores"]["training"]["iqm"]["value"],
        )
        pairs = [c for c in data["comparisons"] if best in (c["a"], c["b"])]
        for word, results in (
            ("best", lambda c: "a" if c["a"] == best else "b"),
            ("leads", lambda c: "none"),
        ):
            pairs[0]["result"] = results(pairs[0])
            for c in pairs[1:]:
                c["result"] = "a" if c["a"] == best else "b"
            open_page(f"verdict_{word}", data)
            head, first, *_ = table_rows("Final returns, CartPole-v1")
            self.assertEqual(first[head.index("verdict")], word)

    def test_what_evaluations_are_of_is_said(self):
        data = fixture.matches()
        data["studies"][0] |= {"evaluations": 5, "eval_episodes": [2, 10]}
        open_page("evaluations_of", data)
        self.assertIn(
            "5, of 2 to 10 episodes, most likely actions",
            BROWSER.evaluate("document.body.textContent"),
        )
        data["studies"][0]["eval_actions"] = ["most_likely", "sampled"]
        open_page("evaluations_of", data)
        self.assertIn(
            "most likely or sampled actions", BROWSER.evaluate("document.body.textContent")
        )

    def test_where_sentences_are_of_evaluations_so_are_rank_and_curves(self):
        data = fixture.doubled()
        for cell in data["cells"]:  # the other way round than training returns
            cell["scores"]["evaluation"] = copy.deepcopy(cell["scores"]["training"])
            cell["scores"]["evaluation"]["iqm"]["value"] *= -1
            cell["curves"].insert(
                1,
                {
                    "key": "evaluation_return",
                    **{key: cell["curves"][0][key] for key in ("steps", "iqm")},
                },
            )
        order = sorted(
            range(3), key=lambda i: data["cells"][i]["scores"]["training"]["iqm"]["value"]
        )
        for score, best in (("training", order[-1]), ("evaluation", order[0])):
            open_page(f"main_{score}", {**data, "main_score": score, "rankings": []})
            self.assertEqual(
                table_rows("Final returns, CartPole-v1")[1][0], data["arms"][best]["name"]
            )
            self.assertTrue(
                any(
                    label.startswith("Return of evaluations against environment steps")
                    for label in labels()
                )
            )
        without = fixture.doubled()
        open_page("no_evaluations", without)
        self.assertFalse(any(label.startswith("Return of evaluations") for label in labels()))

    def test_an_arm_with_the_runs_of_the_best_is_called_that(self):
        data = fixture.matches()
        best = max(
            range(len(data["arms"])),
            key=lambda i: data["cells"][i]["scores"]["training"]["iqm"]["value"],
        )
        twin = next(i for i in range(len(data["arms"])) if i != best)
        data["arms"][max(best, twin)]["same_runs"] = min(best, twin)
        open_page("same_runs", data)
        head, *rows = table_rows("Final returns, CartPole-v1")
        row = next(row for row in rows if row[0] == data["arms"][twin]["name"])
        self.assertEqual(row[head.index("verdict")], "the same runs")

    def test_the_matrix_says_what_the_comparisons_say(self):
        data = fixture.matches()
        open_page("matches", data)
        cells = BROWSER.evaluate("""[...document.querySelector('table.matrix').tBodies[0].rows].map((r) => [...r.cells].slice(1).map((c) => ({
          text: c.textContent, strong: c.classList.contains('strong'), gradients: c.classList.contains('gradients'), color: c.style.backgroundColor })))""")
        self.assertEqual(len(cells), len(data["arms"]))
        colours = {}
        for c in data["comparisons"]:
            for i, j, p in (
                (c["a"], c["b"], c["probability"]["value"]),
                (c["b"], c["a"], 1 - c["probability"]["value"]),
            ):
                cell = cells[i][j]
                self.assertAlmostEqual(float(cell["text"]), p, delta=0.00501)
                self.assertEqual(cell["strong"], c["result"] != "none")
                self.assertEqual(cell["gradients"], not c["equal"]["gradient_steps"])
                colours.setdefault(round(p, 2), set()).add(cell["color"])
        self.assertTrue(all(cells[i][i]["text"] == "" for i in range(len(cells))))
        self.assertGreater(len({frozenset(c) for c in colours.values()}), 20)

    def test_of_many_arms_the_matrix_has_those_compared_with_all(self):
        open_page("fifty")
        shape = BROWSER.evaluate(
            "(() => { const b = document.querySelector('table.matrix').tBodies[0]; return [b.rows.length, b.rows[0].cells.length - 1]; })()"
        )
        self.assertEqual(shape, [50, 2])


class ChoiceTest(unittest.TestCase):
    CHECKED = "[...document.querySelectorAll('fieldset')].map((f) => [...f.querySelectorAll('input:checked')].map((i) => Number(i.dataset.arm)))"

    def click(self, text):
        BROWSER.evaluate(
            f"[...document.querySelectorAll('fieldset button')].find((b) => b.textContent.startsWith('{text}')).click()"
        )

    def test_of_many_lines_some_are_drawn_until_the_reader_chooses(self):
        data = fixture.fifty()
        open_page("fifty", data)
        first = BROWSER.evaluate(self.CHECKED)
        best = max(range(50), key=lambda i: data["cells"][i]["scores"]["training"]["iqm"]["value"])
        self.assertTrue(6 <= len(first[0]) <= 12)
        self.assertTrue({0, 49, best} <= set(first[0]))
        self.assertTrue(all(each == first[0] for each in first), "every legend says the same")
        lines = "Chart.getChart([...document.querySelectorAll('canvas')].find((c) => c.getAttribute('aria-label').startsWith('Training return against environment'))).data.datasets.length"
        self.assertEqual(
            BROWSER.evaluate(lines), 3 * len(first[0])
        )  # a curve and two edges of its band
        BROWSER.evaluate("document.querySelector('input[data-arm=\"7\"]').click()")
        self.assertEqual(BROWSER.evaluate(lines), 3 * (len(first[0]) + 1))
        self.assertTrue(all(7 in each for each in BROWSER.evaluate(self.CHECKED)))
        self.click("None")
        self.assertFalse(any(label.startswith("Training return") for label in labels()))
        self.assertIn(
            "Nothing that is chosen",
            BROWSER.evaluate("document.querySelector('#curves').textContent"),
        )
        self.click("All")
        self.assertEqual(BROWSER.evaluate(lines), 150)
        self.click("As at first")
        self.assertEqual(BROWSER.evaluate(self.CHECKED), first)
        self.assertTrue(all(n > 1 for n in BROWSER.evaluate(COLOURS)))
        self.assertEqual(BROWSER.take_problems(), [])

    def test_up_to_twelve_are_all_drawn_each_with_a_colour_or_dash_of_its_own(self):
        for name, arms in (("ladder", 11), ("doubled", 3)):
            open_page(name)
            self.assertEqual(len(BROWSER.evaluate(self.CHECKED)[0]), arms)
            styles = BROWSER.evaluate(
                "[...document.querySelector('fieldset').querySelectorAll('label i')].map((i) => i.style.borderTopColor + i.style.borderTopStyle)"
            )
            self.assertEqual((len(styles), len(set(styles))), (arms, arms))


class SavedTest(unittest.TestCase):
    """Figures as files, and the values that the pointer shows."""

    SAVED = """(() => { const kept = []; const real = download;
      download = (name, text, type) => kept.push([name, text, type]);
      [...document.querySelectorAll('.saves')]
        .find((s) => s.closest('figure').textContent.includes(%s))
        .querySelectorAll('button').forEach((b) => b.click());
      download = real; return kept; })()"""

    def saved(self, words):
        (svg_name, svg, svg_type), (pdf_name, pdf, pdf_type) = BROWSER.evaluate(
            self.SAVED % json.dumps(words)
        )
        self.assertEqual((svg_type, pdf_type), ("image/svg+xml", "application/pdf"))
        self.assertEqual((svg_name[-4:], pdf_name[-4:]), (".svg", ".pdf"))
        return svg, pdf.encode("latin-1")

    def texts_of_pdf(self, pdf):
        """Its texts; every object is where the table says."""
        table = int(re.search(rb"startxref\n(\d+)", pdf).group(1))
        self.assertTrue(pdf[table:].startswith(b"xref"))
        places = [int(place) for place in re.findall(rb"(\d{10}) 00000 n", pdf[table:])]
        for number, place in enumerate(places, 1):
            self.assertTrue(pdf[place:].startswith(b"%d 0 obj" % number))
        length = int(re.search(rb"/Length (\d+)", pdf).group(1))
        start = pdf.index(b"stream\n") + len(b"stream\n")
        self.assertTrue(pdf[start + length :].startswith(b"endstream"))
        texts = re.findall(rb"<([0-9a-f]+)> Tj", pdf[start : start + length])
        return {bytes.fromhex(text.decode()).decode("cp1252") for text in texts}

    def test_figures_are_saved_for_papers_and_open_again(self):
        self.assertEqual(open_page("doubled", display="dark"), [])
        before = BROWSER.evaluate("document.querySelector('#curves canvas').toDataURL()")
        svg, pdf = self.saved("against environment steps")
        after = BROWSER.evaluate("document.querySelector('#curves canvas').toDataURL()")
        self.assertEqual(before, after)  # dark again
        drawing = ElementTree.fromstring(svg)
        name = "{http://www.w3.org/2000/svg}"
        texts = {text.text for text in drawing.iter(f"{name}text")}
        self.assertIn("environment steps", texts)
        self.assertEqual(texts - self.texts_of_pdf(pdf), set())
        colours = {path.get("stroke") for path in drawing.iter(f"{name}path")}
        self.assertGreaterEqual(len(colours), 4)  # three arms and the grid
        self.assertEqual(drawing.find(f"{name}rect").get("fill"), "#ffffff")
        path = OUT / "saved.svg"
        path.write_text(svg, encoding="utf-8")
        BROWSER.leave()
        self.assertEqual(BROWSER.open(path)[0], [])
        self.assertEqual(BROWSER.evaluate("document.documentElement.tagName"), "svg")

    def test_the_pointer_shows_a_value_of_each_line(self):
        open_page("doubled")
        shown = BROWSER.evaluate("""(() => {
          const canvas = [...document.querySelectorAll('#curves canvas')][0];
          const chart = Chart.getChart(canvas);
          const { left, right, top } = chart.chartArea;
          const shown = Chart.Interaction.modes.along(chart, { x: (left + right) / 2, y: top });
          return shown.map(({ datasetIndex, index }) => {
            const { label, quiet, data } = chart.data.datasets[datasetIndex];
            return [label, Boolean(quiet), data[index].name]; }); })()""")
        self.assertEqual(len({label for label, _, _ in shown}), 3)
        self.assertEqual(len(shown), 3)
        self.assertFalse(any(quiet for _, quiet, _ in shown))
        self.assertEqual(len({name for _, _, name in shown}), 1)  # all at one place
        self.assertTrue(shown[0][2].startswith("environment steps: "))

    def test_figures_that_one_sees_are_numbered_without_gaps(self):
        open_page("ladder")
        numbers = BROWSER.evaluate("""[...document.querySelectorAll('h3.numbered')]
          .filter((h) => !h.closest('details')).map((h) => h.textContent.split('.')[0])""")
        self.assertGreater(len(numbers), 3)
        self.assertEqual(numbers, [f"Figure {i}" for i in range(1, len(numbers) + 1)])


class TextTest(unittest.TestCase):
    def test_downloads_have_every_number_of_the_file(self):
        data = fixture.with_gaps()
        open_page("with_gaps", data)
        files = downloads()
        number = lambda text: None if text == "" else float(text)
        runs = files["runs.csv"]
        expected = [(c["name"], r) for c in data["cells"] for r in c["runs"]]
        self.assertEqual(len(runs), len(expected))
        for row, (name, run) in zip(runs, expected):
            self.assertEqual((row["cell"], int(row["seed"])), (name, run["seed"]))
            self.assertEqual(
                [number(row[k]) for k in ("training return", "evaluation", "area", "seconds")],
                [run[k] for k in ("training", "evaluation", "area", "seconds")],
            )
        self.check_curves(
            files["return_against_environment_steps.csv"],
            data,
            "environment steps",
            "return",
            lambda c: (
                list(zip(c["curves"][0]["steps"], c["curves"][0]["iqm"])) if c["curves"] else []
            ),
        )
        self.check_curves(
            files["return_against_wall_time.csv"],
            data,
            "seconds",
            "return",
            lambda c: list(zip(c["time_curve"]["seconds"], c["time_curve"]["iqm"])),
        )
        self.check_curves(
            files["profiles.csv"],
            data,
            "τ",
            "share",
            lambda c: list(zip(c["profile"]["thresholds"], c["profile"]["shares"])),
        )
        self.assertEqual(
            len(files["instruments.csv"]),
            sum(len(k["steps"]) for c in data["cells"] for k in c["curves"][1:]),
        )
        pairs = files["pairs_of_arms_training.csv"]
        self.assertEqual(
            [number(r["P(first is better)"]) for r in pairs],
            [c["probability"]["value"] for c in data["comparisons"]],
        )
        self.assertEqual([r["not equal"] for r in pairs][-1], "gradient steps, minibatch size")
        plan = files["plan_all_columns.csv"]
        self.assertEqual(
            [int(r["gradient steps"]) for r in plan], [c["gradient_steps"] for c in data["cells"]]
        )
        self.assertEqual(plan[4]["runs finished"], "0, 2 failed, 3 pending")

    def check_curves(self, rows, data, x, value, points):
        expected = [(c["name"], step, e) for c in data["cells"] for step, e in points(c)]
        self.assertEqual(len(rows), len(expected))
        for row, (name, step, e) in zip(rows, expected):
            got = [row["arm"], float(row[x])] + [
                None if row[f"{value}{end}"] == "" else float(row[f"{value}{end}"])
                for end in ("", " low", " high")
            ]
            self.assertEqual(got, [name, step, e["value"], e["low"], e["high"]])

    def test_every_figure_of_numbers_can_be_downloaded(self):
        open_page("ladder")
        bare = BROWSER.evaluate(
            "[...document.querySelectorAll('figure')].filter((f) => ![...f.querySelectorAll('button')].some((b) => b.textContent === 'Download CSV')).length"
        )
        self.assertEqual(bare, 0)
        names = [name for name, _ in BROWSER.evaluate(DOWNLOADS)]
        self.assertEqual(len(names) - len(set(names)), 0, names)

    TABLE = """({ title: 't', columns: [
      { title: 'arm', read: (r) => r[0], text: true, literal: true },
      { title: '', draw: () => null }, { title: 'IQM | 5%', read: (r) => r[1], interval: true },
      { title: 'n ≠', read: (r) => r[2] }],
      rows: [['a_b & "c" <d> | \\\\x {50%} $1 ^~', { value: 12.34, low: 10, high: 14.5 }, 1234], ['ü\\tλ\\nx', { value: 1.5e-7, low: -2e-8, high: 4e-7 }, null]] })"""

    def test_tables_as_text_for_papers(self):
        open_page("empty")
        self.assertEqual(
            BROWSER.evaluate(f"tabSeparated({self.TABLE})"),
            'arm\tIQM | 5%\tn ≠\na_b & "c" <d> | \\x {50%} $1 ^~\t12.3 [10.0, 14.5]\t1,234\nü λ x\t1.5 [-0.2, 4.0] × 10⁻⁷\t–\n',
        )
        self.assertEqual(
            BROWSER.evaluate(f"markdownOf({self.TABLE})"),
            "| arm | IQM \\| 5% | n ≠ |\n| --- | ---: | ---: |\n"
            '| a\\_b \\& "c" \\<d\\> \\| \\\\x {50%} $1 ^\\~ | 12.3 [10.0, 14.5] | 1,234 |\n| ü\tλ x | 1.5 [-0.2, 4.0] × 10⁻⁷ | – |\n',
        )
        self.assertEqual(
            BROWSER.evaluate(f"latexOf({self.TABLE})").splitlines(),
            [
                "\\begin{tabular}{lrr}",
                "\\toprule",
                "arm & IQM $|$ 5\\% & n $\\neq$ \\\\",
                "\\midrule",
                'a\\_b \\& "c" $<$d$>$ $|$ \\textbackslash{}x \\{50\\%\\} \\$1 \\textasciicircum{}\\textasciitilde{} & 12.3 [10.0, 14.5] & 1,234 \\\\',
                "ü\t$\\lambda$ x & 1.5 [$-$0.2, 4.0] $\\times 10^{-7}$ & -- \\\\",
                "\\bottomrule",
                "\\end{tabular}",
            ],
        )

    def test_curves_with_values_below_zero_are_not_on_a_logarithmic_axis(self):
        data = fixture.doubled()
        for cell in data["cells"]:
            for i, e in enumerate(cell["curves"][1]["iqm"]):  # over decades, below zero at first
                e.update(value=-0.1 if i == 0 else 10.0 ** (i % 4), low=None, high=None)
        open_page("below_zero", data)
        kinds = BROWSER.evaluate("""Object.fromEntries([...document.querySelectorAll('#instruments canvas')].map((c) => [
          c.getAttribute('aria-label').split(' against')[0], Chart.getChart(c).options.scales.y.type]))""")
        self.assertEqual(kinds["Gradient noise scale"], "linear")
        data["cells"] = [
            {
                **c,
                "curves": [
                    {**k, "iqm": k["iqm"][1:], "steps": k["steps"][1:]} for k in c["curves"]
                ],
            }
            for c in data["cells"]
        ]
        open_page("above_zero", data)
        self.assertEqual(
            BROWSER.evaluate(
                "Chart.getChart(document.querySelector('#instruments canvas')).options.scales.y.type"
            ),
            "logarithmic",
        )

    def test_a_button_copies_and_where_the_browser_refuses_the_text_stands_selected(self):
        open_page("ladder")
        click = """(async () => { const box = document.querySelector('#results figure .buttons');
          const button = [...box.querySelectorAll('button')].find((b) => b.textContent === 'Copy as LaTeX'); button.click();
          await new Promise((r) => setTimeout(r, 30));
          const area = box.querySelector('textarea');
          return { said: box.querySelector('.copied').textContent, text: area.value, hidden: box.querySelector('.copy').hidden,
                   selected: area.value.slice(area.selectionStart, area.selectionEnd), copied: window.copied || null }; })()"""
        BROWSER.evaluate(
            "Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (t) => { window.copied = t; } }, configurable: true }), 1"
        )
        done = BROWSER.evaluate(click)
        self.assertEqual(
            (done["said"], done["copied"], done["hidden"]), ("Copied.", done["text"], False)
        )
        self.assertIn("\\toprule\narm & training IQM & ", done["text"])
        self.assertEqual(done["text"].count("\\\\\n"), 12)
        BROWSER.evaluate(
            """Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true }); document.execCommand = () => false; 1"""
        )
        refused = BROWSER.evaluate(click)
        self.assertIn("press Ctrl+C", refused["said"])
        self.assertEqual(refused["selected"], refused["text"])
        self.assertEqual(BROWSER.take_problems(), [])

    def test_long_tables_show_their_beginning_and_give_all(self):
        open_page("ladder")
        self.assertEqual(len(downloads()["instruments.csv"]), 11 * 6 * 50)
        shown = BROWSER.evaluate("""(() => { const t = [...document.querySelectorAll('table')].find((t) => t.caption.textContent.startsWith('Curves of the instruments'));
          return [t.tBodies[0].rows.length, t.caption.textContent]; })()""")
        self.assertEqual(shown[0], 400)
        self.assertIn("the first 400 of 3,300 rows", shown[1])


if __name__ == "__main__":
    sys.exit(run_tests(globals(), "study"))
