"""Environments written in JAX: those of gymnax, Craftax, Brax and MuJoCo Playground.

They carry no state, so their steps can be traced. One compiled program plays the T steps of a
block: a scan over the environments' step and a call of Broadloom's policy, which the extension
answers (xla.h). Evaluations step them one by one. The comments name the versions that the code
follows."""

import contextlib
import copy
import functools

import numpy as np

from ._errors import InvalidType, InvalidValue
from ._memory import free_memory, refuse_over

AUTORESET_WRAPPERS = ("AutoResetWrapper", "BraxAutoResetWrapper")  # Brax 0.14, Playground 0.2
CALL = "broadloom_act"
# (field of the parameters with the time limit, field of the state with the steps): gymnax, Craftax.
LIMITS = (("max_steps_in_episode", "time"), ("max_timesteps", "timestep"))
NO_LIMIT = 2**31 - 1
SAVED = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "float32")


@functools.cache
def load():
    """JAX, with the policy's call registered."""
    from .sources import package

    jax = package("jax", "jax", "an environment written in JAX")
    if not hasattr(jax, "ffi"):
        raise ImportError(
            f"got jax {jax.__version__}, expected 0.5 or later: pip install -U jax",
            name="jax",
        )
    from . import _core

    jax.ffi.register_ffi_target(CALL, _core.xla_function(), platform="cpu")
    return jax


def is_gymnax(env):
    """Whether it is an environment of gymnax or Craftax, or a pair of one and its parameters."""
    env = env[0] if isinstance(env, tuple) and env else env
    of_gymnax = type(env).__module__.startswith(("gymnax.", "craftax."))
    has_members = hasattr(env, "step_env") or hasattr(env, "reset_env")
    return of_gymnax or (has_members and not hasattr(env, "single_observation_space"))


def is_functional(env):
    """Whether it is an environment of Brax or Playground. Asks the class, since the property
    observation_size of Brax plays a reset."""
    members = ("reset", "step", "observation_size", "action_size")
    return all(hasattr(type(env), name) for name in members) and not hasattr(env, "num_envs")


