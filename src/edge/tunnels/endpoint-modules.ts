import { cidrProblem } from '../../lib/cidr.ts';
import { certificatesIn, describeCertificate } from '../../lib/describe-certificate.ts';
import type { JsonObject } from '../../lib/json.ts';
import { createDecoder } from '../../lib/schema/decode-body.ts';
import { fieldName } from '../../lib/schema/field-problem.ts';
import { AGENT_MODULES } from '../../modules/agent-modules.ts';
import type { CheckContext, Module } from '../../modules/module.ts';
import { type ModuleSettings, settingsOf } from '../../modules/module-settings.ts';
import type { DetachedRecord } from '../../snapshot/detached-edge.ts';
import type { EndpointModules } from '../../tunnel/messages.ts';

export type Proto = 'http' | 'https' | 'tcp' | 'tls';
type ModuleName = keyof EndpointModules;

export interface DecodedModules {
  readonly modules: ReadonlyMap<string, JsonObject>;
  readonly records: readonly DetachedRecord[];
}

/** What this server has for modules. */
export interface ModuleServer {
  readonly modules: readonly Module[];
  readonly moduleSettings: ModuleSettings;
  readonly agentIssuers?: CheckContext['agentIssuers'];
}

/** Refusal message for the agent's user. */
export class ModuleRefusal extends Error {}

/**
 * Cookies without confidentiality, certificates without TLS, responses that nobody can read: these combinations are
 * impossible.
 */
const POSSIBLE: Readonly<Record<Proto, readonly ModuleName[]>> = {
  https: AGENT_MODULES,
  http: ['ip_restriction', 'compression'],
  tcp: ['ip_restriction'],
  tls: ['ip_restriction'],
};
const WHY_NOT: Readonly<Record<Proto, string>> = {
  https: '',
  http: 'over plain http nothing keeps a login or a certificate from whoever listens: use https',
  tcp: 'a tcp tunnel carries bytes that the server does not look into',
  tls: 'a tls tunnel is decrypted by the agent, and the server does not look into it',
};
const EVERYBODY = ['0.0.0.0/0', '::/0'];
const MAX_AUTHORITIES = 10;

/** Converts an agent's request into the modules of an edge. Throws ModuleRefusal. */
export function decodeModules(
  endpointId: string,
  proto: Proto,
  asked: EndpointModules,
  server: ModuleServer,
): DecodedModules {
  for (const name of Object.keys(asked) as ModuleName[]) {
    if (asked[name] === undefined || POSSIBLE[proto].includes(name)) continue;
    if (!(POSSIBLE.https as readonly string[]).includes(name)) throw new ModuleRefusal(`there is no module "${name}"`);
    throw new ModuleRefusal(`${name} cannot be applied to a tunnel of the protocol ${proto}: ${WHY_NOT[proto]}`);
  }
  const decoded = new Map<string, JsonObject>();
  const records: DetachedRecord[] = [];
  for (const name of ['oidc', 'compression'] as const) {
    const config = asked[name];
    if (config !== undefined) decoded.set(name, decodeByModule(name, config as JsonObject, server));
  }
  const { ip_restriction: addresses, mutual_tls: certificates } = asked;
  if (addresses !== undefined) {
    const policyId = `${endpointId}.policy`;
    decoded.set('ip_restriction', { enabled: true, ip_policy_ids: [policyId] });
    records.push(...policyRecords(policyId, addresses));
  }
  if (certificates !== undefined) {
    const authorities = authorityRecords(endpointId, certificates.ca_pems);
    decoded.set('mutual_tls', { enabled: true, certificate_authority_ids: authorities.map(({ id }) => id) });
    records.push(...authorities);
  }
  return { modules: decoded, records };
}

/** Decodes it like a PUT. */
function decodeByModule(
  name: string,
  config: JsonObject,
  { modules, moduleSettings, agentIssuers }: ModuleServer,
): JsonObject {
  const module = modules.find((registered) => registered.name === name);
  if (module === undefined) throw new ModuleRefusal(`this server has no module "${name}"`);
  const decoded = createDecoder(module.config).decode(config);
  const settings = settingsOf(moduleSettings, module);
  const context = { settings, ...(agentIssuers !== undefined && { agentIssuers }) };
  const problems = decoded.ok ? (module.check?.(decoded.value as never, context) ?? []) : decoded.problems;
  const [problem] = problems;
  if (problem !== undefined || !decoded.ok) {
    throw new ModuleRefusal(`${name}: ${fieldName(problem?.path ?? '')} ${problem?.message ?? ''}`);
  }
  const missing = name === 'oidc' ? ['issuer', 'client_id'].filter((field) => decoded.value[field] === '') : [];
  if (missing.length > 0) throw new ModuleRefusal(`${name}: ${missing.join(' and ')} must be given`);
  return decoded.value;
}

/** Without an allow list everybody is allowed unless denied. */
function policyRecords(
  policyId: string,
  { allow, deny }: NonNullable<EndpointModules['ip_restriction']>,
): readonly DetachedRecord[] {
  if (allow.length === 0 && deny.length === 0) {
    throw new ModuleRefusal('ip_restriction: give at least one range that is allowed or denied');
  }
  const rule = (action: 'allow' | 'deny', cidr: string, at: number): DetachedRecord => {
    const problem = cidrProblem(cidr);
    if (problem !== null) throw new ModuleRefusal(`ip_restriction: ${JSON.stringify(cidr)} ${problem}`);
    return { kind: 'ip_policy_rule', id: `${policyId}.${action}.${at}`, parent: policyId, doc: { action, cidr } };
  };
  return [
    { kind: 'ip_policy', id: policyId, parent: null, doc: {} },
    ...(allow.length === 0 ? EVERYBODY : allow).map((cidr, at) => rule('allow', cidr, at)),
    ...deny.map((cidr, at) => rule('deny', cidr, at)),
  ];
}

/** An agent's file may contain several. */
function authorityRecords(endpointId: string, pems: readonly string[]): readonly DetachedRecord[] {
  const certificates = pems.flatMap((pem) => {
    try {
      return certificatesIn(pem).map((certificate) => ({ certificate, isCa: describeCertificate(certificate).isCa }));
    } catch {
      throw new ModuleRefusal(
        'mutual_tls: a CA certificate cannot be read: give certificates in PEM, and nothing else',
      );
    }
  });
  if (certificates.length === 0 || certificates.length > MAX_AUTHORITIES) {
    throw new ModuleRefusal(`mutual_tls: give 1 to ${MAX_AUTHORITIES} CA certificates`);
  }
  if (certificates.some(({ isCa }) => !isCa)) {
    throw new ModuleRefusal(
      'mutual_tls: a certificate is not one of an authority (basicConstraints CA:TRUE is missing): give the certificate of the CA, not one that it issued',
    );
  }
  return certificates.map(({ certificate }, at) => ({
    kind: 'certificate_authority',
    id: `${endpointId}.ca.${at}`,
    parent: null,
    doc: { ca_pem: certificate.toString() },
  }));
}
