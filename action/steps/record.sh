# Runs the command under bactrian record. Its exit status is the step's, so that a test that fails is one.
set -euo pipefail
options=(-o "${TRACE:?}")
if [ -n "${RATE:-}" ]; then
    options+=(--rate "$RATE")
fi
echo "trace=$TRACE" >>"${GITHUB_OUTPUT:?}"
# The command is a line of shell by definition: quotes and variables in it mean what they mean there.
eval "bactrian record \"\${options[@]}\" -- ${COMMAND:?}"
