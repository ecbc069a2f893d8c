#!/usr/bin/env bash
# Break one run on the SLURM of one_node.sh in all ways that we know, and let it come to its end. From the project's folder:
#
#   tests/cluster/outages.sh TARGET... --configfile tests/workflow/tiny.yaml
#
# A job is cancelled, some exceed their memory, the controller and the accounting are away for a minute each and then both,
# and Ctrl-C stops the run. The same command goes on. What happened and what Snakemake said is in outages.log.
set -euo pipefail
here=$(dirname "$0")
# the two Snakemakes of a job need 0.8 GB, so the first try of these jobs is killed
snakemake=(.venv/bin/snakemake --profile profiles/slurm "$@" --set-resources "run_fold_demo:mem_mb=attempt*400")
# a shell without job control has its background jobs ignore Ctrl-C
as_at_a_terminal='import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execvp(sys.argv[1], sys.argv[1:])'

tell() { echo "$(date +%T) $*" | tee -a outages.log; }

give_up() { tell "$*" && exit 1; }

begin() {
  setsid python3 -c "$as_at_a_terminal" "${snakemake[@]}" >>outages.log 2>&1 &
  run=$!
}

# wait for a job that runs, and set `job` to its number and rule
find_job() {
  for ((i = 0; i < 300; i++)); do
    job=$(squeue --noheader --states=RUNNING --format="%i %k" | head -1)
    [ -z "$job" ] || return 0
    kill -0 $run 2>/dev/null || give_up "the run ended before it could be broken"
    sleep 1
  done
  give_up "no job has run for five minutes"
}

cancel_one() { find_job && tell "scancel $job" && scancel "${job%% *}" && sleep 20; }

be_without() {
  find_job && tell "without $* while $job runs"
  for daemon in "$@"; do "$here/one_node.sh" end "$daemon"; done
  sleep 60
  for daemon in "$@"; do "$here/one_node.sh" begin "$daemon"; done
  tell "with $* again" && sleep 20
}

: >outages.log
begin && sleep 60
cancel_one
be_without slurmctld
be_without slurmdbd
be_without slurmdbd slurmctld
find_job && tell "Ctrl-C while $job runs" && kill -INT -- -$run
! wait $run || give_up "Ctrl-C did not stop the run"
[ -z "$(squeue --noheader)" ] || give_up "jobs are left: $(squeue --noheader)"
begin && sleep 60
cancel_one
wait $run || give_up "the run did not come to its end"
tell "the run came to its end"
