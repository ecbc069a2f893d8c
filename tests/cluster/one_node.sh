#!/usr/bin/env bash
# A real SLURM with one node, this machine, for tests. Debian or Ubuntu, as root, without systemd; in a container, best.
#
#   one_node.sh install                  fetch SLURM and the database of its accounting
#   one_node.sh start                    configure and start all daemons; returns when a job has run
#   one_node.sh stop                     cancel all jobs and end all daemons
#   one_node.sh end NAME, begin NAME     an outage: slurmctld, slurmdbd, slurmd
#
# CPUS and MEMORY (MB) are what the node says it has, which may be more than there is. ACCOUNTING=no leaves accounting
# out. Memory is looked at every second, so a job over its limit is killed a little late. Nothing listens but on 127.0.0.1.
set -euo pipefail

STATE=${STATE:-/var/tmp/lookalike-slurm}
DATABASE=$STATE/database SOCKET=/run/mysqld/mysqld.sock
node=$(hostname -s)

install_packages() {
  # 101 forbids packages to start daemons of their own; images of containers often have this file
  local policy=/usr/sbin/policy-rc.d
  [ -e $policy ] || {
    printf '#!/bin/sh\nexit 101\n' >$policy && chmod +x $policy
    trap "rm $policy" EXIT
  }
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends \
    munge slurm-client slurmctld slurmd slurmdbd mariadb-server </dev/null >/dev/null
}

write_settings() {
  local accounting="AccountingStorageType=accounting_storage/slurmdbd"
  [ "${ACCOUNTING:-yes}" = yes ] || accounting="AccountingStorageType=accounting_storage/none"
  mkdir -p "$STATE" "$STATE/slurmd" /etc/slurm
  install -d -o slurm "$STATE/slurmctld"
  # in its usual place: the plugin takes SLURM_CONF from what its jobs start
  cat >/etc/slurm/slurm.conf <<SETTINGS
ClusterName=tests
SlurmctldHost=$node(127.0.0.1)
NodeName=$node NodeAddr=127.0.0.1 CPUs=${CPUS:-$(nproc)} RealMemory=${MEMORY:-$(free -m | awk '/^Mem:/ {print $2}')}
PartitionName=whole Nodes=ALL Default=YES MaxTime=INFINITE
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser=slurm
SlurmctldPidFile=$STATE/slurmctld.pid
SlurmdPidFile=$STATE/slurmd.pid
SlurmctldLogFile=$STATE/slurmctld.log
SlurmdLogFile=$STATE/slurmd.log
StateSaveLocation=$STATE/slurmctld
SlurmdSpoolDir=$STATE/slurmd
# the node may say that it has more than there is, and comes back by itself
SlurmdParameters=config_overrides
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
# without control groups, which a container may not make
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
SchedulerParameters=batch_sched_delay=0,sched_interval=2
KillWait=5
# the workflow asks squeue how a job ended, which forgets it after these seconds
MinJobAge=300
$accounting
AccountingStorageHost=localhost
SETTINGS
  install -o slurm -m 600 /dev/stdin /etc/slurm/slurmdbd.conf <<SETTINGS
DbdHost=localhost
DbdAddr=127.0.0.1
CommunicationParameters=NoInAddrAny
SlurmUser=slurm
LogFile=$STATE/slurmdbd.log
PidFile=$STATE/slurmdbd.pid
StorageType=accounting_storage/mysql
SETTINGS
}

wait_for() {
  for ((i = 0; i < 60; i++)); do "$@" >"$STATE/waiting.log" 2>&1 && return; sleep 1; done
  echo "a minute has passed without: $*" >&2
  tail "$STATE"/*.log >&2
  exit 1
}

# each daemon leaves this shell by itself and writes the number of its process, all but the database
begin() {
  case $1 in
    munged)
      install -d -o munge -m 755 /run/munge
      runuser -u munge -- munged --pid-file=/run/munge/munged.pid
      ln -sf /run/munge/munged.pid "$STATE/munged.pid"
      ;;
    mariadbd)
      install -d -o mysql /run/mysqld "$DATABASE"
      [ -d "$DATABASE/mysql" ] || mariadb-install-db --user=mysql --datadir="$DATABASE" >"$STATE/mariadbd.log" 2>&1
      # no passwords: only this machine's users reach it, through its socket
      setsid mariadbd --user=mysql --datadir="$DATABASE" --socket=$SOCKET --skip-networking --skip-grant-tables \
        >>"$STATE/mariadbd.log" 2>&1 </dev/null &
      echo $! >"$STATE/mariadbd.pid"
      wait_for test -S $SOCKET
      ;;
    slurmdbd) slurmdbd && wait_for sacctmgr --noheader show cluster ;;
    slurmctld | slurmd) "$1" ;;
    *) echo "no daemon is called $1" >&2 && exit 2 ;;
  esac
}

end() {
  local process
  process=$(cat "$STATE/$1.pid" 2>/dev/null) || return 0
  kill "$process" 2>/dev/null || true
  for ((i = 0; i < 30; i++)); do kill -0 "$process" 2>/dev/null || break; sleep 1; done
  rm -f "$STATE/$1.pid"
}

start() {
  write_settings
  begin munged
  if [ "${ACCOUNTING:-yes}" = yes ]; then
    begin mariadbd
    begin slurmdbd
  fi
  begin slurmctld
  begin slurmd
  wait_for srun --ntasks=1 --mem=10 --time=1 true
}

stop() {
  scancel --state=PENDING 2>/dev/null && scancel --state=RUNNING 2>/dev/null && sleep 2 || true
  for daemon in slurmd slurmctld slurmdbd mariadbd munged; do end "$daemon"; done
}

case ${1:-} in
  install) install_packages ;;
  start | stop) "$1" ;;
  begin | end) "$1" "${2:?which daemon}" ;;
  *) sed -n '2,10s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
