#!/bin/sh
# Texts for OpenCue, Tractor and Flamenco. They are generated, and SORT's tests do not run these engines: try a small farm first.
#
#   other-engines.sh FARM FOLDER
#
#   OpenCue     python FOLDER/outline.py, where PyOutline is installed
#   Tractor     tractor-spool FOLDER/job.alf
#   Flamenco    FOLDER/sort.js into the manager's folder of scripts; then submit a job of this type
set -eu
mkdir -p "$2"
sort-farm submit "$1" --opencue "$2/outline.py"
sort-farm submit "$1" --tractor "$2/job.alf"
sort-farm submit "$1" --flamenco "$2/sort.js"
