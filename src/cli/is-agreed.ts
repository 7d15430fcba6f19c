import { isOn, type ParsedFlags } from '../lib/flags.ts';
import type { CommandContext } from './command.ts';

/** Whether the user says yes, or said so before with --yes. */
export async function isAgreed(
  parsed: Pick<ParsedFlags, 'flags'>,
  context: Pick<CommandContext, 'ask'>,
  question: string,
): Promise<boolean> {
  if (isOn(parsed, 'yes')) return true;
  return /^y(es)?$/i.test(((await context.ask?.(`${question} [y/N] `)) ?? '').trim());
}
