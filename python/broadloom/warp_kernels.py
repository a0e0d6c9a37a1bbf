"""Random numbers for kernels of Warp, and the kernels of broadloom.warp_graph.

The numbers are Philox4x32-10 (Salmon and others, "Parallel random numbers: as easy as 1, 2, 3",
2011), so they depend on a world's seed, its episode and a place alone."""

import warp as wp

LOW = wp.constant(wp.uint64(0xFFFFFFFF))
HALF = wp.constant(wp.uint64(32))
MULTIPLIER_0 = wp.constant(wp.uint64(0xD2511F53))
MULTIPLIER_1 = wp.constant(wp.uint64(0xCD9E8D57))
KEY_STEP_0 = wp.constant(wp.uint32(0x9E3779B9))
KEY_STEP_1 = wp.constant(wp.uint32(0xBB67AE85))


@wp.func
def random_bits(seed: wp.uint64, episode: wp.int64, place: wp.int32) -> wp.uint32:
    """32 random bits. place: of a number within an episode, from 0."""
    c0 = wp.uint32(place)
    c1 = wp.uint32(0)
    c2 = wp.uint32(wp.uint64(episode) & LOW)
    c3 = wp.uint32(wp.uint64(episode) >> HALF)
    k0 = wp.uint32(seed & LOW)
    k1 = wp.uint32(seed >> HALF)
    for _ in range(10):
        a = MULTIPLIER_0 * wp.uint64(c0)
        b = MULTIPLIER_1 * wp.uint64(c2)
        n0 = wp.uint32(b >> HALF) ^ c1 ^ k0
        n2 = wp.uint32(a >> HALF) ^ c3 ^ k1
        c1 = wp.uint32(b & LOW)
        c3 = wp.uint32(a & LOW)
        c0 = n0
        c2 = n2
        k0 = k0 + KEY_STEP_0
        k1 = k1 + KEY_STEP_1
    return c0


@wp.func
def uniform(
    seed: wp.uint64, episode: wp.int64, place: wp.int32, low: wp.float32, high: wp.float32
) -> wp.float32:
    """A number from low to high, one of 2**24."""
    share = wp.float32(random_bits(seed, episode, place) >> wp.uint32(8)) * 5.9604644775390625e-8
    return low + (high - low) * share


@wp.func
def normal(seed: wp.uint64, episode: wp.int64, place: wp.int32, scale: wp.float32) -> wp.float32:
    """A number with mean 0 and this deviation. Takes places 2 * place and 2 * place + 1."""
    first = 1.0 - uniform(seed, episode, 2 * place, 0.0, 1.0)
    angle = uniform(seed, episode, 2 * place + 1, 0.0, 6.283185307179586)
    return scale * wp.sqrt(-2.0 * wp.log(first)) * wp.cos(angle)


@wp.kernel
def end_step(
    limit: wp.int64,
    overflow: wp.array(dtype=wp.int32),
    terminated: wp.array(dtype=wp.uint8),
    truncated: wp.array(dtype=wp.uint8),
    steps: wp.array(dtype=wp.int64),
    begins: wp.array(dtype=wp.bool),
    lost: wp.array(dtype=wp.int32),
):
    i = wp.tid()
    steps[i] = steps[i] + wp.int64(1)
    ended = wp.bool(False)
    if terminated[i] != wp.uint8(0):
        ended = wp.bool(True)
    elif steps[i] >= limit:
        truncated[i] = wp.uint8(1)
        ended = wp.bool(True)
    begins[i] = ended
    lost[i] = lost[i] | overflow[i]


@wp.kernel
def count_episode(
    begins: wp.array(dtype=wp.bool),
    episodes: wp.array(dtype=wp.int64),
    steps: wp.array(dtype=wp.int64),
):
    i = wp.tid()
    if begins[i]:
        episodes[i] = episodes[i] + wp.int64(1)
        steps[i] = wp.int64(0)


@wp.kernel
def begin_near(
    width: wp.float32,
    begins: wp.array(dtype=wp.bool),
    seeds: wp.array(dtype=wp.uint64),
    episodes: wp.array(dtype=wp.int64),
    qpos: wp.array2d(dtype=wp.float32),
    qvel: wp.array2d(dtype=wp.float32),
):
    """Uniform noise of this width around positions, and velocities around 0."""
    i = wp.tid()
    if not begins[i]:
        return
    count = qpos.shape[1]
    for j in range(count):
        qpos[i, j] = qpos[i, j] + uniform(seeds[i], episodes[i], j, -width, width)
    for j in range(qvel.shape[1]):
        qvel[i, j] = uniform(seeds[i], episodes[i], count + j, -width, width)
