"""Packs a wheel: wheel.py FOLDER WHEEL EPOCH. The same files give the same bytes.

RECORD, the last file, lists the others with their digests, as PyPA's specification of binary distributions demands.
"""
import base64
import hashlib
import os
import sys
import time
import zipfile

folder, wheel, epoch = sys.argv[1], sys.argv[2], int(sys.argv[3])
when = time.gmtime(epoch)[:6]
names = sorted(
    os.path.relpath(os.path.join(parent, name), folder)
    for parent, _, files in os.walk(folder)
    for name in files
)
record = next(name for name in names if name.endswith(".dist-info/RECORD"))
names.remove(record)
lines = []
with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:

    def add(name, content, mode):
        entry = zipfile.ZipInfo(name, when)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.create_system = 3
        entry.external_attr = (0o100000 | mode) << 16
        archive.writestr(entry, content)

    for name in names:
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            content = file.read()
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}\n")
        add(name, content, 0o755 if os.access(path, os.X_OK) else 0o644)
    add(record, "".join(lines) + f"{record},,\n", 0o644)
