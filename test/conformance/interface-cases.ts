import type { ApiAnswer, RequestOptions } from '../support/test-world.ts';
import { EPHEMERAL, newId, type Parents, STARTED_AT } from './interface-parents.ts';

/** One request of the walk. Method, path and status come from the interface's own row. */
export interface InterfaceCase {
  /** Operation of a table of section 4. */
  readonly row: string;
  readonly title: string;
  /** Path parameters that differ from the usual ones. */
  readonly params?: (parents: Parents) => Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: (parents: Parents) => unknown;
  readonly options?: RequestOptions;
  /** Set where it is not the row's success status. */
  readonly status?: number;
  /** The exact body. */
  readonly answer?: (parents: Parents, baseUrl: string) => unknown;
  readonly check?: (answer: ApiAnswer, parents: Parents) => void;
}

const MAX_UINT32 = 4_294_967_295;

const unsetOidc = {
  enabled: true,
  options_passthrough: false,
  cookie_prefix: '',
  inactivity_timeout: 0,
  maximum_duration: 0,
  issuer: '',
  client_id: '',
  client_secret: '',
  scopes: [],
};

const fullOidc = {
  enabled: false,
  options_passthrough: true,
  cookie_prefix: 'shop.',
  inactivity_timeout: MAX_UINT32,
  maximum_duration: 86_400,
  issuer: 'https://accounts.example.com',
  client_id: 'my-app',
  client_secret: 'the secret of the app',
  scopes: ['openid', 'email'],
};

const ref = (baseUrl: string, collection: string, id: string) => ({ id, uri: `${baseUrl}${collection}/${id}` });

const backendCases: readonly InterfaceCase[] = ['static', 'tunnel_group', 'http_response', 'weighted', 'failover'].map(
  (kind) => ({
    row: 'Replace backend module',
    title: `with a ${kind} backend, whose uri contains the kind`,
    body: (parents) => ({ backend_id: parents.backends[kind]?.id }),
    answer: (parents, baseUrl) => ({
      enabled: true,
      backend: ref(baseUrl, `/backends/${kind}`, parents.backends[kind]?.id ?? ''),
    }),
  }),
);

const moduleCases: readonly InterfaceCase[] = [
  { row: 'Get OIDC module', title: 'that was never set', status: 404 },
  { row: 'Delete OIDC module', title: 'that was never set' },
  { row: 'Replace OIDC module', title: 'with nothing: all defaults', body: () => ({}), answer: () => unsetOidc },
  { row: 'Get OIDC module', title: 'zero values for all that is unset', answer: () => unsetOidc },
  { row: 'Replace OIDC module', title: 'with every field', body: () => fullOidc, answer: () => fullOidc },
  { row: 'Get OIDC module', title: 'the client secret is returned', answer: () => fullOidc },
  {
    row: 'Replace OIDC module',
    title: 'a field that is left out goes back to its default',
    body: () => ({ issuer: 'https://accounts.example.com' }),
    answer: () => ({ ...unsetOidc, issuer: 'https://accounts.example.com' }),
  },
  { row: 'Replace OIDC module', title: 'without a body', answer: () => unsetOidc },
  { row: 'Delete OIDC module', title: 'that is set' },
  { row: 'Get OIDC module', title: 'after it was deleted', status: 404 },
  { row: 'Get backend module', title: 'that was never set', status: 404 },
  ...backendCases,
  {
    row: 'Replace backend module',
    title: 'switched off',
    body: (parents) => ({ enabled: false, backend_id: parents.backends['static']?.id }),
    answer: (parents, baseUrl) => ({
      enabled: false,
      backend: ref(baseUrl, '/backends/static', parents.backends['static']?.id ?? ''),
    }),
  },
  {
    row: 'Get backend module',
    title: 'as it was put, without backend_id',
    answer: (parents, baseUrl) => ({
      enabled: false,
      backend: ref(baseUrl, '/backends/static', parents.backends['static']?.id ?? ''),
    }),
  },
  {
    row: 'Replace backend module',
    title: 'enabled left out goes back to true',
    body: (parents) => ({ backend_id: parents.backends['static']?.id }),
    answer: (parents, baseUrl) => ({
      enabled: true,
      backend: ref(baseUrl, '/backends/static', parents.backends['static']?.id ?? ''),
    }),
  },
  { row: 'Replace backend module', title: 'without backend_id', body: () => ({}), status: 400 },
  { row: 'Delete backend module', title: 'that is set' },
  { row: 'Delete backend module', title: 'a second time' },
  { row: 'Get backend module', title: 'after it was deleted', status: 404 },
  { row: 'Get compression module', title: 'that was never set', status: 404 },
  {
    row: 'Replace compression module',
    title: 'switched off',
    body: () => ({ enabled: false }),
    answer: () => ({ enabled: false }),
  },
  { row: 'Get compression module', title: 'as it was put', answer: () => ({ enabled: false }) },
  {
    row: 'Replace compression module',
    title: 'enabled left out is true',
    body: () => ({}),
    answer: () => ({ enabled: true }),
  },
  { row: 'Delete compression module', title: 'that is set' },
  { row: 'Get compression module', title: 'after it was deleted', status: 404 },
  {
    row: 'Get compression module',
    title: 'of a route under the wrong edge',
    params: (parents) => ({ edge_id: parents.otherEdge.id }),
    status: 404,
  },
  { row: 'Get mutual TLS module', title: 'that was never set', status: 404 },
  {
    row: 'Replace mutual TLS module',
    title: 'with authorities, in the order given',
    body: ({ authorities }) => ({ certificate_authority_ids: [authorities[2]?.id, authorities[0]?.id] }),
    answer: ({ authorities }, baseUrl) => ({
      enabled: true,
      certificate_authorities: [2, 0].map((index) =>
        ref(baseUrl, '/certificate_authorities', authorities[index]?.id ?? ''),
      ),
    }),
  },
  {
    row: 'Get mutual TLS module',
    title: 'as it was put, without certificate_authority_ids',
    answer: ({ authorities }, baseUrl) => ({
      enabled: true,
      certificate_authorities: [2, 0].map((index) =>
        ref(baseUrl, '/certificate_authorities', authorities[index]?.id ?? ''),
      ),
    }),
  },
  { row: 'Replace mutual TLS module', title: 'enabled without authorities', body: () => ({}), status: 400 },
  {
    row: 'Replace mutual TLS module',
    title: 'switched off, where authorities left out are none',
    body: () => ({ enabled: false }),
    answer: () => ({ enabled: false, certificate_authorities: [] }),
  },
  { row: 'Delete mutual TLS module', title: 'that is set' },
  { row: 'Delete mutual TLS module', title: 'a second time' },
  { row: 'Get mutual TLS module', title: 'after it was deleted', status: 404 },
];

