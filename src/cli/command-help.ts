import type { CommandSyntax, FlagGroup, SubcommandSyntax } from './command-syntax.ts';
import { exampleLines, flagNames, flagRow, helpList, helpTable, paragraph } from './help-table.ts';

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
