"""Makes tests/nn/golden_encoders.json: what PyTorch's own layers and gradients, in double precision, make of each encoder
with parameters and images that are formulas. tests/nn/encoder_test.cc sets ours beside it.

Run it only to add cases, with any Python that has torch and numpy; the tests need neither:

    python tests/nn/make_golden_encoders.py
"""

import json
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

ROWS = 3
# encoder, normalisation, height, width, channels, hidden_sizes. Nature's at Atari's size, the others smaller than that.
CASES = [
    ("minatar", "off", 10, 10, 4, [128]),
    ("minatar", "channels", 10, 10, 7, [128]),
    ("minatar", "all", 10, 10, 4, [32, 16]),
    ("nature", "off", 84, 84, 4, [512]),
    ("nature", "channels", 44, 40, 3, [20]),
    ("nature", "all", 36, 36, 1, [20]),
    ("impala", "off", 21, 16, 3, [24]),
    ("mlp", "off", 3, 5, 2, [24, 20]),
    ("mlp", "channels", 3, 5, 2, [24, 20]),
]


def numbers(count, stream):
    """Evenly spread over [-1, 1): splitmix64 (Steele et al. 2014) of stream * 2^32 + place."""
    with np.errstate(over="ignore"):
        z = (np.uint64(stream) << np.uint64(32)) + np.arange(count, dtype=np.uint64)
        z = z * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0


# Streams that are no parameter's.
IMAGES, WEIGHTS, DIRECTIONS = 1001, 1002, 1003


class Body:
    """Parameters in the order in which layers come, each a formula of its place; images are [rows, height, width, channels]."""

    def __init__(self, norm):
        self.norm, self.parameters = norm, []

    def parameter(self, shape, scale, offset=0.0):
        values = offset + scale * numbers(int(np.prod(shape)), len(self.parameters))
        tensor = torch.tensor(
            values.astype(np.float32).astype(np.float64).reshape(shape), requires_grad=True
        )
        self.parameters.append(tensor)
        return tensor

    def normalised(self, x):
        """The normalisation, if there is one, and the activation."""
        if self.norm != "off":
            shape = x.shape[-1:] if self.norm == "channels" else x.shape[1:]
            size = int(np.prod(shape))
            gain, bias = self.parameter((size,), 0.5, 1.0), self.parameter((size,), 0.5)
            x = F.layer_norm(x, shape, gain.reshape(shape), bias.reshape(shape), 1e-5)
        return torch.relu(x)

    def dense(self, x, width):
        x = x.flatten(1)
        w = self.parameter((x.shape[1], width), np.sqrt(6.0 / x.shape[1]))
        return x @ w + self.parameter((width,), 0.1)

    def convolution(self, x, filters, kernel, stride=1, padding=0):
        channels = x.shape[-1]
        w = self.parameter(
            (kernel, kernel, channels, filters), np.sqrt(6.0 / (kernel * kernel * channels))
        )
        b = self.parameter((filters,), 0.1)
        y = F.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), b, stride, padding)
        return y.permute(0, 2, 3, 1)

    def section(self, x, filters):
        x = self.convolution(x, filters, 3, 1, 1)
        x = F.max_pool2d(x.permute(0, 3, 1, 2), 3, 2, 1).permute(0, 2, 3, 1)
        for _ in range(2):
            y = self.convolution(torch.relu(x), filters, 3, 1, 1)
            x = x + self.convolution(torch.relu(y), filters, 3, 1, 1)
        return x

    def __call__(self, encoder, x, hidden):
        if encoder == "minatar":
            x = self.normalised(self.convolution(x, 16, 3))
        if encoder == "nature":
            for filters, kernel, stride in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
                x = self.normalised(self.convolution(x, filters, kernel, stride))
        if encoder == "impala":
            for filters in (16, 32, 32):
                x = self.section(x, filters)
            x = torch.relu(x)
        if encoder == "mlp":
            x = x.flatten(1)
        for width in hidden:
            x = self.normalised(self.dense(x, width))
        return x


def record(encoder, norm, height, width, channels, hidden):
    x = 0.5 + 0.5 * numbers(ROWS * height * width * channels, IMAGES)
    x = torch.tensor(x.astype(np.float32).astype(np.float64).reshape(ROWS, height, width, channels))
    body = Body(norm)
    y = body(encoder, x, hidden)
    weights = torch.tensor(
        numbers(y.numel(), WEIGHTS).astype(np.float32).astype(np.float64).reshape(y.shape)
    )
    (y * weights).sum().backward()
    gradients = []
    for p in body.parameters:
        g = p.grad.reshape(-1).numpy()
        gradients.append(
            {
                "size": g.size,
                "norm": float(np.linalg.norm(g)),
                "along": float(g @ numbers(g.size, DIRECTIONS)),
            }
        )
    return {
        "encoder": encoder,
        "layer_norm": norm,
        "height": height,
        "width": width,
        "channels": channels,
        "hidden_sizes": hidden,
        "rows": ROWS,
        "outputs": y.detach().reshape(-1)[:: max(1, y.numel() // 60)].tolist(),
        "every": max(1, y.numel() // 60),
        "gradients": gradients,
    }


path = pathlib.Path(__file__).with_name("golden_encoders.json")
path.write_text(
    json.dumps({"torch": torch.__version__, "cases": [record(*case) for case in CASES]}, indent=1)
    + "\n"
)
