#!/usr/bin/env python3
"""Microseconds per image of encoders in PyTorch (channels last), forward and forward with backward,
with the best of the given numbers of threads. `micro_benchmarks --benchmark_filter=BM_Forward` has
Broadloom's, with one thread.

    python bench/peers/torch_networks.py --threads 1 2
"""

import argparse
import time

import torch
from torch import nn

BATCHES = (64, 256)
REPEATS = 7


def nature():
    return nn.Sequential(
        nn.Conv2d(4, 32, 8, 4),
        nn.ReLU(),
        nn.Conv2d(32, 64, 4, 2),
        nn.ReLU(),
        nn.Conv2d(64, 64, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(3136, 512),
        nn.ReLU(),
        nn.Linear(512, 7),
    ), (4, 84, 84)


def minatar(channels):
    return nn.Sequential(
        nn.Conv2d(channels, 16, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(1024, 128),
        nn.ReLU(),
        nn.Linear(128, 7),
    ), (channels, 10, 10)


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first, self.second = (
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.Conv2d(channels, channels, 3, padding=1),
        )

    def forward(self, x):
        return x + self.second(torch.relu(self.first(torch.relu(x))))


def impala():
    layers, channels = [], 4
    for filters in (16, 32, 32):
        layers += [
            nn.Conv2d(channels, filters, 3, padding=1),
            nn.MaxPool2d(3, 2, 1),
            Block(filters),
            Block(filters),
        ]
        channels = filters
    return nn.Sequential(
        *layers, nn.ReLU(), nn.Flatten(), nn.Linear(32 * 11 * 11, 256), nn.ReLU(), nn.Linear(256, 7)
    ), (4, 84, 84)


def seconds(work):
    """The best of some repeats, each long enough for the clock."""
    work()
    begun, count = time.perf_counter(), 0
    while time.perf_counter() - begun < 0.3:
        work()
        count += 1
    best = float("inf")
    for _ in range(REPEATS):
        begun = time.perf_counter()
        for _ in range(count):
            work()
        best = min(best, (time.perf_counter() - begun) / count)
    return best


def measure(network, shape, batch):
    network = network.to(memory_format=torch.channels_last)
    x = torch.rand(batch, *shape).to(memory_format=torch.channels_last)

    def forward():
        with torch.no_grad():
            network(x)

    def both():
        network.zero_grad(set_to_none=True)
        network(x).sum().backward()

    return seconds(forward) / batch * 1e6, seconds(both) / batch * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument(
        "--network", nargs="+", default=["nature", "minatar_c4", "minatar_c10", "impala"]
    )
    options = parser.parse_args()
    makers = {
        "nature": nature,
        "minatar_c4": lambda: minatar(4),
        "minatar_c10": lambda: minatar(10),
        "impala": impala,
    }
    for name in options.network:
        best = {}
        for threads in options.threads:
            torch.set_num_threads(threads)
            for batch in BATCHES:
                network, shape = makers[name]()
                for what, figure in zip(
                    ("forward", "forward and backward"), measure(network, shape, batch)
                ):
                    best[what] = min(best.get(what, (float("inf"),)), (figure, threads, batch))
        for what, (figure, threads, batch) in best.items():
            print(f"{name}, {what}: {figure:.2f} us/image ({threads} threads, batch {batch})")


main()