class TracedEnvs:
    """N environments with Gymnasium's vector interface and same-step autoreset.

    A derived class sets the spaces and max_episode_length, and defines two functions that JAX
    traces. first(keys) returns (carry, observations). following(carry, actions) returns (carry,
    (observations, rewards, terminated, truncated, last observations)). A carry is the state of all
    environments, which no one else reads. Each environment has a seed of its own."""

    metadata = {"autoreset_mode": "SameStep", "final_obs": True}

    def __init__(self, num_envs):
        self.jax, self.num_envs, self.carry, self.rows, self.programs = (
            load(),
            num_envs,
            None,
            0,
            {},
        )
        if self.jax.config.jax_enable_x64:
            raise InvalidValue(
                "jax_enable_x64: got True, expected False: Broadloom reads float32, and with other "
                "numbers these environments would be others; unset JAX_ENABLE_X64"
            )
        self.begin, self.advance = self.jax.jit(self.first), self.jax.jit(self.following)

    def keys(self, seeds):
        return self.jax.vmap(self.jax.random.PRNGKey)(np.asarray(list(seeds), np.uint32))

    def reset(self, *, seed=None, options=None):
        seeds = range(self.num_envs) if seed is None else np.ravel(seed)
        seeds = np.broadcast_to(seeds, self.num_envs) if len(seeds) == 1 else seeds
        with self.telling_of_memory():
            self.carry, self.rows = self.begin(self.keys(seeds))
        return rows_of(self.rows), {}

    def step(self, actions):
        with self.telling_of_memory():
            self.carry, step = self.advance(self.carry, actions)
        self.rows, rewards, terminated, truncated, last = step
        infos = {"final_obs": rows_of(last)}
        return rows_of(self.rows), *(np.asarray(x) for x in (rewards, terminated, truncated)), infos

    @functools.cached_property
    def shapes(self):
        """(carry, observations), without memory for them."""
        return self.jax.eval_shape(self.first, self.key_shapes())

    def key_shapes(self):
        one = self.jax.eval_shape(self.jax.random.PRNGKey, 0)
        return self.jax.ShapeDtypeStruct((self.num_envs, *one.shape), one.dtype)

    def check_memory(self):
        """Refuses environments that need more memory than there is: a step reads one carry and
        writes another."""
        stats = self.jax.devices()[0].memory_stats() or {}  # none on a CPU
        leaves = self.jax.tree.leaves(self.shapes)
        refuse_over(
            stats.get("bytes_limit") or free_memory(),
            2 * sum(leaf.size * leaf.dtype.itemsize for leaf in leaves),
            self.num_envs,
            f"the states of {self.num_envs} environments, before and after a step,",
        )

    def state_types(self):
        leaves = self.jax.tree.leaves(self.shapes[0])
        return [(str(leaf.dtype), list(leaf.shape)) for leaf in leaves]

    def saves_state(self):
        """Whether the carry is arrays of numbers [N, ...], which a checkpoint can hold."""
        return all(
            dtype in SAVED and shape[:1] == [self.num_envs] for dtype, shape in self.state_types()
        )

    def state(self):
        return [np.ascontiguousarray(leaf) for leaf in self.jax.tree.leaves(self.carry)]

    def restore(self, arrays):
        """arrays: the bytes of each array of state()."""
        leaves = [
            self.jax.numpy.array(np.frombuffer(array, dtype).reshape(shape))
            for array, (dtype, shape) in zip(arrays, self.state_types(), strict=True)
        ]
        structure = self.jax.tree.structure(self.shapes[0])
        self.carry = self.jax.tree.unflatten(structure, leaves)

    def plays_blocks(self, kind):
        """Whether play() can be called for this kind of environments."""
        on_cpu = self.jax.default_backend() == "cpu"
        return on_cpu and kind.spec["observation"]["kind"] == "box" and kind.mask_source is None

    def play(self, kind, callee, num_steps):
        """Plays num_steps steps with the actions of the callee, an address of the extension."""
        if num_steps not in self.programs:
            program = functools.partial(self.program, kind, num_steps)
            self.programs[num_steps] = self.jax.jit(program)
        callee = np.array(callee, np.uint32)
        with self.telling_of_memory():
            played = self.programs[num_steps](self.carry, self.rows, callee)
            self.carry, self.rows, _ = self.jax.block_until_ready(played)

    @contextlib.contextmanager
    def telling_of_memory(self):
        try:
            yield
        except RuntimeError as error:  # JAX's own class has another name in other versions
            if "RESOURCE_EXHAUSTED" not in str(error):
                raise
            raise MemoryError(
                f"num_envs: got {self.num_envs}, and JAX found no memory for them "
                f"({error}); expected fewer, or environments with smaller arrays"
            ) from error

    def program(self, kind, num_steps, carry, rows, callee):
        jax, jnp = self.jax, self.jax.numpy
        action = kind.spec["action"]
        shape = action.get("shape", [])
        width = int(np.prod(shape))
        policy = jax.ShapeDtypeStruct((self.num_envs, width), jnp.float32)
        call = jax.ffi.ffi_call(CALL, policy, has_side_effect=True)

        def act(t, step):
            """The actions [N, A] after a step of the block, whose results the callee takes."""
            rows, rewards, terminated, truncated, last = step
            (now, critic), (final, critic_final) = (
                traced_split(kind, rows, jnp) for rows in (rows, last)
            )
            arrays = now, rewards.astype(jnp.float32), terminated, truncated, final
            critics = () if critic is None else (critic, critic_final)
            return call(callee, t, *arrays, *critics)

        def one(held, t):
            carry, step = held
            actions = act(t, step)
            if action["kind"] != "box":
                actions = actions.astype(jnp.int32) + action.get("start", 0)
            carry, step = self.following(carry, actions.reshape((self.num_envs, *shape)))
            return (carry, step), None

        shown = jax.eval_shape(self.following, carry, self.some_actions(action, shape))[1]
        before = jax.tree.map(lambda part: jnp.zeros(part.shape, part.dtype), shown)
        (carry, step), _ = jax.lax.scan(
            one, (carry, (rows, *before[1:])), jnp.arange(num_steps, dtype=jnp.int32)
        )
        return carry, step[0], act(jnp.int32(num_steps), step)

    def some_actions(self, action, shape):
        dtype = self.jax.numpy.float32 if action["kind"] == "box" else self.jax.numpy.int32
        return self.jax.ShapeDtypeStruct((self.num_envs, *shape), dtype)

    def close(self):
        self.carry = self.rows = None


