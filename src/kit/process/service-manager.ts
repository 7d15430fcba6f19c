import { execFile } from 'node:child_process';

/** systemd-notify waits until the manager has read the message; a manager that hangs must not collect processes. */
const NOTIFY_TIMEOUT_MS = 5_000;
/** systemd asks for a sign of life at least twice per interval (sd_watchdog_enabled(3)). */
const SIGNS_PER_INTERVAL = 2;

export interface ServiceManager {
  /** Whether one waits for our state (NOTIFY_SOCKET, sd_notify(3)). */
  readonly isPresent: boolean;
  /**
   * Sends assignments such as `READY=1`, after those of earlier calls. Resolves to false if they could not be sent:
   * the service works without.
   */
  notify(...assignments: readonly string[]): Promise<boolean>;
  /** Sends a sign of life for as long as the event loop runs, if the manager wants one. Returns what stops it. */
  startWatchdog(): () => void;
}

/**
 * The manager that started this process. Node has no datagram sockets of the Unix domain, so `systemd-notify` sends the
 * messages; the unit therefore has `NotifyAccess=all`. The variables are removed: other programs that we start must not
 * report for us.
 */
export function serviceManager(env: Record<string, string | undefined>, program = 'systemd-notify'): ServiceManager {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: watchdog, WATCHDOG_PID: watched, PATH: path } = env;
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) Reflect.deleteProperty(env, name);
  const isPresent = socket !== undefined && /^[/@]/.test(socket);
  const isWatched = watched === undefined || Number(watched) === process.pid;
  const intervalMs = isPresent && isWatched ? Number(watchdog ?? 0) / 1000 / SIGNS_PER_INTERVAL : 0;

  let last: Promise<unknown> = Promise.resolve();
  const notify = (...assignments: readonly string[]): Promise<boolean> => {
    if (!isPresent) return Promise.resolve(false);
    const sent = last.then(() =>
      send(program, assignments, { NOTIFY_SOCKET: socket, ...(path !== undefined && { PATH: path }) }),
    );
    last = sent;
    return sent;
  };
  const startWatchdog = (): (() => void) => {
    if (!(intervalMs >= 1)) return () => {};
    let isSending = false;
    const timer = setInterval(() => {
      // On a busy machine one sign takes longer than the interval: they must not queue up.
      if (isSending) return;
      isSending = true;
      void notify('WATCHDOG=1').then(() => {
        isSending = false;
      });
    }, intervalMs).unref();
    return () => clearInterval(timer);
  };
  return { isPresent, notify, startWatchdog };
}

function send(program: string, assignments: readonly string[], env: Record<string, string>): Promise<boolean> {
  const options = { env, timeout: NOTIFY_TIMEOUT_MS, killSignal: 'SIGKILL' } as const;
  return new Promise((resolve) => {
    try {
      execFile(program, assignments, options, (error) => resolve(error === null));
    } catch {
      // Some errors are thrown instead of passed, such as a lack of memory (ENOMEM).
      resolve(false);
    }
  });
}
