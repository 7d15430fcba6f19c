import { refTo } from './module-writes.ts';
import {
  type Address,
  create,
  MOST_OF_A_KIND,
  owned,
  type Plan,
  type PlannedWrite,
  remove,
  type Workload,
} from './planned-write.ts';
import { idIn, kindIn } from './rendered-documents.ts';

/** IP policies and their rules. */
export const policyPlans: readonly Plan[] = [createPolicy, createRule, createRule, patchRule, deleteRule];

function createPolicy(workload: Workload): PlannedWrite | null {
  if (owned(workload, ['ip_policy']).length >= MOST_OF_A_KIND) return null;
  const marker = workload.newMarker();
  const own = { description: marker, metadata: workload.random.text(20) };
  return create('ip_policy', '/ip_policies', own, own, [], { marker, refusals: [] });
}

function createRule(workload: Workload): PlannedWrite | null {
  const { random } = workload;
  const policy = random.pick(owned(workload, ['ip_policy']));
  if (policy === undefined) return null;
  const marker = workload.newMarker();
  const own = {
    description: marker,
    metadata: '',
    cidr: `10.${random.below(256)}.${random.below(256)}.0/24`,
    action: random.isChosen(0.5) ? 'allow' : 'deny',
  };
  const state = { ...own, ip_policy: refTo(policy) };
  return {
    ...create('ip_policy_rule', '/ip_policy_rules', { ...own, ip_policy_id: policy }, state, [], {
      marker,
      refusals: [],
    }),
    root: policy,
  };
}

function patchRule(workload: Workload): PlannedWrite | null {
  const rule = anyRule(workload);
  if (rule === null) return null;
  const body = { cidr: `172.16.${workload.random.below(256)}.0/24`, metadata: workload.random.text(10) };
  const state = { ...workload.ledger.get('ip_policy_rule', rule.id), ...body };
  const changes = [{ kind: 'ip_policy_rule', id: rule.id, state }];
  return { method: 'PATCH', path: rule.path, body, marker: null, changes, refusals: [], root: rule.root };
}

function deleteRule(workload: Workload): PlannedWrite | null {
  const rule = anyRule(workload);
  return rule === null ? null : remove(workload, rule, []);
}

function anyRule(workload: Workload): Address | null {
  const { random, ledger } = workload;
  const policy = random.pick(owned(workload, ['ip_policy']));
  if (policy === undefined) return null;
  const rules = ledger.below(policy).filter((key) => kindIn(key) === 'ip_policy_rule');
  const key = random.pick(rules);
  return key === undefined ? null : { id: idIn(key), path: `/ip_policy_rules/${idIn(key)}`, root: policy };
}
