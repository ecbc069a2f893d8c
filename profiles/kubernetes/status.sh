#!/bin/sh
# Say whether a Kubernetes job is running, success or failed, as Snakemake asks; no answer for a while is no failure.
conditions=$(kubectl get job "$1" -o 'jsonpath={.status.conditions[?(@.status=="True")].type}' 2>&1) || {
  case $conditions in
  *NotFound*) echo failed ;; # deleted by somebody
  *) echo running ;;
  esac
  exit 0
}
case $conditions in
*Failed*) echo failed ;;
*Complete*) echo success ;;
*) echo running ;;
esac
