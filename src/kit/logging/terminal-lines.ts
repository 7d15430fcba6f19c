import type { DestinationStream } from 'pino';
import { printable, wrapText } from '../text/terminal-text.ts';

const HIDDEN_FIELDS = new Set(['level', 'time', 'msg', 'err', 'node']);
/** As `RequestLines` writes them. */
const REQUEST = /"msg":"(?:traffic|request)"\}$/;
/** More than anybody reads, and less than a slow terminal shows. */
const REQUESTS_PER_SECOND = 40;
const SECOND_MS = 1_000;
const MIN_PATH = 12;
/** Reasons of refusals of the edge itself say everything: `edge:no_site_for_this_name`. */
const BY_EDGE = /^edge:.*/;

export interface TerminalLinesOptions {
  /** Columns of the terminal now. */
  readonly columns?: () => number | undefined;
  readonly nowMs?: () => number;
}

/**
 * Log lines for a person: time, level, message, then the fields. Those of requests are short, and a flood of them is
 * summed up.
 */
export class TerminalLines implements DestinationStream {
  readonly #output: { write(text: string): unknown };
  readonly #columns: () => number | undefined;
  readonly #nowMs: () => number;
  #secondMs = Number.NEGATIVE_INFINITY;
  #shown = 0;
  #left = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(
    output: { write(text: string): unknown },
    { columns = () => undefined, nowMs = () => performance.now() }: TerminalLinesOptions = {},
  ) {
    this.#output = output;
    this.#columns = columns;
    this.#nowMs = nowMs;
  }

  /** One line, or those of several requests at once. */
  write(text: string): void {
    for (const line of text.trimEnd().split('\n')) {
      if (!REQUEST.test(line)) this.#output.write(brokenLine(readableLine(line), this.#columns()));
      else if (this.#mayShow()) this.#output.write(requestLine(line, this.#columns()));
    }
  }

  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#left > 0) this.#output.write(`… and ${this.#left} more\n`);
    this.#left = 0;
  }

  /** Lines that are not shown cost no more than being counted. */
  #mayShow(): boolean {
    const nowMs = this.#nowMs();
    if (nowMs - this.#secondMs >= SECOND_MS) {
      this.flush();
      this.#secondMs = nowMs;
      this.#shown = 0;
    }
    if (this.#shown < REQUESTS_PER_SECOND) {
      this.#shown += 1;
      return true;
    }
    this.#left += 1;
    this.#timer ??= setTimeout(() => this.flush(), SECOND_MS).unref();
    return false;
  }
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
    .map(([name, value]) => ` ${name}=${printable(typeof value === 'string' ? value : JSON.stringify(value))}`);
  const trace = entry.err === undefined ? '' : `\n  ${printableLines(traceOf(entry.err, entry.level))}`;
  return `${timeOf(entry)} ${entry.level.padEnd(5)} ${printable(entry.msg ?? '')}${fields.join('')}${trace}\n`;
}

/** At words, for people. Later lines are indented. */
function brokenLine(text: string, columns: number | undefined): string {
  if (!columns) return text;
  const [first = '', ...rest] = text.split('\n');
  return [wrapText(first, columns - 2).join('\n  '), ...rest].join('\n');
}

interface RequestEntry extends Entry {
  /** Null: it could not be read. */
  readonly method: string | null;
  /** Absent: a request to the API. */
  readonly host?: string | null;
  readonly path: string | null;
  readonly status: number;
  readonly ms: number;
  readonly person?: string;
  readonly user?: string;
  readonly refused_by?: string;
}

/** `12:01:07 GET wiki.localhost/x 200 8 ms ana@example.com`. The path gives way to a narrow terminal. */
function requestLine(line: string, columns: number | undefined): string {
  const entry = JSON.parse(line) as RequestEntry;
  const { method, host, path, status, ms, person, user, refused_by: refusedBy } = entry;
  const first = `${timeOf(entry)} ${method === null ? '-' : printable(method)} `;
  const who = person || user;
  const last = [
    // Without a response: the client left, or its TLS handshake named no site.
    ` ${status === 0 ? '-' : status} ${Math.round(ms)} ms`,
    ...(who === undefined ? [] : [printable(who)]),
    ...(refusedBy === undefined ? [] : [printable(refusedBy.replace(BY_EDGE, wordsOf))]),
  ].join(' ');
  const target = printable(`${host === undefined ? 'API ' : (host ?? '')}${path ?? ''}`);
  // A terminal without a size says 0.
  const room = !columns ? target.length : Math.max(MIN_PATH, columns - first.length - last.length);
  return `${first}${target.length > room ? `${target.slice(0, room - 1)}…` : target}${last}\n`;
}

function wordsOf(reason: string): string {
  return reason.slice('edge:'.length).replaceAll('_', ' ');
}

/** As the clock on the wall shows it. */
function timeOf({ time }: Entry): string {
  return new Date(time).toTimeString().slice(0, 8);
}

function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** A person at a terminal needs no stack of an error whose reason is outside of the program, such as a full disk. */
const OUTSIDE = /^(?:ERR_POSTERN_\w+|E[A-Z0-9]+)$/;

function traceOf({ message = '', stack, code }: NonNullable<Entry['err']>, level: string): string {
  const isOutside = typeof code === 'string' && OUTSIDE.test(code) && level !== 'fatal';
  return isOutside ? message : (stack ?? message);
}
