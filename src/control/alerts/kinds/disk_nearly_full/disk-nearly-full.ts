import type { AlertKind } from '../../alert-kind.ts';

/** It must fall this far below the limit before the alert ends: otherwise it flaps around the limit. */
const MARGIN_PERCENT = 5;

/** The disk of a node's data directory. */
export const diskNearlyFull: AlertKind = {
  name: 'disk_nearly_full',
  description: 'The disk of the data directory of a node is at least alert_disk_percent full.',
  advice:
    'free space on the disk of data_dir, or move it to a larger one: with a full disk the server accepts no changes',
  sight: 'node',
  raiseAfterMs: () => 30_000,
  resolveAfterMs: 60_000,
  isOn: ({ diskPercent }) => diskPercent > 0,
  createLook: () => async (facts) => {
    const { node, raised, limits } = facts;
    const percent = await facts.diskPercent();
    const limit = raised.has(node) ? limits.diskPercent - MARGIN_PERCENT : limits.diskPercent;
    const title = `the disk of node ${node} is ${Math.floor(percent)} % full`;
    return [{ subject: node, state: percent >= limit ? 'bad' : 'well', title }];
  },
};
