# Holds the trace against limits and the baseline: annotations at the lines in question, a table in the summary, and the
# status of the check as that of the step.
set -euo pipefail
limits=()
if [ -n "${MAX_LIVE:-}" ]; then
    limits+=(--max-live "$MAX_LIVE")
fi
if [ -n "${MAX_ALLOCATED:-}" ]; then
    limits+=(--max-allocated "$MAX_ALLOCATED")
fi
if [ -n "${BASELINE:-}" ]; then
    if [ -e "$BASELINE" ]; then
        limits+=(--baseline "$BASELINE" --fail-above "${FAIL_ABOVE:?}")
    else
        # As on the first run, when no main branch has left one.
        echo "::notice::there is no baseline $BASELINE yet: nothing to compare with"
    fi
fi
if [ ${#limits[@]} -eq 0 ]; then
    echo 'passed=true' >>"${GITHUB_OUTPUT:?}"
    exit 0
fi
status=0
bactrian check "${TRACE:?}" "${limits[@]}" --format github || status=$?
if [ "$status" -le 1 ]; then
    bactrian check "$TRACE" "${limits[@]}" --format markdown >>"${GITHUB_STEP_SUMMARY:?}" || true
fi
case $status in
    0) echo 'passed=true' >>"${GITHUB_OUTPUT:?}" ;;
    *) echo 'passed=false' >>"${GITHUB_OUTPUT:?}" ;;
esac
exit "$status"
