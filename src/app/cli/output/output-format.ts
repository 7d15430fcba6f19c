import { type Flag, type ParsedFlags, usage } from '../../../kit/flags.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { didYouMean } from '../../../kit/text/near-match.ts';
import { yamlText } from '../../../kit/text/yaml/yaml-text.ts';
import type { CommandContext } from '../command.ts';

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

/** Whether the API's JSON is printed instead of text. */
export function isJsonOutput(flags: ParsedFlags['flags']): boolean {
  return outputFormat(flags, ['table', 'json']) === 'json';
}

/**
 * C1 controls and format characters, such as those that reverse the direction of text. JSON escapes only the C0
 * controls.
 */
const UNSAFE = /[\u007f-\u009f\p{Cf}\u2028\u2029]/gu;

/** Prints a value as JSON on one line, or as YAML. A terminal gets no character that could control it. */
export function printStructured(value: unknown, format: 'json' | 'yaml', context: CommandContext): void {
  if (format === 'json') {
    printJson(JSON.stringify(value), context);
    return;
  }
  context.print(yamlText(value as JsonObject).trimEnd());
}

/** JSON text. A program that reads it gets the same values; what it passes on to a terminal is safe too. */
export function printJson(text: string, context: CommandContext): void {
  context.print(text.replaceAll(UNSAFE, escaped));
}

function escaped(characters: string): string {
  return Array.from({ length: characters.length }, (_, index) => {
    return `\\u${characters.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }).join('');
}
