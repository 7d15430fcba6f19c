import { type Flag, isRepeatable } from '../../kit/flags.ts';
import { wrapText } from '../../kit/text/terminal-text.ts';
import type { CommandSyntax, FlagGroup, SubcommandSyntax } from './command.ts';

/** The flags of a command with more than this are listed with their descriptions below them. */
const LONG_LIST = 100;

/** The text of `postern COMMAND --help`; with the name of a subcommand, what concerns it. `isWhole`: with --all. */
export function commandHelp(syntax: CommandSyntax, word = '', isWhole = false): string {
  const all = syntax.subcommands ?? [];
  const only = all.find(({ name }) => name === word) ?? null;
  return [
    usageLines(syntax, only),
    paragraph(only === null ? syntax.about : `${sentence(only.about)}`),
    ...(only === null && all.length > 0 ? [`Subcommands:\n${helpTable(all.map(subcommandRow))}`] : []),
    ...flagSections(syntax, only, isWhole),
    // A text of several lines, such as a sample file, is shown as it is.
    ...(syntax.notes ?? []).map((note) => (note.includes('\n') ? note : paragraph(note))),
    ...exampleSection(syntax, only),
    `Exit codes:\n${helpTable(exitRows(syntax))}`,
  ].join('\n\n');
}

export function usageOf(syntax: CommandSyntax, only: SubcommandSyntax | null): readonly string[] {
  const { name, usage, subcommands } = syntax;
  const end = flagGroups(syntax, only).length === 0 ? '' : ' [FLAGS]';
  const listed = only === null ? (subcommands ?? []) : [only];
  const forms =
    listed.length === 0
      ? (usage ?? [''])
      : listed.map((each) => `${each.isDefault === true ? '' : each.name} ${each.operands ?? ''}`.trim());
  return forms.map((form) => `postern ${name} ${form}`.trim() + end);
}

export function exitRows({ exitCodes }: CommandSyntax): readonly (readonly [string, string])[] {
  return Object.entries(exitCodes);
}

/** The sections of flags with their titles: own ones, those of subcommands, shared ones. */
export function flagGroups(
  { flags = [], subcommands = [], groups = [] }: CommandSyntax,
  only: SubcommandSyntax | null,
): readonly FlagGroup[] {
  const own =
    only === null
      ? [{ title: 'Flags', flags }, ...subcommands.map(flagsOfSubcommand)]
      : [{ title: 'Flags', flags: [...(only.flags ?? []), ...flags] }];
  return [...own, ...groups].filter((group) => group.flags.length > 0);
}

function flagSections(syntax: CommandSyntax, only: SubcommandSyntax | null, isWhole: boolean): readonly string[] {
  const groups = flagGroups(syntax, only);
  const isNamedOnly = ({ isBrief }: FlagGroup): boolean => isBrief === true && !isWhole;
  const listed = groups.flatMap(({ flags, summary }) => (summary === undefined ? flags : []));
  const list = listed.length > LONG_LIST ? helpList : helpTable;
  const sections = groups.map((group) => {
    const { title, flags, summary } = group;
    if (summary !== undefined) return paragraph(summary);
    return `${title}:\n${isNamedOnly(group) ? flagNames(flags) : list(flags.map(flagRow))}`;
  });
  if (!groups.some(isNamedOnly)) return sections;
  return [...sections, `Run postern ${syntax.name} --help --all for the descriptions of all flags.`];
}

function exampleSection({ name, examples = [] }: CommandSyntax, only: SubcommandSyntax | null): readonly string[] {
  const shown = only === null ? examples : examples.filter((line) => line.startsWith(`postern ${name} ${only.name}`));
  return shown.length === 0 ? [] : [`Examples:\n${shown.map(exampleLines).join('\n')}`];
}

function usageLines(syntax: CommandSyntax, only: SubcommandSyntax | null): string {
  return `Usage: ${usageOf(syntax, only).join('\n       ')}`;
}

function subcommandRow({ name, operands, about }: SubcommandSyntax): readonly [string, string] {
  return [`${name} ${operands ?? ''}`.trim(), about];
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;
}

function flagsOfSubcommand({ name, flags = [] }: SubcommandSyntax): FlagGroup {
  return { title: `Flags of ${name}`, flags };
}

/** Columns of the narrowest usual terminal. */
const HELP_WIDTH = 80;
const MIN_WIDTH = 40;
let width = HELP_WIDTH;

/**
 * Help breaks at words in a narrow terminal; null: it is read elsewhere. Applies to the whole process, which is one
 * command.
 */
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
