import type { AlertKind } from '../../alert-kind.ts';

/** It must fall this far below the limit before the alert ends: otherwise it flaps around the limit. */
const MARGIN_PERCENT = 5;

/** The file descriptors of a node. */
export const fileDescriptorsLow: AlertKind = {
  name: 'file_descriptors_low',
  description:
    'A node uses at least alert_descriptor_percent of its file descriptors, or refuses connections for lack of them.',
  advice: 'raise LimitNOFILE= of the service, or ulimit -n before you start the server',
  sight: 'node',
  // Connections are refused already, or soon.
  raiseAfterMs: () => 0,
  resolveAfterMs: 60_000,
  isOn: ({ descriptorPercent }) => descriptorPercent > 0,
  createLook: () => (facts) => {
    const { node, raised, limits } = facts;
    const { open, limit, isScarce } = facts.descriptors();
    const percent = raised.has(node) ? limits.descriptorPercent - MARGIN_PERCENT : limits.descriptorPercent;
    const isBad = isScarce || open >= (limit * percent) / 100;
    const remedy = 'raise LimitNOFILE= or ulimit -n';
    const title = `node ${node} has ${open} of ${limit} file descriptors open: ${remedy}`;
    return [{ subject: node, state: isBad ? 'bad' : 'well', title }];
  },
};
