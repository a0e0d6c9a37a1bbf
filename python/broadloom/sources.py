"""Makes a Kind of each source of Python environments.

Sources are ids of Gymnasium, of the Arcade Learning Environment and of EnvPool, and functions that
make a single environment, Gymnasium's VectorEnv, Stable-Baselines3's VecEnv, or environments of a
robotics library (_robots.py)."""

import difflib
import importlib
import importlib.metadata
import inspect
import numbers

import numpy as np

from ._arrays import numpy_of
from ._kind import Kind
from ._probe import SUCCESS_KEYS
from ._robots import adapted


def gymnasium_kind(env_id):
    """gymnasium/<id>, as Gymnasium registers it. Ids of its namespace ALE use AtariVectorEnv."""
    import gymnasium

    name = env_id.split("/", 1)[1]
    if name.startswith("ALE/"):
        return atari_kind(env_id, name)
    module, _, registered = name.rpartition(":")
    if module:  # a package that registers the id: "flappy_bird_gymnasium:FlappyBird-v0"
        importlib.import_module(module)
        name = registered
    spec = _registered(name)

    def make(request):
        limit = (
            {"max_episode_steps": request.max_episode_steps} if request.max_episode_steps else {}
        )
        return gymnasium.make_vec(
            name,
            request.num_envs,
            "sync",
            vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP},
            **limit,
        )

    return Kind(
        env_id,
        make,
        upstream=f"gymnasium {gymnasium.__version__}: {spec.entry_point}",
        max_episode_steps=spec.max_episode_steps or 0,
        reward_threshold=spec.reward_threshold,
        summary=f"{name} of Gymnasium {gymnasium.__version__}",
    )


def _registered(name):
    """The spec of this id. Its error names similar ids; Gymnasium's own names few."""
    import gymnasium

    try:
        return gymnasium.spec(name)
    except gymnasium.error.Error as error:  # UnregisteredEnv, or its parent for ids without -v0
        similar = difflib.get_close_matches(name, gymnasium.registry, 3)
        guess = f"; did you mean {' or '.join(similar)}?" if similar else ""
        packages = "; ids of a package need its name: gymnasium/package:Id-v0"
        unknown = gymnasium.error.UnregisteredEnv
        raise (type(error) if isinstance(error, unknown) else unknown)(
            f"Gymnasium {gymnasium.__version__} has no environment '{name}'{guess or packages}"
        ) from None


class EnvMaker:
    """Makes single environments of an id of Gymnasium or of a function, with its arguments and
    wrappers. Other processes can be given it if they can be given the function and wrappers."""

    def __init__(self, source, env_kwargs, wrappers):
        """source: the id, or the function."""
        self.source, self.kwargs, self.wrappers = source, dict(env_kwargs or {}), tuple(wrappers)
        self.__name__ = getattr(source, "__name__", type(source).__name__)

    def __call__(self):
        if isinstance(self.source, str):
            import gymnasium

            env = gymnasium.make(self.source, **self.kwargs)
        else:
            env = self.source(**self.kwargs)
        for wrapper in self.wrappers:
            env = wrapper(env)
        return env

    @property
    def upstream(self):
        """The call in words, for records."""
        arguments = [f"{key}={value!r}" for key, value in self.kwargs.items()]
        if isinstance(self.source, str):
            import gymnasium

            call = f"gymnasium {gymnasium.__version__}: make"
            arguments.insert(0, repr(self.source))
        else:
            call = self.__name__
        words = [f"{call}({', '.join(arguments)})"]
        return ", ".join(words + [getattr(one, "__name__", repr(one)) for one in self.wrappers])


