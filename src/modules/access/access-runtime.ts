import { LruMap } from '../../kit/lru-map.ts';
import type { ConfiguredBy } from '../contract/agent-form.ts';
import type { TrafficRequest } from '../contract/decides.ts';
import type { ModuleLog, ModuleRuntime, RuntimePorts } from '../contract/keeps-state.ts';
import { login } from '../login/login.ts';
import type { LoginRuntime } from '../login/login-runtime.ts';
import type { LoginProblem } from '../login/provider/login-problem.ts';
import { Guests } from './guests/guests.ts';
import { AccountTokens, TokenUses } from './programs/account-tokens.ts';
import { WorkloadTokens } from './programs/workload-tokens.ts';

const MINUTE_MS = 60_000;
const MAX_ISSUERS = 1_000;

/** Tokens of programs, for all routes. */
export class ProgramsRuntime {
  readonly accountTokens: AccountTokens;
  readonly login: LoginRuntime;
  readonly followed: RuntimePorts['followed'];
  readonly #uses: TokenUses;
  readonly #workloadTokens: Readonly<Record<ConfiguredBy, WorkloadTokens>>;
  readonly #log: ModuleLog;
  readonly #loggedMs = new LruMap<string, number>(MAX_ISSUERS);

  constructor(ports: RuntimePorts, login: LoginRuntime) {
    this.login = login;
    this.followed = ports.followed;
    this.#log = ports.log;
    this.#uses = new TokenUses(ports);
    this.accountTokens = new AccountTokens(ports.followed, (token) => this.#uses.add(token));
    this.#workloadTokens = {
      operator: new WorkloadTokens(login.tokenIssuersFor('operator')),
      agent: new WorkloadTokens(login.tokenIssuersFor('agent')),
    };
  }

  workloadTokensFor(configuredBy: ConfiguredBy): WorkloadTokens {
    return this.#workloadTokens[configuredBy];
  }

  /** For the operator, at most once a minute per issuer: every request with its tokens has the problem. */
  issuerFailed({ id, nowMs }: TrafficRequest, issuer: string, { reason, message }: LoginProblem): void {
    const loggedMs = this.#loggedMs.get(issuer) ?? 0;
    if (Math.abs(nowMs - loggedMs) < MINUTE_MS) return;
    this.#loggedMs.set(issuer, nowMs);
    this.#log.warn({ request_id: id, issuer, reason, problem: message }, 'tokens of an issuer cannot be verified');
  }

  async close(): Promise<void> {
    this.accountTokens.close();
    await this.#uses.close();
  }
}

export type CountedDecision = 'allow' | 'refuse' | 'would_refuse';

/** The module's state for the whole process. */
export class AccessRuntime implements ModuleRuntime {
  readonly count: (decision: CountedDecision) => void;
  readonly login: LoginRuntime;
  readonly programs: ProgramsRuntime;
  readonly guests: Guests;

  static open(ports: RuntimePorts): Promise<AccessRuntime> {
    return Promise.resolve(new AccessRuntime(ports));
  }

  private constructor(ports: RuntimePorts) {
    this.login = ports.shared(login);
    this.programs = new ProgramsRuntime(ports, this.login);
    this.guests = new Guests(ports, this.login);
    this.count = ports.counter({
      name: 'postern_access_decisions_total',
      help: 'Decisions of access rules, by result. Streams in progress are decided again when a rule or an identity changes.',
      label: 'decision',
    });
  }

  async close(): Promise<void> {
    this.guests.close();
    await this.programs.close();
  }
}
