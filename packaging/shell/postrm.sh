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
    # By now, dpkg has deleted the settings file, which belongs to the package.
    if [ -e /opt/topicd ] && [ ! -e /etc/topicd/topicd.env ]; then
      echo 'topicd: the purge deleted /etc/topicd/topicd.env, which an installation without dpkg uses: restore it' >&2
    fi
    purge_directories /opt/topicd 'an installation without dpkg'
    ;;
esac
[ -d /run/systemd/system ] && systemctl daemon-reload || true
