import { TimeSlice } from '../../lib/slices/time-slice.ts';

/** Prepares hosts one after the other: a change may add 10,000, and issuing a certificate takes milliseconds. */
export class WarmQueue {
  readonly #prepare: (host: string) => Promise<void>;
  readonly #hosts = new Set<string>();
  #running: Promise<void> | null = null;

  constructor(prepare: (host: string) => Promise<void>) {
    this.#prepare = prepare;
  }

  /** Resolves when the queue is empty. */
  add(hosts: readonly string[]): Promise<void> {
    for (const host of hosts) this.#hosts.add(host);
    this.#running ??= this.#run();
    return this.#running;
  }

  remove(host: string): void {
    this.#hosts.delete(host);
  }

  close(): void {
    this.#hosts.clear();
  }

  async #run(): Promise<void> {
    const slice = new TimeSlice();
    for (const host of this.#hosts) {
      this.#hosts.delete(host);
      await this.#prepare(host);
      await slice.next();
    }
    this.#running = null;
  }
}
