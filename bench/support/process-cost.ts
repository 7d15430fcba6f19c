import { readdirSync, readFileSync } from 'node:fs';

/** CPU seconds (user + system) that a process has used, all threads. Linux only. */
export function cpuSeconds(pid: number): number {
  return cpuTicks(pid, 11) / CLOCK_TICKS_PER_SECOND;
}

const CLOCK_TICKS_PER_SECOND = 100;

/** User and system time stand beside each other. */
function cpuTicks(pid: number | 'self', userField: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return Number(fields[userField]) + Number(fields[userField + 1]);
}

/** The same by the scheduler's own clock, for spans of a tenth of a second: ticks are 10 ms. */
export function cpuNanoseconds(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.reduce((sum, thread) => sum + threadNanoseconds(pid, thread), 0);
}

function threadNanoseconds(pid: number, thread: string): number {
  return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
}

export function rssMiB(pid: number): number {
  return statusMiB(pid, 'VmRSS');
}

/**
 * Resident memory of its own: without pages of files, such as the Node executable, that it shares with other processes.
 */
export function anonymousMiB(pid: number): number {
  return statusMiB(pid, 'RssAnon');
}

function statusMiB(pid: number, field: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024;
}

/** CPU seconds of all children that have ended. In ticks of 10 ms. */
export function childrenCpuSeconds(): number {
  return cpuTicks('self', 13) / CLOCK_TICKS_PER_SECOND;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * part)] ?? Number.NaN;
}

/** A process and its children, one level down: a master and its workers. */
export function familyOf(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return [pid, ...(children === '' ? [] : children.split(' ').map(Number))];
}
