"""Single environments of ids of ALE, to film: AtariVectorEnv has no render(). Their frames are
those of AtariVectorEnv; draws of no-ops and sticky actions are their own."""

import gymnasium

OF_PREPROCESSING = ("noop_max", "frameskip", "img_height", "img_width", "use_fire_reset")
OF_GAME = ("repeat_action_probability", "full_action_space", "max_num_frames_per_episode")
WITHOUT_EFFECT = ("episodic_life", "life_loss_info", "grayscale", "num_threads")
WITHOUT_EFFECT += ("thread_affinity_offset",)


class FireReset(gymnasium.Wrapper):
    """Plays FIRE for the first frame of a game that has this action, as AtariVectorEnv does."""

    def reset(self, **options):
        found = self.env.reset(**options)
        meanings = self.env.unwrapped.get_action_meanings()
        if "FIRE" in meanings:
            row, *_, info = self.env.step(meanings.index("FIRE"))
            found = row, info
        return found


def atari_maker(name, kwargs):
    """A function that makes a game with pictures; None for arguments that only AtariVectorEnv has.
    kwargs: of AtariVectorEnv."""
    if not {*kwargs} <= {*OF_PREPROCESSING, *OF_GAME, *WITHOUT_EFFECT}:
        return None

    def make():
        import ale_py

        gymnasium.register_envs(ale_py)
        game = {key: kwargs[key] for key in OF_GAME if key in kwargs}
        env = gymnasium.make(name, render_mode="rgb_array", **{**game, "frameskip": 1})
        if kwargs.get("use_fire_reset", True):
            env = FireReset(env)
        return gymnasium.wrappers.AtariPreprocessing(
            env,
            noop_max=kwargs.get("noop_max", 30),
            frame_skip=kwargs.get("frameskip", gymnasium.spec(name).kwargs.get("frameskip", 4)),
            screen_size=(kwargs.get("img_width", 84), kwargs.get("img_height", 84)),
        )

    return make
