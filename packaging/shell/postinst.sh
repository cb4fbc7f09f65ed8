#!/bin/sh
# Prepares the machine, and starts the service or brings it to the new build. $2: the version configured before.
set -eu
#include common.sh

[ "$1" = configure ] || exit 0
former=${2-}
prepare_machine /usr/lib
find_node
problem=$("$node" -e "require('/usr/lib/topicd/node_modules/uWebSockets.js')" 2>&1) || {
  echo "topicd: $node $("$node" --version) cannot load the HTTP library on this system:" >&2
  echo "$problem" | grep -m 1 -E 'GLIBC|Error' >&2 || true
  exit 1
}

deb-systemd-helper unmask topicd.service >/dev/null
if deb-systemd-helper --quiet was-enabled topicd.service; then deb-systemd-helper enable topicd.service >/dev/null; fi
deb-systemd-helper update-state topicd.service >/dev/null
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
# The kind is unknown if the machine was restarted during the installation; enabled units are then already running.
if [ "$(cat /run/topicd-upgrade/kind 2>/dev/null || echo install)" = install ]; then
  had_store=$(has_store && echo yes || true)
  for unit in topicd.service $(enabled_units); do
    deb-systemd-invoke start "$unit" || echo "topicd: $unit failed to start; see journalctl -eu $unit" >&2
  done
  rm -rf /run/topicd-upgrade
  [ "$had_store" = yes ] || say_next_step topicd
  exit 0
fi
action=reload
boundary=$(cat /run/topicd-upgrade/restart-before 2>/dev/null || true)
if needs_restart "$former" '@version@' "$boundary" '@restartBefore@'; then action=restart; fi
# If this installation is interrupted, some primaries may already be of this build when another one is installed.
if is_older "${boundary:-0}" '@restartBefore@'; then
  mkdir -p /run/topicd-upgrade
  echo '@restartBefore@' >/run/topicd-upgrade/restart-before
fi
if [ -x /usr/sbin/policy-rc.d ]; then
  policy=0
  /usr/sbin/policy-rc.d topicd "$action" || policy=$?
  if [ "$policy" = 101 ]; then exit 0; fi
fi
update_instances "$action"
rm -rf /run/topicd-upgrade
