# Adds what the program allocates and holds to the summary of the job.
set -euo pipefail
{
    echo "## Bactrian: ${TRACE:?}"
    echo
    echo '```text'
    bactrian top "$TRACE" --by site -n 10
    echo '```'
    echo
} >>"${GITHUB_STEP_SUMMARY:?}"
