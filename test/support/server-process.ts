import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Cleanup } from './cleanup.ts';

const CHECKOUT_LAUNCHER = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url));
/** The test runner bundles the program, which starts in half the time. */
export const LAUNCHER = process.env['POSTERN_TEST_PROGRAM'] ?? CHECKOUT_LAUNCHER;
const READY_TIMEOUT_MS = 180_000;

export interface ProcessOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The Node that runs the launcher; by default the one that runs the test. */
  readonly node?: string;
  readonly cwd?: string;
  /** Another copy of the launcher than the checkout's. */
  readonly launcher?: string;
  /** Another installation altogether: the words that start it. */
  readonly command?: readonly string[];
  /** Another user, for tests that run as root. */
  readonly uid?: number;
  readonly gid?: number;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A real `postern` process. It is killed with the test in any case. */
export interface PosternProcess {
  readonly child: ChildProcess;
  readonly exited: Promise<Exit>;
  stdout(): string;
  stderr(): string;
  /** Log lines so far, parsed. */
  lines(): readonly Record<string, unknown>[];
  /** The ready line; fails with the output if the process ends first. */
  ready(): Promise<ReadyLine>;
}

export interface ReadyLine {
  readonly base_url: string;
  readonly data_dir: string;
  readonly addresses: { readonly api: string };
  readonly [field: string]: unknown;
}

export function startPostern(test: Cleanup, options: ProcessOptions): PosternProcess {
  const [program = '', ...first] = commandOf(options);
  const child = spawn(program, [...first, ...(options.args ?? [])], {
    // Settings of the machine that runs the tests must not leak into the tested program.
    env: { ...withoutPostern(process.env), ...inWorkers(), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: options.cwd,
    ...(options.uid !== undefined && { uid: options.uid }),
    ...(options.gid !== undefined && { gid: options.gid }),
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const exited = once(child, 'close').then(([code, signal]) => ({ code, signal }) as Exit);
  test.after(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const lines = () => parsedLines(stdout);
  return {
    child,
    exited,
    stdout: () => stdout,
    stderr: () => stderr,
    lines,
    ready: () => ready(child, lines, () => stdout + stderr),
  };
}

/**
 * This version of the program, unless a test wants another installation or `npm test` was given a single executable to
 * test.
 */
function commandOf({ command, node, launcher }: ProcessOptions): readonly string[] {
  if (command !== undefined) return command;
  const binary = process.env['POSTERN_TEST_BINARY'];
  if (binary !== undefined && node === undefined && launcher === undefined) return [binary];
  // Only a checkout has the locked Node, which an older one must find.
  if (node !== undefined) return [node, launcher ?? CHECKOUT_LAUNCHER];
  return [process.execPath, launcher ?? LAUNCHER];
}

export function startServerProcess(
  test: Cleanup,
  dataDir: string,
  { args = [], ...options }: ProcessOptions = {},
): PosternProcess {
  const given = (flag: string): boolean => args.includes(flag);
  const listeners = ['--api-listen', '--edge-listen', '--edge-http-listen', '--tunnel-listen'].filter(
    (flag) => !given(flag),
  );
  const defaults = ['--data-dir', dataDir, ...listeners.flatMap((flag) => [flag, '127.0.0.1:0'])];
  return startPostern(test, { ...options, args: ['server', ...defaults, ...args] });
}

async function ready(
  child: ChildProcess,
  lines: () => readonly Record<string, unknown>[],
  output: () => string,
): Promise<ReadyLine> {
  const deadlineMs = performance.now() + READY_TIMEOUT_MS;
  while (performance.now() < deadlineMs) {
    const line = lines().find((entry) => entry['msg'] === 'ready');
    if (line !== undefined) return line as ReadyLine;
    if (child.exitCode !== null || child.signalCode !== null) break;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`postern did not become ready:\n${output()}`);
}

function parsedLines(text: string): Record<string, unknown>[] {
  const whole = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  return whole.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** See test-world.ts. */
function inWorkers(): Readonly<Record<string, string>> {
  const { POSTERN_TEST_WORKERS: workers } = process.env;
  return workers === undefined ? {} : { POSTERN_WORKERS: workers };
}

function withoutPostern(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('POSTERN_')));
}
