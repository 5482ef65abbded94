#!/bin/sh
# Slurm, whose nodes have a disk of their own, in a partition whose jobs may be preempted:
#
#   slurm-scratch.sh FARM SCENE OUT.exr SAMPLES [FRAMES]
#
# Environment of the site: PARTITION, FEATURE (of nodes that have the CPU class), SCRATCH (on each node), THREADS, MEMORY. With
# DRY_RUN=yes the jobs are printed. A preempted task writes a checkpoint first if slurm.conf has PreemptMode=REQUEUE, GraceTime=120 and
# PreemptParameters=send_user_signal; otherwise it loses what it did since its last checkpoint.
set -eu
farm=$1 scene=$2 output=$3 samples=$4 frames=${5:-}
[ -e "$farm/manifest.json" ] || sort-farm plan "$farm" "$scene" -o "$output" --spp "$samples" ${frames:+--frames "$frames"} \
    --cpu x86-64-v3 --threads "${THREADS:-16}" --local-cache "${SCRATCH:-/scratch}/sort-$(id -un)" --checkpoint-interval 60
sort-farm submit "$farm" --slurm --partition "${PARTITION:-preemptible}" --constraint "${FEATURE:-avx2}" --memory "${MEMORY:-24G}" \
    ${DRY_RUN:+--dry-run}
