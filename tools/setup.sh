#!/usr/bin/env bash
# Make .venv with everything the project needs; does nothing when it is already so. Nothing has to be activated.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV

python=.venv/bin/python
stamp=.venv/.setup-stamp
suitable='import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'

# Whether a Java 17 or newer is on the machine; otherwise one comes with the Python packages.
has_java() {
  local java=${JAVA_HOME:+$JAVA_HOME/bin/java} version
  for java in "$java" "$(command -v java || true)"; do
    [ -x "$java" ] || continue
    version=$("$java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1) || continue
    [ "${version:-0}" -ge 17 ] && return 0
  done
  return 1
}

# What the environment was made from: any change of it makes setup run again.
recipe() {
  printf 'in %s with the extras %s\n' "$PWD" "$extras"
  cat pyproject.toml constraints.txt tools/requirements/*.txt tools/setup.sh
}

fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

extras=dev
has_java || extras=dev,java

is_done() { [ -f "$stamp" ] && "$python" -c "$suitable" 2>/dev/null && recipe | cmp -s - "$stamp"; }

is_done && exit 0
mkdir -p .venv
if command -v flock >/dev/null; then # two at once: the second waits, and finds it done
  exec 9>.venv/.setup-lock
  flock 9
  is_done && exit 0
fi
rm -f "$stamp"

if ! "$python" -c "$suitable" 2>/dev/null; then
  base=
  for name in python3 python3.13 python3.12 python3.11; do
    if command -v "$name" >/dev/null && "$name" -c "$suitable" 2>/dev/null; then
      base=$(command -v "$name")
      break
    fi
  done
  if [ -z "$base" ]; then
    found=$(python3 --version 2>/dev/null || echo missing)
    fail "Python 3.11, 3.12 or 3.13 is needed; python3 here is: $found." \
      "Install one (Debian: apt-get install python3 python3-venv; macOS: brew install python@3.13) and run this again."
  fi
  echo "setup: making .venv with $("$base" --version) ($base)"
  rm -rf .venv/bin .venv/lib .venv/lib64 .venv/include .venv/pyvenv.cfg
  if "$base" -c 'import ensurepip' 2>/dev/null; then
    "$base" -m venv .venv
  elif command -v uv >/dev/null; then
    uv venv --quiet --allow-existing --no-python-downloads --python "$base" .venv
  else
    fail "$base cannot make virtual environments with pip. Install its venv module (Debian: apt-get install python3-venv)."
  fi
fi

echo "setup: installing kafka-s3[$extras] and what it needs (once, a minute or more) ..."
pip_install() {
  if command -v uv >/dev/null; then
    uv pip install --quiet --python "$python" --no-python-downloads --compile-bytecode "$@"
  else
    "$python" -m pip install --quiet --disable-pip-version-check "$@"
  fi
}
command -v uv >/dev/null || "$python" -m pip --version >/dev/null 2>&1 || "$python" -m ensurepip >/dev/null

# Every file that is installed is one whose SHA-256 is in the repository, what builds others included: a build in an
# isolated environment would download its own tools, unchecked. The project itself needs nothing beyond that.
pip_install --require-hashes --requirement tools/requirements/build.txt
requirements=(--requirement constraints.txt)
[ "$extras" = dev ] || requirements+=(--requirement tools/requirements/java.txt)
pip_install --require-hashes --no-build-isolation "${requirements[@]}"
pip_install --no-build-isolation --no-deps --editable ".[$extras]"

# pyspark-client's files overlap pyspark's: of another release they would overwrite them.
"$python" - <<'PYTHON'
import importlib.metadata
import sys

import pyspark

stated, client = importlib.metadata.version("pyspark"), importlib.metadata.version("pyspark-client")
if not pyspark.__version__ == stated == client:
    sys.exit(
        f"setup: pyspark's files are {pyspark.__version__}, pyspark is {stated}, pyspark-client {client}: they have to "
        "be the same. Remove .venv and run this again; if it stays so, pin both to one release in pyproject.toml."
    )
PYTHON
recipe >"$stamp"
echo "setup: done"