class GymnaxEnvs(TracedEnvs):
    """Environments of gymnax 1.0 or 0.0.9, or Craftax 1.6.

    Their own step() hides the last observation of an episode, and some count the time limit as an
    end. So step_env() steps, and reset_env() begins the next episode. If an end by the limit has
    no flag of its own, a second step_env() with parameters without limit tells the other ends."""

    def __init__(self, made, num_envs, max_episode_steps=0):
        """made: the environment, or a pair of it and its parameters, as gymnax.make() returns.
        max_episode_steps: replaces its time limit; 0: its own."""
        super().__init__(num_envs)
        env, *rest = made if isinstance(made, tuple) else (made,)
        missing = [name for name in ("step_env", "reset_env") if not hasattr(env, name)]
        if missing:
            raise InvalidType(
                f"got a {type(env).__name__} without {' and '.join(missing)}, expected an "
                "environment of gymnax or Craftax: its step() begins new episodes and hides the "
                "last observations"
            )
        self.env = env
        self.params = rest[0] if rest else env.default_params
        fields = [
            (limit, time) for limit, time in LIMITS if getattr(self.params, limit, None) is not None
        ]
        self.limit, self.time = fields[0] if fields else (None, None)
        if max_episode_steps:
            if self.limit is None:
                raise InvalidValue(
                    f"max_episode_steps: got {max_episode_steps}, but the parameters of "
                    f"{type(env).__name__} have no {' or '.join(one for one, _ in LIMITS)}"
                )
            self.params = self.params.replace(**{self.limit: max_episode_steps})
        self.max_episode_length = None if self.limit is None else getattr(self.params, self.limit)
        self.single_observation_space = space_of(env.observation_space(self.params), "observation")
        self.single_action_space = space_of(env.action_space(self.params), "action")
        self.check_memory()

    def first(self, keys):
        return self.jax.vmap(self.one_first)(keys)

    def following(self, carry, actions):
        return self.jax.vmap(self.one_following)(carry, actions)

    def one_first(self, key):
        key, drawn = self.jax.random.split(key)
        rows, state = self.env.reset_env(drawn, self.params)
        return (key, state), rows

    def one_following(self, carry, action):
        jax, jnp = self.jax, self.jax.numpy
        key, state = carry
        key, stepping, beginning = jax.random.split(key, 3)
        has_flag = hasattr(self.env, "is_truncated")
        last, after, reward, terminated, _ = self.env.step_env(stepping, state, action, self.params)
        if self.limit is not None and not has_flag:  # the end alone: others may show the limit
            free = self.params.replace(**{self.limit: NO_LIMIT})
            terminated = self.env.step_env(stepping, state, action, free)[3]
        terminated = jnp.asarray(terminated, bool)
        truncated = jnp.zeros_like(terminated)
        if has_flag:
            truncated = jnp.asarray(self.env.is_truncated(after, self.params), bool)
        elif self.limit is not None:
            truncated = getattr(after, self.time) >= getattr(self.params, self.limit)
        begun = self.env.reset_env(beginning, self.params)
        rows, after = jax.tree.map(
            lambda new, old: jnp.where(terminated | truncated, new, jnp.asarray(old, new.dtype)),
            jax.tree.map(jnp.asarray, begun),
            (last, after),
        )
        return (key, after), (rows, reward, terminated, truncated & ~terminated, last)


class KeptObservations:
    """The environment within an autoreset wrapper. Keeps the observations of a step before the
    wrapper replaces those of ended episodes. The step is traced together with the wrapper's."""

    def __init__(self, env):
        self.env, self.observations = env, None

    def reset(self, rng):
        return self.env.reset(rng)

    def step(self, state, action):
        state = self.env.step(state, action)
        self.observations = state.obs
        return state

    def __getattr__(self, name):
        if name == "env":  # before __init__, as in copies
            raise AttributeError(name)
        return getattr(self.env, name)


def with_kept_observations(env):
    """(a copy of the chain of wrappers, its KeptObservations). The environment inside is shared: it
    has no state. (None, None) without an autoreset wrapper."""
    if "env" not in vars(env):
        return None, None
    if any(part.__name__ in AUTORESET_WRAPPERS for part in type(env).__mro__):
        inner = kept = KeptObservations(env.env)
    else:
        inner, kept = with_kept_observations(env.env)
    if kept is None:
        return None, None
    outer = copy.copy(env)
    outer.env = inner
    return outer, kept


