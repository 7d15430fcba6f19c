import { hash } from 'node:crypto';
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import type { Clock } from '../../../kit/clock.ts';
import type { JsonObject } from '../../../kit/json.ts';
import type { IdentityStore, SessionWithoutApplication } from '../../../store/store.ts';
import type { ProvedPeopleReader } from '../contracts.ts';
import { currentRequest } from './current-request.ts';
import type { IdentityClients } from './identity-clients.ts';

export interface AdapterPorts {
  readonly store: IdentityStore;
  readonly people: ProvedPeopleReader;
  readonly clients: IdentityClients;
  readonly clock: Clock;
}

const GRANT = 'Grant';
const CODE = 'AuthorizationCode';
const TWIN_MS = 10_000;
const TOO_LONG = 'the request of the application is too long: shorten its "state" or "claims"';
const OVER = 'the session has ended';

/**
 * The provider's storage. Only what belongs to a person is stored; everything else stays in the browser. Clients are
 * derived from the configuration and never stored.
 */
export function storeAdapter(ports: AdapterPorts): (model: string) => Adapter {
  return (model) => {
    if (model === 'Client') return clientAdapter(ports);
    if (model === 'Interaction') return interactionAdapter();
    if (model === 'Session') return sessionAdapter(ports);
    return artifactAdapter(model, ports);
  };
}

/** Operations that a model does not have. */
const NONE: Adapter = {
  upsert: () => Promise.reject(new Error('the OpenID provider stores no such thing')),
  find: async () => undefined,
  findByUserCode: async () => undefined,
  findByUid: async () => undefined,
  consume: async () => undefined,
  destroy: async () => undefined,
  revokeByGrantId: async () => undefined,
};

function clientAdapter({ clients }: AdapterPorts): Adapter {
  return {
    ...NONE,
    find: async (id) => {
      const { askedUris, isDelivery } = currentRequest();
      const client = clients.find(id, askedUris);
      if (client === null) return undefined;
      const { metadata, backChannelLogoutUri } = client;
      if (!isDelivery || backChannelLogoutUri === null) return metadata as AdapterPayload;
      const logout = { backchannel_logout_uri: backChannelLogoutUri, backchannel_logout_session_required: true };
      return { ...metadata, ...logout } as AdapterPayload;
    },
  };
}

function interactionAdapter(): Adapter {
  return {
    ...NONE,
    upsert: async (id, payload, expiresIn = 0) => {
      if (!currentRequest().browser.keep('Interaction', id, payload as JsonObject, expiresIn)) {
        throw new errors.InvalidRequest(TOO_LONG);
      }
    },
    find: async (id) => {
      const { browser, sessionUid } = currentRequest();
      const payload = browser.find('Interaction', id);
      // A proof counts in the session that it began, and ends with it: a stolen cookie proves nothing later.
      if (payload === null || (payload['result'] !== undefined && payload['session_uid'] !== sessionUid))
        return undefined;
      return payload as AdapterPayload;
    },
    destroy: async (id) => currentRequest().browser.forget('Interaction', id),
  };
}

function sessionAdapter({ store, people }: AdapterPorts): Adapter {
  const known = (payload: JsonObject | undefined): AdapterPayload | undefined => {
    const isValid = payload !== undefined && isOfKnownPerson(providerSession(payload), people);
    return isValid ? (payload as AdapterPayload) : undefined;
  };
  return {
    ...NONE,
    upsert: async (id, payload, expiresIn = 0) => {
      const { browser } = currentRequest();
      const { accountId, uid } = payload;
      if (accountId === undefined || uid === undefined) {
        // Nobody logged in: only what a logout must remember until its next page.
        if (payload['state'] !== undefined) browser.keep('Session', id, payload as JsonObject, expiresIn);
        return;
      }
      const session = {
        model: 'Session',
        id,
        accountId,
        grantId: null,
        sessionUid: uid,
        application: null,
        payload: payload as JsonObject,
        expiresAtMs: (payload.exp as number) * 1000,
      };
      if (!(await store.replaceSession(session))) throw new errors.SessionNotFound(OVER);
    },
    find: async (id) => {
      const request = currentRequest();
      const kept = request.browser.find('Session', id);
      if (kept !== null) return kept as AdapterPayload;
      const found = known((await store.find('Session', id))?.payload);
      request.sessionUid = found?.uid ?? null;
      return found;
    },
    findByUid: async (uid) => known((await store.findSession(uid))?.payload),
    destroy: async (id) => {
      const { browser, endedSessions } = currentRequest();
      browser.forget('Session', id);
      // The library also calls this for the old id of a session that goes on under a new one.
      endedSessions.add(id);
    },
  };
}