const tunnelCases: readonly InterfaceCase[] = [
  ...EPHEMERAL.map(
    (proto): InterfaceCase => ({
      row: 'Get tunnel',
      title: `an ephemeral ${proto} tunnel has an endpoint and neither labels nor backends`,
      params: ({ tunnels }) => ({ id: tunnels[proto] }),
      answer: ({ tunnels, endpoints, session }, baseUrl) => ({
        id: tunnels[proto],
        public_url: `${proto}://${proto}.localhost:7443`,
        started_at: STARTED_AT,
        metadata: `of the ${proto} tunnel`,
        proto,
        region: 'local',
        tunnel_session: ref(baseUrl, '/tunnel_sessions', session),
        endpoint: ref(baseUrl, '/endpoints', endpoints[proto] ?? ''),
        forwards_to: 'http://localhost:8080',
      }),
    }),
  ),
  {
    row: 'Get tunnel',
    title: 'a backend tunnel has labels and its oldest group, and neither public_url, proto nor endpoint',
    params: ({ tunnels }) => ({ id: tunnels.labelled }),
    answer: labelledTunnel((baseUrl, { olderGroup }) => ref(baseUrl, '/backends/tunnel_group', olderGroup.id)),
  },
  {
    row: 'Get tunnel',
    title: 'a client that sends Ngrok-Version gets all groups as a list, and empty text for what does not apply',
    params: ({ tunnels }) => ({ id: tunnels.labelled }),
    options: { version: null, headers: { 'ngrok-version': '2' } },
    answer: labelledTunnel(
      (baseUrl, { olderGroup, newerGroup }) =>
        [olderGroup, newerGroup].map(({ id }) => ref(baseUrl, '/backends/tunnel_group', id)),
      { public_url: '', proto: '' },
    ),
  },
  {
    row: 'Get tunnel',
    title: 'a backend tunnel that no group matches has no backends but still has metadata',
    params: ({ tunnels }) => ({ id: tunnels.unmatched }),
    answer: ({ tunnels, session }, baseUrl) => ({
      id: tunnels.unmatched,
      started_at: STARTED_AT,
      metadata: '',
      region: 'local',
      tunnel_session: ref(baseUrl, '/tunnel_sessions', session),
      labels: { app: 'nobody' },
      forwards_to: ':1',
    }),
  },
  {
    row: 'Get tunnel',
    title: "in version 0 the metadata is the session's",
    params: ({ tunnels }) => ({ id: tunnels.http }),
    options: { version: '0' },
    check: ({ body }) => equal(body.metadata, 'of the session'),
  },
  { row: 'Get tunnel', title: 'that is not online', params: ({ tunnels }) => ({ id: tunnels.expired }), status: 404 },
  { row: 'Get tunnel', title: 'that never was', params: () => ({ id: newId('tn') }), status: 404 },
  {
    row: 'List tunnels',
    title: 'all that are online, newest first, in the envelope',
    check: ({ body }, { tunnels }) => {
      const { http, https, tcp, tls, labelled, unmatched } = tunnels;
      equal(ids(body.tunnels), [unmatched, labelled, tls, tcp, https, http].join());
      equal(body.next_page_uri, null);
    },
  },
  {
    row: 'List tunnels',
    title: "in version 0 the metadata is the session's",
    options: { version: '0' },
    check: ({ body }) => {
      for (const tunnel of body.tunnels) equal(tunnel.metadata, 'of the session');
    },
  },
  {
    row: 'List tunnels',
    title: 'a page, and where the next one is',
    query: '?limit=4',
    check: ({ body }, { tunnels }) => {
      equal(body.tunnels.length, 4);
      equal(body.next_page_uri, `${body.uri}?before_id=${tunnels.tcp}&limit=4`);
    },
  },
];

