import type { EdgeKind } from '../edge-kind.ts';

/** Ports whose connections are forwarded as they are. */
export const tcpEdge: EdgeKind = {
  name: 'tcp',
  protocols: ['tcp'],
  owns: 'ports',
  passes: ['connections'],
  routes: null,
  endsTls: false,
  api: null,
};
