import type { Transport } from '../../client/transport.ts';
import type { ParsedFlags } from '../../lib/flags.ts';
import { printable } from '../api/cell-text.ts';
import type { CommandContext } from '../command.ts';
import { outputFormat } from '../output/output-format.ts';
import { printJson, printStructured } from '../output/structured-text.ts';
import { authorText, pendingText, readChange, revisionArgument } from './change.ts';
import { documentLines } from './document-lines.ts';

/** Prints who made a change, and the difference of each document, field by field. */
export async function showChange(
  transport: Transport,
  { flags, positionals }: ParsedFlags,
  context: CommandContext,
): Promise<number> {
  const revision = revisionArgument(positionals, 'postern changes show');
  const format = outputFormat(flags, ['table', 'json', 'yaml']);
  const { text, change } = await readChange(transport, revision);
  if (format !== 'table') {
    if (format === 'json') printJson(text, context);
    else printStructured(change, 'yaml', context);
    return 0;
  }
  const { at, author, message, objects, confirm_by } = change;
  const from = author.address === null ? '' : ` from ${author.address}`;
  context.print(printable(`revision ${revision}, ${at}, by ${authorText(author)}${from} (${author.via})`));
  if (message !== '') context.print(printable(message));
  if (confirm_by) context.print(printable(pendingText({ revision, confirm_by })));
  for (const document of objects) {
    for (const line of documentLines(document, 'change')) context.print(line);
    await context.printed?.();
  }
  return 0;
}
