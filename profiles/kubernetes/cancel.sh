#!/bin/sh
# Delete Kubernetes jobs and their pods when Snakemake is interrupted; it does not wait longer than two seconds.
exec kubectl delete job --ignore-not-found --wait=false "$@"
