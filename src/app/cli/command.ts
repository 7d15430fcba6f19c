import { type Flag, type ParsedFlags, parseFlags, usage } from '../../kit/flags.ts';
import { didYouMean } from '../../kit/text/near-match.ts';
import { otherFlag } from './other-words.ts';
import type { InstalledServer } from './service/installed-server.ts';

/** Access of a command to its process. */
export interface CommandContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isTerminal: boolean;
  /** Reads one line from the user; absent without a terminal. */
  ask?(question: string): Promise<string>;
  /** Both write one line. */
  print(line: string): void;
  warn(line: string): void;
  /** Resolves when the reader has room for more; absent where output never blocks. */
  printed?(): Promise<void>;
  /** Ends the process at once, although it still waits for something. */
  leave?(): void;
  /** For a command that runs until the user ends it: Ctrl-C calls `stop` instead of ending the process. */
  onInterrupt?(stop: () => void): void;
  /** The service of this machine; absent: nobody looks for it. */
  installedServer?(): Promise<InstalledServer | null>;
  /** For a long-running command: the line that marks dropped lines when nobody reads fast enough. */
  describeDropped?(lineOf: (count: number) => string): void;
}

export interface Command {
  readonly syntax: CommandSyntax;
  /** For a command whose words are not in its syntax: the text of `--help` after these words. `isWhole`: with --all. */
  helpFor?(args: readonly string[], isWhole: boolean): string;
  /** Resolves to the exit code: 0 done, 1 failed, 2 invalid usage. Known failures are thrown as PosternError. */
  run(args: readonly string[], context: CommandContext): Promise<number>;
}

export function isHelp(args: readonly string[]): boolean {
  return args.includes('--help') || args.includes('-h');
}

/** What a command understands. The parser, `--help`, completion and docs/reference/cli.md are made from it. */
export interface CommandSyntax {
  /** The word after `postern`. */
  readonly name: string;
  /** What follows the name, one line per form; `[FLAGS]` is appended. Absent: nothing, or the subcommands. */
  readonly usage?: readonly string[];
  /** Absent: an argument that is not a flag is rejected. */
  readonly hasOperands?: boolean;
  /** Kinds of resources whose names complete an argument in a shell. */
  readonly completedBy?: readonly string[];
  readonly about: string;
  readonly subcommands?: readonly SubcommandSyntax[];
  /** For every subcommand. */
  readonly flags?: readonly Flag[];
  /** Flags that several commands share. */
  readonly groups?: readonly FlagGroup[];
  /** Paragraphs after the flags. */
  readonly notes?: readonly string[];
  readonly examples?: readonly string[];
  readonly exitCodes: ExitCodes;
}

export interface SubcommandSyntax {
  readonly name: string;
  /** `FILE`, `[DELIVERY…]`; absent: it takes no arguments, only flags. */
  readonly operands?: string;
  /** Kinds of resources whose names complete an argument in a shell. */
  readonly completedBy?: readonly string[];
  readonly about: string;
  readonly flags?: readonly Flag[];
  /** Runs when no subcommand is named. */
  readonly isDefault?: boolean;
}

export interface FlagGroup {
  readonly title: string;
  readonly flags: readonly Flag[];
  /** The help names the flags, and describes them with --all. */
  readonly isBrief?: boolean;
  /** The help says this instead of listing the flags. */
  readonly summary?: string;
}

/** Meaning by code. Every command has 2 for a command line that it does not understand. */
type ExitCodes = Readonly<Record<number, string>>;

export const INVALID_USAGE = 'invalid usage';

/** For a command that reads the settings of the server. */
export const SETTINGS_EXIT_CODE: ExitCodes = { 78: 'a setting is wrong' };

/** Exit codes of a command that calls the API. */
export const API_EXIT_CODES: ExitCodes = {
  0: 'success',
  1: 'rejected by the API',
  2: INVALID_USAGE,
  3: 'server unreachable',
};

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
  const hostFlag = standard?.flags?.some((flag) => flag.name === 'host') === true;
  const near =
    hostFlag && word.includes('.')
      ? ` For one host: postern ${name} --host HOST.`
      : didYouMean(word, names) || ` There are: ${names.join(', ')}.`;
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
