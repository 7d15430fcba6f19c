import { printable } from '../api/cell-text.ts';
import type { CommandContext } from '../command.ts';
import type { OutputFormat } from '../output/output-format.ts';
import { printStructured } from '../output/structured-text.ts';
import type { ImportReport } from './import-report.ts';

export interface PrintedReport {
  readonly path: string;
  readonly summary: string;
  readonly secrets: readonly { readonly place: string; readonly reference: string }[];
  readonly report: ImportReport;
  readonly nextStep: string;
}

/** A configuration that somebody wrote has fewer of anything. */
const MAX_LINES = 1_000;

/** Names come from another program's file: they must not control the terminal. */
export async function printReport(
  { path, summary, secrets, report, nextStep }: PrintedReport,
  format: OutputFormat,
  context: CommandContext,
): Promise<void> {
  const { dropped, notes } = report;
  if (format === 'json' || format === 'yaml') {
    printStructured({ file: path, summary, dropped, notes, secrets }, format, context);
    return;
  }
  const section = <Item>(title: string, items: readonly Item[], lineOf: (item: Item) => string): void => {
    if (items.length > 0) context.print(title);
    for (const item of items.slice(0, MAX_LINES)) context.print(`  ${lineOf(item)}`);
    const more = items.length - MAX_LINES;
    if (more > 0) context.print(`  ${more} more lines are not shown: -o json prints all of them`);
  };
  section(
    `Not carried over (${dropped.length}):`,
    dropped,
    ({ place, why }) => `${printable(place)}: ${printable(why)}`,
  );
  section(
    'Secrets to set before you apply the file:',
    secrets,
    ({ place, reference }) => `${reference}  ${printable(place)}`,
  );
  section('To do:', notes, printable);
  context.print(`${path === '-' ? 'Printed' : `Wrote ${path}`}: ${summary}. Next: ${nextStep}`);
}
