import type { EdgeKind } from '../edge-kind.ts';

/** Hosts whose connections are forwarded undecrypted. */
export const tlsEdge: EdgeKind = {
  name: 'tls',
  protocols: ['tls'],
  owns: 'names',
  passes: ['connections'],
  routes: null,
  endsTls: false,
  api: null,
};
