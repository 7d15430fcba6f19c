import type { ClientMetadata } from 'oidc-provider';
import type { Clock } from '../../../kit/clock.ts';
import type { IdentityStore } from '../../../store/store.ts';
import type { GivenConsent } from '../contracts.ts';

/** An application that people log in to at the identity host. */
export interface IdentityClient {
  /** As people know it. */
  readonly name: string;
  /** `client_secret` is a hash: see `hashToken`. */
  readonly metadata: ClientMetadata;
  /** Whether these groups of a person let them in. */
  admits(groups: readonly string[]): boolean;
  /** The client hears of the end of sessions there (OpenID Connect Back-Channel Logout 1.0). */
  readonly backChannelLogoutUri: string | null;
  /** An agent publishes it; null: an administrator decided who may learn about people. */
  readonly agent: PublishingAgent | null;
}

/** The holder of a credential can publish any free address: people decide whether its service learns who they are. */
export interface PublishingAgent {
  readonly host: string;
  readonly credentialId: string;
  /** What an administrator wrote about the credential; perhaps empty. */
  readonly description: string;
}

/** Applications as they are configured now. */
export interface IdentityClients {
  /**
   * `askedUris`: what the request wants to return to. A client of a route has as many addresses as its wildcard has
   * hosts.
   */
  find(clientId: string, askedUris: readonly string[]): IdentityClient | null;
}

const MODEL = 'AgentConsent';
const VALID_MS = 400 * 86_400_000;

interface AgentConsentPorts {
  readonly store: Pick<IdentityStore, 'find' | 'list' | 'remember' | 'remove'>;
  readonly clock: Clock;
}

export type ConsentedAgent = Pick<PublishingAgent, 'host' | 'credentialId'>;

/**
 * Which agents may learn who a person is, on which hosts. Another agent on the same host is asked about again, and so
 * is the same agent on another host. All of them end with the person, like grants.
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
