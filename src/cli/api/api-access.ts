import { type ParsedFlags, usage } from '../../lib/flags.ts';
import type { CommandContext } from '../command.ts';
import type { ApiKey } from './api-key.ts';
import { serverKeyVariable } from './client-variables.ts';
import { apiUrl, findApiKey, isOnThisMachine, trustRootCa } from './connection.ts';
import type { TextSource } from './text-source.ts';

export interface ApiAccess {
  readonly url: string;
  readonly apiKey: ApiKey;
}

/** The API that the flags and the environment name, and the key for it. */
export async function apiAccess(parsed: ParsedFlags, context: CommandContext, source: TextSource): Promise<ApiAccess> {
  const url = await apiUrl(parsed, context);
  const apiKey = await findApiKey(url, parsed, context, source);
  if (apiKey === null) throw usage(noKey(url, context));
  await trustRootCa(parsed, source);
  if (url.startsWith('http:') && !isOnThisMachine(url))
    context.warn(`postern: warning: ${url} is not encrypted: the API key is sent in clear text`);
  return { url, apiKey };
}

function noKey(url: string, context: CommandContext): string {
  const local = isOnThisMachine(url)
    ? ' (neither POSTERN_DATA_DIR nor ./postern-data has a readable first-api-key: run this command in the folder of the server, or with sudo for an installed service; "postern store create-key" makes another key while the server is stopped)'
    : '';
  const meant =
    serverKeyVariable(context) === null
      ? ''
      : '. POSTERN_API_KEY is the first key of a server, and is not sent to another machine';
  return `no API key: set POSTERN_CLI_API_KEY or --api-key-file FILE${local}${meant}`;
}
