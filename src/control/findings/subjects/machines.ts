import type { AlertKind } from '../alert-kind.ts';
import type { Subject } from '../subject.ts';

/** A value must fall this far below its limit before the alert ends: otherwise it flaps around the limit. */
const MARGIN_PERCENT = 5;

/** The disk of a node's data directory. */
const diskNearlyFull: AlertKind = {
  code: 'disk_nearly_full',
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

/** The file descriptors of a node. */
const fileDescriptorsLow: AlertKind = {
  code: 'file_descriptors_low',
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

export const machines: Subject = { alerts: [diskNearlyFull, fileDescriptorsLow] };
