import { type ChildProcess, spawn } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { failureCode } from '../../../../kit/error-text.ts';
import { type ListenerOwner, listen, listenOnce } from '../../../../kit/guarded-listeners.ts';
import { shownText } from '../../../../kit/text/terminal-text.ts';
import { DnsFailure, type OpenedZone, type TxtRecord, type ZoneRecords } from '../../dns-provider.ts';

/** The operator's executable, which publishes records where we cannot. */
export function hookRecords({ options, ports }: OpenedZone): ZoneRecords {
  const path = options['path'] as string;
  const settings = { path, timeoutMs: ports.hookTimeoutMs, env: ports.env };
  return {
    add: (record, signal) => runHook(settings, 'present', record, signal),
    remove: (record, signal) => runHook(settings, 'cleanup', record, signal),
    check: async () => {
      try {
        await access(path, constants.X_OK);
        return `${path} can be executed`;
      } catch (error) {
        throw new DnsFailure(
          `the hook ${path} cannot be executed (${failureCode(error)}): check the path and its mode`,
        );
      }
    },
  };
}

export interface HookSettings {
  readonly path: string;
  readonly timeoutMs: number;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Everything else in our environment may be a secret: our own, or of another program. */
const PASSED_VARIABLES = ['PATH', 'HOME', 'USER', 'LANG', 'TZ', 'TMPDIR'];
const MAX_ERROR_BYTES = 4096;
/** Time to read what a hook that has exited wrote. */
const PIPE_MS = 500;

/** Runs the operator's executable. Resolves when it has exited with 0. */
export function runHook(
  { path, timeoutMs, env }: HookSettings,
  command: 'present' | 'cleanup',
  { name, value }: TxtRecord,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const passed = PASSED_VARIABLES.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]]));
    const fail = (reason: string): void => reject(failure(path, command, name, reason));
    const child = started(path, [command, name, value], Object.fromEntries(passed) as Record<string, string>, fail);
    if (child === null) return;
    // Without free file descriptors there is no pipe, and the error comes later.
    const stderr: Readable | null = child.stderr ?? null;
    const errors = lastLineOf(stderr);
    const end = (reason: string | null): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      // A process that it left in the background may hold the pipe open.
      stderr?.destroy();
      if (reason === null) resolve();
      else fail(reason);
    };
    const kill = (reason: string): void => {
      killGroup(child);
      end(reason);
    };
    const stop = (): void => kill('the server is stopping');
    const timer = setTimeout(
      () => kill(`it ran longer than ${timeoutMs / 1000} s (acme_dns_hook_timeout) and was killed`),
      timeoutMs,
    );
    const owner: ListenerOwner = { contain: (error) => kill(String(error)) };
    listenOnce(child, 'error', owner, (error: NodeJS.ErrnoException) => end(notStarted(error)));
    const ended = (code: number | null, by: string | null): void =>
      end(code === 0 ? null : `${code === null ? `it was ended by ${by}` : `it exited with ${code}`}${errors()}`);
    // "close" waits for the pipe, which a process in the background may keep.
    listenOnce(child, 'close', owner, ended);
    listenOnce(child, 'exit', owner, (code: number | null, by: string | null) => {
      if (code === 0) end(null);
      else setTimeout(() => ended(code, by), PIPE_MS).unref();
    });
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
  });
}

/** Null after `fail`: some errors, such as a path below a file, are thrown instead of emitted. */
function started(
  path: string,
  args: readonly string[],
  env: Record<string, string>,
  fail: (reason: string) => void,
): ChildProcess | null {
  try {
    // A process group of its own, so that everything it starts can be killed with it.
    return spawn(path, args, { detached: true, shell: false, env, stdio: ['ignore', 'ignore', 'pipe'] });
  } catch (error) {
    fail(notStarted(error as NodeJS.ErrnoException));
    return null;
  }
}

function notStarted({ code, message }: NodeJS.ErrnoException): string {
  return `it cannot be started (${code ?? message}): check the path and that it is executable`;
}

/** What a hook writes at the end is usually its reason. */
function lastLineOf(stream: Readable | null): () => string {
  if (stream === null) return () => '';
  let text = '';
  listen(stream, 'data', { contain: () => stream.destroy() }, (chunk: Buffer) => {
    text = (text + chunk.toString('utf8')).slice(-MAX_ERROR_BYTES);
  });
  listen(stream, 'error', { contain: () => {} }, () => {});
  return () => {
    const line = text.trim().split('\n').at(-1) ?? '';
    return line === '' ? '' : `: ${shownText(line)}`;
  };
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The hook has ended meanwhile.
  }
}

function failure(path: string, command: string, name: string, reason: string): DnsFailure {
  return new DnsFailure(`the hook ${path} of acme_dns failed: ${command} ${name}: ${reason}`);
}
