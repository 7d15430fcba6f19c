import { type FlagForm, type ParsedFlags, usage } from '../../lib/flags.ts';

export const OUTPUT_FLAGS: readonly (readonly [string, FlagForm])[] = [
  ['output', 'value'],
  ['o', 'value'],
];

/** Whether the API's JSON is printed instead of text. */
export function isJsonOutput(flags: ParsedFlags['flags']): boolean {
  const [long, short] = [flags.get('output'), flags.get('o')];
  if (long !== undefined && short !== undefined) throw usage('use --output or -o, not both');
  const format = long ?? short ?? 'table';
  if (format !== 'table' && format !== 'json') throw usage('--output must be table or json');
  return format === 'json';
}
