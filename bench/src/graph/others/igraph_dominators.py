"""Makes an igraph of a graph in a file (see ../file.rs); with a second argument, also finds dominators and writes their
checksum there."""

import sys

import igraph
import numpy

nodes, edges, root, _ = (int(number) for number in numpy.fromfile(sys.argv[1], numpy.uint64, 4))
columns = numpy.memmap(sys.argv[1], numpy.uint32, "r", 32)
degrees = numpy.diff(columns[: nodes + 1])
ends = numpy.empty((edges, 2), numpy.int64)
ends[:, 0] = numpy.repeat(numpy.arange(nodes), degrees)
ends[:, 1] = columns[nodes + 1 : nodes + 1 + edges]
graph = igraph.Graph(nodes, ends, directed=True)
if len(sys.argv) > 2:
    found = numpy.array(graph.dominator(root, mode="out"), float)
    node = numpy.nonzero(found >= 0)[0]
    products = (node.astype(numpy.uint64) + 1) * (found[node].astype(numpy.uint64) + 1)
    with open(sys.argv[2], "w") as file:
        file.write(str(int(products.sum(dtype=numpy.uint64))))
