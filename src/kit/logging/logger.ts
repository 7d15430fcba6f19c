import { type DestinationStream, type Level, type Logger, pino, stdTimeFunctions } from 'pino';
import { Counter, type Registry } from 'prom-client';
import { onBug } from '../guarded-listeners.ts';
import { terminalSafe } from '../text/terminal-text.ts';
import { standardOutput } from './standard-output.ts';
import { readableLine, TerminalLines } from './terminal-lines.ts';

/** Field names that only carry secrets, anywhere in a log line. The first defense is not to log them. */
const SECRET_FIELDS = [
  'authorization',
  'Authorization',
  'cookie',
  'token',
  'api_key',
  'authtoken',
  'secret',
  'secrets',
  'secret_key',
  'client_secret',
  'private_key_pem',
  'password',
  'database_url',
];

const GAP_MESSAGE = 'log lines dropped because standard output was not read fast enough';
/** How long the end of the process waits for a stalled reader. */
const FLUSH_MS = 1000;

interface LogOutput extends DestinationStream {
  flush(): void;
  droppedLines(): number;
}

export interface ServerLog {
  readonly logger: Logger;
  /**
   * For the line per request, whose fields are listed explicitly. It skips redaction, which costs more than answering
   * the request.
   */
  readonly requestLogger: RequestLogger;
  /** The same for requests to the API, which a person at a terminal sees at the level `debug`. */
  readonly apiRequestLogger: RequestLogger;
  /** Lines that another thread has made. */
  write(lines: string): void;
  /** Called before a flush: other threads may have lines that this one has not. */
  beforeFlush(gather: () => void): void;
  /** Writes lines queued for a slow reader, blocking for at most a second: the process may be about to end. */
  flush(): void;
  /** Lines dropped because standard output was not read. */
  droppedLines(): number;
}

/**
 * JSON lines on standard output for programs, short lines on a terminal. Tests pass their own destination. `node` is
 * the name of this node, in every line. `isForTerminal`: whether the given destination ends at a terminal.
 */
export function createLog(
  level: Level,
  given?: DestinationStream,
  node?: string,
  isForTerminal = given === undefined && process.stdout.isTTY,
): ServerLog {
  const output = given === undefined ? openStandardOutput() : givenOutput(given);
  const form = {
    level,
    base: node === undefined ? null : { node },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const paths = SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]);
  const requests = new RequestLines(output, node, isForTerminal);
  // An open console asks the API all the time: that would hide the visitors from a person who watches.
  const showsApi = !isForTerminal || level === 'debug' || level === 'trace';
  // Other log lines follow those of the requests answered before them.
  const ordered: DestinationStream = {
    write: (line) => {
      requests.flush();
      output.write(line);
    },
  };
  const logger = pino({ ...form, redact: { paths, censor: '[secret]' } }, ordered);
  let gather = (): void => {};
  const flush = (): void => {
    gather();
    requests.flush();
    output.flush();
  };
  return {
    logger,
    requestLogger: logger.isLevelEnabled('info') ? requests : SILENT,
    apiRequestLogger: showsApi && logger.isLevelEnabled('info') ? requests : SILENT,
    write: (lines) => ordered.write(lines),
    beforeFlush: (given) => {
      gather = given;
    },
    flush,
    droppedLines: () => output.droppedLines(),
  };
}

function jsonGapLine(count: number): string {
  return `{"level":"warn","time":"${new Date().toISOString()}","dropped_lines":${count},"msg":"${GAP_MESSAGE}"}\n`;
}

/** A terminal, or lines for programs. */
function openStandardOutput(): LogOutput {
  const output = standardOutput();
  const columns = (): number => process.stdout.columns;
  const readable = process.stdout.isTTY ? new TerminalLines(output, { columns }) : null;
  output.gapLine = (count) => (readable === null ? jsonGapLine(count) : readableLine(jsonGapLine(count)));
  return {
    write: (text) => (readable ?? output).write(terminalSafe(text)),
    flush: () => {
      readable?.flush();
      output.flush(FLUSH_MS);
    },
    droppedLines: () => output.dropped,
  };
}

function givenOutput(given: DestinationStream): LogOutput {
  return { write: (text) => given.write(terminalSafe(text)), flush: () => {}, droppedLines: () => 0 };
}

export interface RequestLogger {
  info(fields: object, message: string): void;
  /** Whether a person reads the lines, who knows people by their names. */
  readonly isForTerminal?: boolean;
}

const SILENT: RequestLogger = { info: () => {} };
const MAX_WAIT_MS = 50;
const MAX_BYTES = 65_536;

/**
 * Request lines in the common form, buffered briefly: a separate line and write per request cost more than answering
 * it. Any other log line, and the end of the process, flushes them first.
 */
class RequestLines implements RequestLogger {
  readonly isForTerminal: boolean;
  readonly #output: DestinationStream;
  readonly #node: string;
  #gathered = '';
  #timer: NodeJS.Timeout | null = null;
  #second = 0;
  #secondText = '';

  constructor(output: DestinationStream, node?: string, isForTerminal = false) {
    this.isForTerminal = isForTerminal;
    this.#output = output;
    this.#node = node === undefined ? '' : `"node":${JSON.stringify(node)},`;
  }

  info(fields: object, message: string): void {
    this.#gathered += `{"level":"info","time":"${this.#now()}",${this.#node}${JSON.stringify(fields).slice(1, -1)},"msg":"${message}"}\n`;
    if (this.#gathered.length >= MAX_BYTES) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), MAX_WAIT_MS).unref();
  }

  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const text = this.#gathered;
    this.#gathered = '';
    if (text !== '') this.#output.write(text);
  }

  /** RFC 3339; all but the milliseconds are the same within a second. */
  #now(): string {
    const nowMs = Date.now();
    const second = Math.floor(nowMs / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#secondText = new Date(second * 1000).toISOString().slice(0, 20);
    }
    return `${this.#secondText}${String(nowMs % 1000).padStart(3, '0')}Z`;
  }
}

/** Logs and counts contained exceptions. Returns a function that stops it. */
export function followBugs(logger: Logger, registry: Registry): () => void {
  const bugs = new Counter({
    name: 'postern_bugs_total',
    help: 'Unexpected exceptions. Each one failed a request or closed a connection, and is in the log.',
    registers: [registry],
  });
  return onBug(({ error, facts }) => {
    bugs.inc();
    logger.error({ ...facts, err: error }, 'a bug was contained: please report it');
  });
}

export function addLogMetrics(registry: Registry, log: ServerLog): void {
  new Counter({
    name: 'postern_log_dropped_lines_total',
    help: 'Log lines dropped because standard output was not read fast enough.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(log.droppedLines());
    },
  });
}
