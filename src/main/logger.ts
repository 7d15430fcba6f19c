import { type DestinationStream, destination, type Logger, pino, stdTimeFunctions } from 'pino';
import type { Config } from '../config/schema.ts';
import { RequestLines, type RequestLogger } from './request-lines.ts';
import { terminalLines } from './terminal-lines.ts';

/** Names that never carry anything but a secret, wherever a log line has them. The first defence is not to log them. */
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

export interface ServerLog {
  readonly logger: Logger;
  /**
   * For the one line per request, whose fields are named one by one where it is written. It does without redaction, which
   * costs more than answering the request.
   */
  readonly requestLogger: RequestLogger;
  /** Writes out what a slow reader has left in memory, without giving way: the process may be about to end. */
  flush(): void;
}

/** JSON lines on standard output for programs, short lines for a person at a terminal. Tests give their own destination. */
export function createLog(level: Config['log_level'], given?: DestinationStream): ServerLog {
  const output = given ?? (process.stdout.isTTY ? terminalLines(process.stdout) : standardOutput());
  const form = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const paths = SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]);
  const requests = new RequestLines(output);
  // What is logged otherwise stands behind the requests that were answered before it.
  const ordered: DestinationStream = {
    write: (line) => {
      requests.flush();
      output.write(line);
    },
  };
  const logger = pino({ ...form, redact: { paths, censor: '[secret]' } }, ordered);
  const flush = (): void => {
    requests.flush();
    flushNow(output);
  };
  return { logger, requestLogger: logger.isLevelEnabled('info') ? requests : { info: () => {} }, flush };
}

/**
 * Synchronous, as pino is by default: the last lines before an exit or a crash are the ones that matter, and a write in flight
 * on the thread pool is lost with the process. The price, a few microseconds per line, is paid on the management plane only.
 */
function standardOutput(): DestinationStream {
  const output = destination({ fd: 1, sync: true });
  // The reader went away (`postern server | head`): no reason to stop serving, and nobody to tell.
  output.on('error', () => {});
  return output;
}

function flushNow(output: DestinationStream): void {
  if (!('flushSync' in output) || typeof output.flushSync !== 'function') return;
  try {
    output.flushSync();
  } catch {
    // The destination is not open yet or gone: there is nowhere left to say so.
  }
}
