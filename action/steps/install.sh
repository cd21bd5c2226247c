# Installs bactrian from PyPI, unless it is installed already. The wheel contains one portable program; Python only unpacks it.
set -euo pipefail
if command -v bactrian >/dev/null; then
    bactrian --version
    exit 0
fi
tools=${RUNNER_TEMP:?}/bactrian
python3 -m venv "$tools"
"$tools/bin/pip" install --quiet --only-binary :all: "bactrian${VERSION:+==$VERSION}"
echo "$tools/bin" >>"${GITHUB_PATH:?}"
"$tools/bin/bactrian" --version
