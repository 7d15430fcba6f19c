import type { Transport } from '../../client/transport.ts';
import { browserCommand } from './browser-command.ts';

/** A link that logs a browser in to the console once, within ten minutes, with the rights of the API key. */
export interface SignInLink {
  readonly url: string;
  /** What the page of the link asks for; null: the URL has it. */
  readonly code: string | null;
  /** Whose rights it gives: the description of an API key, or local:NODE. */
  readonly name: string;
}

/**
 * A browser of this machine gets the URL as an argument, from a command or from a click in a terminal, and every user here
 * can read arguments. So with a screen, the code is apart. Without one, somebody copies the URL to another machine.
 */
export async function signInLink(
  transport: Transport,
  apiUrl: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<SignInLink> {
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
