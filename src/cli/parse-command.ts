import { type ParsedFlags, parseFlags, usage } from '../lib/flags.ts';
import { didYouMean } from '../lib/text/near-match.ts';
import type { CommandSyntax, SubcommandSyntax } from './command-syntax.ts';
import { otherFlag } from './other-words.ts';

export interface ParsedCommand extends ParsedFlags {
  /** Empty for a command without subcommands. */
  readonly subcommand: string;
}

/** Reads a command line by the command's syntax. */
export function parseCommand(syntax: CommandSyntax, args: readonly string[]): ParsedCommand {
  const { subcommand, rest } = takeSubcommand(syntax, args);
  const command = ['postern', syntax.name, ...(subcommand === null ? [] : [subcommand.name])].join(' ');
  const refusal = (name: string): string | undefined =>
    siblingRefusal(syntax, command, name) ?? keyRefusal(name) ?? otherFlag(syntax.name, name);
  const parsed = parseFlags(rest, flagsOf(syntax, subcommand), { command, refusal });
  const hasOperands = subcommand === null ? syntax.hasOperands === true : subcommand.operands !== undefined;
  if (!hasOperands && parsed.positionals.length > 0) {
    throw usage(`unexpected argument: ${command} takes no arguments, only flags. See ${command} --help`);
  }
  return { ...parsed, subcommand: subcommand?.name ?? '' };
}

export function flagsOf({ flags = [], groups = [] }: CommandSyntax, subcommand: SubcommandSyntax | null) {
  return [...flags, ...(subcommand?.flags ?? []), ...groups.flatMap((group) => group.flags)];
}

function takeSubcommand({ name, subcommands }: CommandSyntax, args: readonly string[]) {
  if (subcommands === undefined) return { subcommand: null, rest: args };
  const [word = '', ...rest] = args;
  const found = subcommands.find((each) => each.name === word);
  if (found !== undefined) return { subcommand: found, rest };
  const standard = subcommands.find(({ isDefault }) => isDefault === true);
  if (standard !== undefined && (word === '' || word.startsWith('-'))) return { subcommand: standard, rest: args };
  const names = subcommands.map((each) => each.name);
  if (word === '') throw usage(`postern ${name} needs a subcommand: ${names.join(', ')}. See postern ${name} --help`);
  const shown = JSON.stringify(word.slice(0, 40));
  const near = didYouMean(word, names) || ` There are: ${names.join(', ')}.`;
  throw usage(`unknown subcommand ${shown}.${near} See postern ${name} --help`);
}

function siblingRefusal({ name, subcommands = [] }: CommandSyntax, command: string, flag: string): string | undefined {
  const owner = subcommands.find(({ flags = [] }) => flags.some((each) => each.name === flag));
  return (
    owner && `unknown flag --${flag}: --${flag} cannot be used with ${command}, only with postern ${name} ${owner.name}`
  );
}

/** For a command that does not take it. */
export function keyRefusal(name: string): string | undefined {
  if (name !== 'api-key') return undefined;
  return 'unknown flag --api-key: an API key cannot be passed as a flag, because other users of the machine can read flags: use --api-key-file FILE or POSTERN_CLI_API_KEY';
}
