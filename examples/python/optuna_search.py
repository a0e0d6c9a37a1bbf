"""Searches a learning rate and a clip range with Optuna, which prunes trials that fall behind.

    pip install optuna
    python examples/python/optuna_search.py

Each trial is a run of its own in runs/optuna, with the folder of any run. A trial reports
evaluations of its policy on episodes that training never sees."""

import argparse

import optuna

import broadloom


def objective(trial, steps, out):
    returns = []

    def report(progress):
        evaluation = progress["evaluation"]  # None in iterations without one
        if evaluation is None:
            return
        returns.append(evaluation["mean_return"])
        trial.report(returns[-1], progress["global_step"])
        if trial.should_prune():
            raise optuna.TrialPruned  # the run is saved; broadloom.resume() could go on with it

    run = broadloom.train(
        "CartPole-v1",
        total_timesteps=steps,
        num_envs=16,
        num_steps=32,
        learning_rate=trial.suggest_float("learning_rate", 1e-5, 1e-2, log=True),
        clip_coef=trial.suggest_float("clip_coef", 0.1, 0.4),
        eval_interval=4,
        out=f"{out}/{trial.number}",
        quiet=True,
        on_iteration=report,
    )
    trial.set_user_attr("run", str(run.dir))
    return returns[-1]


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--steps", type=int, default=40_000, help="environment steps of a trial")
    parser.add_argument("--out", default="runs/optuna")
    given = parser.parse_args(arguments)
    study = optuna.create_study(
        direction="maximize",
        sampler=optuna.samplers.TPESampler(seed=1),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=4),
    )
    study.optimize(lambda trial: objective(trial, given.steps, given.out), n_trials=given.trials)
    pruned = study.get_trials(states=[optuna.trial.TrialState.PRUNED])
    print(f"{len(study.trials)} trials, {len(pruned)} of them pruned")
    print(f"best: {study.best_value:.1f} with {study.best_params}, {study.best_trial.user_attrs}")
    return study


if __name__ == "__main__":
    main()
