import type { Syscall } from './syscall-trace.ts';

export interface SyncReport {
  /** Problems, per write. */
  readonly problems: readonly string[];
  /** Writes whose request, log entry, sync and response were found in this order. */
  readonly proven: number;
  /** Syncs of the log in the whole trace. */
  readonly syncs: number;
}

const READS = new Set(['read', 'readv', 'recvfrom', 'recvmsg']);
const WRITES = new Set(['write', 'writev', 'sendto', 'sendmsg']);
const LOG_WRITES = new Set(['pwrite64', 'write', 'pwritev']);
const SYNCS = new Set(['fdatasync', 'fsync']);

/**
 * Each write has a marker in its body, which appears in the request, in the page written to the log and in the
 * response. The log must be synced after that page was written and before the response's first byte is.
 */
export function answersBeforeSync(calls: readonly Syscall[], markers: readonly string[]): SyncReport {
  const log = calls.filter(({ text }) => isOn(text, /\.sqlite-wal>/));
  const sockets = calls.filter(({ text }) => isOn(text, /<(TCP|TCPv6|socket):/));
  const syncs = log.filter(({ name, text }) => SYNCS.has(name) && / = 0$/.test(text));
  const problems: string[] = [];
  let proven = 0;
  for (const marker of markers) {
    const has = ({ text }: Syscall) => text.includes(marker);
    const request = sockets.find((call) => READS.has(call.name) && has(call));
    const answer = sockets.find((call) => WRITES.has(call.name) && has(call) && call.text.includes('HTTP/1.1 2'));
    const entry = log.find((call) => LOG_WRITES.has(call.name) && has(call));
    const sync = entry === undefined ? undefined : syncs.find(({ enteredAt }) => enteredAt > entry.leftAt);
    if (request === undefined || answer === undefined)
      problems.push(`${marker}: request or answer is not in the trace`);
    else if (entry === undefined) problems.push(`${marker}: was never written to the log`);
    else if (entry.enteredAt < request.leftAt) problems.push(`${marker}: was in the log before it was asked for`);
    else if (sync === undefined) problems.push(`${marker}: the log was not synced after it`);
    else if (sync.leftAt > answer.enteredAt) problems.push(`${marker}: was answered before the log was synced`);
    else proven += 1;
  }
  return { problems, proven, syncs: syncs.length };
}

/** `-y` shows the file or socket behind the first argument. */
function isOn(text: string, what: RegExp): boolean {
  const end = text.indexOf(',');
  return what.test(end === -1 ? text : text.slice(0, end));
}
