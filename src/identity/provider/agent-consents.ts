import type { Clock } from '../../lib/clock.ts';
import type { IdentityStore } from '../../store/store.ts';
import type { GivenConsent } from '../contracts/identity-sessions.ts';
import type { PublishingAgent } from './identity-clients.ts';

const MODEL = 'AgentConsent';
const VALID_MS = 400 * 86_400_000;

export interface AgentConsentPorts {
  readonly store: Pick<IdentityStore, 'find' | 'list' | 'remember' | 'remove'>;
  readonly clock: Clock;
}

export type ConsentedAgent = Pick<PublishingAgent, 'host' | 'credentialId'>;

/**
 * Which agents may learn who a person is, on which hosts. Another agent on the same host is asked about again, and so is
 * the same agent on another host. All of them end with the person, like grants.
 */
export class AgentConsents {
  readonly #ports: AgentConsentPorts;

  constructor(ports: AgentConsentPorts) {
    this.#ports = ports;
  }

  async has(accountId: string, agent: ConsentedAgent): Promise<boolean> {
    return (await this.#ports.store.find(MODEL, idOf(accountId, agent))) !== null;
  }

  /** False when the session has ended. */
  give(accountId: string, agent: ConsentedAgent, sessionUid: string): Promise<boolean> {
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

  async list(accountId: string): Promise<readonly GivenConsent[]> {
    const found = await this.#ports.store.list(MODEL, accountId);
    const given = found.map(({ payload, expiresAtMs }) => ({
      host: payload['host'] as string,
      credentialId: payload['credential_id'] as string,
      givenAtMs: expiresAtMs - VALID_MS,
    }));
    return given.sort((one, other) => (one.host < other.host ? -1 : 1));
  }

  withdraw(accountId: string, agent: ConsentedAgent): Promise<void> {
    return this.#ports.store.remove(MODEL, idOf(accountId, agent));
  }
}

function idOf(accountId: string, { host, credentialId }: ConsentedAgent): string {
  return JSON.stringify([accountId, host, credentialId]);
}
