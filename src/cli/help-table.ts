import { type Flag, isRepeatable } from '../lib/flags.ts';
import { wrapText } from '../lib/text/wrap-text.ts';

/** Columns of the narrowest usual terminal. */
const HELP_WIDTH = 80;
/** A longer left column gets a line of its own, so that it does not squeeze the texts of the others. */
const LEFT_WIDTH = 28;
const INDENT = 6;

export type HelpRow = readonly [string, string];

/** Two columns, the left one as wide as its texts, and at least `minWidth`. */
export function helpTable(rows: readonly HelpRow[], minWidth = 0): string {
  const width = Math.max(minWidth, leftWidth(rows)) || INDENT - 2;
  const indent = ' '.repeat(width + 2);
  return rows
    .map(([left, right]) => {
      const text = wrapText(right, HELP_WIDTH - indent.length).join(`\n${indent}`);
      return left.length + 2 > width ? `  ${left}\n${indent}${text}` : `  ${left.padEnd(width)}${text}`;
    })
    .join('\n');
}

export function leftWidth(rows: readonly HelpRow[]): number {
  return Math.max(0, ...rows.map(([left]) => left.length + 2).filter((width) => width <= LEFT_WIDTH));
}

/** For long descriptions of many flags: below the flag, over the whole width. */
export function helpList(rows: readonly HelpRow[]): string {
  const indent = ' '.repeat(INDENT);
  return rows
    .map(([left, right]) => {
      const lines = wrapText(right, HELP_WIDTH - INDENT).map((line) => `${indent}${line}`);
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

export function paragraph(text: string): string {
  return wrapText(text, HELP_WIDTH).join('\n');
}
