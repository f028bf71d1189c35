# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
#
# prelude.sh - functions for kinds.ini; survey.py puts them before each script. K is the directory of
# sources, S the number of seconds.
export K S

# again COMMAND…: repeats it until the time is over.
again ()
{
  local end=$(($(date +%s%N) + S * 1000000000))
  while [ "$(date +%s%N)" -lt $end ]; do
    "$@" >>out 2>&1 || { tail -n 3 out >&2; exit 1; }
  done
}

# once FILE COMMAND…: makes a file that is not there yet.
once ()
{
  [ -e "$1" ] || "${@:2}" >&2
  [ -e "$1" ] || exit 1
}

generated ()
{
  once "$1" ffmpeg -v error -f lavfi -i "${@:2}" "$1"
}

video () { generated video.y4m testsrc2=s=640x360:d=2 -pix_fmt yuv420p; }
sound () { generated sound.wav anoisesrc=d=20:c=pink; }
picture () { generated picture.png mandelbrot=s=800x600 -frames:v 1; }
text () { [ -e text ] || head -c 6000000 lines >text; }
