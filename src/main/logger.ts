import { type DestinationStream, destination, type Logger, pino, stdTimeFunctions } from 'pino';
import type { Config } from '../config/schema.ts';
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
  /** Writes out what is still in memory, without giving way: the process may be about to end. */
  flush(): void;
}

/** JSON lines on standard output for programs, short lines for a person at a terminal. Tests give their own destination. */
export function createLog(level: Config['log_level'], given?: DestinationStream): ServerLog {
  const output = given ?? (process.stdout.isTTY ? terminalLines(process.stdout) : standardOutput());
  const logger = pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]), censor: '[secret]' },
    },
    output,
  );
  return { logger, flush: () => flushNow(output) };
}

/** Not synchronous: lines written while a write is under way go out together, so a slow reader costs memory, not latency. */
function standardOutput(): DestinationStream {
  const output = destination({ fd: 1, sync: false });
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
