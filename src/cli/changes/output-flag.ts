import type { ParsedFlags } from '../../lib/flags.ts';
import { outputFormat } from '../output/output-format.ts';

/** Whether the API's JSON is printed instead of text. */
export function isJsonOutput(flags: ParsedFlags['flags']): boolean {
  return outputFormat(flags, ['table', 'json']) === 'json';
}
