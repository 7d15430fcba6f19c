import { LruMap } from '../../lib/lru-map.ts';
import type { ModuleRuntime, RuntimePorts } from '../contract/keeps-state.ts';
import type { TrafficRequest } from '../contract/traffic-request.ts';
import { login } from '../login/login.ts';
import type { LoginRuntime } from '../login/login-runtime.ts';
import type { BasicCredentials } from './basic-credentials.ts';
import type { PasswordPermit } from './password-permit.ts';

/** Right headers that this thread has seen: 1 MB. Only right ones are here, so guesses evict nothing. */
const MAX_REMEMBERED = 10_000;
/** User names share this many budgets: inventing names evicts none, and tells nothing about which exist. */
const SLOTS = 1_000;

export type PasswordResult = 'right' | 'remembered' | 'wrong' | 'malformed' | 'busy' | 'limited';

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
