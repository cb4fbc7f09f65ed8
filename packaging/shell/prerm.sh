#!/bin/sh
# Stops every instance before a removal; an upgrade leaves them running.
set -eu
#include common.sh

[ "$1" = remove ] || exit 0
[ -d /run/systemd/system ] || exit 0
stop_instances
