#!/bin/sh
# Open Job Description: a bundle that its own runner runs here, and that Deadline Cloud takes:
#
#   deadline-cloud.sh FARM BUNDLE
#   deadline bundle submit BUNDLE                                       not run by SORT's tests
#   openjd run BUNDLE/template.json --step STEP --run-dependencies      STEP: the last one is the last picture
#
# Workers see FARM, the packages and SORT under the names that they have where it was planned. Allow retries: an interrupted task
# ends with 4, and goes on when it is started again.
set -eu
mkdir -p "$2"
sort-farm submit "$1" --openjd "$2/template.json"
