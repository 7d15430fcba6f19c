import type { Transport } from '../../client/transport.ts';
import type { ParsedFlags } from '../../lib/flags.ts';
import type { CommandContext } from '../command.ts';
import { apiAccess } from './api-access.ts';
import { CommandTransport } from './command-transport.ts';
import { createTextSource, type TextSource } from './text-source.ts';

/** The API that the flags and the environment name. */
export async function openTransport(
  parsed: ParsedFlags,
  context: CommandContext,
  source: TextSource = createTextSource(),
): Promise<Transport> {
  return new CommandTransport(await apiAccess(parsed, context, source), context);
}
