import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Transport } from '../../../client/transport.ts';
import { apiFetch } from '../api/api-fetch.ts';
import { isOnThisMachine } from '../api/connection.ts';
import { type AdministratorLinkReply, answerFrom, controlDirectory, openSockets } from '../restart/control-protocol.ts';

/** A link that logs a browser in to the console once, within ten minutes, with the rights of the API key. */
export interface LoginLink {
  readonly url: string;
  /** What the page of the link asks for; null: the URL has it. */
  readonly code: string | null;
  /** Whose rights it gives: the description of an API key, or local:NODE. */
  readonly name: string;
}

/**
 * A browser of this machine gets the URL as an argument, from a command or from a click in a terminal, and every user
 * here can read arguments. So with a screen, the code is apart. Without one, somebody copies the URL to another
 * machine.
 */
export async function loginLink(
  transport: Transport,
  apiUrl: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<LoginLink> {
  const { text } = await transport.send({ method: 'POST', path: '/console/links' });
  const { path, code, name } = JSON.parse(text) as {
    readonly path: string;
    readonly code: string;
    readonly name: string;
  };
  const url = `${apiUrl}${path}`;
  const hasScreen = browserCommand(url, process.platform, env) !== null;
  return hasScreen ? { url, code, name } : { url: `${url}&code=${code}`, code: null, name };
}

/** For the server that greets a person at a terminal. Null: it is published elsewhere, or no key of it is at hand. */
export async function ownLoginLink(baseUrl: string, given: string | null, dataDir: string): Promise<LoginLink | null> {
  if (!isOnThisMachine(baseUrl)) return null;
  const file = join(dataDir, 'first-api-key');
  const apiKey = given ?? (await readFile(file, 'utf8').catch(() => '')).trim();
  if (apiKey === '') return null;
  return loginLink(new Transport({ baseUrl, fetch: apiFetch, apiKey }), baseUrl, process.env).catch(() => null);
}

/** The program that opens a URL in the user's browser, with its arguments; null where there is no screen. */
export function browserCommand(
  url: string,
  platform: NodeJS.Platform,
  env: Readonly<Record<string, string | undefined>>,
): readonly [string, ...string[]] | null {
  if (platform === 'darwin') return ['open', url];
  // Not "start": cmd would interpret "&" in the URL.
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', url];
  const hasScreen = (env['DISPLAY'] ?? '') !== '' || (env['WAYLAND_DISPLAY'] ?? '') !== '';
  return hasScreen ? ['xdg-open', url] : null;
}

const ANSWER_WITHIN_MS = 10_000;

/**
 * A link that makes somebody the first administrator, from the server that runs with this data directory. Null: none is
 * needed, or no server answers.
 */
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