def package(module, name, env_id):
    """The module of the package of that name, which environments of that id need."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:  # a module that the package itself lacks
            raise
        raise ModuleNotFoundError(
            f"{env_id} needs the package {name}, which this Python does not have; install it: "
            f"pip install {name}",
            name=module,
        ) from None


ATARI_FRAMES = 4


def atari_kind(env_id, name):
    """Atari games with AtariVectorEnv's preprocessing: 84x84 grey, every fourth frame, up to 30
    no-ops. AtariVectorEnv gives one frame, and Broadloom stacks four, so that a block stores each
    frame once. Only training clips rewards to their signs. Sticky actions are those of the id."""
    ale_py = package("ale_py", "ale-py", env_id)
    import gymnasium

    gymnasium.register_envs(ale_py)
    spec = gymnasium.spec(name)
    frameskip = spec.kwargs.get("frameskip", 4)
    most_frames = spec.kwargs.get("max_num_frames_per_episode", 108_000)

    def make(request):
        frames = (
            {"max_num_frames_per_episode": request.max_episode_steps * frameskip}
            if request.max_episode_steps
            else {}
        )
        return gymnasium.make_vec(
            name,
            request.num_envs,
            "vector_entry_point",
            stack_num=1,
            reward_clipping=request.streams == "training",
            autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP,
            **frames,
        )

    return Kind(
        env_id,
        make,
        upstream=f"ale-py {ale_py.__version__}: {spec.vector_entry_point}",
        frames=ATARI_FRAMES,
        max_episode_steps=most_frames // frameskip,
        summary=f"{name} of ale-py {ale_py.__version__}: 84x84 grey, {ATARI_FRAMES} frames; "
        "training clips rewards to signs",
    )


def envpool_kind(env_id):
    """envpool/<task>: a pool of C++ environments."""
    envpool = package("envpool", "envpool", env_id)
    name = env_id.split("/", 1)[1]
    spec = envpool.make_spec(name)

    def make(request):
        limit = (
            {"max_episode_steps": request.max_episode_steps} if request.max_episode_steps else {}
        )
        return envpool.make(
            name,
            env_type="gymnasium",
            num_envs=request.num_envs,
            env_seed=[int(seed) for seed in request.seeds],
            **limit,
        )

    config = spec.config._asdict() if hasattr(spec.config, "_asdict") else dict(spec.config)
    return Kind(
        env_id,
        make,
        upstream=f"envpool {envpool.__version__}: {name}",
        max_episode_steps=int(config.get("max_episode_steps") or 0),
        reward_threshold=_number(config.get("reward_threshold")),
        summary=f"{name} of EnvPool {envpool.__version__}",
        seeds_when_made=True,
        masked_reset_gives_subset=True,
    )


def gymnax_kind(env_id):
    """gymnax/<id>, as gymnax registers it."""
    gymnax = package("gymnax", "gymnax", env_id)
    from ._jax import GymnaxEnvs

    name = env_id.split("/", 1)[1]
    version = importlib.metadata.version("gymnax")
    if name not in gymnax.registered_envs:
        raise ValueError(
            f"{env_id}: gymnax {version} has no {name}, expected one of "
            f"{', '.join(gymnax.registered_envs)}"
        )
    made = gymnax.make(name)
    jax_version = importlib.metadata.version("jax")
    return Kind(
        env_id,
        lambda request: GymnaxEnvs(made, request.num_envs, request.max_episode_steps),
        upstream=f"gymnax {version}, jax {jax_version}: {type(made[0]).__name__}",
        summary=f"{name} of gymnax {version}",
    )


def warp_kind(env_id):
    """warp/<id>: a task of Gymnasium, stepped by MuJoCo Warp."""
    from . import warp

    name = env_id.split("/", 1)[1]

    def make(request):
        limit = (
            {"max_episode_steps": request.max_episode_steps} if request.max_episode_steps else {}
        )
        return warp.task(name, request.num_envs, **limit)

    return Kind(
        env_id,
        make,
        upstream=f"Gymnasium's {name}, by MuJoCo Warp",
        reward_threshold=warp.TASKS[name][1] if name in warp.TASKS else None,
        summary=f"{name} of Gymnasium, many worlds by MuJoCo Warp",
    )


def function_kind(name, function, *, vectorization, keys, max_episode_steps, num_envs=2):
    """A function without arguments that makes one environment, or a function of `num_envs` (and
    `seed`, if it takes one) that makes many. num_envs: number to ask for the probe."""
    keys = key_pair(keys)
    takes = parameters_of(function)
    if "num_envs" not in takes:
        return Kind(
            name,
            _vector_maker(name, function, vectorization),
            upstream=getattr(function, "upstream", ""),
            keys=keys,
            max_episode_steps=max_episode_steps,
        )
    pools = []  # for each call, whether it made a pool of EnvPool

    def make(request):
        if request.max_episode_steps:
            raise ValueError(
                "max_episode_steps: got a time limit with a function of num_envs, which must set "
                "it "
                "itself; leave it out"
            )
        seed = {"seed": int(request.seeds[0])} if "seed" in takes else {}
        env = function(num_envs=request.num_envs, **seed)
        pools.append(any(part.__name__ == "EnvPoolMixin" for part in type(env).__mro__))
        return StableBaselines(env) if _is_stable_baselines(env) else adapted(env, request.num_envs)

    kind = Kind(
        name,
        make,
        keys=keys,
        max_episode_steps=max_episode_steps,
        seeds_when_made="seed" in takes,
        one_seed="seed" in takes,
        probe_envs=num_envs,
    )
    kind.masked_reset_gives_subset = pools[0]
    if pools[0] and "seed" not in takes:
        raise TypeError(
            f"{name}: a pool of EnvPool takes its seed when it is made; give the function an "
            "argument "
            "for it: lambda num_envs, seed: envpool.make(..., num_envs=num_envs, seed=seed)"
        )
    return kind


def filmed_kind(name, cameras, keys, max_episode_steps):
    """The Kind of single environments whose evaluations are filmed. cameras() makes one without a
    camera, cameras.filming() one with it, after cameras.begin()."""
    plain, filming = (_vector_maker(name, made, "sync") for made in (cameras, cameras.filming))

    def make(request):
        if request.streams != "evaluation":
            return plain(request)
        cameras.begin()
        return filming(request)

    kind = Kind(name, make, keys=key_pair(keys), max_episode_steps=max_episode_steps)
    kind.close_probe()
    kind.is_probed = True  # a film needs nothing of the probe's steps
    return kind


def key_pair(keys):
    """(the policy's key or keys, the critic's) of observation_keys. A single key, or a pair without
    the critic's, gives the critic the policy's observations."""
    pair = (keys,) if isinstance(keys, str) else tuple(keys)
    policy = pair[0]
    return policy, pair[1] if len(pair) == 2 and pair[1] else policy


def _vector_maker(name, function, vectorization):
    import gymnasium

    def make(request):
        def one():
            env = function()
            if not isinstance(env, gymnasium.Env):
                raise TypeError(
                    f"{name}: got a {type(env).__name__} from the function that makes an "
                    "environment, "
                    "expected a gymnasium.Env, or a function of num_envs that makes a VectorEnv"
                )
            for side in ("observation_space", "action_space"):
                space = getattr(env, side, None)
                if not isinstance(space, gymnasium.Space):
                    got = "none" if space is None else type(space).__name__
                    raise TypeError(
                        f"{name}: got {got} as {side}, expected one of gymnasium.spaces, set in "
                        "the class or in __init__()"
                    )
            return (
                gymnasium.wrappers.TimeLimit(env, request.max_episode_steps)
                if request.max_episode_steps
                else env
            )

        kind = (
            gymnasium.vector.SyncVectorEnv
            if vectorization == "sync"
            else gymnasium.vector.AsyncVectorEnv
        )
        return kind(
            [one] * request.num_envs, autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP
        )

    return make


class StableBaselines:
    """Stable-Baselines3's VecEnv as a Gymnasium vector environment, with same-step autoreset and
    final observations in infos. Also SuperSuit's vector environments, which have its spaces and
    infos, but Gymnasium's reset() and step()."""

    metadata = {"autoreset_mode": "SameStep"}

    def __init__(self, venv):
        self.venv, self.made, self.num_envs = venv, venv, venv.num_envs
        if _has_attr(venv, "action_masks"):
            self.action_masks = lambda: np.stack(venv.env_method("action_masks"))
        self.single_observation_space, self.single_action_space = (
            venv.observation_space,
            venv.action_space,
        )

    def reset(self, *, seed=None, options=None):
        given = {}
        if seed is not None and hasattr(self.venv, "seed"):
            try:
                self.venv.seed(int(seed))  # one seed; the next environments get seed + 1, ...
            except AttributeError:  # SuperSuit's wrapper takes no seed, so its runs do not repeat
                pass
        elif seed is not None and "seed" in parameters_of(self.venv.reset):
            given = {"seed": int(seed)}
        found = self.venv.reset(**given)
        return (found[0] if isinstance(found, tuple) and len(found) == 2 else found), {}

    def step(self, actions):
        rows, rewards, *ends, infos = self.venv.step(actions)
        if len(ends) == 2:  # as Gymnasium's
            terminated, truncated = (numpy_of(end).astype(np.bool_) for end in ends)
        else:
            dones = numpy_of(ends[0]).astype(np.bool_)
            cut = [bool(info.get("TimeLimit.truncated")) for info in infos]
            truncated = dones & np.array(cut, np.bool_)
            terminated = dones & ~truncated
        kept = {"final_obs": [info.get("terminal_observation") for info in infos]}
        for key in SUCCESS_KEYS:
            if any(key in info for info in infos):
                kept[key] = [info.get(key) for info in infos]
        return rows, rewards, terminated, truncated, kept

    def close(self):
        self.venv.close()


def _has_attr(venv, name):
    """Whether the environments of a VecEnv have this attribute. Other libraries' VecEnvs may have
    no has_attr(), or one that asks environments without it."""
    try:
        return bool(venv.has_attr(name))
    except AttributeError:
        return False


def _is_stable_baselines(env):
    return (
        hasattr(env, "env_is_wrapped")
        and hasattr(env, "step_wait")
        and not hasattr(env, "single_observation_space")
    )


def parameters_of(function):
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _number(value):
    return float(value) if isinstance(value, numbers.Real) and np.isfinite(value) else None
