import { type Flag, type ParsedFlags, usage } from '../../lib/flags.ts';
import { didYouMean } from '../../lib/text/near-match.ts';

/** `table` is text for people; `id` prints one id per line. */
const OUTPUT_FORMATS = ['table', 'json', 'yaml', 'id'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** A command that has no ids to print, or no other form, lists what it has. */
export function outputFlag(offered: readonly OutputFormat[] = OUTPUT_FORMATS): Flag {
  return {
    name: 'output',
    aliases: ['o'],
    kind: 'text',
    hint: offered.join('|'),
    choices: offered,
    description: `Form of the output${offered.includes('id') ? '; id prints one id per line' : ''}.`,
    default: 'table',
  };
}

export function outputFormat(
  flags: ParsedFlags['flags'],
  offered: readonly OutputFormat[] = OUTPUT_FORMATS,
): OutputFormat {
  return parseFormat(flags.get('output') ?? 'table', offered);
}

export function parseFormat(given: string, offered: readonly OutputFormat[] = OUTPUT_FORMATS): OutputFormat {
  const found = offered.find((format) => format === given);
  if (found !== undefined) return found;
  const forms = `${offered.slice(0, -1).join(', ')} or ${offered.at(-1)}`;
  throw usage(`--output must be ${forms}.${didYouMean(given, offered)}`);
}
