"""Memory, masks and several choices beside sb3-contrib and Stable-Baselines3; policies.py runs
it."""
