import { isOn, type ParsedFlags, usage } from '../../lib/flags.ts';
import { type OutputFormat, parseFormat } from '../output/output-format.ts';
import type { OperationDescription } from './operation-list.ts';
import { checkOnly } from './show-answer.ts';

/** How the response is printed: `only` is the one field that is printed of each object. */
export interface ShownForm {
  readonly format: OutputFormat;
  readonly only: string | null;
  /** Times of tables; otherwise they are local. */
  readonly isUtc: boolean;
}

/** Finds contradictions and misspelled fields before the request is sent: a command that fails must not have created anything. */
export function shownForm(operation: OperationDescription, parsed: ParsedFlags): ShownForm {
  const { flags } = parsed;
  const [output, only] = [flags.get('output'), flags.get('only')];
  const isJson = isOn(parsed, 'json');
  const format = output === undefined ? (isJson ? 'json' : 'table') : parseFormat(output);
  if (isJson && format !== 'json') throw usage('use --json or --output, not both');
  if (only !== undefined && output !== undefined) throw usage('use --only or --output, not both');
  const field = only ?? (format === 'id' && operation.success.schema !== null ? 'id' : undefined);
  if (field !== undefined) checkOnly(operation, field);
  return { format, only: field ?? null, isUtc: isOn(parsed, 'utc') };
}
