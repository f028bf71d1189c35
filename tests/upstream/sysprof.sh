# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
# shellcheck shell=bash
#
# sysprof.sh - runs the script that sources it inside a Debian that has the newest Sysprof.
#
# enter makes the system (unstable; LU_SYSPROF_SUITE names another) and runs the script again in there,
# with its own processes and with LU_DIRECTORY set; it returns only inside. With LU_SYSPROF=DIR in the
# environment it uses that chroot, creates it if it is missing, and keeps it. The scripts end with
# status 0 if the fault of docs/upstream.md is there, 1 if it is gone, 77 if this machine cannot tell.
set -u

cannot_tell () { echo "$*"; exit 77; }

enter ()
{
  local here script debian status
  [ -z "${LU_DIRECTORY:-}" ] || { start_daemon; return; }
  here=$(cd "$(dirname "$0")" && pwd) script=$(basename "$0")
  # shellcheck source=../../tools/chroot.sh
  . "$here/../../tools/chroot.sh"
  # shellcheck disable=SC2154 # set by chroot.sh
  chroot_possible || cannot_tell "$chroot_why"
  work=$(mktemp -d "${TMPDIR:-/tmp}/live-unwinder-upstream.XXXXXX")
  debian=${LU_SYSPROF:-$work/debian}
  # shellcheck disable=SC2064 # the values of now
  trap "leave '$work' '$debian'" EXIT
  [ -d "$debian" ] || chroot_create "${LU_SYSPROF_SUITE:-sid}" "$debian" || cannot_tell 'no Debian can be installed'
  chroot_install "$debian" sysprof dbus polkitd python3-minimal || cannot_tell 'Sysprof cannot be installed'
  mkdir -p "$debian$work"
  cp "$here/$script" "$here/sysprof.sh" "$here/helper.py" "$here/frames.py" "$debian$work/"
  cc -O2 -D_GNU_SOURCE -shared -fPIC -o "$debian$work/fix.so" "$here/../peers/fd-list-fix.c" \
    || cannot_tell 'no compiler'
  status=0
  chroot_plain=1 chroot_alone=1 chroot_run "$debian" LU_DIRECTORY="$work" "$work/$script" || status=$?
  exit "$status"
}

leave ()
{
  [ ! -f "$2$1/shipped" ] || cp -p "$2$1/shipped" "$2/usr/libexec/sysprof-live-unwinder"
  rm -rf --one-file-system "${2:?}$1"
  [ -n "${LU_SYSPROF:-}" ] || chroot_remove "$2"
  rm -rf --one-file-system "$1"
}

# The rest runs inside.

start_daemon ()
{
  cd "$LU_DIRECTORY" || exit 77
  echo "Sysprof $(dpkg-query -W -f '${Version}' sysprof)"
  mkdir -p /run/dbus
  dbus-daemon --system --fork || cannot_tell 'no system bus'
  /usr/libexec/sysprofd >sysprofd.log 2>&1 &
  # shellcheck disable=SC2034 # for the scripts
  daemon=$!
  for _ in $(seq 60); do
    dbus-send --system --print-reply --dest=org.freedesktop.DBus /org/freedesktop/DBus \
      org.freedesktop.DBus.NameHasOwner string:org.gnome.Sysprof3 2>/dev/null | grep -q true && return
    sleep 0.5
  done
  cat sysprofd.log
  cannot_tell 'sysprofd does not start'
}

# use_helper COMMAND: the helper that sysprofd starts from now on; it leaves the file "started".
use_helper ()
{
  cp -p /usr/libexec/sysprof-live-unwinder shipped
  # The daemon starts it without a PATH.
  printf '#!/bin/sh\n/usr/bin/touch %s/started\nexec %s "$@"\n' "$LU_DIRECTORY" "$1" >new
  chmod 755 new && mv new /usr/libexec/sysprof-live-unwinder
}

# record CAPTURE COMMAND…: with the fault of no-counters mended; that also holds where there are counters.
record ()
{
  local capture=$1
  shift
  HOME=/tmp LD_PRELOAD=$LU_DIRECTORY/fix.so sysprof-cli --force --no-debuginfod --stack-size=16384 \
    "$capture" -- env -u LD_PRELOAD "$@" >client.log 2>&1 || { cat client.log; cannot_tell 'sysprof-cli failed'; }
  [ -e started ] || { cat client.log sysprofd.log; cannot_tell 'sysprofd started no helper'; }
}
