import { LruMap } from '../../lib/lru-map.ts';
import type { Identity, Permit, TrafficRequest } from '../contract/decides.ts';
import type { ModuleRuntime, RuntimePorts } from '../contract/keeps-state.ts';
import { originOf } from '../login/flow/return-target.ts';
import { login } from '../login/login.ts';
import type { LoginRuntime } from '../login/login-runtime.ts';
import { SentByHost, type UpstreamIdentity } from '../login/sessions/grant.ts';
import type { BasicCredentials } from './basic-credentials.ts';

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
   * Another one for another password, another user, and after every change of the password. The same for all spellings of
   * a header: otherwise a user could have a hash computed for each, and evict the headers of others.
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
