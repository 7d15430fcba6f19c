import type { InstalledServer } from '../../src/app/cli/service/installed-server.ts';
import { runCli } from '../../src/app/main/cli.ts';
import { TEST_API_KEY, type TestWorld } from '../support/test-world.ts';

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** What the user types when asked; absent: there is no terminal to ask on. */
  readonly answer?: string;
  /** The same, when the answer comes later or something happens before it. */
  readonly ask?: () => Promise<string>;
  /** Width of the terminal; absent: the output is a pipe. */
  readonly columns?: number;
  /** The service of the machine; absent: there is none. */
  readonly installedServer?: InstalledServer;
  /** Called for each line of standard output, with a function that interrupts the command like Ctrl-C. */
  readonly onLine?: (line: string, interrupt: () => void) => void;
}

/** `postern …` in this process: a test of output needs no process of its own. */
export async function runCommand(args: readonly string[], options: RunOptions = {}): Promise<CommandResult> {
  const stdout: string[] = [];
  const stderr: string[] = [];
  let interrupt = (): void => {};
  const code = await runCli(args, {
    env: { ...(options.columns !== undefined && { COLUMNS: String(options.columns) }), ...options.env },
    isTerminal: options.columns !== undefined,
    ...(options.answer !== undefined && { ask: () => Promise.resolve(options.answer as string) }),
    ...(options.ask !== undefined && { ask: options.ask }),
    ...(options.installedServer !== undefined && {
      installedServer: () => Promise.resolve(options.installedServer as InstalledServer),
    }),
    onInterrupt: (stop) => {
      interrupt = stop;
    },
    print: (line) => {
      stdout.push(`${line}\n`);
      options.onLine?.(line, interrupt);
    },
    warn: (line) => stderr.push(`${line}\n`),
  });
  return { code, stdout: stdout.join(''), stderr: stderr.join('') };
}

/** The environment of an operator. */
export function operatorEnv(world: TestWorld): Record<string, string> {
  return { POSTERN_CLI_API_URL: world.baseUrl, POSTERN_CLI_API_KEY: TEST_API_KEY };
}
