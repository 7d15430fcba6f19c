interface Room {
  /** What it is for, as ARCHITECTURE.md says it. */
  readonly what: string;
  /** Types count. */
  readonly mayImport: readonly string[];
}

/** The folders of `src`, from the first floor up: each imports only rooms that stand before it. */
export const ROOMS: Readonly<Record<string, Room>> = {
  kit: {
    what: 'Helpers without product terms: errors, the clock, HTTP, names and addresses, certificates, schemas, settings, the log.',
    mayImport: [],
  },
  backends: {
    what: 'Where a route may send requests: one folder for each kind of backend.',
    mayImport: ['kit'],
  },
  edges: {
    what: 'Where visitors arrive, and what the names and ports there belong to: one folder for each kind of edge.',
    mayImport: ['kit'],
  },
  modules: {
    what: 'What an edge or route does with requests, such as a login, a rate limit or a rewrite: one folder for each module.',
    mayImport: ['kit', 'backends', 'edges'],
  },
  store: {
    what: 'Keeps the configuration in SQLite or PostgreSQL, and all of it in memory (`replica`).',
    mayImport: ['kit', 'modules'],
  },
  proxy: {
    what: 'Serves visitors: certificates and TLS, HTTP, routes, requests to services, and the figures of this traffic.',
    mayImport: ['kit', 'backends', 'edges', 'modules', 'store'],
  },
  tunnel: {
    what: 'Reaches services behind NAT: the agent, the gateway that it dials, their protocol, and the links between nodes.',
    mayImport: ['kit', 'store', 'proxy'],
  },
  control: {
    what: 'Manages: the API, its resources and documents, events, alerts, checks, accounts of people, the server of the console.',
    mayImport: ['kit', 'backends', 'edges', 'modules', 'store', 'proxy'],
  },
  client: {
    what: 'The typed client of the API, for programs, the command line and the page of the console; free of Node.',
    mayImport: ['kit'],
  },
  app: {
    what: 'Puts the rooms together: `postern server`, the other commands, and the settings of the program.',
    mayImport: ['kit', 'backends', 'edges', 'modules', 'store', 'proxy', 'tunnel', 'control', 'client'],
  },
};

/**
 * Which part may import which. Anything that is not listed is rejected; a part may always import itself. A part is a
 * room (a folder of `src`), or a folder or file in a room that has a row of its own. ARCHITECTURE.md shows this table.
 */
export const IMPORT_DIRECTIONS: Readonly<Record<string, readonly string[]>> = {
  kit: [],
  // Modules declare settings in their folders; config reads the rows off the registry.
  'app/settings': ['kit', 'modules', 'proxy/dns', 'control/identity', 'proxy/pki'],
  'kit/logging': ['kit'],
  // One file, for its types: the interface of logins, which the store implements.
  store: ['kit', 'modules'],
  'store/replica': ['kit', 'store'],
  'proxy/pki': ['kit', 'store', 'store/replica'],
  'proxy/dns': ['kit'],
  'proxy/acme': ['kit', 'edges', 'proxy/dns', 'store', 'store/replica'],
  backends: ['kit'],
  edges: ['kit'],
  'proxy/lists': ['kit'],
  modules: ['kit', 'backends', 'edges'],
  'proxy/snapshot': ['kit', 'edges', 'modules', 'backends', 'store/replica', 'store'],
  'proxy/upstream': ['kit'],
  'proxy/telemetry': ['kit', 'backends', 'proxy/snapshot'],
  'proxy/tracing': ['kit'],
  'proxy/edge': [
    'kit',
    'proxy/upstream',
    'proxy/snapshot',
    'edges',
    'modules',
    'backends',
    'proxy/pki',
    'proxy/telemetry',
    'proxy/tracing',
  ],
  'tunnel/protocol': ['kit', 'proxy/edge'],
  'tunnel/nodes': [
    'kit',
    'tunnel/protocol',
    'proxy/upstream',
    'proxy/tracing',
    'proxy/edge',
    'store',
    'store/replica',
    'proxy/pki',
  ],
  'tunnel/gateway': ['kit', 'tunnel/protocol', 'proxy/edge', 'store', 'tunnel/nodes', 'proxy/telemetry'],
  'tunnel/agent': ['kit', 'tunnel/protocol', 'proxy/upstream'],
  'control/events': ['kit', 'store', 'store/replica', 'proxy/telemetry'],
  'control/findings': ['kit', 'edges', 'proxy/acme', 'control/identity', 'modules', 'store', 'store/replica'],
  'control/identity': ['kit', 'store', 'store/replica'],
  'control/resources': [
    'kit',
    'proxy/acme',
    'control/identity',
    'edges',
    'modules',
    'backends',
    'proxy/lists',
    'store',
    'store/replica',
    'control/events',
    'control/findings',
    'proxy/telemetry',
  ],
  'control/configuration-file': ['kit', 'edges', 'modules', 'control/resources'],
  'control/documents': [
    'kit',
    'edges',
    'modules',
    'control/findings',
    'control/identity',
    'control/resources',
    'store',
    'store/replica',
  ],
  'control/api': ['kit', 'modules', 'control/documents', 'control/resources', 'store'],
  'control/console': [
    'kit',
    'store',
    'store/replica',
    'control/resources',
    'control/documents',
    'control/api',
    'proxy/telemetry',
  ],
  'control/bootstrap': ['kit', 'control/documents', 'control/resources', 'store/replica'],
  client: [],
  'client/publish': ['kit', 'client'],
  'app/cli': [
    'kit',
    'proxy/dns',
    'proxy/acme',
    'app/settings',
    'control/findings',
    'control/configuration-file',
    'client',
    'client/publish',
    'modules',
    'control/resources',
    'tunnel/agent',
    'tunnel/protocol',
    'proxy/upstream',
    'control/identity',
  ],
  'app/main': [
    'kit',
    'app/settings',
    'kit/logging',
    'store',
    'store/replica',
    'proxy/pki',
    'proxy/dns',
    'proxy/acme',
    'backends',
    'edges',
    'modules',
    'proxy/lists',
    'proxy/snapshot',
    'proxy/upstream',
    'proxy/telemetry',
    'proxy/tracing',
    'proxy/edge',
    'tunnel/protocol',
    'tunnel/nodes',
    'tunnel/gateway',
    'control/identity',
    'tunnel/agent',
    'control/events',
    'control/findings',
    'control/resources',
    'control/documents',
    'control/api',
    'control/console',
    'control/bootstrap',
    'app/cli',
  ],
};

export function partOf(path: string): string {
  const [, room = '', name = ''] = path.split('/');
  const part = `${room}/${name.replace(/(\.test)?\.ts$/, '')}`;
  return part in IMPORT_DIRECTIONS ? part : room;
}
