#!/usr/bin/env bash
# Trains the runs into studies/symmetry, and writes results/ and the verdicts. Stop it at any time;
# the same command goes on where it was. The robot needs MuJoCo in the program.
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
folder=experiments/symmetry
out=studies/symmetry
mkdir -p $out $folder/results
for task in CartPole-v1:100000 Acrobot-v1:100000 Pendulum-v1:200000; do
  "$broadloom" study $folder/small.toml --env_id ${task%:*} --total_timesteps ${task#*:} \
    --out $out/${task%:*}.sqlite --quiet --no_report
done
sed 's/-0.01592 -0.06659 -0.00617/-0.01592 0 -0.00617/' \
  bridges/mujoco/quadruped/quadruped.xml >$out/robot.xml
"$broadloom" study $folder/robot.toml --env.xml_file ./$out/robot.xml --total_timesteps 1000000 \
  --out $out/Quadruped-v0.sqlite --quiet --no_report
python3 $folder/judge.py $out $folder/results
