import { LruMap } from '../../../lib/lru-map.ts';
import type { ModuleLog, RuntimePorts } from '../../contract/keeps-state.ts';
import type { ConfiguredBy } from '../../contract/prepare.ts';
import type { TrafficRequest } from '../../contract/traffic-request.ts';
import type { LoginRuntime } from '../../login/login-runtime.ts';
import type { LoginProblem } from '../../login/provider/login-problem.ts';
import { AccountTokens } from './account-tokens.ts';
import { TokenUses } from './token-uses.ts';
import { WorkloadTokens } from './workload-tokens.ts';

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
