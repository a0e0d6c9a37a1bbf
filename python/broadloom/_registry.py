"""Registers Broadloom's environments with Gymnasium, whichever of the two is imported first.

Gymnasium takes longer to import than Broadloom. So `import broadloom` does not import it, but
registers the environments once you do."""

import importlib.util
import sys

from . import _core


def gymnasium_id(env_id):
    """The id in Gymnasium, which allows one namespace only."""
    return "broadloom/" + env_id.replace("/", "-")


def register_all():
    import gymnasium

    for spec in _core.list_envs():
        if spec["id"].startswith("python/") or gymnasium_id(spec["id"]) in gymnasium.registry:
            continue
        gymnasium.register(
            gymnasium_id(spec["id"]),
            entry_point="broadloom.envs:Env",
            vector_entry_point="broadloom.envs:VectorEnv",
            kwargs={"env_id": spec["id"]},
            reward_threshold=spec["reward_threshold"],
            order_enforce=False,
            disable_env_checker=True,
        )


class _Import:
    """A module finder that waits for Gymnasium's import, leaves it to the finders after it, and
    then registers the environments."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "gymnasium":
            return None
        sys.meta_path.remove(cls)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module):
                execute(module)
                register_all()

            spec.loader.exec_module = execute_and_register
        return spec


def register_when_imported():
    if "gymnasium" in sys.modules:
        register_all()
    else:
        sys.meta_path.insert(0, _Import)
