#!/bin/sh
# Removes every installed release and all files of their installation. Settings, topics and backups stay. With --purge,
# settings and topics are also deleted, with a message, and only backups stay.
set -eu
#include common.sh

[ "$(id -u)" = 0 ] || { echo "topicd: this script must be run as root: sudo $0" >&2; exit 1; }
purge=no
case ${1-} in
  '') ;;
  --purge) purge=yes ;;
  *) echo "topicd: unexpected argument $1; the only option is --purge" >&2; exit 2 ;;
esac

# A function, because the shell reads all of it before it runs: this file is also removed.
uninstall() {
  stop_instances 2>/dev/null
  rm -f /etc/systemd/system/*.wants/topicd.service
  forget_instances
  rm -f /etc/systemd/system/topicd.service /etc/systemd/system/topicd@.service
  rm -f /etc/systemd/system/topicd-backup.* /etc/systemd/system/topicd-backup@.* 2>/dev/null || true
  rm -f /etc/sysusers.d/topicd.conf /etc/sysctl.d/60-topicd.conf
  rm -f /usr/local/bin/topicd /usr/local/share/man/man8/topicd.8 /opt/.topicd-upgrade /opt/.topicd-upgrade.new
  rmdir /usr/local/share/man/man8 2>/dev/null || true
  touch /opt/.topicd-installed
  if [ -L /opt/topicd ]; then basename "$(readlink /opt/topicd)" >>/opt/.topicd-installed; fi
  while IFS= read -r release; do
    if [ -n "$release" ]; then rm -rf "/opt/$release"; fi
  done </opt/.topicd-installed
  rm -f /opt/topicd /opt/.topicd-installed /opt/.topicd-installed.new
  for directory in /opt/topicd-*; do
    if [ -e "$directory" ]; then echo "topicd: kept: $directory, which was not installed" >&2; fi
  done
  if [ "$purge" = yes ]; then
    rm -rf /etc/systemd/system/topicd.service.d /etc/systemd/system/topicd@*.d
    rm -rf /etc/systemd/system/topicd-backup.*.d /etc/systemd/system/topicd-backup@*.d
    rm -f /var/lib/systemd/timers/stamp-topicd-backup.timer /var/lib/systemd/timers/stamp-topicd-backup@*.timer
    purge_directories /usr/lib/topicd/dist 'the Debian package'
    # While the account owns any file, its number must not be reused.
    if [ -z "$(ls -d /etc/topicd /var/lib/topicd* 2>/dev/null)" ]; then userdel topicd; fi
  else
    echo 'topicd: kept: settings in /etc/topicd, topics in /var/lib/topicd, backups in /var/lib/topicd-backups' >&2
  fi
  systemctl daemon-reload
  systemctl reset-failed 'topicd*' 2>/dev/null || true
}

uninstall
exit 0
