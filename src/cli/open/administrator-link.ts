import { createInterface } from 'node:readline';
import { type AdministratorLinkReply, controlDirectory } from '../restart/control-protocol.ts';
import { openSockets } from '../restart/server-sockets.ts';

/** A link that makes somebody the first administrator, from the server that runs with this data directory. Null: none is needed, or no server answers. */
export async function administratorLink(dataDir: string): Promise<string | null> {
  const found = (await openSockets(controlDirectory(dataDir), null).catch(() => null)) ?? [];
  try {
    const [first] = found;
    if (first === undefined) return null;
    first.socket.write(`${JSON.stringify({ do: 'administrator_link' })}\n`);
    for await (const line of createInterface({ input: first.socket })) {
      const reply = JSON.parse(line) as AdministratorLinkReply;
      return reply.ok ? reply.url : null;
    }
    return null;
  } finally {
    for (const { socket } of found) socket.destroy();
  }
}
