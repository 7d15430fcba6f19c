import { messageOf } from '../lib/error-text.ts';
import type { CommandContext } from './command.ts';

/** One line that says what to do; the stack only if details were requested. */
export function problemText(error: unknown, args: readonly string[], env: CommandContext['env']): string {
  const message = messageOf(error);
  const line = `postern: ${oneLine(message)}`;
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
