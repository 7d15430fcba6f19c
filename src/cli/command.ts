import type { Flag } from './api/flag.ts';

/** What a command may touch of the process that runs it. */
export interface CommandContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isTerminal: boolean;
  /** Both write one line. */
  print(line: string): void;
  warn(line: string): void;
  /** Resolves when the reader has room for more; absent where nobody has to wait. */
  printed?(): Promise<void>;
  /** For a command that runs for long: the line that stands where lines were dropped because nobody read them. */
  describeDropped?(lineOf: (count: number) => string): void;
}

export interface Command {
  /** Shown by `--help`. */
  readonly help: string;
  /** For completion, where the help alone does not say what values they take. */
  readonly flags?: readonly Flag[];
  /** For a command with levels: what `--help` shows behind these words. */
  helpFor?(args: readonly string[]): string;
  /** Resolves to the exit code: 0 done, 1 failed, 2 wrong usage. Known failures are thrown as PosternError. */
  run(args: readonly string[], context: CommandContext): Promise<number>;
}

export function isHelp(args: readonly string[]): boolean {
  return args.includes('--help') || args.includes('-h');
}
