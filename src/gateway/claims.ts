import type { AgentSession } from './agent-session.ts';
import type { GatewayErrorCode } from './errors.ts';

/** Refusal with a message for the agent's user. */
export interface ClaimRefusal {
  readonly code: GatewayErrorCode;
  readonly message: string;
  readonly retry: boolean;
}

/** `again`: a session of this node took it in the meantime. */
export type ClaimResult = 'claimed' | 'again' | ClaimRefusal;

/** Names and ports that sessions own in the whole installation. Rules among sessions of one node are in `TunnelNames`. */
export interface Claims {
  /** `what` names the key in a refusal. `isChosen`: any other would do, so that nobody has to give it up. */
  claim(session: AgentSession, key: string, what: string, isChosen?: boolean): Promise<ClaimResult>;
  /** Others may have the keys once `unserved` has resolved: no node serves them for this session. */
  release(session: AgentSession, keys: readonly string[], unserved: Promise<void>): void;
  /** Resolves when releases of this key that have begun are finished. */
  settled(key: string): Promise<void>;
}

/** On a server without other nodes nobody else can claim. */
export const OWN_CLAIMS: Claims = {
  claim: () => Promise.resolve('claimed'),
  release: () => {},
  settled: () => Promise.resolve(),
};

/** Sessions as another node needs them to resume one. */
export interface SessionRecords {
  /** Rejects when it could not be stored. */
  create(session: AgentSession): Promise<void>;
  /** Stored soon; a failure is retried. */
  changed(session: AgentSession): void;
  /** After `unserved`, with all its claims. */
  remove(session: AgentSession, unserved: Promise<void>): void;
}

export const NO_RECORDS: SessionRecords = { create: () => Promise.resolve(), changed: () => {}, remove: () => {} };
