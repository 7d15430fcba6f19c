import { LruMap } from '../../kit/lru-map.ts';
import type { Identity, Permit, TrafficRequest } from '../contract/decides.ts';
import type { ModuleRuntime, RuntimePorts } from '../contract/keeps-state.ts';
import { originOf } from '../login/flow/return-target.ts';
import { login } from '../login/login.ts';
import type { LoginRuntime } from '../login/login-runtime.ts';
import { SentByHost, type UpstreamIdentity } from '../login/sessions/grant.ts';

/** A name and a password of 128 characters each have 1,400 in UTF-8 and base64. */
const MAX_LINE = 2_048;
/** RFC 7617 §2: the scheme is case-insensitive, the rest is base64 with padding (RFC 4648 §4). */
const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i;
const STARTS_BASIC = /^\s*basic(?![A-Za-z0-9!#$%&'*+.^_`|~-])/i;
/** RFC 9110 §5.3: proxies join repeated fields with commas. A parameter has "=" after its name. */
const JOINED_BASIC = /,\s*basic(?:\s+[^\s=]|\s*$)/i;
/** RFC 7617 §2: neither part has control characters. */
const CONTROL = /\p{Cc}/u;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export interface BasicCredentials {
  readonly username: string;
  readonly password: string;
}

/**
 * The user name and password in the lines of Authorization fields: null when there are none that can be right. They are
 * read as one form only, so that nobody reads another name or password out of the same header.
 */
export function basicCredentials(lines: readonly string[]): BasicCredentials | null {
  const [line = ''] = lines;
  if (lines.length !== 1 || line.length > MAX_LINE) return null;
  const [, encoded] = BASIC.exec(line) ?? [];
  if (encoded === undefined) return null;
  const bytes = Buffer.from(encoded, 'base64');
  // Other spellings of the same bytes, which lenient decoders accept.
  if (bytes.toString('base64') !== encoded) return null;
  const text = decoded(bytes);
  const colon = text?.indexOf(':') ?? -1;
  if (text === null || colon === -1 || CONTROL.test(text)) return null;
  // As `sameName` does.
  return { username: text.slice(0, colon).normalize('NFC'), password: text.slice(colon + 1).normalize('NFC') };
}

/** Whether a line may hold a password, right or wrong: it is not forwarded. */
export function hasBasicCredentials(lines: readonly string[]): boolean {
  return lines.some((line) => STARTS_BASIC.test(line) || JOINED_BASIC.test(line));
}

/** Whether a text can be part of a header with credentials. */
export function isCredentialText(text: string): boolean {
  return text.isWellFormed() && !CONTROL.test(text);
}

function decoded(bytes: Buffer): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

/** Right headers that this thread has seen: 1 MB. Only right ones are here, so guesses evict nothing. */
const MAX_REMEMBERED = 10_000;
/** User names share this many budgets: inventing names evicts none, and tells nothing about which exist. */
const SLOTS = 1_000;

type PasswordResult = 'right' | 'remembered' | 'wrong' | 'malformed' | 'busy' | 'limited';

/** The module's state in one thread. */
export class BasicAuthRuntime implements ModuleRuntime {
  readonly login: LoginRuntime;
  readonly count: (result: PasswordResult) => void;
  readonly remembered = new LruMap<string, true>(MAX_REMEMBERED);
  /** The users of requests that were admitted: a stream is asked about again without its password. */
  readonly admitted = new WeakMap<TrafficRequest, PasswordPermit>();
  readonly #mac: RuntimePorts['mac'];

  constructor(ports: Pick<RuntimePorts, 'shared' | 'mac' | 'counter'>) {
    this.login = ports.shared(login);
    this.#mac = (purpose, data) => ports.mac(purpose, data);
    this.count = ports.counter({
      name: 'postern_basic_auth_requests_total',
      help: 'Requests with a user name and a password, by result.',
      label: 'result',
    });
  }

  /**
   * Another one for another password, another user, and after every change of the password. The same for all spellings
   * of a header: otherwise a user could have a hash computed for each, and evict the headers of others.
   */
  digest({ username, password }: BasicCredentials, hash: string): string {
    return this.#mac('basic_auth header', `${hash} ${username}:${password}`);
  }

  /** Stands for a user name of a route where guesses are counted. */
  slot(routeId: string, username: string): string {
    const digest = this.#mac('basic_auth slot', `${routeId} ${username}`);
    return `slot ${Number.parseInt(digest.slice(0, 8), 16) % SLOTS}`;
  }

  sessionId(hash: string): string {
    return this.#mac('basic_auth session', hash).slice(0, 32);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** A user of a route, and the permit of every request with the right password. It ends with the configuration. */
export class PasswordPermit implements Permit {
  readonly module = 'basic_auth';
  readonly version = 0;
  readonly identity: Identity;
  readonly hash: string;
  readonly #sent = new SentByHost();
  readonly #sessionId: string;

  constructor(username: string, hash: string, sessionId: string) {
    this.hash = hash;
    this.#sessionId = sessionId;
    this.identity = {
      kind: 'user',
      id: username,
      email: '',
      isEmailVerified: false,
      name: username,
      claims: { username },
      droppedClaims: [],
    };
  }

  get userId(): string {
    return this.identity.id;
  }

  /** Nothing ends it while the configuration stays: a change asks every request again. */
  isHeld(): boolean {
    return true;
  }

  touch(): void {}

  upstreamHeaders(identity: UpstreamIdentity, request: TrafficRequest): readonly string[] {
    const { id, claims } = this.identity;
    const user = () => ({
      ...{ kind: 'user' as const, id, name: id, email: null, claims },
      ...{ origin: originOf(request), host: request.host },
      ...{ sessionId: this.#sessionId, provider: this.module, subject: id },
    });
    return this.#sent.get(request.authority, 0, (known) => identity.current(known, request.nowMs, user)).headers;
  }
}
