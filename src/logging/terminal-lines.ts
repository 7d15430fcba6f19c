import type { DestinationStream } from 'pino';

const HIDDEN_FIELDS = new Set(['level', 'time', 'msg', 'err', 'node']);

/** Formats structured lines for people: time, level, message, then the fields. */
export function terminalLines(output: { write(text: string): unknown }): DestinationStream {
  return {
    // Request lines arrive several at once.
    write: (text) => {
      for (const line of text.trimEnd().split('\n')) output.write(readableLine(line));
    },
  };
}

interface Entry {
  readonly level: string;
  readonly time: string;
  readonly msg?: string;
  readonly err?: { readonly message?: string; readonly stack?: string; readonly code?: unknown };
}

export function readableLine(line: string): string {
  const entry = JSON.parse(line) as Entry;
  const fields = Object.entries(entry)
    .filter(([name]) => !HIDDEN_FIELDS.has(name))
    .map(([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const trace = entry.err === undefined ? '' : `\n  ${traceOf(entry.err, entry.level)}`;
  return `${entry.time.slice(11, 19)} ${entry.level.padEnd(5)} ${entry.msg ?? ''}${fields.join('')}${trace}\n`;
}

/** A person at a terminal needs no stack of an error whose reason is outside of the program, such as a full disk. */
const OUTSIDE = /^(?:ERR_POSTERN_\w+|E[A-Z0-9]+)$/;

function traceOf({ message = '', stack, code }: NonNullable<Entry['err']>, level: string): string {
  const isOutside = typeof code === 'string' && OUTSIDE.test(code) && level !== 'fatal';
  return isOutside ? message : (stack ?? message);
}
