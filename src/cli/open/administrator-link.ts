import { type AdministratorLinkReply, controlDirectory } from '../restart/control-protocol.ts';
import { answerFrom, openSockets } from '../restart/server-sockets.ts';

const ANSWER_WITHIN_MS = 10_000;

/** A link that makes somebody the first administrator, from the server that runs with this data directory. Null: none is needed, or no server answers. */
export async function administratorLink(dataDir: string): Promise<string | null> {
  const found = (await openSockets(controlDirectory(dataDir), null).catch(() => null)) ?? [];
  const [first, ...others] = found;
  for (const { socket } of others) socket.destroy();
  if (first === undefined) return null;
  const answer = await answerFrom(first.socket, { do: 'administrator_link' }, ANSWER_WITHIN_MS);
  if (answer === null) return null;
  const reply = JSON.parse(answer) as AdministratorLinkReply;
  return reply.ok ? reply.url : null;
}
