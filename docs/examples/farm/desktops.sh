#!/bin/sh
# A few desktops without an engine that see one folder, such as an NFS export under the same name everywhere:
#
#   sort-farm plan FARM SCENE -o OUT.exr --spp N --cpu x86-64-v3        once
#   desktops.sh FARM 1 2                                                on the first of two
#   desktops.sh FARM 2 2                                                on the second
#
# Each renders every second part. Whoever ends first goes on with what is missing, and makes the pictures: some parts may then be
# rendered twice, to the same bits. A desktop that was switched off: start its line again.
set -eu
farm=$1 number=$2 count=$3
sort-farm tasks "$farm" | grep /part/ | awk -v number="$number" -v count="$count" 'NR % count == number % count' |
    xargs -d '\n' -n 1 -P "${JOBS:-$(nproc)}" sort-farm run "$farm" || echo "some tasks have failed; they are tried again" >&2
exec sort-farm submit "$farm" --local --jobs "${JOBS:-$(nproc)}"
