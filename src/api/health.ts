/**
 * The state in `/healthz`. `starting`: not every listener is open yet. `ready`: all are. `draining`: a signal arrived,
 * requests in flight are being finished; there is no way back. Only `ready` is healthy.
 */
export type HealthState = 'starting' | 'ready' | 'draining';

export class Health {
  #state: HealthState = 'starting';
  #drained: readonly (() => void)[] = [];

  get state(): HealthState {
    return this.#state;
  }

  get isReady(): boolean {
    return this.#state === 'ready';
  }

  becomeReady(): void {
    if (this.#state === 'starting') this.#state = 'ready';
  }

  /** Called once, when draining starts. */
  onDraining(listener: () => void): void {
    this.#drained = [...this.#drained, listener];
  }

  startDraining(): void {
    if (this.#state === 'draining') return;
    this.#state = 'draining';
    for (const listener of this.#drained) listener();
  }
}
