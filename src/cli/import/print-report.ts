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
  if (dropped.length > 0) context.print(`Not carried over (${dropped.length}):`);
  for (const { place, why } of dropped) context.print(`  ${printable(place)}: ${printable(why)}`);
  if (secrets.length > 0) context.print('Secrets to set before you apply the file:');
  for (const { place, reference } of secrets) context.print(`  ${reference}  ${printable(place)}`);
  if (notes.length > 0) context.print('To do:');
  for (const note of notes) context.print(`  ${printable(note)}`);
  context.print(`${path === '-' ? 'Printed' : `Wrote ${path}`}: ${summary}. Next: ${nextStep}`);
}
