# Prints functions.ml for a version of ppxlib: functions.sh VERSION
case $1 in
0.[0-9].* | 0.[12][0-9].* | 0.3[0-5].*) exec cat functions.ml.before_0_36 ;;
*) exec cat functions.ml.since_0_36 ;;
esac
