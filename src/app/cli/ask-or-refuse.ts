import { usage } from '../../kit/flags.ts';
import type { CommandContext } from './command.ts';
import { printable } from './output/cell-text.ts';

/** Before a secret goes to an address from elsewhere: the person agrees on the terminal, or it is a usage error. */
export async function askOrRefuse(
  context: Pick<CommandContext, 'ask'>,
  { question, refusal }: { readonly question: string; readonly refusal: string },
): Promise<void> {
  const answer = await context.ask?.(printable(question));
  if (!/^y(es)?$/i.test((answer ?? '').trim())) throw usage(printable(refusal));
}
