#!/bin/sh
# A removal keeps settings, topics and backups. A purge deletes settings and topics, with a message; backups stay.
set -eu
#include common.sh

case $1 in
  remove)
    rm -rf /run/topicd-upgrade
    echo 'topicd: kept until a purge: settings in /etc/topicd, topics in /var/lib/topicd; a purge keeps backups in /var/lib/topicd-backups' >&2
    ;;
  purge)
    rm -rf /run/topicd-upgrade
    if [ ! -e /opt/topicd ]; then
      deb-systemd-helper purge topicd.service >/dev/null 2>&1 || true
      forget_instances
    fi
    purge_directories /opt/topicd 'an installation without dpkg'
    ;;
esac
[ -d /run/systemd/system ] && systemctl daemon-reload || true
