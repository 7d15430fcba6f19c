import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../kit/clock.ts';
import { clearCookie, cookieValues } from '../../../kit/http/cookie-header.ts';
import { type HeaderList, valuesOf } from '../../../kit/http/header-values.ts';
import { queryOf, type WholeAnswer, type WholeRequest } from '../../../kit/http/whole-request.ts';
import type { JsonObject } from '../../../kit/json.ts';
import type { IdentityArtifact, IdentityStore, RecordKey } from '../../../store/store.ts';
import type {
  GivenConsent,
  IdentitySession,
  IdentitySessions,
  LoginProof,
  ProofKind,
  ProvedPeopleReader,
  ShownSession,
  WaitingConsent,
  WaitingInteraction,
} from '../contracts.ts';
import { AGENT_CONSENT, SESSION_COOKIE } from './create-provider.ts';
import type {
  AgentConsents,
  ConsentedAgent,
  IdentityClient,
  IdentityClients,
  PublishingAgent,
} from './identity-clients.ts';
import type { CookieSignature } from './identity-keys.ts';
import type { IdentityProvider } from './identity-provider.ts';
import { isOfKnownPerson, type ProviderSession, providerSession } from './store-adapter.ts';

export interface ProviderSessionsPorts {
  readonly provider: IdentityProvider;
  readonly store: IdentityStore;
  readonly people: ProvedPeopleReader;
  readonly clients: IdentityClients;
  readonly consents: AgentConsents;
  readonly signature: CookieSignature;
  readonly clock: Clock;
  readonly sessionSeconds: number;
  /** Id of the client whose address this host is now. */
  readonly clientAt: (host: string) => string | null;
  /** Ends a person's logins on the routes of a client. */
  readonly endLogins: (accountId: string, clientId: string) => Promise<void>;
  readonly personKey: (accountId: string) => RecordKey;
}

const SIGNATURE_COOKIE = `${SESSION_COOKIE}.sig`;
const DENIED = { error: 'access_denied', error_description: 'the person did not agree' };
const OVER: WholeAnswer = { status: 303, headers: ['location', '/sign-in'], body: '' };

/** The provider's sessions, as the pages of the identity host begin, read and end them. */
export class ProviderSessions implements IdentitySessions {
  readonly #ports: ProviderSessionsPorts;

  constructor(ports: ProviderSessionsPorts) {
    this.#ports = ports;
  }

  async of(request: WholeRequest): Promise<IdentitySession | null> {
    const session = await this.#found(request);
    return session === null ? null : shown(session);
  }

