import { type Periodic, periodically } from '../../../kit/async/waiting.ts';
import type { Clock } from '../../../kit/clock.ts';
import { messageOf } from '../../../kit/error-text.ts';
import type { DueLogout, IdentityStore } from '../../../store/store.ts';
import type { IdentityProvider } from './identity-provider.ts';

export interface LogoutDeliveryPorts {
  readonly provider: Pick<IdentityProvider, 'sendLogout'>;
  readonly store: IdentityStore;
  readonly clock: Clock;
  readonly isStoreOutage: (error: unknown) => boolean;
  readonly log: { warn(fields: object, message: string): void };
}

const LOOK_EVERY_MS = 500;
const RETRY_AFTER_MS = 30_000;
const MAX_ATTEMPTS = 5;

/** Tells other applications that sessions have ended, on whichever node is first. What it owes is in the store. */
export class LogoutDelivery {
  readonly #ports: LogoutDeliveryPorts;
  readonly #periodic: Periodic;

  constructor(ports: LogoutDeliveryPorts) {
    this.#ports = ports;
    this.#periodic = periodically(() => this.#deliverDue(), LOOK_EVERY_MS);
  }

  close(): Promise<void> {
    return this.#periodic.close();
  }

  async #deliverDue(): Promise<void> {
    const { store, clock } = this.#ports;
    try {
      // A read, which costs no fsync: mostly nothing is due.
      if (!(await store.hasDueLogouts(clock.nowMs()))) return;
      const due = await store.claimLogouts(clock.nowMs(), clock.nowMs() + RETRY_AFTER_MS);
      const settled = await Promise.all(due.map((logout) => this.#isSettled(logout)));
      await store.settleLogouts(due.filter((_, at) => settled[at]).map(({ id }) => id));
    } catch (error) {
      // The store reports its outages itself. Everything is due again later.
      if (!this.#ports.isStoreOutage(error)) throw error;
    }
  }

  async #isSettled(logout: DueLogout): Promise<boolean> {
    try {
      await this.#ports.provider.sendLogout(logout);
      return true;
    } catch (error) {
      const isLast = logout.attempts >= MAX_ATTEMPTS;
      const fields = { client: logout.clientId, attempt: logout.attempts, problem: messageOf(error) };
      this.#ports.log.warn(
        fields,
        isLast ? 'gave up a logout at an application' : 'failed to log somebody out at an application',
      );
      return isLast;
    }
  }
}
