# Functions of the launcher, the Debian package's scripts and the tarball's installer: the build inserts this text into each.
# POSIX sh.

# Sets $node to a Node.js that topicd runs on. If there is none, prints the versions found and what to do, and returns 2.
# Arguments: additional paths to try.
find_node() {
  found=
  for node in /usr/bin/node /usr/local/bin/node "$@"; do
    [ -x "$node" ] || continue
    node_version=$("$node" --version 2>/dev/null) || continue
    suits_node "${node_version#v}" && return 0
    case $found in *"$node "*) ;; *) found="$found${found:+, }$node $node_version" ;; esac
  done
  cat >&2 <<EOF
topicd: no suitable Node.js found: topicd needs version 22 (22.12 or later) or, with glibc 2.38 or later, 24 or 26
(20.20 works, unsupported), as /usr/bin/node or /usr/local/bin/node; found: ${found:-none}, glibc $(glibc_version)
On Debian and Ubuntu, install it from NodeSource:
  curl -fsSL https://deb.nodesource.com/setup_22.x | sudo -E bash - && sudo apt-get install -y nodejs
Elsewhere: https://nodejs.org/en/download
EOF
  return 2
}

# Whether topicd runs on this version, such as 20.20.2.
suits_node() {
  major=${1%%.*}
  rest=${1#*.}
  minor=${rest%%.*}
  case $major in
    20) [ "$minor" -ge 20 ] ;;
    22) [ "$minor" -ge 12 ] ;;
    24 | 26) [ "$(glibc_version)" != none ] && ! is_older "$(glibc_version)" 2.38 ;;
    *) return 1 ;;
  esac
}

# The version of glibc, such as 2.36; "none" if the C library is another one or getconf is missing.
glibc_version() {
  { getconf GNU_LIBC_VERSION || echo none; } 2>/dev/null | sed 's/^glibc //'
}

# Rejects a system whose C library is too old for the binaries of the database and the HTTP library.
require_glibc() {
  case $(glibc_version) in
    none) ;;
    *) is_older "$(glibc_version)" 2.34 || return 0 ;;
  esac
  echo "topicd: this system is too old: topicd needs glibc 2.34 or later, as in Debian 12, Ubuntu 22.04 and RHEL 9; getconf GNU_LIBC_VERSION prints: $(glibc_version)" >&2
  return 1
}

# Whether version $1 is older than version $2.
is_older() {
  [ "$1" != "$2" ] && [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]
}

# Whether a change from version $1 to version $2 needs a restart. $3 and $4: the contents of their files restart-before, the
# release whose workers an earlier primary cannot run; empty if unknown.
needs_restart() {
  is_older "$1" "${4:-0}" || is_older "$2" "${3:-0}"
}

# Sets up the account, the settings file's owner and the kernel setting. $1: the folder with sysusers.d and sysctl.d.
prepare_machine() {
  systemd-sysusers "$1/sysusers.d/topicd.conf"
  # The administrator of other instances may have deleted the file.
  for file in /etc/topicd /etc/topicd/topicd.env; do
    if [ -e "$file" ]; then chown root:topicd "$file"; fi
  done
  sysctl -q -p "$1/sysctl.d/60-topicd.conf" 2>/dev/null ||
    echo 'topicd: cannot set net.ipv4.tcp_migrate_req: a reload may reset a few new connections' >&2
}

# The instances that were not stopped, including topicd.service: one that failed may run once its settings are mended.
running_instances() {
  systemctl list-units --plain --no-legend --state=active,reloading,activating,failed 'topicd.service' 'topicd@*.service' |
    awk '{ print $1 }'
}

# Brings every running instance to the new build. $1: reload or restart. An instance that was still trying to start, or failed,
# is restarted; its failure is not an error.
update_instances() {
  failed=
  for unit in $(running_instances); do
    if systemctl --quiet is-active "$unit"; then
      echo "topicd: systemctl $1 $unit" >&2
      systemctl "$1" "$unit" || failed="$failed $unit"
    else
      systemctl restart "$unit" || echo "topicd: $unit was not running before and failed to start; see journalctl -eu $unit" >&2
    fi
  done
  [ -z "$failed" ] && return 0
  for unit in $failed; do
    echo "topicd: the new version is installed, but $unit is not running it; see journalctl -eu $unit" >&2
  done
  return 1
}

# Stops every instance and its backups. Units of other programs may have similar names.
stop_instances() {
  systemctl stop topicd-backup.timer 'topicd-backup@*.timer' topicd-backup.service 'topicd-backup@*.service' \
    'topicd@*.service' topicd.service || true
}

# Disables instances and timers other than topicd.service.
forget_instances() {
  rm -f /etc/systemd/system/*.wants/topicd@*.service
  rm -f /etc/systemd/system/*.wants/topicd-backup.timer /etc/systemd/system/*.wants/topicd-backup@*.timer
}

# Enabled units other than topicd.service: instances and timers.
enabled_units() {
  for link in /etc/systemd/system/*.wants/topicd@*.service /etc/systemd/system/*.wants/topicd-backup.timer \
    /etc/systemd/system/*.wants/topicd-backup@*.timer; do
    if [ -L "$link" ]; then basename "$link"; fi
  done
}

# Deletes settings and topics, with a message; backups stay. $1: a file of another installation, which may also use them; $2:
# the name of that installation. The program may have been removed long ago, so a lock on the topics also counts.
purge_directories() {
  for directory in /etc/topicd /var/lib/topicd /var/lib/topicd@*/data; do
    [ -e "$directory" ] || continue
    if [ -e "$1" ] || { [ -e "$directory/lock" ] && ! flock --nonblock "$directory/lock" true; }; then
      echo "topicd: kept: $directory, which $2 uses" >&2
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
      echo "topicd: kept: empty mount points in $directory" >&2
  done
  for directory in /var/lib/topicd-backups /var/lib/topicd@*/backups; do
    [ -e "$directory" ] || continue
    if rmdir "$directory" 2>/dev/null; then continue; fi
    echo "topicd: kept: $directory ($(du -sh "$directory" | cut -f 1))" >&2
  done
  rmdir /var/lib/topicd@* 2>/dev/null || true
}

# Whether the service has a store, in which case API keys may exist.
has_store() {
  [ -e /var/lib/topicd/topics ]
}

# Prints the next step after a first installation. $1: the command.
say_next_step() {
  systemctl --quiet is-active topicd.service || return 0
  echo 'topicd: the service is running. Next, create an API key; its token is shown only once:'
  echo "  sudo $1 keys add admin"
}
