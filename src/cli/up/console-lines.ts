import { formatListenAddress, isLoopbackHost, type ListenAddress } from '../../lib/net/listen-address.ts';
import { shellWord } from '../../lib/text/shell-word.ts';
import type { CommandContext } from '../command.ts';

export interface ConsolePlace {
  /** The address of the console, with a link that logs in if there is one. */
  readonly url: string;
  readonly isLink: boolean;
  /** What the page of the link asks for; null: nothing. */
  readonly code: string | null;
  /** Where the API listens. */
  readonly listen: ListenAddress;
  /** A host that leads to this machine. */
  readonly host: string;
  /** Address at which the console is published; null: it listens on this machine only. */
  readonly publicUrl: string | null;
}

/** How to open the console, here and from another machine. */
export function consoleLines(
  { url, isLink, code, listen, host, publicUrl }: ConsolePlace,
  { env }: Pick<CommandContext, 'env'>,
): readonly string[] {
  const asks = code === null ? '' : `, with the code ${code}`;
  const once = isLink ? ` (logs you in once, within ten minutes${asks})` : '';
  if (publicUrl !== null) return [publicUrl, `${url}${once}`];
  if (isLoopbackHost(host)) return [`${url}${once}`];
  // With sudo, root may not log in from elsewhere.
  const user = env['SUDO_USER'] || env['USER'] || 'root';
  const tunnel = `${listen.port}:${formatListenAddress(listen)}`;
  return [`${url}${once}`, `from another machine, first: ssh -N -L ${tunnel} ${shellWord(`${user}@${host}`)}`];
}
