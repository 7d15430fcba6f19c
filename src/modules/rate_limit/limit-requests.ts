import type { DecidingRule, LaterDecision, Pass, Refusal, TrafficRequest, Verdict } from '../contract/decides.ts';
import type { ModuleRuntime, RuntimePorts } from '../contract/keeps-state.ts';
import type { PreparePorts } from '../contract/prepare.ts';
import type { PreparedModule } from '../contract/prepared-module.ts';
import { rateLimitErrors } from './errors.ts';
import { type Exceeded, LimitTable, type Rate } from './limit-table.ts';
import { complete, type Limit, type LimitKey, limitKey, type RateLimitConfig } from './rate-limit-config.ts';

const CODE = 'ERR_POSTERN_TOO_MANY_REQUESTS';
const PASS: Pass = { isPass: true, reason: 'within_limits' };

/** A limit of the module, prepared for traffic. */
interface PreparedLimit extends Rate, LimitKey {
  /** As in the configuration, such as `limits[0]`. */
  readonly name: string;
  readonly key: string;
  /** For clients. */
  readonly policy: string;
  /** For operators. */
  readonly rule: DecidingRule;
}

/** What is asked at one of the module's two places. */
interface LimitsOfPlace {
  readonly limits: readonly PreparedLimit[];
  /** The value of RateLimit-Policy, which names all limits of the module. */
  readonly policies: string;
  readonly isEnforced: boolean;
  readonly runtime: RateLimitRuntime;
}

/** Limits by person or program are asked at the later place. */
export function limitRequests(
  { limits, enforce }: RateLimitConfig,
  { place, runtime }: PreparePorts<RateLimitRuntime>,
): PreparedModule {
  // No traffic is served without a runtime.
  if (runtime === null) return { judge: () => PASS };
  const all = limits.map((limit, at) => prepareLimit(complete(limit), at, place, runtime.table));
  const common = { policies: all.map(({ policy }) => policy).join(', '), isEnforced: enforce, runtime };
  const [early, late] = [all.filter(({ isLater }) => !isLater), all.filter(({ isLater }) => isLater)];
  return {
    ...(early.length > 0 && decisionOf({ limits: early, ...common })),
    ...(late.length > 0 && { later: decisionOf({ limits: late, ...common }) }),
  };
}

function prepareLimit(
  limit: Limit,
  at: number,
  { kind, edgeId, routeId }: PreparePorts['place'],
  table: LimitTable,
): PreparedLimit {
  const owner = routeId ?? edgeId;
  const name = `limits[${at}]`;
  const intervalMs = (limit.window_seconds * 1_000) / limit.limit;
  const burst = limit.burst === 0 ? limit.limit : limit.burst;
  return {
    ...limitKey(limit.key),
    name,
    key: limit.key,
    policy: `"${name}";q=${limit.limit};w=${limit.window_seconds}`,
    rule: {
      ...{ kind, id: owner, parent: edgeId },
      text: `${name}: ${limit.limit} in ${limit.window_seconds} s by ${limit.key}`,
    },
    hashKey: table.hashKeyOf(identityOf(owner, limit)),
    intervalMs,
    spanMs: intervalMs * burst,
  };
}

/**
 * What was used stays with a limit as long as it counts by the same key in a window of the same length: a change of
 * `limit`, `burst` or other limits, or a module that is disabled for a moment, resets nobody.
 */
function identityOf(owner: string, { key, window_seconds }: Limit): string {
  return `${owner} ${window_seconds} ${key}`;
}

function decisionOf(place: LimitsOfPlace): LaterDecision {
  const { limits, runtime } = place;
  const { table } = runtime;
  const keys: string[] = limits.map(() => '');
  return {
    admit: (request) => {
      for (let at = 0; at < limits.length; at += 1) keys[at] = (limits[at] as PreparedLimit).textOf(request);
      const exceeded = table.spend(limits, keys);
      if (exceeded === null) return PASS;
      runtime.exceeded(place.isEnforced ? 'refused' : 'would_refuse');
      return verdictOn(exceeded, place);
    },
    judge: (request) => look(request, place),
  };
}

/** Takes nothing. */
function look(request: TrafficRequest, place: LimitsOfPlace): Verdict {
  const found = place.limits.map((limit) => place.runtime.table.look(limit, limit.textOf(request)));
  const waitMs = Math.max(...found.map((each) => each.waitMs));
  if (found.some(({ left }) => left === 0))
    return verdictOn({ at: found.findIndex((each) => each.left === 0 && each.waitMs === waitMs), waitMs }, place);
  const rest = place.limits.map(({ name, key }, at) => `${name} by ${key}: ${found[at]?.left}`).join(', ');
  return { ...PASS, text: `Requests that would pass now, on this node: ${rest}.` };
}

function verdictOn({ at, waitMs }: Exceeded, { limits, policies, isEnforced }: LimitsOfPlace): Verdict {
  const { name, key, rule } = limits[at] as PreparedLimit;
  if (!isEnforced) return { isPass: true, reason: 'rehearsed', wouldRefuse: { reason: 'rate', rule: name } };
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  const refusal: Refusal = {
    status: rateLimitErrors.rows[CODE].status,
    code: CODE,
    message: `Too many requests. Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`,
    reason: 'rate',
    rule,
    // draft-ietf-httpapi-ratelimit-headers-10: "t" is the same point in time as Retry-After.
    headers: [
      ...['retry-after', String(seconds)],
      ...['ratelimit-policy', policies],
      ...['ratelimit', `"${name}";r=0;t=${seconds}`],
    ],
    details: { limit: name, key },
  };
  return refusal;
}

/** The state of the module in one thread: the table is that of the node. */
export class RateLimitRuntime implements ModuleRuntime {
  readonly table: LimitTable;
  readonly exceeded: (outcome: 'refused' | 'would_refuse') => void;

  private constructor(ports: RuntimePorts) {
    const full = ports.counter({
      name: 'postern_rate_limit_full_total',
      help: 'Requests whose key found no free place in the table of rate limits: another key, which had used less than half of its limit, was forgotten, or the key shares a limit with others that have no place.',
      label: 'effect',
    });
    this.table = new LimitTable(ports.nodeMemory(), full);
    this.exceeded = ports.counter({
      name: 'postern_rate_limit_exceeded_total',
      help: 'Requests beyond a rate limit: refused, or let pass by a rehearsal (would_refuse).',
      label: 'outcome',
    });
  }

  static async open(ports: RuntimePorts): Promise<RateLimitRuntime> {
    return new RateLimitRuntime(ports);
  }

  async close(): Promise<void> {}
}
