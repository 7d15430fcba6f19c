import { backendPlans, newBackend } from './backend-writes.ts';
import { edgePlans } from './edge-writes.ts';
import { BACKEND_KINDS } from './module-writes.ts';
import { owned, type Plan, type PlannedWrite, pathOf, remove, STILL_IN_USE, type Workload } from './planned-write.ts';
import { policyPlans } from './policy-writes.ts';
import { subscriptionPlans } from './subscription-writes.ts';

const PLANS: readonly Plan[] = [
  ...edgePlans,
  ...backendPlans,
  ...policyPlans,
  ...subscriptionPlans,
  deleteRoot,
  deleteRoot,
];

/** The writer's next request. */
export function planWrite(workload: Workload): PlannedWrite {
  for (let tries = 0; tries < 100; tries += 1) {
    const plan = workload.random.pick(PLANS)?.(workload);
    if (plan !== null && plan !== undefined) return plan;
  }
  return newBackend('static_backend', workload);
}

function deleteRoot(workload: Workload): PlannedWrite | null {
  const { random } = workload;
  const kind = random.pick(['https_edge', 'ip_policy', 'event_subscription', ...BACKEND_KINDS]) ?? '';
  const id = random.pick(owned(workload, [kind]));
  return id === undefined ? null : remove(workload, { id, path: `${pathOf(kind)}/${id}`, root: id }, STILL_IN_USE);
}
