import { readFileSync } from 'node:fs';

/** What one test file took. */
export interface FileCost {
  readonly name: string;
  /** Counts the test process and its children that have ended, not the shared PostgreSQL. */
  readonly cpuMs: number;
  readonly wallMs: number;
}

const TICK_MS = 10;

/** Call the result for what this process and its children took since. */
export function startMeter(): () => Omit<FileCost, 'name'> {
  const start = { cpuMs: cpuMs(), wallMs: performance.now() };
  return () => ({ cpuMs: cpuMs() - start.cpuMs, wallMs: Math.round(performance.now() - start.wallMs) });
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return Math.round((user + system) / 1000) + childrenCpuMs();
}

/** Node does not report what children took; Linux does. */
function childrenCpuMs(): number {
  try {
    // The command's name, in parentheses, may contain spaces.
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return (Number(fields[13]) + Number(fields[14])) * TICK_MS;
  } catch {
    return 0;
  }
}

export function readCosts(path: string): readonly FileCost[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as FileCost);
}

/** A few lines for the end of the report: so that the author of a test sees what it costs. */
export function costliest(costs: readonly FileCost[], count: number): string {
  const total = costs.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
  const lines = costs
    .toSorted((one, other) => other.cpuMs - one.cpuMs)
    .slice(0, count)
    .map(({ name, cpuMs, wallMs }) => `  ${seconds(cpuMs)} CPU ${seconds(wallMs)} in all  ${name}`);
  return [`${seconds(total).trim()} of CPU, most of it in`, ...lines].join('\n');
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`.padStart(8);
}
