#!/bin/sh
# Runs topicd with a suitable Node.js.
set -eu
#include common.sh

# The program is next to this file's folder. Links to the file itself are resolved; links to its folders are kept, so that a
# reload finds the build that they lead to by then.
self=$0
while [ -L "$self" ]; do
  target=$(readlink "$self")
  case $target in /*) self=$target ;; *) self=$(dirname "$self")/$target ;; esac
done
program=$(cd "$(dirname "$self")/.." && pwd)

find_node "$(command -v node || true)"
# Other settings mean another service with another data directory.
names_settings() {
  [ -n "${TOPICD_SETTINGS+set}" ] && return 0
  for word; do
    case $word in --settings | --settings=*) return 0 ;; esac
  done
  return 1
}

if [ -e /etc/topicd/topicd.env ] && ! names_settings "$@"; then
  export TOPICD_DATA="${TOPICD_DATA-/var/lib/topicd}"
  # Not for a reload: the service then reads its own settings, and reports their problems.
  if [ "${1-}" != reload ]; then export TOPICD_SETTINGS=/etc/topicd/topicd.env; fi
fi
exec "$node" --preserve-symlinks --preserve-symlinks-main "$program/dist/main.js" "$@"