const sourceUri = (baseUrl: string, { subscription }: Parents, type: string) =>
  `${baseUrl}/event_subscriptions/${subscription.id}/sources/${type}`;
const CREATED = 'ip_policy_created.v0';
const UPDATED = 'ip_policy_updated.v0';
const eventSource =
  (type: string) =>
  (parents: Parents, baseUrl: string): unknown => ({ type, uri: sourceUri(baseUrl, parents, type) });
const sourceList =
  (...types: string[]) =>
  (parents: Parents, baseUrl: string): unknown => ({
    sources: types.map((type) => eventSource(type)(parents, baseUrl)),
    uri: `${baseUrl}/event_subscriptions/${parents.subscription.id}/sources`,
  });

const sourceCases: readonly InterfaceCase[] = [
  { row: 'List event sources', title: 'none yet', answer: sourceList() },
  { row: 'Get event source', title: 'that was never added', status: 404 },
  { row: 'Update event source', title: 'that was never added', body: () => ({}), status: 404 },
  { row: 'Delete event source', title: 'that was never added', status: 404 },
  {
    row: 'Create event source',
    title: 'the first',
    body: () => ({ type: CREATED }),
    answer: eventSource(CREATED),
  },
  { row: 'Create event source', title: 'one more', body: () => ({ type: UPDATED }), answer: eventSource(UPDATED) },
  { row: 'Create event source', title: 'a type that is there', body: () => ({ type: UPDATED }), status: 409 },
  { row: 'Create event source', title: 'an unknown type', body: () => ({ type: 'ip_policy_eaten.v0' }), status: 400 },
  { row: 'Get event source', title: 'by its type', answer: eventSource(CREATED) },
  { row: 'List event sources', title: 'all of them, in the envelope', answer: sourceList(CREATED, UPDATED) },
  { row: 'Update event source', title: 'with the empty object', body: () => ({}), answer: eventSource(CREATED) },
  { row: 'Update event source', title: 'without a body', answer: eventSource(CREATED) },
  {
    row: 'Update event source',
    title: 'with the path parameters repeated, as generated clients do',
    body: ({ subscription }) => ({ subscription_id: subscription.id, type: CREATED }),
    answer: eventSource(CREATED),
  },
  { row: 'Delete event source', title: 'one of two', params: () => ({ type: UPDATED }) },
  { row: 'List event sources', title: 'the other is left', answer: sourceList(CREATED) },
  { row: 'Delete event source', title: 'the last one' },
  { row: 'Delete event source', title: 'a second time', status: 404 },
  { row: 'List event sources', title: 'none again', answer: sourceList() },
];

export const interfaceCases: readonly InterfaceCase[] = [...moduleCases, ...tunnelCases, ...sourceCases];

/** Default values of `{edge_id}`, `{id}` and the like. */
export function usualParams(path: string, parents: Parents): Readonly<Record<string, string>> {
  if (path.startsWith('/event_subscriptions/')) return { subscription_id: parents.subscription.id, type: CREATED };
  if (path.includes('/routes/')) return { edge_id: parents.edge.id, id: parents.route.id };
  return path.startsWith('/edges/') ? { id: parents.edge.id } : {};
}

function labelledTunnel(
  backends: (baseUrl: string, parents: Parents) => unknown,
  others: object = {},
): InterfaceCase['answer'] & object {
  return (parents, baseUrl) => ({
    ...others,
    id: parents.tunnels.labelled,
    started_at: STARTED_AT,
    metadata: 'of the labelled tunnel',
    region: 'local',
    tunnel_session: ref(baseUrl, '/tunnel_sessions', parents.session),
    labels: { app: 'shop', env: 'prod' },
    backends: backends(baseUrl, parents),
    forwards_to: 'localhost:9000',
  });
}

function ids(items: readonly { readonly id: string }[]): string {
  return items.map(({ id }) => id).join();
}

function equal(actual: unknown, expected: unknown): void {
  if (actual !== expected) throw new Error(`${String(actual)} is not ${String(expected)}`);
}
