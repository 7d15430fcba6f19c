import { type FlagForm, type ParsedFlags, usage } from '../../lib/flags.ts';
import { didYouMean } from '../../lib/near-match.ts';

/** `table` is text for people; `id` prints one id per line. */
export const OUTPUT_FORMATS = ['table', 'json', 'yaml', 'id'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

export const OUTPUT_FLAGS: readonly (readonly [string, FlagForm])[] = [
  ['output', 'value'],
  ['o', 'value'],
];

/** The format that `--output` or `-o` names. A command that has no ids to print, or no other form, lists what it has. */
export function outputFormat(
  flags: ParsedFlags['flags'],
  offered: readonly OutputFormat[] = OUTPUT_FORMATS,
): OutputFormat {
  const [long, short] = [flags.get('output'), flags.get('o')];
  if (long !== undefined && short !== undefined) throw usage('use --output or -o, not both');
  return parseFormat(long ?? short ?? 'table', offered);
}

export function parseFormat(given: string, offered: readonly OutputFormat[] = OUTPUT_FORMATS): OutputFormat {
  const found = offered.find((format) => format === given);
  if (found !== undefined) return found;
  const [first, second, ...others] = offered;
  const more = others.length === 0 ? '' : `, or one of: ${others.join(', ')}`;
  throw usage(`--output must be ${first} or ${second}${more}.${didYouMean(given, offered)}`);
}
