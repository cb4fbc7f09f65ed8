#!/bin/sh
# Stops every instance before a removal; an upgrade leaves them running.
set -eu

[ "$1" = remove ] || exit 0
[ -d /run/systemd/system ] || exit 0
systemctl stop 'topicd-backup*.timer' 'topicd-backup*.service' 'topicd@*.service' topicd.service || true
