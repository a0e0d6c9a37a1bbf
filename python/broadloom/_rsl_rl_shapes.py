"""Places of the arrays of RSL-RL's models in Broadloom's parameters."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

GATES = {"lstm": 4, "gru": 3}  # in torch's order, which is Broadloom's


class Memory(NamedTuple):
    """The cell before the hidden layers of both networks."""

    kind: str
    units: int

    def __str__(self):
        return f"{self.kind} of {self.units} units"


class Part(NamedTuple):
    """An array of RSL-RL's, whose numbers, or those of its transpose, are Broadloom's next."""

    name: str
    shape: tuple[int, ...]
    is_transposed: bool
    bound: float  # of torch's first numbers


class Shapes(NamedTuple):
    """Sizes of the two networks, and where their numbers lie in Broadloom's parameters."""

    actor: tuple[int, ...]  # widths, from observation to action
    critic: tuple[int, ...]
    memory: Memory | None = None

    def parts(self, widths):
        """The Parts of a network in Broadloom's order."""
        parts, inputs = [], widths[0]
        if self.memory:
            kind, units = self.memory
            for side, width in (("ih", inputs), ("hh", units)):
                sums, bound = GATES[kind] * units, units**-0.5
                parts.append(Part(f"rnn.rnn.weight_{side}_l0", (sums, width), True, bound))
                parts.append(Part(f"rnn.rnn.bias_{side}_l0", (sums,), False, bound))
            inputs = units
        for i, outputs in enumerate(widths[1:]):
            is_head = i == len(widths) - 2  # which is stored as torch stores all layers
            bound = 1.0 / np.sqrt(inputs)
            parts.append(Part(f"mlp.{2 * i}.weight", (outputs, inputs), not is_head, bound))
            parts.append(Part(f"mlp.{2 * i}.bias", (outputs,), False, bound))
            inputs = outputs
        return parts

    def count(self):
        """The number of parameters."""
        parts = [*self.parts(self.actor), *self.parts(self.critic)]
        return sum(math.prod(part.shape) for part in parts) + self.actor[-1]

    def unpacked(self, flat):
        """{name of RSL-RL: array} of the actor and of the critic, from parameters or moments, in
        the order of torch's parameters: layers, then a cell's weights, then its biases."""
        place, models = 0, []
        for widths in (self.actor, self.critic):
            model = {}
            for part in self.parts(widths):
                numbers = flat[place : place + int(np.prod(part.shape))]
                place += len(numbers)
                array = numbers.reshape(part.shape[::-1] if part.is_transposed else part.shape)
                model[part.name] = (array.T if part.is_transposed else array).copy("C")
            order = sorted(model, key=lambda name: name.startswith("rnn") * (1 + ("bias" in name)))
            models.append({name: model[name] for name in order})
        return (*models, flat[place:].copy())

    def packed(self, actor, critic, deviation):
        arrays = []
        for widths, model in ((self.actor, actor), (self.critic, critic)):
            for part in self.parts(widths):
                array = model[part.name]
                arrays.append(np.ravel(array.T if part.is_transposed else array))
        return np.ascontiguousarray(np.concatenate([*arrays, deviation]), np.float32)

    def drawn(self, seed, deviation):
        """First parameters, drawn by NumPy as torch draws them: those of nn.Linear are uniform
        within 1 / sqrt(inputs), those of a cell within 1 / sqrt(units). Each deviation is this
        number."""
        random = np.random.default_rng([seed, 0x5EED])
        models = [
            {
                part.name: random.uniform(-part.bound, part.bound, part.shape)
                for part in self.parts(widths)
            }
            for widths in (self.actor, self.critic)
        ]
        return self.packed(*models, np.full(self.actor[-1], deviation))