  async logIn(request: WholeRequest, proof: LoginProof): Promise<WholeAnswer> {
    const { provider, store, clock, personKey, sessionSeconds } = this.#ports;
    const earlier = await this.#found(request);
    const isSame = earlier?.accountId === proof.accountId;
    if (earlier !== null && !isSame) await provider.endSession(earlier.uid);
    const nowSeconds = Math.floor(clock.nowMs() / 1000);
    const session: ProviderSession = {
      kind: 'Session',
      // Always another one: who knew the cookie before has nothing.
      jti: randomId(),
      uid: isSame ? earlier.uid : randomId(),
      accountId: proof.accountId,
      iat: nowSeconds,
      exp: nowSeconds + sessionSeconds,
      loginTs: nowSeconds,
      amr: [proof.amr],
      ...(proof.passkeyId !== null && { passkey: proof.passkeyId }),
      ...(isSame && earlier.authorizations !== undefined && { authorizations: earlier.authorizations }),
    };
    const artifact = artifactOf(session);
    const isStored =
      (isSame && (await store.replaceSession(artifact))) ||
      (await store.beginSession(artifact, personKey(proof.accountId)));
    // Disabled or deleted while they logged in.
    if (!isStored) return { ...OVER, headers: [...OVER.headers, ...this.#clearedCookies()] };
    return this.#goOn(request, session, proof.interactionId, proof.to);
  }

  async resume(request: WholeRequest, interactionId: string): Promise<WholeAnswer | null> {
    const session = await this.#found(request);
    const waiting = await this.interactionOf(request);
    if (session === null || waiting === null || waiting.id !== interactionId || waiting.mustProveAgain) return null;
    return this.#goOn(request, session, interactionId, '/account');
  }

  async logOut(request: WholeRequest): Promise<HeaderList> {
    const session = await this.#found(request);
    if (session !== null) await this.#ports.provider.endSession(session.uid);
    return this.#clearedCookies();
  }

  async interactionOf(request: WholeRequest): Promise<WaitingInteraction | null> {
    const waiting = this.#waiting(request);
    if (waiting === null) return null;
    const client = this.#clientOf(waiting.payload);
    if (client === null) return null;
    const { prompt } = waiting.payload;
    const isFirst = prompt.name === 'login' && prompt.reasons.every((reason) => reason === 'no_session');
    return { id: waiting.id, application: client.name, mustProveAgain: !isFirst };
  }

  async consentOf(request: WholeRequest): Promise<WaitingConsent | null> {
    const asked = await this.#askedConsent(request);
    return asked === null ? null : { id: asked.id, accountId: asked.session.accountId, ...asked.agent };
  }

  async decideConsent(request: WholeRequest, isGiven: boolean): Promise<WholeAnswer | null> {
    const asked = await this.#askedConsent(request);
    if (asked === null) return null;
    const { id, payload, agent, session } = asked;
    if (isGiven && !(await this.#ports.consents.give(session.accountId, agent, session.uid))) return null;
    // What was proved before counts on: otherwise "prompt=login" would ask for it again.
    const result = isGiven ? { ...payload.lastSubmission, consent: {} } : DENIED;
    const { browser } = this.#ports.provider.requestOf(request);
    const seconds = payload.exp - Math.floor(this.#ports.clock.nowMs() / 1000);
    browser.keep('Interaction', id, { ...payload, result, session_uid: session.uid } as unknown as JsonObject, seconds);
    const kept = browser.cookies.flatMap((line) => ['set-cookie', line]);
    return { status: 303, headers: ['location', payload.returnTo, ...kept], body: '' };
  }

  async list(accountId: string): Promise<readonly ShownSession[]> {
    return (await this.#sessionsOf(accountId)).map(({ uid, loginTs, authorizations = {} }) => {
      const applications = Object.keys(authorizations).flatMap((id) => {
        const name = this.#ports.clients.find(id, [])?.name;
        return name === undefined ? [] : [{ id, name }];
      });
      applications.sort((one, other) => (one.name < other.name ? -1 : 1));
      return { id: uid, startedAtMs: loginTs * 1000, applications };
    });
  }

  async end(accountId: string, sessionId: string): Promise<boolean> {
    const found = await this.#ports.store.findSession(sessionId);
    if (found === null || providerSession(found.payload).accountId !== accountId) return false;
    return this.#ports.provider.endSession(sessionId);
  }

  async endApplication(accountId: string, sessionId: string, applicationId: string): Promise<boolean> {
    const found = await this.#ports.store.findSession(sessionId);
    if (found === null || providerSession(found.payload).accountId !== accountId) return false;
    return this.#ports.provider.endApplication(sessionId, applicationId);
  }

  consents(accountId: string): Promise<readonly GivenConsent[]> {
    return this.#ports.consents.list(accountId);
  }

  async withdrawConsent(accountId: string, consent: ConsentedAgent): Promise<void> {
    const { consents, provider, clients, clientAt, endLogins } = this.#ports;
    // First: from here on nobody gets a new code without being asked.
    await consents.withdraw(accountId, consent);
    const isConcerned = (clientId: string): boolean => {
      const client = clients.find(clientId, []);
      // An agent that is not online is not known, and may come back.
      if (client === null) return true;
      return client.agent?.host === consent.host && client.agent.credentialId === consent.credentialId;
    };
    for (const { uid, authorizations = {} } of await this.#sessionsOf(accountId)) {
      for (const id of Object.keys(authorizations)) if (isConcerned(id)) await provider.endApplication(uid, id);
    }
    // Logins on routes can be older than every session.
    const current = clientAt(consent.host);
    if (current !== null && isConcerned(current)) await endLogins(accountId, current);
  }

  async #sessionsOf(accountId: string): Promise<readonly ProviderSession[]> {
    const found = await this.#ports.store.list('Session', accountId);
    return found.map(({ payload }) => providerSession(payload));
  }

  /** The application's request that the address names and the browser keeps. */
  #waiting(request: WholeRequest): { readonly id: string; readonly payload: InteractionPayload } | null {
    const id = queryOf(request).get('interaction');
    const payload = id === null ? null : this.#ports.provider.requestOf(request).browser.find('Interaction', id);
    if (id === null || payload === null || isExpired(payload, this.#ports.clock)) return null;
    return { id, payload: payload as unknown as InteractionPayload };
  }

  #clientOf({ params }: InteractionPayload): IdentityClient | null {
    const askedUris = params.redirect_uri === undefined ? [] : [params.redirect_uri];
    return this.#ports.clients.find(params.client_id ?? '', askedUris);
  }

  async #askedConsent(request: WholeRequest): Promise<AskedConsent | null> {
    const waiting = this.#waiting(request);
    if (waiting === null) return null;
    const agent = this.#clientOf(waiting.payload)?.agent ?? null;
    if (agent === null || !waiting.payload.prompt.reasons.includes(AGENT_CONSENT)) return null;
    const session = await this.#found(request);
    // Somebody else may have logged in with this browser since then.
    if (session === null || waiting.payload.session?.uid !== session.uid) return null;
    return { ...waiting, agent, session };
  }

  async #found(request: WholeRequest): Promise<ProviderSession | null> {
    const lines = valuesOf(request.headers, 'cookie');
    const [id] = cookieValues(lines, SESSION_COOKIE);
    const [signed] = cookieValues(lines, SIGNATURE_COOKIE);
    const { signature, store, people } = this.#ports;
    if (id === undefined || signed === undefined || !signature.verify(`${SESSION_COOKIE}=${id}`, signed)) return null;
    const found = await store.find('Session', id);
    if (found === null) return null;
    const session = providerSession(found.payload);
    return isOfKnownPerson(session, people) ? session : null;
  }

  /** To the application that waits, or to a page of the identity host. */
  #goOn(request: WholeRequest, session: ProviderSession, interactionId: string | null, to: string): WholeAnswer {
    const { browser } = this.#ports.provider.requestOf(request);
    const payload = interactionId === null ? null : browser.find('Interaction', interactionId);
    const cookies = this.#sessionCookies(session);
    if (interactionId === null || payload === null || isExpired(payload, this.#ports.clock)) {
      return { status: 303, headers: ['location', to, ...cookies], body: '' };
    }
    const { accountId, loginTs: ts, amr, uid } = session;
    const { session: _, ...rest } = payload;
    const proven = { ...rest, result: { login: { accountId, ts, amr }, consent: {} }, session_uid: uid };
    const seconds = (payload['exp'] as number) - Math.floor(this.#ports.clock.nowMs() / 1000);
    browser.keep('Interaction', interactionId, proven as JsonObject, seconds);
    const kept = browser.cookies.flatMap((line) => ['set-cookie', line]);
    return { status: 303, headers: ['location', payload['returnTo'] as string, ...cookies, ...kept], body: '' };
  }

  #sessionCookies({ jti, exp }: ProviderSession): HeaderList {
    const expires = new Date(exp * 1000).toUTCString();
    const lines = [
      [SESSION_COOKIE, jti],
      [SIGNATURE_COOKIE, this.#ports.signature.sign(`${SESSION_COOKIE}=${jti}`)],
    ].map(([name, value]) => `${name}=${value}; path=/; expires=${expires}; secure; httponly; samesite=lax`);
    return lines.flatMap((line) => ['set-cookie', line]);
  }

  #clearedCookies(): HeaderList {
    return [SESSION_COOKIE, SIGNATURE_COOKIE].flatMap((name) => ['set-cookie', clearCookie(name)]);
  }
}

interface InteractionPayload {
  readonly params: { readonly client_id?: string; readonly redirect_uri?: string };
  readonly prompt: { readonly name: string; readonly reasons: readonly string[] };
  /** The session of the person who was asked. */
  readonly session?: { readonly uid?: string };
  /** Result of the interaction before this one. */
  readonly lastSubmission?: JsonObject;
  readonly returnTo: string;
  readonly exp: number;
}

interface AskedConsent {
  readonly id: string;
  readonly payload: InteractionPayload;
  readonly agent: PublishingAgent;
  readonly session: ProviderSession;
}

function artifactOf(session: ProviderSession): IdentityArtifact {
  return {
    model: 'Session',
    id: session.jti,
    accountId: session.accountId,
    grantId: null,
    sessionUid: session.uid,
    application: null,
    payload: session as unknown as JsonObject,
    expiresAtMs: session.exp * 1000,
  };
}

function shown({ uid, accountId, loginTs, amr, passkey }: ProviderSession): IdentitySession {
  const proof = { amr: amr as readonly ProofKind[], passkeyId: passkey ?? null };
  return { id: uid, accountId, authenticatedAtMs: loginTs * 1000, ...proof };
}

function isExpired(payload: JsonObject, clock: Clock): boolean {
  return (payload['exp'] as number) * 1000 <= clock.nowMs();
}

function randomId(): string {
  return randomBytes(24).toString('base64url');
}
