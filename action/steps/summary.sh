# Adds a table of allocation sites to the job summary.
set -euo pipefail
{
    echo "## Bactrian: ${TRACE:?}"
    echo
    echo '```text'
    bactrian top "$TRACE" --by site -n 10
    echo '```'
    echo
} >>"${GITHUB_STEP_SUMMARY:?}"
