#!/usr/bin/env bash
# Runs a Slurm of one node on this machine, without systemd and apart from any other Slurm. All its
# files, sockets and keys are in FOLDER. Needs root.
#   tools/slurm_here.sh start FOLDER   starts munged, slurmctld and slurmd, and prints a line for
#   your
#                                      shell, so that sbatch, squeue and sinfo find them
#   tools/slurm_here.sh stop FOLDER    ends them and their jobs
# Debian: apt-get install --no-install-recommends slurm-wlm munge
set -euo pipefail

usage() { echo "usage: tools/slurm_here.sh start|stop FOLDER" >&2; exit 2; }
[ $# -eq 2 ] || usage
folder=$(mkdir -p "$2" && cd "$2" && pwd)
export PATH=$PATH:/usr/sbin:/sbin
export SLURM_CONF=$folder/slurm.conf

free_ports() {  # two of them
  python3 -c 'import socket
held = [socket.socket() for _ in range(2)]
for s in held: s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in held))'
}

write_conf() {
  local host ports
  host=$(hostname -s)
  read -r -a ports <<<"$(free_ports)"
  # Two processors and 4 GB on any machine, so that results do not depend on it. cred_expire is the
  # shortest wait of a job that was put back; the default is two minutes.
  cat > "$SLURM_CONF" <<CONF
ClusterName=here
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmdPort=${ports[1]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket,cred_expire=5
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobRequeue=1
ReturnToService=2
KillWait=2
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 RealMemory=4096 State=UNKNOWN
PartitionName=short Nodes=$host MaxTime=10 State=UP
PartitionName=work Nodes=$host Default=YES MaxTime=1-00:00:00 State=UP
CONF
}

start() {
  local program
  for program in munged slurmctld slurmd sbatch; do
    command -v "$program" >/dev/null ||
      { echo "slurm_here: no $program; install slurm-wlm and munge" >&2; exit 3; }
  done
  [ "$(id -u)" -eq 0 ] || { echo "slurm_here: slurmd needs root to start jobs" >&2; exit 3; }
  mkdir -p "$folder/state" "$folder/spool"
  write_conf
  (umask 077; head -c 128 /dev/urandom > "$folder/munge.key")
  munged --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" \
    --pid-file="$folder/munged.pid" --log-file="$folder/munged.log" \
    --seed-file="$folder/munge.seed"
  slurmctld -f "$SLURM_CONF"
  slurmd -f "$SLURM_CONF" -N "$(hostname -s)"
  local tries
  for tries in $(seq 150); do
    if [ "$(sinfo --noheader --format=%t --partition=work 2>/dev/null)" = idle ]; then
      echo "export SLURM_CONF=$SLURM_CONF"
      return
    fi
    sleep 0.2
  done
  echo "slurm_here: the node is not idle after 30 s; see $folder/slurmctld.log and slurmd.log" >&2
  tail -n 5 "$folder/slurmctld.log" "$folder/slurmd.log" >&2
  stop
  exit 4
}

stop() {
  # Cancel jobs first: slurmd's end would leave them running.
  timeout 20 scancel --quiet --user="$(id -un)" 2>/dev/null || true
  timeout 20 bash -c 'while [ -n "$(squeue --noheader 2>/dev/null)" ]; do sleep 0.2; done' || true
  local name pid
  for name in slurmd slurmctld munged; do
    [ -s "$folder/$name.pid" ] || continue
    pid=$(cat "$folder/$name.pid")
    kill "$pid" 2>/dev/null || continue
    timeout 10 bash -c "while kill -0 $pid 2>/dev/null; do sleep 0.1; done" ||
      kill -9 "$pid" 2>/dev/null || true
  done
}

case "$1" in
  start) start ;;
  stop) stop ;;
  *) usage ;;
esac
