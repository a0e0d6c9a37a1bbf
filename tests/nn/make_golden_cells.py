"""Makes tests/nn/golden_cells.json: outputs, states and gradients of torch.nn.GRU and torch.nn.LSTM
in double precision, through episodes that begin within a sequence. tests/nn/cell_test.cc sets ours
beside them.

Run it only to add cases, with any Python that has torch and numpy; the tests need neither:

    python tests/nn/make_golden_cells.py
"""

import json
import pathlib

import numpy as np
import torch

WIDTH, STEPS, SEQUENCES = 3, 4, 2
BEGINS = [1, 0, 0, 0, 0, 1, 0, 0]  # [STEPS, SEQUENCES]


def record(kind, layer, planes):
    rng = np.random.default_rng(7)
    drawn = {}

    def draw(name, *shape):
        drawn[name] = torch.tensor(rng.normal(size=shape).round(3), requires_grad=True)
        return drawn[name]

    torch_layer = layer(WIDTH, WIDTH, dtype=torch.float64)
    gates = torch_layer.bias_ih_l0.shape[0]
    x = draw("x", STEPS, SEQUENCES, WIDTH)
    before = draw("before", SEQUENCES, planes, WIDTH)
    weights, end_weights = draw("weights", *x.shape), draw("end_weights", *before.shape)
    given = {  # ours: W [in, out], b, U, d
        "W": draw("W", WIDTH, gates),
        "b": draw("b", gates),
        "U": draw("U", WIDTH, gates),
        "d": draw("d", gates),
    }
    theirs = dict(
        zip(
            ("weight_ih_l0", "bias_ih_l0", "weight_hh_l0", "bias_hh_l0"),
            (given["W"].T, given["b"], given["U"].T, given["d"]),
        )
    )
    state, outputs, states = before, [], []
    for t in range(STEPS):
        goes_on = 1 - torch.tensor(BEGINS, dtype=torch.float64).reshape(STEPS, SEQUENCES)[t]
        parts = [part[None] for part in (state * goes_on[:, None, None]).unbind(1)]
        y, after = torch.func.functional_call(
            torch_layer, theirs, (x[t : t + 1], parts[0] if planes == 1 else tuple(parts))
        )
        state = torch.stack([after[0]] if planes == 1 else [part[0] for part in after], 1)
        outputs.append(y[0])
        states.append(state)
    outputs, states = torch.stack(outputs), torch.stack(states)
    ((outputs * weights).sum() + (state * end_weights).sum()).backward()

    def flat(*tensors):
        return [float(number) for tensor in tensors for number in tensor.detach().flatten()]

    return {
        "kind": kind,
        "params": flat(*given.values()),
        **{name: flat(drawn[name]) for name in ("x", "before", "weights", "end_weights")},
        "outputs": flat(outputs),
        "states": flat(states),
        "d_params": flat(*(tensor.grad for tensor in given.values())),
        "d_x": flat(x.grad),
        "d_before": flat(before.grad),
    }


path = pathlib.Path(__file__).with_name("golden_cells.json")
path.write_text(
    json.dumps(
        {
            "torch": torch.__version__,
            "width": WIDTH,
            "steps": STEPS,
            "sequences": SEQUENCES,
            "begins": BEGINS,
            "cases": [record("gru", torch.nn.GRU, 1), record("lstm", torch.nn.LSTM, 2)],
        }
    )
    + "\n"
)