function artifactAdapter(model: string, { store, clients, clock }: AdapterPorts): Adapter {
  return {
    ...NONE,
    upsert: async (id, payload, expiresIn = 0) => {
      const { accountId, clientId = '', grantId = null } = payload;
      const sessionUid = payload.sessionUid ?? currentRequest().sessionUid;
      if (accountId === undefined) throw new Error(`a ${model} of nobody is not stored`);
      const isHeard =
        model === GRANT && sessionUid !== null && clients.find(clientId, [])?.backChannelLogoutUri != null;
      const isStored = await store.put({
        model,
        id,
        accountId,
        grantId: model === GRANT ? null : grantId,
        sessionUid,
        application: isHeard ? { clientId, providerSessionId: providerSessionId(sessionUid) } : null,
        payload: payload as JsonObject,
        expiresAtMs: clock.nowMs() + expiresIn * 1000,
      });
      if (!isStored) throw new errors.InvalidGrant(OVER);
    },
    find: async (id) => {
      const found = await store.find(model, id);
      if (found === null) return undefined;
      const { payload, consumedAtMs } = found;
      if (consumedAtMs === null) return payload as AdapterPayload;
      // The library ends the grant of a used code. A request that was sent twice must not end what its twin is about to
      // get.
      if (model === CODE && clock.nowMs() - consumedAtMs < TWIN_MS) return undefined;
      return { ...payload, consumed: Math.floor(consumedAtMs / 1000) } as AdapterPayload;
    },
    consume: async (id) => {
      // The library found it unused a moment ago: somebody was faster.
      if (!(await store.consume(model, id))) throw new errors.InvalidGrant('it was already consumed');
    },
    destroy: (id) => (model === GRANT ? store.removeGrant(id) : store.remove(model, id)),
    revokeByGrantId: (grantId) => store.removeGrant(grantId),
  };
}

/** The provider's session, as it is stored. */
export interface ProviderSession {
  readonly kind: 'Session';
  /** Value of the browser's cookie; another one after each login. */
  readonly jti: string;
  /** The same for the life of the session. */
  readonly uid: string;
  readonly accountId: string;
  /** Seconds since 1970, like all times of the library. */
  readonly iat: number;
  readonly exp: number;
  readonly loginTs: number;
  readonly amr: readonly string[];
  /** Id of the passkey that it began with. */
  readonly passkey?: string;
  readonly authorizations?: Readonly<Record<string, { readonly sid?: string; readonly grantId?: string }>>;
}

export function providerSession(payload: JsonObject): ProviderSession {
  return payload as unknown as ProviderSession;
}

/** Whether the person may still be logged in by this session. */
export function isOfKnownPerson(
  { accountId, passkey }: Pick<ProviderSession, 'accountId' | 'passkey'>,
  people: ProvedPeopleReader,
): boolean {
  return people.find(accountId) !== null && (passkey === undefined || people.isEnough(accountId, passkey));
}

/** Null: the session did not log in to the application. */
export function withoutApplication(payload: JsonObject, clientId: string): SessionWithoutApplication | null {
  const { authorizations = {}, ...rest } = providerSession(payload);
  if (!Object.hasOwn(authorizations, clientId)) return null;
  const { [clientId]: ended, ...others } = authorizations;
  return { payload: { ...rest, authorizations: others } as unknown as JsonObject, grantId: ended?.grantId ?? null };
}

/** `sid` in the tokens of all applications that a session logs in to: its logins end with one query. */
export function providerSessionId(sessionUid: string): string {
  return hash('sha256', `sid:${sessionUid}`, 'base64url').slice(0, 22);
}
