"""Broadloom's games of MinAtar against MinAtar 1.0.15 from PyPI: a state is made up and set on both
sides, one step is taken with the same draws, and next state, reward, end and picture are compared.

usage: minatar_oracle_test.py MINATAR_ORACLE
"""

import importlib.metadata
import random
import subprocess
import sys
import unittest

import gymnasium
import minatar.gym
import numpy as np
from minatar import Environment

ORACLE = sys.argv.pop(1)
TRANSITIONS = 4000


class Draws:
    """The numbers that both sides draw, in the place of upstream's generator:
    tests/tasks/minatar_play.h."""

    def __init__(self, seed):
        self.x = seed

    def uniform(self):
        self.x = (self.x * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return (self.x >> 11) * 2.0**-53

    def rand(self, *shape):
        return np.array([self.uniform() for _ in range(shape[0])]) if shape else self.uniform()

    def randint(self, low, high=None, size=None):
        if high is None:
            low, high = 0, low
        numbers = [
            low + int(self.uniform() * (high - low)) for _ in range(1 if size is None else size)
        ]
        return numbers[0] if size is None else np.array(numbers)


def ask(lines):
    result = subprocess.run(
        [ORACLE], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True
    )
    return result.stdout.splitlines()


def words_of(cells):
    """10 x 10 cells as two words of five rows."""
    bits = np.asarray(cells, dtype=bool).reshape(2, 50)
    return [sum(1 << int(i) for i in np.flatnonzero(word)) for word in bits]


def code(row, column, to_the_right, move_timer=0, shot_timer=0):
    """The code of a swimmer, as in broadloom/env/tasks/minatar/swimmers.h."""
    return (column + 2) | row << 4 | int(to_the_right) << 8 | move_timer << 9 | shot_timer << 12


# draw() gives upstream's environment a state; numbers() returns the same state in our form, as a
# list of numbers and lists. These may be shorter than ours; later numbers do not count.
class Breakout:
    name, sizes = "breakout", [1] * 9

    def draw(self, env, r):
        env.ball_y, env.ball_x, env.ball_dir = r.randrange(9), r.randrange(10), r.randrange(4)
        env.last_y, env.last_x, env.pos = r.randrange(10), r.randrange(10), r.randrange(10)
        env.strike = r.random() < 0.3
        share = r.choice([0, 0.1, 0.5, 1])
        env.brick_map = np.zeros((10, 10))
        env.brick_map[1:4] = [[r.random() < share for _ in range(10)] for _ in range(3)]

    def numbers(self, env):
        bricks = sum(1 << int(i) for i in np.flatnonzero(env.brick_map[1:4].reshape(-1)))
        assert not env.brick_map[4:].any() and not env.brick_map[0].any()
        return [
            env.ball_y,
            env.ball_x,
            env.ball_dir,
            env.last_y,
            env.last_x,
            env.pos,
            int(env.strike),
            bricks,
        ]


class Asterix:
    name, sizes = "asterix", [1, 1, 8] + [1] * 7

    def draw(self, env, r):
        env.player_y, env.player_x = r.randrange(1, 9), r.randrange(10)
        env.spawn_speed, env.spawn_timer = r.randrange(1, 11), r.choice([0, 0, 1, 7])
        env.move_speed, env.move_timer = r.randrange(1, 6), r.choice([0, 0, 1, 4])
        env.ramp_timer, env.ramp_index = r.choice([-1, 0, 1, 100]), r.randrange(13)
        share = r.choice([0, 0.5, 0.9, 1])
        near = r.choice([0, env.player_x])
        env.entities = [
            [
                r.choice([near, max(near - 1, 0), min(near + 1, 9), r.randrange(10)]),
                row,
                r.random() < 0.5,
                r.random() < 0.5,
            ]
            if r.random() < share
            else None
            for row in range(1, 9)
        ]

    def numbers(self, env):
        things = [
            0 if e is None else 64 | 32 * int(e[3]) | 16 * int(e[2]) | e[0] for e in env.entities
        ]
        for row, entity in enumerate(env.entities):
            assert entity is None or entity[1] == row + 1
        return [
            env.player_y,
            env.player_x,
            things,
            env.spawn_speed,
            env.spawn_timer,
            env.move_speed,
            env.move_timer,
            env.ramp_timer,
            env.ramp_index,
        ]


class Freeway:
    name, sizes = "freeway", [1, 1, 1, 8, 8, 8, 1]

    def draw(self, env, r):
        env.pos, env.move_timer = r.choice([1, 1, r.randrange(1, 10)]), r.choice([0, 0, 1, 3])
        env.terminate_timer = r.choice([0, 1, r.randrange(2501)])
        env.cars = [
            [
                r.choice([3, 4, 5, r.randrange(10)]),
                row,
                r.choice([0, 0, 1, 5]),
                r.choice([-1, 1]) * r.randrange(1, 6),
            ]
            for row in range(1, 9)
        ]

    def numbers(self, env):
        assert [car[1] for car in env.cars] == list(range(1, 9))
        return [env.pos, env.move_timer, env.terminate_timer] + [
            [int(car[i]) for car in env.cars] for i in (0, 2, 3)
        ]


class Seaquest:
    name, sizes = "seaquest", [1] * 17 + [2, 20, 30, 30, 2, 1, 1]

    def draw(self, env, r):
        env.sub_y, env.sub_x = r.choice([0, 0, r.randrange(9)]), r.randrange(10)
        # It cannot look out of the picture: a step to the edge turns it that way.
        env.sub_or = {0: False, 9: True}.get(env.sub_x, r.random() < 0.5)
        env.oxygen, env.diver_count = (
            r.choice([0, 1, 200, r.randrange(201)]),
            r.choice([-2, -1, 0, 0, 1, 3, 5, 6, 6]),
        )
        env.surface, env.shot_timer = r.random() < 0.3, r.choice([0, 0, 1, 3])
        env.e_spawn_speed, env.e_spawn_timer, env.d_spawn_timer = (
            r.randrange(1, 21),
            r.choice([0, 0, 1, 5]),
            r.choice([0, 0, 1, 5]),
        )
        env.move_speed, env.ramp_index = r.randrange(2, 6), r.randrange(20)

        def some(most, *timers):
            out = [
                [r.randrange(10), r.choice([env.sub_y or 1, r.randrange(1, 9)]), r.random() < 0.5]
                + [draw() for draw in timers]
                for _ in range(r.randrange(most))
            ]
            if out and r.random() < 0.5:
                out.append(list(r.choice(out)))  # equal ones
            return out

        def soon():
            return r.choice([0, 0, 1, 2])

        env.f_bullets, env.e_bullets, env.divers = some(2), some(5), some(2, soon)
        env.e_fish, env.e_subs = some(8, soon), some(6, soon, lambda: r.choice([0, 0, 1, 10]))
        del env.divers[1 + (env.d_spawn_timer > 0) :]  # there is to be room for the one that comes
        del env.f_bullets[1 + (env.shot_timer > 0) :]

    def numbers(self, env):
        lists = [
            [code(s[1], s[0], s[2], *s[3:]) for s in swimmers]
            for swimmers in (env.f_bullets, env.e_bullets, env.e_fish, env.e_subs, env.divers)
        ]
        return (
            [
                env.sub_y,
                env.sub_x,
                int(env.sub_or),
                env.oxygen,
                env.diver_count,
                int(env.surface),
                env.shot_timer,
                env.e_spawn_speed,
                env.e_spawn_timer,
                env.d_spawn_timer,
                env.move_speed,
                env.ramp_index,
            ]
            + [len(codes) for codes in lists]
            + lists
            + [None]
        )


class SpaceInvaders:
    name, sizes = "space_invaders", [2, 2, 2] + [1] * 8

    def draw(self, env, r):
        def cells(share):
            return np.array([[float(r.random() < share) for _ in range(10)] for _ in range(10)])

        env.alien_map, env.f_bullet_map, env.e_bullet_map = (
            cells(r.choice([0.02, 0.1, 0.3])),
            cells(0.1),
            cells(0.1),
        )
        env.alien_map[r.randrange(9), r.randrange(10)] = 1  # it is never empty
        env.pos, env.alien_dir, env.enemy_move_interval = (
            r.randrange(10),
            r.choice([-1, 1]),
            r.randrange(6, 13),
        )
        env.alien_move_timer, env.alien_shot_timer, env.shot_timer = (
            r.choice([0, 0, 1, 5]) for _ in range(3)
        )
        if r.random() < 0.1:  # the last one is shot
            row, column = r.randrange(1, 8), r.randrange(10)
            env.alien_map[:], env.f_bullet_map[:], env.alien_move_timer = 0, 0, 3
            env.alien_map[row, column] = env.f_bullet_map[row + 1, column] = 1

    def numbers(self, env):
        return [
            words_of(env.alien_map),
            words_of(env.f_bullet_map),
            words_of(env.e_bullet_map),
            env.pos,
            env.alien_dir,
            env.enemy_move_interval,
            env.alien_move_timer,
            env.alien_shot_timer,
            env.shot_timer,
            None,
        ]


def flat(game, numbers):
    """All numbers of our state, those that upstream has not as None."""
    out = []
    for size, number in zip(game.sizes, numbers, strict=True):
        listed = number if isinstance(number, list) else [number]
        out += listed + [None] * (size - len(listed))
    return out


def cells_of(env):
    """A digit for each, made all at once: str() of one after the other took a third of the test."""
    return (np.asarray(env.state(), dtype=np.uint8).reshape(-1) + ord("0")).tobytes().decode()


class MinAtar(unittest.TestCase):
    def agrees(self, answer, expected, env, head):
        numbers, cells = answer.split(" | ")
        got = numbers.split()
        self.assertEqual([float(x) for x in got[: len(head)]], head, answer)
        state = [int(x) for x in got[len(head) :]]
        self.assertEqual(len(state), len(expected))
        self.assertEqual(
            [x for x, y in zip(state, expected) if y is not None],
            [int(y) for y in expected if y is not None],
        )
        self.assertEqual(cells, env)

    def compare(self, game):
        r = random.Random(17)
        whole = Environment(game.name)
        env = whole.env
        lines, cases = [], []
        for t in range(TRANSITIONS):
            env.terminal = False
            game.draw(env, r)
            last, action, seed = r.randrange(6), r.randrange(6), r.getrandbits(64)
            before = [x or 0 for x in flat(game, game.numbers(env) + [last])]
            lines.append(f"step {game.name} {seed} {action} " + " ".join(map(str, before)))
            whole.last_action = last
            whole.random = env.random = Draws(seed)
            reward, terminated = whole.act(action)
            cases.append(
                (
                    flat(game, game.numbers(env) + [whole.last_action]),
                    cells_of(env),
                    [float(reward), float(terminated)],
                )
            )
        for answer, (state, cells, head) in zip(ask(lines), cases, strict=True):
            self.agrees(answer, state, cells, head)
        ends, rewards = (sum(case[2][i] for case in cases) for i in (1, 0))
        print(
            f"{game.name}: {TRANSITIONS} transitions, {ends:.0f} ends, sum of rewards "
            f"{rewards:.0f}, no difference"
        )
        self.assertGreater(min(ends, rewards), 40)

    def resets(self, game):
        whole = Environment(game.name)
        lines, cases = [], []
        for seed in range(100, 150):
            whole.env.random = Draws(seed)
            whole.env.reset()
            lines.append(f"reset {game.name} {seed}")
            cases.append((flat(game, game.numbers(whole.env) + [0]), cells_of(whole.env)))
        for answer, (state, cells) in zip(ask(lines), cases, strict=True):
            self.agrees(" " + answer.strip(), state, cells, [])

    def test_breakout(self):
        self.compare(Breakout())
        self.resets(Breakout())

    def test_asterix(self):
        self.compare(Asterix())
        self.resets(Asterix())

    def test_freeway(self):
        self.compare(Freeway())
        self.resets(Freeway())

    def test_seaquest(self):
        self.compare(Seaquest())
        self.resets(Seaquest())

    def test_space_invaders(self):
        self.compare(SpaceInvaders())
        self.resets(SpaceInvaders())

    def test_ids_and_spaces(self):
        minatar.gym.register_envs()
        ids = [env_id for env_id in gymnasium.registry if env_id.startswith("MinAtar/")]
        self.assertEqual(len(ids), 10)
        for env_id in ids:
            env = gymnasium.make(env_id).unwrapped
            spec = gymnasium.spec(env_id)
            self.assertEqual((spec.max_episode_steps, spec.reward_threshold), (None, None))
            answer = ask([f"spec {env_id}"])[0]
            self.assertEqual(
                [int(x) for x in answer.split()],
                list(env.observation_space.shape) + [int(env.action_space.n)],
            )


if __name__ == "__main__":
    print("MinAtar", importlib.metadata.version("MinAtar"))
    unittest.main(verbosity=1)
