#!/bin/sh
# Runs topicd with a Node.js that suits it.
set -eu
#include common.sh

# The program is beside the folder of this file, after links to the file itself; links to its folders are kept, so that a
# reload finds the build that they point to by then.
self=$0
while [ -L "$self" ]; do
  target=$(readlink "$self")
  case $target in /*) self=$target ;; *) self=$(dirname "$self")/$target ;; esac
done
program=$(cd "$(dirname "$self")/.." && pwd)

find_node "$(command -v node || true)"
# Who names other settings means another service, with another data directory.
names_settings() {
  [ -n "${TOPICD_SETTINGS+set}" ] && return 0
  for word; do
    case $word in --settings | --settings=*) return 0 ;; esac
  done
  return 1
}

if [ -e /etc/topicd/topicd.env ] && ! names_settings "$@"; then
  export TOPICD_DATA="${TOPICD_DATA-/var/lib/topicd}"
  # Not for a reload: the service reads its own settings then, and says what is wrong with them.
  if [ "${1-}" != reload ]; then export TOPICD_SETTINGS=/etc/topicd/topicd.env; fi
fi
exec "$node" --preserve-symlinks --preserve-symlinks-main "$program/dist/main.js" "$@"
