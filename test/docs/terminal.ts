import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

const DEADLINE_MS = 120_000;

export interface TerminalOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A shell that keeps its variables and functions between blocks, like a reader's terminal. */
export class Terminal {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  #output = '';
  #blocks = 0;

  constructor({ cwd, env }: TerminalOptions) {
    // A separate process group: everything that a block started ends with the terminal.
    this.#child = spawn('bash', ['--norc', '-euo', 'pipefail'], { cwd, env, detached: true });
    this.#exited = once(this.#child, 'close');
    // One pipe for both: what a command writes to standard error may else arrive after the mark that ends its block.
    this.#child.stdin?.write('exec 2>&1\n');
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text;
      });
    }
  }

  /** Types a block and waits until it has finished. Rejects with the output when a command fails. */
  async run(script: string): Promise<string> {
    this.#blocks += 1;
    const mark = `-- end of block ${this.#blocks} --`;
    const start = this.#output.length;
    this.#child.stdin?.write(`${script}\nprintf '\\n%s\\n' '${mark}'\n`);
    const whole = await this.#until(start, new RegExp(`^${mark}$`, 'm'), script);
    return whole.slice(0, whole.lastIndexOf(mark)).trimEnd();
  }

  /** Types a long-running command, and waits for its first output. */
  start(script: string, ready: RegExp): Promise<string> {
    const start = this.#output.length;
    this.#child.stdin?.write(`${script}\n`);
    return this.#until(start, ready, script);
  }

  async close(): Promise<void> {
    try {
      process.kill(-Number(this.#child.pid), 'SIGTERM');
    } catch {
      // Nothing of the group is left.
    }
    this.#child.stdin?.destroy();
    await this.#exited;
  }

  async #until(start: number, pattern: RegExp, script: string): Promise<string> {
    const deadlineMs = performance.now() + DEADLINE_MS;
    for (;;) {
      const text = this.#output.slice(start);
      if (pattern.test(text)) return text;
      const isOver = this.#child.exitCode !== null || this.#child.signalCode !== null;
      if (isOver || performance.now() > deadlineMs) {
        throw new Error(`${isOver ? 'a command failed' : 'no answer in time'}:\n${script}\n${text}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
