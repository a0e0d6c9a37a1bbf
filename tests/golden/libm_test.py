#!/usr/bin/env python3
"""Checks that no number of a run comes from libm, whose last bits depend on processor and system.

    libm_test.py NM LIBRARY...

Golden hashes may miss a last bit that is rounded away. The library's symbols show every call."""

import re
import subprocess
import sys
import unittest

# Not those that IEEE 754 rounds correctly or that are exact anyway: sqrt, fma, floor, round, fmin,
# ...
INEXACT = re.compile(
    r"^_*(exp(2|10|m1)?|log(2|10|1p)?|pow|hypot|cbrt|a?(sin|cos|tan)h?|sincos|atan2|erfc?|"
    r"[lt]gamma|gamma|[jy][01n])"
    r"(_finite)?[fl]?(_r)?$"
)

# Objects and the functions that they may call. Their results go only to reports, which promise no
# bits.
ALLOWED = {
    "report_words.cc": {"log10"},  # digits of a number in a sentence
}


def calls(listing):
    """Inexact functions by object, from the output of `nm -A -u -P`."""
    found = {}
    for line in listing.splitlines():
        place, _, rest = line.partition("]: ")
        if not rest:
            continue
        name = rest.split()[0]
        if INEXACT.match(name):
            source = place.rpartition("[")[2].removesuffix(".o")
            found.setdefault(source, set()).add(name)
    return found


def problems(found, allowed):
    """Every call that is not allowed, and every allowance that nothing needs, as readable lines."""
    lines = []
    for source in sorted(found.keys() | allowed.keys()):
        got, may = found.get(source, set()), allowed.get(source, set())
        for name in sorted(got - may):
            lines.append(
                f"{source} calls {name} of libm: use core/portable_math.h, whose bits are the same "
                "everywhere"
            )
        for name in sorted(may - got):
            lines.append(f"{source} no longer calls {name}: take it out of {__file__}")
    return lines


class LibmTest(unittest.TestCase):
    def test_that_calls_are_seen(self):
        listing = (
            "libx.a[a.cc.o]: exp U\nlibx.a[a.cc.o]: sqrt U\n"
            "libx.a[b.cc.o]: sincosf U\nlibx.a[b.cc.o]: exponent U\n"
        )
        self.assertEqual(calls(listing), {"a.cc": {"exp"}, "b.cc": {"sincosf"}})

    def test_that_more_and_less_than_allowed_are_said(self):
        self.assertEqual(problems({"a.cc": {"exp"}}, {"a.cc": {"exp"}}), [])
        self.assertIn("calls exp", problems({"a.cc": {"exp"}}, {})[0])
        self.assertIn("no longer calls exp", problems({}, {"a.cc": {"exp"}})[0])

    def test_the_library(self):
        listing = subprocess.run(
            [NM, "-A", "-u", "-P", *LIBRARIES], check=True, capture_output=True, text=True
        ).stdout
        self.assertIn("[product.cc.o]", listing)
        found = problems(calls(listing), ALLOWED)
        self.assertFalse(found, "\n" + "\n".join(found))


if __name__ == "__main__":
    NM, *LIBRARIES = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