class FunctionalEnvs(TracedEnvs):
    """Environments of Brax 0.14 or MuJoCo Playground 0.2: reset(keys) gives a state, and
    step(state, actions) the next."""

    def __init__(self, env, num_envs):
        super().__init__(num_envs)
        from gymnasium import spaces

        self.env, self.kept = with_kept_observations(env)
        if self.kept is None:
            raise InvalidType(
                f"got a {type(env).__name__}, which is a single environment, expected a batch that "
                "begins new episodes; wrap it: mujoco_playground.wrapper.wrap_for_brax_training("
                "env, episode_length=1000), or brax.envs.training.wrap(env, episode_length=1000)"
            )
        self.splits_key = splits_key(env)
        shapes = self.shapes[0]
        if shapes.reward.shape != (num_envs,):
            raise InvalidValue(
                f"got environments with rewards of shape {shapes.reward.shape}, expected "
                f"({num_envs},); set batch_size to num_envs, or leave it out"
            )
        boxes = {key: box_of(shape) for key, shape in groups_of(shapes.obs).items()}
        is_dict = hasattr(shapes.obs, "keys")
        self.single_observation_space = spaces.Dict(boxes) if is_dict else boxes["state"]
        self.single_action_space = spaces.Box(-1.0, 1.0, (int(env.action_size),), np.float32)
        self.max_episode_length = getattr(env, "episode_length", None)
        self.check_memory()

    def key_shapes(self):
        if self.splits_key:
            return self.jax.eval_shape(self.jax.random.PRNGKey, 0)
        return super().key_shapes()

    def keys(self, seeds):
        seeds = list(seeds)
        if not self.splits_key:
            return super().keys(seeds)
        if len(set(seeds)) > 1:
            raise InvalidType("batch_size: all environments get their keys from one seed")
        return self.jax.random.PRNGKey(np.uint32(seeds[0]))

    def first(self, keys):
        state = self.env.reset(keys)
        return state, plain(state.obs)

    def following(self, state, actions):
        state = self.env.step(state, actions)
        ended, info = state.done != 0, state.info
        truncated = info["truncation"] != 0 if "truncation" in info else ended & False
        last = plain(self.kept.observations)
        return state, (
            plain(state.obs),
            state.reward,
            ended & ~truncated,
            ended & truncated,
            last,
        )


def splits_key(env):
    """Whether reset() takes one key, which a wrapper with a batch_size splits."""
    while "env" in vars(env):
        if getattr(env, "batch_size", None) is not None:
            return True
        env = env.env
    return False


def groups_of(observations):
    return dict(observations) if hasattr(observations, "keys") else {"state": observations}


def plain(observations):
    """Observations as an array or a dict of arrays."""
    return dict(observations) if hasattr(observations, "keys") else observations


def rows_of(observations):
    if isinstance(observations, dict):
        return {key: np.asarray(row) for key, row in observations.items()}
    return np.asarray(observations)


def box_of(shape):
    from gymnasium import spaces

    return spaces.Box(-np.inf, np.inf, shape.shape[1:], np.dtype(shape.dtype).type)


def space_of(space, name):
    """A space of gymnax or Craftax as one of Gymnasium. name: in an error."""
    from gymnasium import spaces

    kind = type(space).__name__
    if kind == "Dict" and name != "action":
        return spaces.Dict({key: space_of(one, name) for key, one in space.spaces.items()})
    if kind == "Discrete":
        return spaces.Discrete(int(space.n))
    if kind != "Box":
        expected = "Box or Discrete" if name == "action" else "Box, Discrete or a Dict of them"
        raise InvalidType(f"{name} space: got {kind}, expected {expected}")
    shape, dtype = tuple(int(extent) for extent in space.shape), np.dtype(space.dtype)
    dtype = np.dtype(np.float32) if dtype == np.bool_ else dtype
    low, high = (np.broadcast_to(np.asarray(x), shape) for x in (space.low, space.high))
    return spaces.Box(low.astype(dtype), high.astype(dtype), shape, dtype.type)


def traced_split(kind, rows, jnp):
    """As Simulator.split(), for tracing: (the policy's rows, the critic's own or None)."""

    def joined(keys):
        return (
            jnp.concatenate([rows[key] for key in keys], axis=1) if len(keys) > 1 else rows[keys[0]]
        )

    def array_of(rows, space):
        if space["channels_first"]:
            rows = jnp.moveaxis(rows, 1, -1)
        return rows.astype(jnp.dtype(space["dtype"])).reshape((len(rows), -1))

    if not isinstance(rows, dict):
        return array_of(rows, kind.spec["observation"]), None
    policy, critic = kind.groups
    own = array_of(joined(critic), kind.spec["critic_observation"]) if critic else None
    return array_of(joined(policy), kind.spec["observation"]), own
