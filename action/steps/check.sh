# Checks the trace against the limits and the baseline: annotates the lines concerned, adds a table to the summary, and
# exits with the status of the check.
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
        # For example on the first run, before the main branch has produced one.
        echo "::notice::the baseline $BASELINE does not exist yet: no comparison was made"
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
