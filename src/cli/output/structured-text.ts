import type { JsonObject } from '../../lib/json.ts';
import { yamlText } from '../../lib/text/yaml/yaml-text.ts';
import type { CommandContext } from '../command.ts';

/** C1 controls and format characters, such as those that reverse the direction of text. JSON escapes only the C0 controls. */
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
