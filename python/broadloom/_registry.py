"""Gymnasium knows Broadloom's environments from `import broadloom` on, whichever of the two is imported first. Gymnasium takes longer to import than all of Broadloom,
so that it is not imported for this: who imports it later finds them registered."""

import importlib.util
import sys

from . import _core


def gymnasium_id(env_id):
    """Under which Gymnasium knows it: it allows one namespace."""
    return "broadloom/" + env_id.replace("/", "-")


def register_all():
    import gymnasium

    for spec in _core.list_envs():
        if spec["id"].startswith("python/") or gymnasium_id(spec["id"]) in gymnasium.registry:
            continue
        gymnasium.register(gymnasium_id(spec["id"]), entry_point="broadloom.envs:Env", vector_entry_point="broadloom.envs:VectorEnv",
                           kwargs={"env_id": spec["id"]}, reward_threshold=spec["reward_threshold"], order_enforce=False, disable_env_checker=True)


class _Import:
    """A finder of modules that waits for Gymnasium's import, has those after it find it, and registers once it is done."""

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
