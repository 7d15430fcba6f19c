import type { CommandSyntax } from './command-syntax.ts';
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
