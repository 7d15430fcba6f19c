import { type Flag, isRepeatable } from '../lib/flags.ts';
import { wrapText } from '../lib/text/wrap-text.ts';

/** Columns of the narrowest usual terminal. */
const HELP_WIDTH = 80;
const MIN_WIDTH = 40;
let width = HELP_WIDTH;

/** Help breaks at words in a narrow terminal; null: it is read elsewhere. Applies to the whole process, which is one command. */
export function fitHelp(columns: number | null): void {
  width = Math.max(MIN_WIDTH, Math.min(HELP_WIDTH, columns ?? HELP_WIDTH));
}
/** A longer left column gets a line of its own, so that it does not squeeze the texts of the others. */
const LEFT_WIDTH = 28;
const INDENT = 6;

export type HelpRow = readonly [string, string];

/** Two columns, the left one as wide as its texts, and at least `minWidth`. */
export function helpTable(rows: readonly HelpRow[], minWidth = 0): string {
  const left = Math.max(minWidth, leftWidth(rows)) || INDENT - 2;
  const indent = ' '.repeat(left + 2);
  return rows
    .map(([name, right]) => {
      const text = wrapText(right, width - indent.length).join(`\n${indent}`);
      return name.length + 2 > left ? `  ${name}\n${indent}${text}` : `  ${name.padEnd(left)}${text}`;
    })
    .join('\n');
}

export function leftWidth(rows: readonly HelpRow[]): number {
  const most = Math.min(LEFT_WIDTH, Math.floor(width / 2));
  return Math.max(0, ...rows.map(([left]) => left.length + 2).filter((each) => each <= most));
}

/** For long descriptions of many flags: below the flag, over the whole width. */
export function helpList(rows: readonly HelpRow[]): string {
  const indent = ' '.repeat(INDENT);
  return rows
    .map(([left, right]) => {
      const lines = wrapText(right, width - INDENT).map((line) => `${indent}${line}`);
      return [`  ${left}`, ...lines].join('\n');
    })
    .join('\n');
}

export function flagRow(flag: Flag): HelpRow {
  return [flagText(flag), flagDescription(flag)];
}

/** `-o, --output FORMAT`, `--no-inspect`. */
export function flagText({ name, aliases = [], kind, hint, isOnByDefault }: Flag): string {
  const short = aliases.filter((alias) => alias.length === 1).map((alias) => `-${alias}, `);
  const isNegated = kind === 'switch' && isOnByDefault === true;
  return `${short.join('')}--${isNegated ? 'no-' : ''}${name} ${hint}`.trim();
}

export function flagDescription(flag: Flag): string {
  const { description, default: standard, isRequired, isSecret } = flag;
  const parts = [
    description,
    ...(isRepeatable(flag) ? ['May be repeated.'] : []),
    ...(isRequired === true ? ['Required.'] : []),
    ...(isSecret === true ? ['Secret: prefer @FILE to a value here.'] : []),
    ...(standard === undefined ? [] : [`Default: ${standard}.`]),
  ];
  return parts.join(' ');
}

/** A longer command continues on further lines, as a shell takes it. */
export function exampleLines(command: string): string {
  const lines: string[] = [];
  for (const part of command.split(/ (?=--|&& )/)) {
    const last = lines.at(-1);
    const isRoom = last !== undefined && last.length + part.length + 3 <= width - (lines.length === 1 ? 2 : 6);
    if (last !== undefined && isRoom) lines[lines.length - 1] = `${last} ${part}`;
    else lines.push(part);
  }
  return `  ${lines.join(' \\\n      ')}`;
}

/** Names without descriptions, for flags that few people look for. */
export function flagNames(flags: readonly Flag[]): string {
  const names = flags.map((flag) => flagText({ ...flag, hint: '' }));
  return wrapText(names.join(', '), width - 2)
    .map((line) => `  ${line}`)
    .join('\n');
}

export function paragraph(text: string): string {
  return wrapText(text, width).join('\n');
}
