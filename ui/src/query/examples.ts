/** Example queries; docs/tables.md has more. */
import type { FileKind } from "../api/files";

export interface Example {
  title: string;
  of: FileKind;
  sql: string;
}

export const EXAMPLES: readonly Example[] = [
  { title: "Blocks by class", of: "snapshot", sql: "select class, sum(words) * 8 as bytes\nfrom blocks group by class order by bytes desc limit 20" },
  { title: "Bytes held by a single root", of: "snapshot", sql: "select root, sum(words) * 8 as bytes\nfrom blocks where root is not null group by root order by bytes desc limit 20" },
  { title: "The largest holders, with paths from the roots", of: "snapshot", sql: "select id, class, retained, path(id)\nfrom blocks where retained is not null order by retained desc limit 5" },
  { title: "Sizes of blocks", of: "snapshot", sql: "select floor(log2(words)) as power, count(*) as blocks\nfrom blocks group by power order by power" },
  { title: "Functions that allocated most", of: "trace", sql: "select leaf, sum(samples / rate) * 8 as bytes\nfrom objects join stacks using (stack) group by leaf order by bytes desc limit 20" },
  { title: "Allocations over time", of: "trace", sql: "select floor(time * 10) / 10 as second, sum(samples / rate) * 8 as bytes\nfrom objects group by second order by second" },
  { title: "Never collected, by size", of: "trace", sql: "select words, count(*) as samples\nfrom objects where collected is null group by words order by words" },
  { title: "Means of all numbers", of: "live", sql: "select observer, avg(value) as mean\nfrom \"values\" where value is not null group by observer order by observer" },
];
