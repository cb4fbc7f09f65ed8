#!/bin/sh
# A removal keeps settings, topics and backups. A purge deletes settings and topics, and says so; backups stay.
set -eu

# Whether something else than this package needs what is in $1: the package may have been removed long ago.
in_use() {
  [ -e /opt/topicd ] || { [ -e "$1/lock" ] && ! flock --nonblock "$1/lock" true; }
}

case $1 in
  remove)
    rm -rf /run/topicd-upgrade
    echo 'topicd: kept: settings in /etc/topicd, topics in /var/lib/topicd, backups in /var/lib/topicd-backups' >&2
    ;;
  purge)
    rm -rf /run/topicd-upgrade
    if [ ! -e /opt/topicd ]; then
      deb-systemd-helper purge topicd.service >/dev/null 2>&1 || true
      rm -f /etc/systemd/system/*.wants/topicd@*.service /etc/systemd/system/*.wants/topicd-backup*.timer
    fi
    for directory in /etc/topicd /var/lib/topicd /var/lib/topicd@*/data; do
      [ -e "$directory" ] || continue
      if in_use "$directory"; then
        echo "topicd: kept: $directory: an installation without dpkg uses it" >&2
        continue
      fi
      if [ -L "$directory" ]; then
        echo "topicd: deleting the link $directory; kept: $(readlink -f "$directory")" >&2
        rm "$directory"
        continue
      fi
      echo "topicd: deleting $directory ($(du -sh "$directory" | cut -f 1))" >&2
      if [ -L "$directory/topics" ]; then echo "topicd: kept: $(readlink -f "$directory/topics")" >&2; fi
      rm -rf "$directory" 2>/dev/null || find "$directory" -mindepth 1 -delete 2>/dev/null ||
        echo "topicd: kept: mount points in $directory, empty" >&2
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
