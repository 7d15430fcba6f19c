import { join } from 'node:path';
import { type ParsedFlags, usage } from '../../lib/flags.ts';
import type { CommandContext } from '../command.ts';
import type { ApiKey } from './api-key.ts';
import { serverKeyVariable } from './client-variables.ts';
import {
  apiUrl,
  dataDirectory,
  findApiKey,
  isOnThisMachine,
  isUrlGiven,
  KEY_FILE,
  localAnswer,
  trustRootCa,
} from './connection.ts';
import type { TextSource } from './text-source.ts';

export interface ApiAccess {
  readonly url: string;
  readonly apiKey: ApiKey;
}

/** The API that the flags and the environment name, and the key for it. */
export async function apiAccess(parsed: ParsedFlags, context: CommandContext, source: TextSource): Promise<ApiAccess> {
  const url = await apiUrl(parsed, context);
  const apiKey = await findApiKey(url, parsed, context, source);
  if (apiKey === null) throw usage(await noKey(url, context, isUrlGiven(parsed, context)));
  await trustRootCa(parsed, source);
  // A token of this machine goes to this machine, whatever address it listens at.
  if (url.startsWith('http:') && !isOnThisMachine(url) && apiKey.renew === undefined)
    context.warn(`postern: warning: ${url} is not encrypted: the API key is sent in clear text`);
  return { url, apiKey };
}

/** Names what works here and now. */
async function noKey(url: string, context: CommandContext, isGiven: boolean): Promise<string> {
  const given = 'no API key: set POSTERN_CLI_API_KEY or --api-key-file FILE';
  if (isOnThisMachine(url)) {
    const { problem, isStarted } = await localAnswer(context);
    const dataDir = await dataDirectory(context);
    if (!isStarted && !isGiven)
      return `no server was started with the data directory ${dataDir}, and there is no API key for another one. Start it with "postern server", or run this in the folder of the server, or set POSTERN_DATA_DIR to its data directory. For a server elsewhere, set POSTERN_CLI_API_URL and POSTERN_CLI_API_KEY`;
    const why = problem ?? `the server with the data directory ${dataDir} serves another address than ${url}`;
    return `${given}. On the machine of the server, root and its user need none: ${why}. ${join(dataDir, KEY_FILE)} is missing or cannot be read; "postern store create-key" makes another key while the server is stopped`;
  }
  const isMeant = serverKeyVariable(context) !== null;
  return isMeant
    ? `${given}. POSTERN_API_KEY is the first key of a server, and is not sent to another machine`
    : `${given}. The console and "postern api api-keys create" make one. On the machine of the server, root and its user need none`;
}
