"""TLS in front of a server that has none."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tools.parts.process import HOST


@contextmanager
def tls_in_front_of(port: int, folder: Path) -> Iterator[int]:
    """A port that takes HTTP/2 over TLS, with the certificate of a folder, and passes it on in clear text."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    context.set_alpn_protocols(["h2"])
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner = await asyncio.open_connection(HOST, port)
        await asyncio.gather(_copy(reader, inner[1]), _copy(inner[0], writer))

    async def listen() -> asyncio.Server:
        return await asyncio.start_server(serve, HOST, 0, ssl=context)

    server = asyncio.run_coroutine_threadsafe(listen(), loop).result()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()
