/** Which part may import which. Anything that is not listed is rejected; a part may always import itself. ARCHITECTURE.md shows this table. */
export const IMPORT_DIRECTIONS: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  // Modules declare settings in their folders; config reads the rows off the registry.
  config: ['lib', 'modules'],
  logging: ['lib', 'config'],
  // One file, for its types: the interface of logins, which the store implements.
  store: ['lib', 'modules'],
  replica: ['lib', 'store'],
  pki: ['lib', 'config', 'store', 'replica'],
  acme: ['lib', 'store', 'replica'],
  backends: ['lib', 'upstream'],
  modules: ['lib', 'backends'],
  snapshot: ['lib', 'modules', 'backends', 'replica', 'store'],
  upstream: ['lib'],
  edge: ['lib', 'tunnel', 'upstream', 'snapshot', 'modules', 'backends', 'pki'],
  tunnel: ['lib'],
  gateway: ['lib', 'tunnel', 'edge', 'store'],
  agent: ['lib', 'tunnel', 'upstream'],
  events: ['lib', 'store', 'replica'],
  resources: ['lib', 'acme', 'modules', 'backends', 'store', 'replica', 'events', 'snapshot'],
  documents: ['lib', 'modules', 'resources', 'store', 'replica'],
  api: ['lib', 'modules', 'documents', 'resources', 'store'],
  bootstrap: ['lib', 'config', 'documents', 'resources', 'replica'],
  client: [],
  cli: ['lib', 'config', 'client', 'modules', 'resources', 'agent', 'tunnel'],
  main: [
    'lib',
    'config',
    'logging',
    'store',
    'replica',
    'pki',
    'acme',
    'backends',
    'modules',
    'snapshot',
    'upstream',
    'edge',
    'tunnel',
    'gateway',
    'agent',
    'events',
    'resources',
    'documents',
    'api',
    'bootstrap',
    'cli',
  ],
};

export function partOf(path: string): string {
  return path.split('/')[1] ?? '';
}
