import { isDiskFull, messageOf, whyUnwritable } from '../../kit/error-text.ts';
import { PosternError } from '../../kit/errors.ts';
import { usage } from '../../kit/flags.ts';
import type { CommandContext } from './command.ts';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
/** EX_CONFIG of sysexits.h: the units of `postern service` do not start such a process again. */
const EXIT_SETTINGS = 78;
const USAGE_CODES = new Set(['ERR_POSTERN_USAGE', 'ERR_POSTERN_COMMAND']);
const SETTINGS_CODES = new Set([
  'ERR_POSTERN_AGENT_CONFIG',
  'ERR_POSTERN_CONFIG_FILE',
  'ERR_POSTERN_CONFIG_TOGETHER',
  'ERR_POSTERN_CONFIG_UNKNOWN',
  'ERR_POSTERN_CONFIG_VALUE',
]);

/** One line that starts with the name of the program and says what to do; the stack only if details were requested. */
export function problemText(error: unknown, args: readonly string[], env: CommandContext['env']): string {
  const message = messageOf(error);
  const text = oneLine(message);
  const line = text.startsWith('postern ') ? text : `postern: ${text}`;
  const wantsStack = /\b(debug|trace)\b/.test(`${env['POSTERN_LOG_LEVEL']} ${flagValue(args, '--log-level')}`);
  return wantsStack && error instanceof Error ? `${line}\n${error.stack}` : line;
}

function oneLine(text: string): string {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '').join(' ');
}

function flagValue(args: readonly string[], flag: string): string {
  const index = args.findIndex((arg) => arg === flag || arg.startsWith(`${flag}=`));
  return index === -1 ? '' : `${args[index]} ${args[index + 1] ?? ''}`;
}

/** With which code a command ends that fails with this error. */
export function exitCodeOf(error: unknown): number {
  if (!(error instanceof PosternError)) return EXIT_FAILED;
  if (USAGE_CODES.has(error.code)) return EXIT_USAGE;
  // A cause is a file that could not be read: it may be there a moment later.
  return SETTINGS_CODES.has(error.code) && error.cause === undefined ? EXIT_SETTINGS : EXIT_FAILED;
}

/** A wrong path is invalid usage. A full disk is not: the same command works once there is room. */
export function unwritable(file: string, cause: unknown): Error {
  const message = `cannot write ${file}: ${whyUnwritable(cause)}`;
  return isDiskFull(cause) ? new Error(message, { cause }) : usage(message);
}
