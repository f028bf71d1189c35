# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
# shellcheck shell=bash
#
# chroot.sh - fresh Debian systems in a directory, for tools/check and tests/peers/sysprof-chroot.
# Sourced, never run. The invariant: nothing is ever mounted in the caller's mount namespace. Every
# command inside a chroot gets a mount namespace of its own, which ends with it, so no mount can be
# left behind for chroot_remove to walk into; chroot_remove looks all the same, and stays on one
# file system. /dev is a small tmpfs of its own: the machine's device nodes are never reachable.

# Prints the Debian mirror that apt uses on this machine, or fails. Apt needs seconds to say it: chroot_possible
# keeps it in $LU_CHROOT_MIRROR, for scripts that it starts, too.
chroot_mirror ()
{
  local uri
  [ -z "${LU_CHROOT_MIRROR:-}" ] || { echo "$LU_CHROOT_MIRROR"; return; }
  # The format is apt's, not the shell's.
  # shellcheck disable=SC2016
  uri=$(apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' 'Identifier: Packages' \
          2>/dev/null | sed -n 's/^Debian|Debian|//p' | head -n 1)
  case $uri in
    http://* | https://*) echo "$uri" ;;
    *) return 1 ;;
  esac
}

# Sets $chroot_why to the reason why chroots cannot be made here, and fails; otherwise silent.
chroot_why=
chroot_possible ()
{
  chroot_why=
  if [ "$(id -u)" -ne 0 ]; then
    chroot_why='needs root'
  elif ! command -v debootstrap >/dev/null; then
    chroot_why='debootstrap is not installed'
  elif ! unshare --mount --propagation private true 2>/dev/null; then
    chroot_why='no permission to make a mount namespace'
  elif ! LU_CHROOT_MIRROR=$(chroot_mirror); then
    chroot_why='apt has no http(s) mirror of Debian in its lists (apt-get update?)'
  fi
  export LU_CHROOT_MIRROR
  [ -z "$chroot_why" ]
}

# chroot_bootstrap SUITE DIR [PACKAGE,PACKAGE…]: what debootstrap makes. With a directory of archives in
# $LU_CHROOT_BASES it makes each suite once, whoever asks first; the others wait and unpack it.
chroot_bootstrap ()
{
  local suite=$1 dir=$2 include=${3:-} base=${LU_CHROOT_BASES:+$LU_CHROOT_BASES/$1.tar}
  if [ -z "$base" ] || [ -n "$include" ]; then
    chroot_debootstrap "$suite" "$dir" "$include"
    return
  fi
  (
    flock 9
    [ -f "$base" ] && exec tar -C "$dir" --numeric-owner -xpf "$base"
    chroot_debootstrap "$suite" "$dir" '' || exit 1
    tar -C "$dir" --numeric-owner -cpf "$base.new" . && mv "$base.new" "$base"
  ) 9>"$base.lock"
}

