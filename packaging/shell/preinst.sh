#!/bin/sh
# Refuses before anything is unpacked, and notes what postinst cannot know: whether this is an upgrade, since a package
# that was removed, but not purged, has a former version too; and what the installed release says about restarts.
set -eu
#include common.sh

case $1 in install | upgrade) ;; *) exit 0 ;; esac
find_node
mkdir -p /run/topicd-upgrade
echo "$1" >/run/topicd-upgrade/kind
if [ -e /usr/lib/topicd/restart-before ]; then
  cp /usr/lib/topicd/restart-before /run/topicd-upgrade/restart-before
else
  rm -f /run/topicd-upgrade/restart-before
fi
