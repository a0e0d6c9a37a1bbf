"""Prints the table kReferences of tests/nn/pair_distributions_test.cc: log-densities, entropies and
divergences by SciPy, whose code and formulas are others than ours.

    python tests/nn/make_reference_densities.py      # needs numpy and scipy

Beta: scipy.stats.beta of b with logpdf and entropy, moved from [0, 1] to [-1, 1] by log 2;
KL(p || q) by scipy.special. Squashed: the density of tanh(x) by scipy.stats.norm over
1 - tanh(x)^2, and the entropy by scipy.integrate.quad. torch.distributions has the same densities:
Beta, and TransformedDistribution(Normal, TanhTransform()).
"""

import numpy as np
from scipy import integrate, special, stats


def softplus(x):
    return np.logaddexp(0, x)


def beta(one, two, x):
    a, b, share = 1 + softplus(one), 1 + softplus(two), special.expit(x)
    d = stats.beta(a, b)
    other = 1 + softplus(0.0)
    kl = (
        special.betaln(other, other)
        - special.betaln(a, b)
        + (a - other) * special.psi(a)
        + (b - other) * special.psi(b)
        + (2 * other - a - b) * special.psi(a + b)
    )
    return d.logpdf(share) - np.log(2), d.entropy() + np.log(2), kl


def squashed(one, two, x):
    d = stats.norm(one, np.exp(two))
    slope = lambda u: np.log1p(-(np.tanh(u) ** 2))
    moved = integrate.quad(lambda u: d.pdf(u) * slope(u), one - 12 * d.std(), one + 12 * d.std())[0]
    return d.logpdf(x) - slope(x), d.entropy() + moved, 0.5 * (np.exp(2 * two) + one**2 - 1) - two


for kind, formula in {"kSquashed": squashed, "kBeta": beta}.items():
    for one, two, x in [(0.3, -0.7, 0.9), (-1.2, -0.2, -0.4), (2.0, -1.0, 1.5), (0.0, 0.1, -2.0)]:
        numbers = ", ".join(repr(float(n)) for n in formula(one, two, x))
        print(f"    {{PairKind::{kind}, {one}, {two}, {x}, {numbers}}},")
