import inject from 'light-my-request';
import type { Provider } from 'oidc-provider';
import { firstValue, type HeaderList, pairsOf, valuesOf } from '../../../kit/http/header-values.ts';
import { queryOf, type WholeAnswer, type WholeRequest } from '../../../kit/http/whole-request.ts';
import { createProvider, type ProviderOptions } from './create-provider.ts';
import { BrowserKept, type CurrentRequest, type Sealer, withRequest } from './current-request.ts';
import type { IdentityKeys } from './identity-keys.ts';
import { providerSession, providerSessionId, withoutApplication } from './store-adapter.ts';

interface ProviderCall {
  /** Host, with the port if it is not 443: the library's URLs follow it. */
  readonly host: string;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: HeaderList;
  readonly body: Buffer;
  readonly clientAddress: string;
}

/** All that the library reads. Anything else, such as what proxies report, stays outside. */
const PASSED: ReadonlySet<string> = new Set([
  'accept',
  'authorization',
  'content-type',
  'cookie',
  'origin',
  'user-agent',
]);
/** The edge writes these. */
const FRAMING: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'transfer-encoding',
]);

/** Runs the provider on a whole request. It always sees https and the identity host, whatever the visitor claims. */
async function runProvider(provider: Provider, call: ProviderCall): Promise<WholeAnswer> {
  const { host, method, target, body, clientAddress } = call;
  const handle = handlerOf(provider);
  // The answer tells when it is done.
  const answer = await inject((req, res) => void handle(req, res), {
    method,
    url: target,
    headers: { ...passedHeaders(call.headers), host, 'x-forwarded-proto': 'https' },
    remoteAddress: clientAddress,
    ...(body.length > 0 && { payload: body }),
  });
  return { status: answer.statusCode, headers: headersOf(answer.headers), body: answer.rawPayload };
}

type Handler = ReturnType<Provider['callback']>;
const handlers = new WeakMap<Provider, Handler>();

function handlerOf(provider: Provider): Handler {
  const known = handlers.get(provider);
  if (known !== undefined) return known;
  const handler = provider.callback();
  handlers.set(provider, handler);
  return handler;
}

/** Cookies are one line, as HTTP/1.1 has them (RFC 9113 §8.2.3); of others the first counts. */
function passedHeaders(headers: HeaderList): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of pairsOf(headers)) {
    if (!PASSED.has(name)) continue;
    if (passed[name] === undefined) passed[name] = value;
    else if (name === 'cookie') passed[name] += `; ${value}`;
  }
  return passed;
}

function headersOf(headers: Readonly<Record<string, number | string | readonly string[] | undefined>>): HeaderList {
  return Object.entries(headers).flatMap(([name, value]) => {
    if (value === undefined || FRAMING.has(name)) return [];
    return [value].flat().flatMap((line) => [name, String(line)]);
  });
}

interface IdentityProviderOptions extends Omit<ProviderOptions, 'jwks'> {
  /** Host, with the port if it is not 443. */
  readonly host: string;
  readonly keys: IdentityKeys;
  readonly sealer: Sealer;
  /** Ends what the console opened with a session; `clientId`: only if that is the console's; null: in any case. */
  readonly endConsoleSessions: (providerSessionId: string, clientId: string | null) => Promise<void>;
}

interface SentLogout {
  readonly clientId: string;
  readonly accountId: string;
  readonly providerSessionId: string;
}

/** Not in the library's types. */
interface LogoutClient {
  readonly backchannelLogoutUri?: string;
  backchannelLogout(subject: string, sid: string): Promise<void>;
}

const ASKED = ['redirect_uri', 'post_logout_redirect_uri'];
const NOTHING = Buffer.alloc(0);

/** Postern's own OpenID provider. Its keys are fixed when the library's object is made, so new keys make a new one. */
export class IdentityProvider {
  readonly #options: IdentityProviderOptions;
  #made: { readonly fingerprint: string; readonly provider: Provider } | null = null;

  constructor(options: IdentityProviderOptions) {
    this.#options = options;
  }

  get issuer(): string {
    return this.#options.issuer;
  }

  /** A visitor's request. */
  async serve(request: WholeRequest): Promise<WholeAnswer> {
    const { method, target, headers, body, clientAddress } = request;
    const current = this.requestOf(request);
    const call = { host: this.#options.host, method, target, headers, body, clientAddress };
    const answer = await withRequest(current, () => runProvider(this.#provider, call));
    for (const id of current.endedSessions) await this.endSessionWith(id);
    return { ...answer, headers: withCookies(answer.headers, current) };
  }

  /** For what is read and written on behalf of a visitor's request outside of the library. */
  requestOf({ target, headers, body }: Pick<WholeRequest, 'target' | 'headers' | 'body'>): CurrentRequest {
    return {
      browser: new BrowserKept(valuesOf(headers, 'cookie'), this.#options.sealer),
      askedUris: askedUris(target, headers, body),
      isDelivery: false,
      sessionUid: null,
      endedSessions: new Set(),
    };
  }

  /** Ends the session with this id, and everything that it opened. False when there is none. */
  async endSessionWith(id: string): Promise<boolean> {
    const found = await this.#options.store.find('Session', id);
    return found !== null && this.endSession(providerSession(found.payload).uid);
  }

  async endSession(sessionUid: string): Promise<boolean> {
    const { store, issuer, endConsoleSessions } = this.#options;
    const sid = providerSessionId(sessionUid);
    // First: if it fails, the session is still there, and somebody can end it again.
    await endConsoleSessions(sid, null);
    const isEnded = await store.endSession({ issuer, sessionUid, providerSessionId: sid });
    // Once more, for one that began in between.
    await endConsoleSessions(sid, null);
    return isEnded;
  }

  /** Ends one application of the session. False when the session does not have it. */
  async endApplication(sessionUid: string, clientId: string): Promise<boolean> {
    const { store, issuer, endConsoleSessions } = this.#options;
    const sid = providerSessionId(sessionUid);
    await endConsoleSessions(sid, clientId);
    const ended = { issuer, sessionUid, providerSessionId: sid, clientId };
    return store.endApplication(ended, (payload) => withoutApplication(payload, clientId));
  }

  /** Tells an application that a session has ended. Rejects when it did not accept that. */
  async sendLogout({ clientId, accountId, providerSessionId: sid }: SentLogout): Promise<void> {
    const request = { ...this.requestOf({ target: '/', headers: [], body: NOTHING }), isDelivery: true };
    await withRequest(request, async () => {
      const client = (await this.#provider.Client.find(clientId)) as LogoutClient | undefined;
      // The client was deleted, or no longer wants to hear of it.
      if (client?.backchannelLogoutUri === undefined) return;
      await client.backchannelLogout(accountId, sid);
    });
  }

  get #provider(): Provider {
    const { fingerprint, jwks } = this.#options.keys.current();
    if (this.#made?.fingerprint !== fingerprint) {
      this.#made = { fingerprint, provider: createProvider({ ...this.#options, jwks }) };
    }
    return this.#made.provider;
  }
}

function askedUris(target: string, headers: HeaderList, body: Buffer): readonly string[] {
  const isForm = firstValue(headers, 'content-type')?.startsWith('application/x-www-form-urlencoded') === true;
  const query = queryOf({ target });
  const form = new URLSearchParams(isForm ? body.toString('utf8') : '');
  return ASKED.flatMap((name) => [...query.getAll(name), ...form.getAll(name)]);
}

function withCookies(headers: HeaderList, { browser }: CurrentRequest): HeaderList {
  return [...headers, ...browser.cookies.flatMap((line) => ['set-cookie', line])];
}
