import { wrapText } from '../lib/wrap-text.ts';

/** The narrowest terminal that people use. */
const WIDTH = 80;
/** Users copy these lines. */
const COMMAND = /^(?:Usage:)?\s+(?:postern|curl) /;
/** A flag or a subcommand, then its description. */
const TABLE_ROW = /^( +\S.*? {2,})(?=\S)/;

interface Entry {
  readonly lines: string[];
  /** Before the text of the first line: the indentation, or the first column of a table. */
  readonly lead: string;
}

/** Breaks lines of more than 80 characters. Tables keep their columns, paragraphs are filled, commands stay on one line. */
export function wrapHelp(text: string): string {
  const entries: Entry[] = [];
  for (const line of text.split('\n')) {
    const current = entries.at(-1);
    if (current !== undefined && continues(current, line)) current.lines.push(line);
    else entries.push({ lines: [line], lead: TABLE_ROW.exec(line)?.[1] ?? indentation(line) });
  }
  return entries.map(wrapEntry).join('\n');
}

function continues({ lines, lead }: Entry, line: string): boolean {
  const previous = lines.at(-1) ?? '';
  if (line.trim() === '' || previous.trim() === '') return false;
  if (COMMAND.test(line) || COMMAND.test(previous)) return false;
  return indentation(line).length === lead.length && !TABLE_ROW.test(line);
}

function wrapEntry({ lines, lead }: Entry): string {
  const [first = ''] = lines;
  if (COMMAND.test(first) || lines.every((line) => line.length <= WIDTH)) return lines.join('\n');
  const text = lines.map((line, at) => (at === 0 ? line.slice(lead.length) : line.trim())).join(' ');
  return `${lead}${wrapText(text, WIDTH - lead.length).join(`\n${' '.repeat(lead.length)}`)}`;
}

function indentation(line: string): string {
  return /^ */.exec(line)?.[0] ?? '';
}
