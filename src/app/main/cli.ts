import { once } from 'node:events';
import { isatty } from 'node:tty';
import { tuneRuntime } from '../../kit/process/tune-runtime.ts';
import { terminalSafe } from '../../kit/text/terminal-text.ts';
import { type CommandContext, isHelp } from '../cli/command.ts';
import { terminalWidth, wholeWords } from '../cli/output/terminal.ts';
import { exitCodeOf, problemText } from '../cli/problem-text.ts';
import type { InstalledServer } from '../cli/service/installed-server.ts';
import { COMMANDS } from './commands/command-list.ts';
import { findCommand, overview } from './commands/overview.ts';
import { programVersion } from './version.ts';

const VERSION_WORDS = ['version', '--version', '-V'];

/** Called by the launcher. */
export async function main(): Promise<void> {
  const args = process.argv.slice(2);
  const command = COMMANDS.find(({ name }) => name === args[0]);
  const isLongRunning = command?.isLongRunning === true;
  if (isLongRunning) tuneRuntime({ isAgent: command.part === 'Agent' });
  process.exitCode = await runCli(args, {
    env: process.env,
    isTerminal: process.stdout.isTTY === true,
    warn: (line) => process.stderr.write(`${wholeWords(line, isatty(2) ? process.stderr.columns || null : null)}\n`),
    ...(isatty(0) &&
      isatty(2) && { ask: async (question) => (await import('../cli/ask-question.ts')).askQuestion(question) }),
    onInterrupt,
    leave: () => process.exit(),
    installedServer,
    ...(isLongRunning ? (await import('../../kit/logging/standard-output.ts')).droppingPrinter() : waitingPrinter()),
  });
  exitIfInterrupted();
}

async function installedServer(): Promise<InstalledServer | null> {
  const [{ findInstalledServer }, { servicePorts }] = await Promise.all([
    import('../cli/service/installed-server.ts'),
    import('./commands/service-ports.ts'),
  ]);
  return findInstalledServer(servicePorts, process.env);
}

export async function runCli(args: readonly string[], given: CommandContext): Promise<number> {
  const [name, ...rest] = args;
  // Whatever a command prints, some of it may be a stranger's text.
  const context: CommandContext = {
    ...given,
    print: (line) => given.print(terminalSafe(line)),
    warn: (line) => given.warn(terminalSafe(line)),
  };
  try {
    if (VERSION_WORDS.includes(name ?? '')) {
      context.print(programVersion());
      return 0;
    }
    if (isHelp(args) || name === 'help' || name === undefined) {
      const { fitHelp } = await import('../cli/command-help.ts');
      fitHelp(terminalWidth(context));
    }
    const asked = isHelp(args) || name === 'help' ? wordsOf(name === 'help' ? rest : args) : null;
    const [word = name] = asked ?? [];
    if (word === undefined || word === 'help' || word.startsWith('-')) return overview(COMMANDS, name, context);
    const command = await findCommand(COMMANDS, word).load();
    if (asked === null) return await command.run(rest, context);
    const { commandHelp } = await import('../cli/command-help.ts');
    const words = asked.slice(1);
    const isWhole = args.includes('--all');
    context.print(command.helpFor?.(words, isWhole) ?? commandHelp(command.syntax, words[0], isWhole));
    return 0;
  } catch (error) {
    context.warn(problemText(error, args, context.env));
    return exitCodeOf(error);
  }
}

/** The command and its subcommand, which the user wants help for. */
function wordsOf(args: readonly string[]): readonly string[] {
  const end = args.findIndex((arg) => arg.startsWith('-'));
  return end === -1 ? args : args.slice(0, end);
}

let isInterrupted = false;

/** The listeners stay: a launcher forwards the signal that the terminal sent already. */
export function onInterrupt(stop: () => void): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      isInterrupted = true;
      stop();
    });
  }
}

/** A request that was abandoned would keep the process alive until its time limit. */
export function exitIfInterrupted(): void {
  if (isInterrupted) process.exit();
}

/**
 * For commands that end: no output is lost, however slow the reader is. A reader that leaves, such as `head`, ends
 * them.
 */
export function waitingPrinter(): Pick<CommandContext, 'print' | 'printed'> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(0);
  });
  return {
    print: (line) => process.stdout.write(`${line}\n`),
    printed: async () => {
      if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain');
    },
  };
}
