import { expect, test } from "vitest";
import { layOut } from "./flame-layout";
import { flameSvg } from "./flame-svg";

test("names in pictures are text, whatever is in them", () => {
  const hostile = `</text><script>alert("x")</script>&\u0001`;
  const layout = layOut({
    labels: [{ name: "all" }, { name: hostile }],
    parent: [0, 0],
    label: [0, 1],
    total: [10, 9],
    own: [1, 9],
    id: [0, 1],
    more: [0, 0],
  });
  const look = { title: hostile, up: true, fill: () => "#fff", ink: () => "#000", ground: "#fff", text: "#000", tell: () => hostile };
  const svg = flameSvg(layout, 0, look);
  expect(svg).not.toContain("<script");
  expect(svg).toContain("&lt;script&gt;");
  expect(svg).not.toContain("\u0001");
  expect(svg.match(/<rect/g)).toHaveLength(3);
});
