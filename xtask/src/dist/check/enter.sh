# Runs a script in a root file system: enter LAYERS UPPER SCRATCH SCRIPT [FOLDER PLACE]..
# It is started in new mount and PID namespaces, so that all mounts and processes end with it.
layers=$1 upper=$2 scratch=$3 script=$4
shift 4
root=$scratch/root
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=$layers,upperdir=$upper,workdir=$scratch/work" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm" 2>/dev/null || true
if [ -e /etc/resolv.conf ]; then
    cat /etc/resolv.conf >"$root/etc/resolv.conf"
fi
cat /etc/hosts >"$root/etc/hosts"
while [ $# -ge 2 ]; do
    mkdir -p "$root$2"
    mount --bind "$1" "$root$2"
    shift 2
done
cd "$root"
exec chroot "$root" /usr/bin/env -i HOME=/tmp LANG=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -euc "$script"
