#!/usr/bin/env bash
# Brings a machine to the point where biowarp can be configured and built.
#
#   scripts/setup.sh packages GROUP...        installs the missing packages of scripts/packages.txt
#   scripts/setup.sh venv FOLDER              makes the Python environment
#   scripts/setup.sh pip FOLDER REQUIREMENTS  installs a requirements file into it
#
# Packages need root, or sudo without a password; otherwise the line to run is printed and the script stops with 1.
# BIOWARP_SKIP_PACKAGES=1 leaves the system's packages alone. BIOWARP_PYTHON names another interpreter.
# The output of the tools goes to build/log; it is shown when one of them fails.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
table=$root/scripts/packages.txt
quietly=$root/scripts/quietly

say() { printf 'setup: %s\n' "$*" >&2; }

# The column of the table that fits this machine, such as debian-12.
release() {
  local id version
  id=$(. /etc/os-release && echo "${ID:-unknown}")
  version=$(. /etc/os-release && echo "${VERSION_ID:-}")
  case $id-$version in
    debian-12 | debian-13 | ubuntu-24.04) echo "$id-$version" ;;
    debian-*) echo debian-13 ;;
    *) echo ubuntu-24.04 ;;
  esac
}

# Names of the packages of the given groups for a release, one a line.
packages_of() {
  local column=$1
  shift
  awk -v column="$column" -v groups=" $* " '
    $1 == "#" && $2 == "group" { for (i = 3; i <= NF; i++) if ($i == column) wanted = i - 1 }
    /^#/ || NF == 0 { next }
    index(groups, " " $1 " ") && $wanted != "-" { print $wanted }' "$table"
}

is_installed() { [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

# Packages that the configured sources do not offer (Ubuntu without "universe", for one).
without_candidate() {
  local package
  for package; do
    [[ $(apt-cache policy "$package" 2>/dev/null) == *"Candidate: "[^\(]* ]] || echo "$package"
  done
}

install_packages() {
  [[ ${BIOWARP_SKIP_PACKAGES:-} == 1 ]] && return 0
  if ! command -v apt-get >/dev/null; then
    say "this is no Debian or Ubuntu; docs/install.md lists the libraries that are needed"
    return 0
  fi
  local missing=() package
  for package in $(packages_of "$(release)" "$@"); do
    is_installed "$package" || missing+=("$package")
  done
  [[ ${#missing[@]} == 0 ]] && return 0

  local as_root=()
  if [[ $(id -u) != 0 ]]; then
    if ! sudo -n true 2>/dev/null; then
      say "${#missing[@]} packages are missing and need root; run this line, then the same command again:"
      echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  say "installing ${#missing[@]} packages: ${missing[*]}"
  "$quietly" apt-update "${as_root[@]}" apt-get update
  local absent
  absent=$(without_candidate "${missing[@]}")
  if [[ -n $absent ]]; then
    say "the package sources of this machine do not offer: ${absent//$'\n'/ }"
    say "on Ubuntu enable them by: sudo add-apt-repository universe"
    return 1
  fi
  "$quietly" apt-install "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}"
}

# The distribution's Python comes first: the packages above belong to it.
python_program() {
  if [[ -n ${BIOWARP_PYTHON:-} ]]; then
    echo "$BIOWARP_PYTHON"
  elif [[ -x /usr/bin/python3 ]]; then
    echo /usr/bin/python3
  else
    echo python3
  fi
}

make_venv() {
  local folder=$1
  [[ -x $folder/bin/python ]] && "$folder/bin/python" -c 'import pip' 2>/dev/null && return 0
  say "making the Python environment in ${folder#"$root"/}"
  rm -rf "$folder"
  "$quietly" venv "$(python_program)" -m venv "$folder"
}

install_requirements() {
  local folder=$1 requirements=$2
  say "installing the Python packages of ${requirements#"$root"/}"
  "$quietly" "pip-$(basename "$requirements" .txt)" "$folder/bin/python" -m pip install \
    --disable-pip-version-check -r "$requirements"
}

case ${1:-} in
  packages) shift && install_packages "$@" ;;
  venv) make_venv "$2" ;;
  pip) install_requirements "$2" "$3" ;;
  *)
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
