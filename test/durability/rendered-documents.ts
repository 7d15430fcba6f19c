import type { JsonObject } from '../../src/kit/json.ts';

/** `kind id`; a module's kind is `owner's kind.module`, and its id the owner's. */
export type DocumentKey = string;

export interface Collection {
  readonly kind: string;
  readonly path: string;
  readonly listKey: string;
}

/** The resources that writers change, as the API lists them. Routes and modules are read inside their edge. */
export const COLLECTIONS: readonly Collection[] = [
  { kind: 'https_edge', path: '/edges/https', listKey: 'https_edges' },
  { kind: 'static_backend', path: '/backends/static', listKey: 'backends' },
  { kind: 'weighted_backend', path: '/backends/weighted', listKey: 'backends' },
  { kind: 'failover_backend', path: '/backends/failover', listKey: 'backends' },
  { kind: 'http_response_backend', path: '/backends/http_response', listKey: 'backends' },
  { kind: 'ip_policy', path: '/ip_policies', listKey: 'ip_policies' },
  { kind: 'ip_policy_rule', path: '/ip_policy_rules', listKey: 'ip_policy_rules' },
  { kind: 'event_subscription', path: '/event_subscriptions', listKey: 'event_subscriptions' },
  { kind: 'event_destination', path: '/event_destinations', listKey: 'event_destinations' },
  { kind: 'certificate_authority', path: '/certificate_authorities', listKey: 'certificate_authorities' },
];

const MODULES: Readonly<Record<string, readonly string[]>> = {
  https_edge: ['tls_termination', 'mutual_tls'],
  https_edge_route: ['ip_restriction', 'oidc', 'compression', 'backend'],
};

export function keyOf(kind: string, id: string): DocumentKey {
  return `${kind} ${id}`;
}

export function kindIn(key: DocumentKey): string {
  return key.slice(0, key.indexOf(' '));
}

export function idIn(key: DocumentKey): string {
  return key.slice(key.indexOf(' ') + 1);
}

/** Splits a resource, as the API shows it, into the documents that it is stored as. */
export function documentsIn(kind: string, body: JsonObject): Map<DocumentKey, JsonObject> {
  const id = body['id'] as string;
  const modules = MODULES[kind] ?? [];
  const { routes, ...rest } = body;
  const own = Object.fromEntries(Object.entries(rest).filter(([name]) => !modules.includes(name)));
  const documents = new Map([[keyOf(kind, id), own as JsonObject]]);
  for (const name of modules) {
    const module = body[name];
    if (module !== null && module !== undefined) documents.set(keyOf(`${kind}.${name}`, id), module as JsonObject);
  }
  for (const route of (routes as JsonObject[] | undefined) ?? []) {
    for (const [key, document] of documentsIn('https_edge_route', route)) documents.set(key, document);
  }
  return documents;
}
