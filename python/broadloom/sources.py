"""Makes a Kind of each source of Python environments.

Sources are ids of Gymnasium, of the Arcade Learning Environment and of EnvPool, and functions that
make a single environment, Gymnasium's VectorEnv, Stable-Baselines3's VecEnv, or environments of a
robotics library (_robots.py)."""

import contextlib
import difflib
import importlib
import importlib.metadata
import inspect
import numbers
import os
import weakref

import numpy as np

from ._arguments import USUAL_KEYS
from ._arrays import numpy_of
from ._checks import MOST_STEPS
from ._errors import InvalidType, InvalidValue, error_of
from ._kind import Kind
from ._probe import SUCCESS_KEYS, time_limit
from ._robots import adapted


def gymnasium_kind(env_id, maker=None, *, vectorization="sync", keys=USUAL_KEYS, limit=0):
    """gymnasium/<id>, as Gymnasium registers it. maker: an EnvMaker of an id that gets the name
    env_id. limit: as in function_kind(). Ids of the namespace ALE use AtariVectorEnv."""
    import gymnasium

    maker = maker or EnvMaker(env_id.split("/", 1)[1], {}, ())
    module, _, name = maker.source.rpartition(":")
    if name.startswith("ALE/"):
        return atari_kind(env_id, name, maker, vectorization=vectorization, keys=keys, limit=limit)
    if module:  # a package that registers the id: "flappy_bird_gymnasium:FlappyBird-v0"
        importlib.import_module(module)
    spec = _registered(name)
    is_changed = bool(maker.kwargs or maker.wrappers)
    return Kind(
        env_id,
        _vector_maker(env_id, maker, vectorization, limit),
        upstream=maker.upstream
        if is_changed
        else f"gymnasium {gymnasium.__version__}: {spec.entry_point}",
        keys=key_pair(keys),
        reward_threshold=None if maker.wrappers else spec.reward_threshold,
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
        self.source, self.kwargs = source, dict(env_kwargs or {})
        self.wrappers = tuple(wrappers or ())
        self.__name__ = getattr(source, "__name__", type(source).__name__)

    def __call__(self, max_episode_steps=0):
        """max_episode_steps: replaces the time limit of an id; 0: its own."""
        if isinstance(self.source, str):
            import gymnasium

            limit = {"max_episode_steps": max_episode_steps} if max_episode_steps else {}
            env = gymnasium.make(self.source, **{**self.kwargs, **limit})
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
ATARI_FIXED = ("stack_num", "reward_clipping", "autoreset_mode", "num_envs", "batch_size")
ATARI_LIVES = ("episodic_life", "life_loss_info")  # let episodes end with a life


def atari_kind(env_id, name, maker, *, vectorization, keys, limit):
    """Atari games with AtariVectorEnv's preprocessing: 84x84 grey, every fourth frame, up to 30
    no-ops. AtariVectorEnv gives one frame, and Broadloom stacks four, so that a block stores each
    frame once. Only training clips rewards to their signs, and lets lives end episodes. Sticky
    actions are those of the id. Other arguments: as in gymnasium_kind()."""
    given = {"wrappers": maker.wrappers} if maker.wrappers else {}
    if vectorization != "sync":
        given["vectorization"] = vectorization
    if key_pair(keys) != USUAL_KEYS:
        given["observation_keys"] = keys
    given |= {key: maker.kwargs[key] for key in ATARI_FIXED if key in maker.kwargs}
    if not maker.kwargs.get("grayscale", True):
        given["grayscale"] = maker.kwargs["grayscale"]
    for key, value in given.items():
        refuse_for_atari(key, value, name)
    ale_py = package("ale_py", "ale-py", env_id)
    import gymnasium

    gymnasium.register_envs(ale_py)
    spec = gymnasium.spec(name)
    _check_atari_keywords(name, spec, maker.kwargs)
    options = {**spec.kwargs, **maker.kwargs}
    frameskip = options.get("frameskip", 4)
    most_frames = options.get("max_num_frames_per_episode", 108_000)

    def make(request):
        steps = request.max_episode_steps or limit
        frames = {"max_num_frames_per_episode": steps * frameskip} if steps else {}
        is_training = request.streams == "training"
        whole = {} if is_training else {key: False for key in ATARI_LIVES if key in maker.kwargs}
        return gymnasium.make_vec(
            name,
            request.num_envs,
            "vector_entry_point",
            **{**maker.kwargs, **frames, **whole},
            stack_num=1,
            reward_clipping=is_training,
            autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP,
        )

    words = "".join(f", {key}={value!r}" for key, value in maker.kwargs.items())
    return Kind(
        env_id,
        make,
        upstream=f"ale-py {ale_py.__version__}: {spec.vector_entry_point}{words}",
        frames=ATARI_FRAMES,
        truncates_at_limit=True,  # else a block would have more last frames than frames
        max_episode_steps=limit or most_frames // frameskip,
        reward_threshold=spec.reward_threshold,
        summary=f"{name} of ale-py {ale_py.__version__}: 84x84 grey, {ATARI_FRAMES} frames; "
        "training clips rewards to signs",
    )


def refuse_for_atari(key, value, name):
    """Refuses a setting of an id of ALE. name: the id within Gymnasium."""
    raise InvalidValue(
        f"{key}: got {value!r} with '{name}', which AtariVectorEnv steps in grey and Broadloom "
        f"stacks; leave it out, or give a function: lambda: gymnasium.make({name!r}, ...)"
    )


def _check_atari_keywords(name, spec, kwargs):
    """Refuses arguments that AtariVectorEnv does not take, before ale-py's bare TypeError."""
    import gymnasium

    made = spec.vector_entry_point
    made = made if callable(made) else gymnasium.envs.registration.load_env_creator(made)
    hidden = ("self", "num_envs", *spec.kwargs.keys() & {"game"}, *ATARI_FIXED)
    known = [key for key in parameters_of(made) if key not in hidden]
    for key in kwargs:
        if known and key not in known:
            near = difflib.get_close_matches(key, known, 1)
            call = f"lambda: gymnasium.make({name!r}, {key}=...)"
            way_out = f"leave it out, or give a function: {call}"
            if near:
                way_out = f"did you mean {near[0]!r}?"
            raise InvalidValue(
                f"env_kwargs: got {key!r} with '{name}', expected arguments of AtariVectorEnv: "
                f"{', '.join(known)}; {way_out}"
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
        known = ", ".join(gymnax.registered_envs)
        words = f"{env_id}: gymnax {version} has no {name}, expected one of {known}"
        raise error_of("not_found", words, InvalidValue)
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
    from ._warp_tasks import TASKS, task

    name = env_id.split("/", 1)[1]

    def make(request):
        limit = (
            {"max_episode_steps": request.max_episode_steps} if request.max_episode_steps else {}
        )
        return task(name, request.num_envs, **limit)

    return Kind(
        env_id,
        make,
        upstream=f"Gymnasium's {name}, by MuJoCo Warp",
        reward_threshold=TASKS[name].threshold if name in TASKS else None,
        summary=f"{name} of Gymnasium, many worlds by MuJoCo Warp",
    )


def function_kind(name, function, *, vectorization, keys, max_episode_steps, num_envs=2):
    """A function without arguments that makes one environment, or a function of `num_envs` (and
    `seed`, if it takes one) that makes many. max_episode_steps: a time limit of single
    environments, or the one that a function of num_envs sets itself; 0: none is known. num_envs:
    number to ask for the probe."""
    keys = key_pair(keys)
    takes = parameters_of(function)
    if "num_envs" not in takes:
        _check_needs(name, takes)
        return Kind(
            name,
            _vector_maker(name, function, vectorization, max_episode_steps),
            upstream=getattr(function, "upstream", ""),
            keys=keys,
        )
    pools = []  # for each call, whether it made a pool of EnvPool

    def make(request):
        if request.max_episode_steps:
            raise InvalidValue(
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
        raise InvalidType(
            f"{name}: a pool of EnvPool takes its seed when it is made; give the function an "
            "argument "
            "for it: lambda num_envs, seed: envpool.make(..., num_envs=num_envs, seed=seed)"
        )
    return kind


def filmed_kind(name, cameras, keys, max_episode_steps, upstream, frames):
    """The Kind of single environments whose evaluations are filmed. cameras.make()
    makes one, and cameras.around() gives it a camera, after cameras.begin(). frames: that Broadloom
    stacks."""
    plain, filming = (
        _vector_maker(name, cameras.make, "sync", max_episode_steps, around)
        for around in (None, cameras.around)
    )

    def make(request):
        if request.streams != "evaluation":
            return plain(request)
        cameras.begin()
        return filming(request)

    kind = Kind(name, make, keys=key_pair(keys), upstream=upstream, frames=frames)
    kind.close_probe()
    kind.is_probed = True  # a film needs nothing of the probe's steps
    return kind


def key_pair(keys):
    """(the policy's key or keys, the critic's) of observation_keys. A single key, or a pair without
    the critic's, gives the critic the policy's observations."""
    pair = (keys,) if isinstance(keys, str) else tuple(keys)
    policy = pair[0]
    return policy, pair[1] if len(pair) == 2 and pair[1] else policy


def _vector_maker(name, function, vectorization, max_episode_steps=0, around=None):
    """A function from a Request to Gymnasium's vector environment of the single ones that a
    function or an EnvMaker makes. max_episode_steps: if the request has none. around: a wrapper."""
    import gymnasium

    from ._checked import CheckedEnvs

    made = []  # weak references to all of this process
    facts = {"casts": False}

    def make(request):
        limit = int(request.max_episode_steps or max_episode_steps)
        one = _One(name, function, limit if limit <= MOST_STEPS else 0, made, around)
        if request.is_probe or facts["casts"] or around or vectorization != "sync":
            one.facts = facts  # other processes, and films, learn nothing from a probe
        one.compares = request.is_probe and vectorization == "sync"
        ones, mode = [one] * request.num_envs, gymnasium.vector.AutoresetMode.SAME_STEP
        if vectorization == "sync":
            env = CheckedEnvs(ones, name, autoreset_mode=mode)
        else:
            env = gymnasium.vector.AsyncVectorEnv(ones, autoreset_mode=mode)
        env.max_episode_length = one.limit  # where time_limit() looks
        env.refuses_none = True
        return env

    return make


class _One:
    """Makes single environments. `limit`: that of the last one. `facts`: of Checked ones. made:
    weak references to those of this process; other processes have copies of their own."""

    def __init__(self, name, function, limit, made, around):
        self.arguments, self.made, self.around = (name, function, limit), made, around
        self.process, self.limit, self.facts = os.getpid(), 0, None
        self.compares = False

    def __getstate__(self):
        return {**self.__dict__, "made": None}

    def __call__(self):
        env = _single(*self.arguments)
        if self.process == os.getpid():
            _check_new(self.arguments[0], env.unwrapped, self.made)
        self.limit = self.arguments[2] or _own_limit(env)
        if self.facts is not None:
            from ._checked import Checked

            env = Checked(env, self.arguments[0], self.facts, self.compares)
        return self.around(env) if self.around else env


def _single(name, function, limit):
    """One environment that a TimeLimit ends after `limit` steps; 0: after its own limit, even if it
    only names that."""
    import gymnasium

    is_id = isinstance(function, EnvMaker) and isinstance(function.source, str)
    env = function(limit) if is_id else function()
    if not isinstance(env, gymnasium.Env):
        raise InvalidType(
            f"{name}: got a {type(env).__name__} from the function that makes an environment, "
            "expected a gymnasium.Env, or a function of num_envs that makes a VectorEnv"
        )
    for side in ("observation_space", "action_space"):
        space = getattr(env, side, None)
        if not isinstance(space, gymnasium.Space):
            got = "none" if space is None else type(space).__name__
            raise InvalidType(
                f"{name}: got {got} as {side}, expected one of gymnasium.spaces, set in the class "
                "or in __init__()"
            )
    kept, limit = _kept_limit(env), limit or _own_limit(env)
    if limit in (0, kept) or limit > MOST_STEPS:
        return env
    if 0 < kept < limit:
        raise InvalidValue(
            f"max_episode_steps: got {limit} with environments of {name}, which a TimeLimit ends "
            f"after {kept} steps; expected at most {kept}, or a function that makes them with "
            f"another limit: gymnasium.make(..., max_episode_steps={limit})"
        )
    return gymnasium.wrappers.TimeLimit(env, limit)


def _own_limit(env):
    """The time limit that a single environment keeps or names; 0: none is known."""
    return min(filter(None, (time_limit(env), _kept_limit(env))), default=0)


def _kept_limit(env):
    """The smallest limit of its TimeLimit wrappers; 0: it has none. A limit that an environment
    only names, in its spec or as max_episode_length, may end no episode."""
    import gymnasium

    limits = []
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, gymnasium.wrappers.TimeLimit):
            limits.append(env._max_episode_steps)
        env = env.env
    return min(limits, default=0)


def _check_new(name, env, made):
    """Refuses an environment that the function has returned before, and keeps it in mind."""
    made[:] = [known for known in made if known() is not None]
    if any(known() is env for known in made):
        raise InvalidValue(
            f"{name}: the function that makes environments returned one environment twice; make a "
            "new environment in each call"
        )
    with contextlib.suppress(TypeError):  # it allows no weak reference
        made.append(weakref.ref(env))


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


def _check_needs(name, takes):
    """Refuses a function that needs arguments, which nobody gives."""
    given = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needs = [
        key
        for key, one in takes.items()
        if one.default is inspect.Parameter.empty and one.kind not in given
    ]
    if needs:
        raise InvalidType(
            f"{name}: got a function that needs {', '.join(map(repr, needs))}, expected one "
            "without arguments that makes one environment, or one that makes many, whose argument "
            "must have the name num_envs; rename it, or give other arguments by env_kwargs="
        )


def _number(value):
    return float(value) if isinstance(value, numbers.Real) and np.isfinite(value) else None
