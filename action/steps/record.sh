# Runs the command under bactrian record. Its exit status is the step's, so that a failing test fails the step.
set -euo pipefail
options=(-o "${TRACE:?}")
if [ -n "${RATE:-}" ]; then
    options+=(--rate "$RATE")
fi
echo "trace=$TRACE" >>"${GITHUB_OUTPUT:?}"
# The command is shell input by definition: quotes and variables have their usual meaning.
eval "bactrian record \"\${options[@]}\" -- ${COMMAND:?}"
