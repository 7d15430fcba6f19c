import type { JsonObject } from '../../src/kit/json.ts';
import type { Random } from '../support/random.ts';
import type { Ledger } from './ledger.ts';
import { idIn, kindIn } from './rendered-documents.ts';

/** `POSTERN_API_URL` of the servers under test: `uri` stays the same while the port changes at each start. */
export const BASE_URL = 'http://postern.test';

export const BACKEND_KINDS = ['static_backend', 'weighted_backend', 'failover_backend', 'http_response_backend'];

export interface ModuleWrite {
  readonly name: string;
  readonly body: JsonObject;
  /** As it reads back. */
  readonly state: JsonObject;
}

/** Random contents for a module with every field set, or null when there is nothing yet to refer to. */
export function moduleWrite(name: string, ledger: Ledger, random: Random): ModuleWrite | null {
  const enabled = random.isChosen(0.7);
  switch (name) {
    case 'compression':
      return { name, body: { enabled }, state: { enabled } };
    case 'tls_termination': {
      const min_version = random.isChosen(0.5) ? '1.2' : '1.3';
      return { name, body: { enabled, min_version }, state: { enabled, min_version, terminate_at: 'edge' } };
    }
    case 'oidc': {
      const body = oidcBody(enabled, random);
      return { name, body, state: body };
    }
    case 'backend': {
      const id = random.pick(idsOf(ledger, BACKEND_KINDS));
      return id === undefined
        ? null
        : { name, body: { enabled, backend_id: id }, state: { enabled, backend: refTo(id) } };
    }
    case 'mutual_tls': {
      const ids = random.some(idsOf(ledger, ['certificate_authority']), 3);
      const body = { enabled, certificate_authority_ids: ids };
      return ids.length === 0 ? null : { name, body, state: { enabled, certificate_authorities: ids.map(refTo) } };
    }
    case 'ip_restriction': {
      const ids = random.some(idsOf(ledger, ['ip_policy']), 3);
      const body = { enabled, ip_policy_ids: ids };
      return ids.length === 0 ? null : { name, body, state: { enabled, ip_policies: ids.map(refTo) } };
    }
    default:
      throw new Error(`no contents for ${name}`);
  }
}

function oidcBody(enabled: boolean, random: Random): JsonObject {
  return {
    enabled,
    options_passthrough: random.isChosen(0.5),
    cookie_prefix: `c${random.text(4)}.`,
    inactivity_timeout: random.below(4_294_967_296),
    maximum_duration: random.below(4_294_967_296),
    issuer: `https://${random.text(8)}.example.com`,
    client_id: random.text(12),
    client_secret: random.text(10 + random.below(200)),
    scopes: random.some(['openid', 'email', 'profile', 'groups'], 4),
  };
}

export function idsOf(ledger: Ledger, kinds: readonly string[]): string[] {
  return [...ledger.documents.keys()].filter((key) => kinds.includes(kindIn(key))).map(idIn);
}

const PATHS: Readonly<Record<string, string>> = {
  bkdsc: '/backends/static',
  bkdwd: '/backends/weighted',
  bkdfo: '/backends/failover',
  bkdhr: '/backends/http_response',
  ipp: '/ip_policies',
  ca: '/certificate_authorities',
  ed: '/event_destinations',
};

export function refTo(id: string): JsonObject {
  return { id, uri: `${BASE_URL}${PATHS[id.slice(0, id.indexOf('_'))]}/${id}` };
}
