"""Asks `bactrian mcp` as a client of others does: lists its tools, calls some, and prints what came as JSON.

  mcp_client.py BACTRIAN FILE.. -- TOOL ARGUMENTS TOOL ARGUMENTS ..
"""

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main():
    split = sys.argv.index("--")
    bactrian, files, calls = sys.argv[1], sys.argv[2:split], sys.argv[split + 1 :]
    server = StdioServerParameters(command=bactrian, args=["mcp", *files])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = (await session.list_tools()).tools
        print(json.dumps([tool.name for tool in tools]))
        for tool, arguments in zip(calls[::2], calls[1::2]):
            answer = await session.call_tool(tool, json.loads(arguments))
            failed = getattr(answer, "is_error", getattr(answer, "isError", None))
            print(json.dumps({"failed": bool(failed), "text": answer.content[0].text}))


asyncio.run(main())
