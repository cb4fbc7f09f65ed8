#!/bin/sh
# A removal keeps settings, topics and backups. A purge deletes settings and topics, and says so; backups stay.
set -eu

case $1 in
  remove)
    rm -rf /run/topicd-upgrade
    echo 'topicd: kept: settings in /etc/topicd, topics in /var/lib/topicd, backups in /var/lib/topicd-backups' >&2
    ;;
  purge)
    deb-systemd-helper purge topicd.service topicd-backup.timer >/dev/null 2>&1 || true
    for directory in /etc/topicd /var/lib/topicd /var/lib/topicd@*/data; do
      [ -e "$directory" ] || continue
      echo "topicd: deleting $directory ($(du -sh "$directory" | cut -f 1))" >&2
      # A mount point stays, empty.
      rm -rf "$directory" 2>/dev/null || find "$directory" -mindepth 1 -delete
    done
    for directory in /var/lib/topicd-backups /var/lib/topicd@*/backups; do
      [ -e "$directory" ] || continue
      if rmdir "$directory" 2>/dev/null; then continue; fi
      echo "topicd: kept: $directory ($(du -sh "$directory" | cut -f 1))" >&2
    done
    rmdir /var/lib/topicd@* 2>/dev/null || true
    ;;
esac
[ -d /run/systemd/system ] && systemctl daemon-reload || true
