#!/bin/sh
# Rejects an unsuitable system before anything is unpacked, and notes what postinst cannot find out: whether this is an
# upgrade, because a package that was removed but not purged also has a former version; and the installed restart-before.
set -eu
#include common.sh

case $1 in install | upgrade) ;; *) exit 0 ;; esac
for file in /opt/topicd/dist /etc/systemd/system/topicd.service /usr/local/bin/topicd; do
  # On an upgrade, these files are the administrator's own changes.
  [ "$1" = install ] || break
  [ -f "$file" ] || [ -d "$file" ] || continue
  echo "topicd: $file belongs to an installation without dpkg and would hide this one: remove that installation first" >&2
  echo 'topicd: see docs/install.md, "Common tasks"; settings and topics stay' >&2
  exit 1
done
require_glibc
find_node
# The notes of an installation that failed halfway are still valid: the same build is still running.
if [ -e /run/topicd-upgrade/kind ]; then exit 0; fi
mkdir -p /run/topicd-upgrade
echo "$1" >/run/topicd-upgrade/kind
cp /usr/lib/topicd/restart-before /run/topicd-upgrade/restart-before 2>/dev/null || true
