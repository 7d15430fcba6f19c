import type { JsonObject } from '../../kit/json.ts';
import type { AssumedPerson, Identity, Permit, TrafficRequest } from '../contract/decides.ts';
import type { LearningClient } from '../contract/prepare.ts';
import { learnable, learnedClaims, learnedNote } from '../learned-claims.ts';
import { originOf } from './flow/return-target.ts';
import { Grant, type GrantDoc, grantClaims } from './sessions/grant.ts';

/** Decides whether a stored login still admits a request in progress. */
export interface GrantKeeper {
  isHeld(grant: Grant, nowMs: number): boolean;
  used(grant: Grant, nowMs: number): void;
}

/** A stored login as the permit of a request. */
export class GrantPermit implements Permit {
  readonly module: string;
  readonly grant: Grant;
  readonly #keeper: GrantKeeper;

  constructor(module: string, grant: Grant, keeper: GrantKeeper) {
    this.module = module;
    this.grant = grant;
    this.#keeper = keeper;
  }

  get userId(): string {
    return this.grant.holder.id;
  }

  get version(): number {
    return this.grant.holderVersion;
  }

  get identity(): Identity {
    return this.grant.holder;
  }

  isHeld(nowMs: number): boolean {
    this.grant.heldAtMs = nowMs;
    return this.#keeper.isHeld(this.grant, nowMs);
  }

  touch(nowMs: number): void {
    this.#keeper.used(this.grant, nowMs);
  }
}

interface AssumedClient {
  readonly edgeId: string;
  readonly routeId: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
}

/** A login that somebody could have, for explanations. It is in no store. */
export function assumedGrant(request: TrafficRequest, claims: JsonObject, client: AssumedClient): Grant {
  const { edgeId, routeId, issuer, clientId, scopes } = client;
  const { sub = 'assumed' } = claims;
  const doc: GrantDoc = {
    public_url: originOf(request),
    user_agent: '',
    ip_address: request.clientAddress,
    created_at: new Date(request.nowMs).toISOString(),
    route_id: routeId,
    host: request.host,
    scopes,
    subject: typeof sub === 'string' ? sub : 'assumed',
    ...grantClaims(claims),
    access_expires_at_ms: null,
    refreshed_at_ms: request.nowMs,
  };
  return new Grant({
    id: 'as_assumed',
    userId: 'au_assumed',
    keyHash: '',
    edgeId,
    issuer,
    clientId,
    providerSessionId: null,
    lastActiveMs: request.nowMs,
    expiresAtMs: 0,
    version: 0,
    doc: doc as never,
    secrets: null,
  });
}

type DescribedClient = Omit<LearningClient, 'isDiscovered'>;

interface AssumedClaims {
  readonly claims: JsonObject;
  /** What they are based on, for people. */
  readonly text: string;
}

/**
 * The claims that a login would bring: those of the person's own last login, otherwise the described ones as far as
 * logins bring them here.
 */
export function assumedClaims(person: AssumedPerson, client: DescribedClient): AssumedClaims {
  const { email, claims, logins } = person;
  const own = Object.keys(claims).length === 0 ? ownLogin(person, client) : null;
  if (own !== null) {
    const text = `The person is logged in, with the claims of their last login here, at ${own.doc.created_at}.`;
    return { claims: own.doc.claims, text };
  }
  const learned = learnedClaims(client, logins);
  const described = learnable({ email_verified: true, ...claims, email }, learned);
  const note = learnedNote(learned, described.missing);
  return { claims: described.claims, text: note === '' ? LOGGED_IN : `${LOGGED_IN} ${note}` };
}

const LOGGED_IN = 'The person is logged in.';

function ownLogin({ email, logins }: AssumedPerson, { issuer, clientId, scopes }: DescribedClient): Grant | null {
  const own = logins
    .filter((login) => login.issuer === issuer && login.clientId === clientId)
    .map((login) => new Grant(login))
    .find(({ doc }) => doc.email !== '' && doc.email.toLowerCase() === email.toLowerCase());
  return own?.covers(scopes) === true ? own : null;
}
