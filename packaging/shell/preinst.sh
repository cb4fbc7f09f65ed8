#!/bin/sh
# Refuses before anything is unpacked, and notes what postinst cannot know: whether this is an upgrade, since a package
# that was removed, but not purged, has a former version too; and what the installed release says about restarts.
set -eu
#include common.sh

case $1 in install | upgrade) ;; *) exit 0 ;; esac
for file in /opt/topicd/dist /etc/systemd/system/topicd.service /usr/local/bin/topicd; do
  # On an upgrade they are the administrator's own changes.
  [ "$1" = install ] || break
  [ -f "$file" ] || [ -d "$file" ] || continue
  echo "topicd: $file belongs to an installation without dpkg and would hide this one: remove it first" >&2
  echo 'topicd: docs/install.md, "Common tasks", says how; settings and topics stay' >&2
  exit 1
done
require_glibc
find_node
# What an installation that failed half-way has noted still counts: the same build is still running.
if [ -e /run/topicd-upgrade/kind ]; then exit 0; fi
mkdir -p /run/topicd-upgrade
echo "$1" >/run/topicd-upgrade/kind
cp /usr/lib/topicd/restart-before /run/topicd-upgrade/restart-before 2>/dev/null || true
