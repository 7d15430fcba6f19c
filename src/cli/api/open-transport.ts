import { Transport } from '../../client/transport.ts';
import { type FlagForm, type ParsedFlags, usage } from '../../lib/flags.ts';
import type { CommandContext } from '../command.ts';
import { apiUrl, findApiKey, trustRootCa } from './connection.ts';
import { createTextSource, type TextSource } from './text-source.ts';

/** Flags of every command that calls the API. */
export const CONNECTION_FLAGS: readonly (readonly [string, FlagForm])[] = [
  ['api-url', 'value'],
  ['api-key-file', 'value'],
  ['root-ca', 'value'],
];

/** The API that the flags and the environment name. */
export async function openTransport(
  { flags }: ParsedFlags,
  context: CommandContext,
  source: TextSource = createTextSource(),
): Promise<Transport> {
  const values = new Map([...flags].map(([name, value]) => [name, [value]] as const));
  const parsed = { values, positionals: [] };
  const baseUrl = apiUrl(parsed, context);
  const found = await findApiKey(baseUrl, parsed, context, source);
  if (found === null) throw usage('no API key: set POSTERN_CLI_API_KEY or --api-key-file FILE');
  await trustRootCa(parsed, source);
  return new Transport({ baseUrl, apiKey: found.key });
}