chroot_debootstrap ()
{
  local suite=$1 dir=$2 include=$3 mirror log
  mirror=$(chroot_mirror)
  case $mirror in https://*) include=${include:+$include,}ca-certificates ;; esac
  log=$(mktemp)
  # debootstrap mounts /proc inside while it works: a namespace of its own for it as well.
  if ! unshare --mount --propagation private debootstrap --variant=minbase \
         ${include:+--include="$include"} "$suite" "$dir" "$mirror" </dev/null >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

# chroot_create SUITE DIR [PACKAGE,PACKAGE…]: a minimal Debian that starts no daemons. DIR must not
# exist. apt inside uses the same mirror and, where there is one, the same proxy.
chroot_create ()
{
  local dir=$2
  [ ! -e "$dir" ] || { echo "chroot_create: $dir exists" >&2; return 1; }
  mkdir -p "$dir"
  chroot_bootstrap "$@" || return 1
  printf '#!/bin/sh\nexit 101\n' >"$dir/usr/sbin/policy-rc.d"
  chmod 755 "$dir/usr/sbin/policy-rc.d"
  # The system does not have to survive a crash of this machine.
  echo force-unsafe-io >"$dir/etc/dpkg/dpkg.cfg.d/unsafe-io"
  cp -L /etc/resolv.conf "$dir/etc/resolv.conf" 2>/dev/null || true
  cp -L /etc/hosts "$dir/etc/hosts" 2>/dev/null || true
  apt-config dump | grep -i '^Acquire::https\?::Proxy ' >"$dir/etc/apt/apt.conf.d/80proxy" || true
  if [ -f /etc/ssl/certs/ca-certificates.crt ] && [ -d "$dir/etc/ssl/certs" ]; then
    cp -L /etc/ssl/certs/ca-certificates.crt "$dir/etc/ssl/certs/ca-certificates.crt"
  fi
}

# chroot_run DIR COMMAND…: runs it as root inside, in a mount namespace of its own, with a clean
# environment (no HOME). VAR=VALUE words may come before COMMAND. Standard input is empty. With
# chroot_alone=1 in the environment it gets a PID namespace too, and all it started ends with it.
# $chroot_shared is a directory of the machine that is there under the same name.
# With chroot_plain=1 its root is no mount of its own: who reads mountinfo inside finds the same paths.
chroot_run ()
{
  local dir=$1
  shift
  # shellcheck disable=SC2016 # expanded by the inner shell
  unshare --mount --propagation private ${chroot_alone:+--pid --fork --kill-child} bash -euc '
    dir=$1; shift
    # The root must be a mount point, or nothing inside can make a mount namespace.
    [ -n "${chroot_plain:-}" ] || mount --bind "$dir" "$dir"
    [ -z "${chroot_shared:-}" ] || { mkdir -p "$dir$chroot_shared"; mount --bind "$chroot_shared" "$dir$chroot_shared"; }
    mount -t proc -o nosuid,nodev,noexec proc "$dir/proc"
    mount --bind /sys "$dir/sys"
    mount -o remount,bind,ro "$dir/sys"
    mount -t tmpfs -o mode=755,nosuid dev "$dir/dev"
    for node in null:3 zero:5 full:7 random:8 urandom:9; do
      mknod -m 666 "$dir/dev/${node%:*}" c 1 "${node#*:}"
    done
    mknod -m 666 "$dir/dev/tty" c 5 0
    ln -s /proc/self/fd "$dir/dev/fd"
    ln -s fd/0 "$dir/dev/stdin"; ln -s fd/1 "$dir/dev/stdout"; ln -s fd/2 "$dir/dev/stderr"
    mkdir -m 1777 "$dir/dev/shm"
    mkdir -m 755 "$dir/dev/pts"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$dir/dev/pts"
    ln -s pts/ptmx "$dir/dev/ptmx"
    mount -t tmpfs -o mode=755,nosuid,nodev run "$dir/run"
    exec chroot "$dir" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive ${http_proxy:+http_proxy="$http_proxy"} \
      ${https_proxy:+https_proxy="$https_proxy"} "$@"
  ' chroot_run "$dir" "$@" </dev/null
}

# chroot_install DIR PACKAGE…
chroot_install ()
{
  local dir=$1 log
  shift
  log=$(mktemp)
  if ! chroot_run "$dir" apt-get -q -y -o Acquire::Retries=3 install --no-install-recommends "$@" \
         >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

# chroot_copy_source DIR PATH: the source tree (what git knows or would add) as PATH inside.
chroot_copy_source ()
{
  local root
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
  mkdir -p "$1$2"
  if git -C "$root" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    (cd "$root" && git ls-files -z --cached --others --exclude-standard \
       | while IFS= read -r -d '' file; do [ ! -f "$file" ] || printf '%s\0' "$file"; done \
       | tar --null --files-from=- -cf -)
  else
    tar -C "$root" --exclude='./build*' --exclude='./_build*' -cf - .
  fi | tar -C "$1$2" --no-same-owner -xf -
}

# chroot_remove DIR: refuses when anything is mounted at or below DIR.
chroot_remove ()
{
  local dir
  [ -n "${1:-}" ] && [ -d "$1" ] || return 0
  dir=$(readlink -f "$1")
  if [ "$dir" = / ]; then
    echo "chroot_remove: refusing to remove /" >&2
    return 1
  fi
  if awk -v d="$dir" '$5 == d || index ($5, d "/") == 1 { found = 1 } END { exit !found }' \
       /proc/self/mountinfo; then
    echo "chroot_remove: something is mounted in $dir; left alone" >&2
    return 1
  fi
  rm -rf --one-file-system "$dir"
}
