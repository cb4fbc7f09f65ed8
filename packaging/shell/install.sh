#!/bin/sh
# Installs this release from its folder under /opt, upgrades to it, or rolls back to it: /opt/topicd is a link to the
# release in use. Running instances are reloaded, or restarted if a release requires that.
set -eu
#include common.sh

[ "$(id -u)" = 0 ] || { echo "topicd: this script must be run as root: sudo $0" >&2; exit 1; }
[ -d /run/systemd/system ] || { echo "topicd: systemd is not running; start $(dirname "$0")/bin/topicd serve manually" >&2; exit 1; }
release=$(cd "$(dirname "$0")" && pwd -P)
[ "$(dirname "$release")" = "$(cd /opt && pwd -P)" ] || { echo "topicd: the release is in $(dirname "$release"); unpack it in /opt" >&2; exit 1; }
if [ -e /opt/topicd ] && [ ! -L /opt/topicd ]; then
  echo 'topicd: /opt/topicd is a folder and not a link: move it away, then try again' >&2
  exit 1
fi
if [ -e /usr/lib/topicd/dist ]; then
  echo 'topicd: the Debian package is installed: remove it first (apt-get remove topicd keeps settings and topics)' >&2
  exit 1
fi
require_glibc
find_node
version_of() { "$node" -p 'require(process.argv[1]).version' "$1/package.json"; }
# The former release, or none, and its restart-before: kept until every instance runs this release, so that an interrupted
# installation can be repeated.
notes=/opt/.topicd-upgrade
note() {
  echo "$1" >"$notes.new"
  mv "$notes.new" "$notes"
}
if [ -e "$notes" ]; then
  :
elif [ -e /opt/topicd/package.json ]; then
  note "$(version_of /opt/topicd) $(cat /opt/topicd/restart-before)"
else
  note none
fi
read -r former boundary <"$notes"
restart_before=$(cat "$release/restart-before")

for file in "$release"/system/units/*; do
  install -D -m 644 "$file" "/etc/systemd/system/$(basename "$file")"
done
install -D -m 644 "$release/system/sysusers.d/topicd.conf" /etc/sysusers.d/topicd.conf
install -D -m 644 "$release/system/sysctl.d/60-topicd.conf" /etc/sysctl.d/60-topicd.conf
install -D -m 644 "$release/system/topicd.8" /usr/local/share/man/man8/topicd.8
[ -e /etc/topicd/topicd.env ] || install -D -m 640 "$release/system/topicd.env" /etc/topicd/topicd.env
prepare_machine "$release/system"

# Other folders under /opt may have similar names, so uninstall uses this list. It includes the release in use because the
# first release kept no list.
{
  cat /opt/.topicd-installed 2>/dev/null || true
  if [ -L /opt/topicd ]; then basename "$(readlink /opt/topicd)"; fi
  basename "$release"
} | sort -u >/opt/.topicd-installed.new
mv /opt/.topicd-installed.new /opt/.topicd-installed
ln -sfn "$(basename "$release")" /opt/topicd.new
mv -T /opt/topicd.new /opt/topicd
ln -sfn /opt/topicd/bin/topicd /usr/local/bin/topicd

systemctl daemon-reload
if [ "$former" = none ]; then
  systemctl enable topicd.service
  had_store=$(has_store && echo yes || true)
  for unit in topicd.service $(enabled_units); do
    systemctl start "$unit" || echo "topicd: $unit failed to start; see journalctl -eu $unit" >&2
  done
else
  action=reload
  if needs_restart "$former" "$(version_of "$release")" "$boundary" "$restart_before"; then action=restart; fi
  # If this installation is interrupted, some primaries may already be of this release when another one is installed.
  if is_older "$boundary" "$restart_before"; then note "$former $restart_before"; fi
  update_instances "$action"
fi
rm -f "$notes"
/usr/local/bin/topicd version
if [ "$former" = none ] && [ "$had_store" != yes ]; then say_next_step /usr/local/bin/topicd; fi
