"""Reads a request of OTLP profiles with the classes of opentelemetry-proto, and prints what is in it as JSON: the attributes of the program, and of each
profile its kind, its period and its bytes by the innermost function. Fails if it is not as the protocol wants it."""

import json
import pathlib
import sys

from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import ExportProfilesServiceRequest

request = ExportProfilesServiceRequest()
request.ParseFromString(pathlib.Path(sys.argv[1]).read_bytes())
dictionary = request.dictionary
strings = dictionary.string_table
# Each table begins with an entry that means nothing.
assert strings[0] == ""
for table in ("mapping", "location", "function", "link", "attribute", "stack"):
    first = getattr(dictionary, f"{table}_table")[0]
    assert first == type(first)(), table
[of_program] = request.resource_profiles
[scope] = of_program.scope_profiles
ids = [profile.profile_id for profile in scope.profiles]
assert len(set(ids)) == len(ids) and all(len(id) == 16 for id in ids)
profiles = []
for profile in scope.profiles:
    leaves = {}
    for sample in profile.samples:
        [value] = sample.values
        assert value > 0 and not sample.timestamps_unix_nano
        stack = dictionary.stack_table[sample.stack_index]
        frames = []
        for index in stack.location_indices:
            [line] = dictionary.location_table[index].lines
            function = dictionary.function_table[line.function_index]
            frames.append((strings[function.name_strindex], strings[function.filename_strindex], line.line))
        leaf = frames[0][0] if frames else ""
        leaves[leaf] = leaves.get(leaf, 0) + value
    kind = [strings[profile.sample_type.type_strindex], strings[profile.sample_type.unit_strindex]]
    assert kind == [strings[profile.period_type.type_strindex], strings[profile.period_type.unit_strindex]]
    profiles.append({"kind": kind, "period": profile.period, "start": profile.time_unix_nano, "nanos": profile.duration_nano, "leaves": leaves})
attributes = {attribute.key: attribute.value.string_value for attribute in of_program.resource.attributes}
print(json.dumps({"attributes": attributes, "profiles": profiles}))
