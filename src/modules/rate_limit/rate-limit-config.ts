import type { Static } from 'typebox';
import Type from 'typebox';
import { isToken } from '../../kit/http1/header-block.ts';
import { ownerOf } from '../../kit/net/shared-places.ts';
import { bodyProblem } from '../../kit/schema/decode-body.ts';
import type { FieldProblem } from '../../kit/schema/field-problem.ts';
import type { Identity, TrafficRequest } from '../contract/decides.ts';
import { enabledField } from '../contract/module.ts';
import { MAX_LIMITS } from './limit-table.ts';

const HEADER = 'header:';
const MAX_HEADER_NAME_LENGTH = 64;
/** Values of headers that begin in the same way count as one: the time of a hash grows with its text. */
const MAX_VALUE_LENGTH = 1_024;
/** Before what is no address, so that nobody can send the text of an address in a header. */
const MARK = '=';

/** What requests are counted by. */
export interface LimitKey {
  /** The key needs to know who sends the request, so it is asked after `access`. */
  readonly isLater: boolean;
  /** Requests with the same text count together. */
  readonly textOf: (request: TrafficRequest) => string;
}

/** In the form that is stored; null: there is no such key. */
export function normalizedKey(text: string): string | null {
  if (text === 'address' || text === 'route' || text === 'user' || text === 'service_account') return text;
  if (!text.startsWith(HEADER)) return null;
  const name = text.slice(HEADER.length);
  return isToken(name) && name.length <= MAX_HEADER_NAME_LENGTH ? text.toLowerCase() : null;
}

export function limitKey(text: string): LimitKey {
  switch (text) {
    case 'address':
      return { isLater: false, textOf: addressOf };
    case 'route':
      return { isLater: false, textOf: () => '' };
    case 'user':
      return { isLater: true, textOf: (request) => textOfRequester(request, ({ kind }) => kind === 'user') };
    case 'service_account':
      return { isLater: true, textOf: (request) => textOfRequester(request, isProgram) };
    default: {
      const name = text.slice(HEADER.length);
      return { isLater: false, textOf: (request) => marked(request.header(name)) ?? addressOf(request) };
    }
  }
}

function addressOf({ clientAddress }: TrafficRequest): string {
  return ownerOf(clientAddress);
}

function textOfRequester(request: TrafficRequest, isMeant: (identity: Identity) => boolean): string {
  const identity = request.permit?.identity;
  return identity !== undefined && isMeant(identity) ? `${MARK}${identity.kind} ${identity.id}` : addressOf(request);
}

/** A workload is a program with a token of another issuer. */
function isProgram({ kind }: Identity): boolean {
  return kind === 'service_account' || kind === 'workload';
}

function marked(value: string | undefined): string | undefined {
  return value === undefined || value === '' ? undefined : `${MARK}${value.slice(0, MAX_VALUE_LENGTH)}`;
}

export const MAX_REQUESTS = 1_000_000;
export const MAX_WINDOW_SECONDS = 86_400;

export const DEFAULT_KEY = 'address';

const limit = Type.Object(
  {
    limit: Type.Integer({
      minimum: 1,
      maximum: MAX_REQUESTS,
      description: `How many requests may pass in each window, spread evenly: 1 to ${MAX_REQUESTS}.`,
    }),
    window_seconds: Type.Integer({
      minimum: 1,
      maximum: MAX_WINDOW_SECONDS,
      description: `Length of the window in seconds: 1 to ${MAX_WINDOW_SECONDS}.`,
    }),
    burst: Type.Optional(
      Type.Integer({
        default: 0,
        minimum: 0,
        maximum: MAX_REQUESTS,
        description: `How many requests may arrive at once after a pause: up to ${MAX_REQUESTS}. 0, the default: as many as "limit".`,
      }),
    ),
    key: Type.Optional(
      Type.String({
        default: DEFAULT_KEY,
        maxLength: 'header:'.length + MAX_HEADER_NAME_LENGTH,
        description:
          'What is counted: "address" (IPv6: its /64), "user", "service_account" (or another program with a token), "header:NAME", or "route" for all requests together. Without that person, program or header, the address counts. A client chooses its headers. Default: "address".',
      }),
    ),
  },
  { additionalProperties: false },
);

export const rateLimitConfig = Type.Object({
  enabled: enabledField,
  enforce: Type.Boolean({
    default: true,
    description:
      'Whether the limits are enforced. false rehearses them: every request passes and counts, and the log, the metrics and the events report which would have been refused. Default: true.',
  }),
  limits: Type.Array(limit, {
    default: [],
    maxItems: MAX_LIMITS,
    description: `1 to ${MAX_LIMITS} limits, all of which must have room for a request. A request that one of them refuses uses none of the others that are asked with it. May be empty only while "enabled" is false.`,
  }),
});

export type RateLimitConfig = Static<typeof rateLimitConfig>;
/** As it is stored. */
export type Limit = Required<RateLimitConfig['limits'][number]>;

export function checkLimits({ enabled, limits }: RateLimitConfig): readonly FieldProblem[] {
  if (enabled && limits.length === 0) {
    const advice = `must list 1 to ${MAX_LIMITS} limits while the module is enabled, such as {"limit": 100, "window_seconds": 60}, or send "enabled": false`;
    return [bodyProblem('limits', advice)];
  }
  const problems: FieldProblem[] = [];
  const seen = new Map<string, number>();
  for (const [at, { key, window_seconds }] of limits.map(complete).entries()) {
    const known = normalizedKey(key);
    if (known === null) {
      const message = `must be "address", "user", "service_account", "route", or "header:" with the name of a header of up to ${MAX_HEADER_NAME_LENGTH} characters`;
      problems.push({ path: `/limits/${at}/key`, message });
      continue;
    }
    const other = seen.get(`${window_seconds} ${known}`);
    seen.set(`${window_seconds} ${known}`, at);
    // Both limits would count in the same place: see `identityOf`.
    if (other !== undefined) {
      const message = `counts the same as limits[${other}] in a window of the same length: keep one of them`;
      problems.push({ path: `/limits/${at}`, message });
    }
  }
  return problems;
}

/** With all fields, and names of headers in lower case. */
export function normalizeLimits(config: RateLimitConfig): RateLimitConfig {
  const limits = config.limits.map(complete);
  return { ...config, limits: limits.map((each) => ({ ...each, key: normalizedKey(each.key) ?? each.key })) };
}

/** Clients send empty values for what they do not set. */
export function complete({ burst = 0, key = '', ...rest }: RateLimitConfig['limits'][number]): Limit {
  return { ...rest, burst, key: key === '' ? DEFAULT_KEY : key };
}
