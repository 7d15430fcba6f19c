import { Transport } from '../../client/transport.ts';
import { type ParsedFlags, usage } from '../../lib/flags.ts';
import type { CommandContext } from '../command.ts';
import { apiUrl, findApiKey, trustRootCa } from './connection.ts';
import { createTextSource, type TextSource } from './text-source.ts';

/** The API that the flags and the environment name. */
export async function openTransport(
  parsed: ParsedFlags,
  context: CommandContext,
  source: TextSource = createTextSource(),
): Promise<Transport> {
  const baseUrl = apiUrl(parsed, context);
  const found = await findApiKey(baseUrl, parsed, context, source);
  if (found === null) throw usage('no API key: set POSTERN_CLI_API_KEY or --api-key-file FILE');
  await trustRootCa(parsed, source);
  return new Transport({ baseUrl, apiKey: found.key });
}
