import type { Transport } from '../../client/transport.ts';
import { type ParsedFlags, usage } from '../../lib/flags.ts';
import type { CommandContext } from '../command.ts';
import { isJsonOutput } from './output-flag.ts';

const EXIT_BROKEN = 1;

interface Verification {
  readonly intact: boolean;
  readonly checked: number;
  readonly unlinked: number;
  readonly first_broken: number | null;
}

/** Prints whether every entry of the history is as it was written. */
export async function verifyChanges(
  transport: Transport,
  { flags, positionals }: ParsedFlags,
  context: CommandContext,
): Promise<number> {
  if (positionals.length > 0) throw usage('postern changes verify takes no arguments, only flags');
  const isJson = isJsonOutput(flags);
  const { text } = await transport.send({ method: 'GET', path: '/changes/verification' });
  const { intact, checked, unlinked, first_broken: firstBroken } = JSON.parse(text) as Verification;
  if (isJson) context.print(text);
  else if (intact) {
    const waiting = unlinked === 0 ? '' : `, ${unlinked} too new to be linked`;
    context.print(`the history is intact: ${checked} ${checked === 1 ? 'entry' : 'entries'} verified${waiting}`);
  } else {
    context.print(
      `the history is broken at revision ${firstBroken}: somebody changed this entry, or removed the one before it, in the database. ${checked} older entries are intact`,
    );
  }
  return intact ? 0 : EXIT_BROKEN;
}
