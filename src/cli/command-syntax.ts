import type { Flag } from '../lib/flags.ts';

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
export type ExitCodes = Readonly<Record<number, string>>;

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
