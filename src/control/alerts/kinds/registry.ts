import type { AlertKind } from '../alert-kind.ts';
import { agentAway } from './agent_away/agent-away.ts';
import { backendFailing } from './backend_failing/backend-failing.ts';
import { certificateExpiring } from './certificate_expiring/certificate-expiring.ts';
import { certificateFailing } from './certificate_failing/certificate-failing.ts';
import { circuitOpen } from './circuit_open/circuit-open.ts';
import { deliveryStuck } from './delivery_stuck/delivery-stuck.ts';
import { diskNearlyFull } from './disk_nearly_full/disk-nearly-full.ts';
import { fileDescriptorsLow } from './file_descriptors_low/file-descriptors-low.ts';
import { nodeLost } from './node_lost/node-lost.ts';

/** Every kind of alert. */
export const alertKinds: readonly AlertKind[] = [
  agentAway,
  backendFailing,
  certificateExpiring,
  certificateFailing,
  circuitOpen,
  deliveryStuck,
  diskNearlyFull,
  fileDescriptorsLow,
  nodeLost,
];

/** What to do about alerts of a kind. */
export function alertAdvice(name: string): string {
  return alertKinds.find((kind) => kind.name === name)?.advice ?? GENERAL_ADVICE;
}

/** For a kind of another version. */
const GENERAL_ADVICE = 'see the log of the server';
