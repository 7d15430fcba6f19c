/** A list of the retired API. */
export interface RetiredList {
  readonly path: string;
  /** Field of the answer that has the items. */
  readonly listKey: string;
  /** Key under which the documents are kept: every kind of backend has its own. */
  readonly key: string;
  /** Null: Postern has the same resource. */
  readonly notCarried: string | null;
}

const STREAMS = 'Postern has no edges for it: start an agent with "postern tcp" or "postern tls" instead';

export const RETIRED_LISTS: readonly RetiredList[] = [
  list('/edges/https', 'https_edges'),
  list('/edges/tcp', 'tcp_edges', STREAMS),
  list('/edges/tls', 'tls_edges', STREAMS),
  ...['tunnel_group', 'failover', 'weighted', 'http_response', 'static'].map((kind) => ({
    path: `/backends/${kind}`,
    listKey: 'backends',
    key: `${kind}_backends`,
    notCarried: null,
  })),
  list('/certificate_authorities', 'certificate_authorities'),
  list('/tls_certificates', 'tls_certificates'),
  list('/reserved_domains', 'reserved_domains'),
  list(
    '/reserved_addrs',
    'reserved_addrs',
    'Postern reserves no TCP addresses: an agent asks for a port of the server',
  ),
  list('/ip_policies', 'ip_policies'),
  list('/ip_policy_rules', 'ip_policy_rules'),
  list('/ip_restrictions', 'ip_restrictions', 'Postern restricts addresses per route: use the module ip_restriction'),
];

/** The prefix of an id shows the kind of a backend in a dump. */
export const BACKEND_PREFIXES: Readonly<Record<string, string>> = {
  bkdtg: 'tunnel_group_backends',
  bkdfo: 'failover_backends',
  bkdwd: 'weighted_backends',
  bkdhr: 'http_response_backends',
  bkdsc: 'static_backends',
};

function list(path: string, key: string, notCarried: string | null = null): RetiredList {
  return { path, listKey: key, key, notCarried };
}
