import type { Clock } from '../../lib/clock.ts';
import type { IdentityStore } from '../../store/store.ts';
import type { PublishingAgent } from './identity-clients.ts';

const MODEL = 'AgentConsent';
const VALID_MS = 400 * 86_400_000;

export interface AgentConsentPorts {
  readonly store: Pick<IdentityStore, 'find' | 'remember'>;
  readonly clock: Clock;
}

/**
 * Which agents may learn who a person is, on which hosts. Another agent on the same host is asked about again, and so is
 * the same agent on another host. All of them end with the person, like grants.
 */
export class AgentConsents {
  readonly #ports: AgentConsentPorts;

  constructor(ports: AgentConsentPorts) {
    this.#ports = ports;
  }

  async has(accountId: string, agent: PublishingAgent): Promise<boolean> {
    return (await this.#ports.store.find(MODEL, idOf(accountId, agent))) !== null;
  }

  /** False when the session has ended. */
  give(accountId: string, agent: PublishingAgent, sessionUid: string): Promise<boolean> {
    const { store, clock } = this.#ports;
    const { host, credentialId } = agent;
    return store.remember({
      model: MODEL,
      id: idOf(accountId, agent),
      accountId,
      grantId: null,
      sessionUid,
      application: null,
      payload: { host, credential_id: credentialId },
      expiresAtMs: clock.nowMs() + VALID_MS,
    });
  }
}

function idOf(accountId: string, { host, credentialId }: PublishingAgent): string {
  return JSON.stringify([accountId, host, credentialId]);
}
