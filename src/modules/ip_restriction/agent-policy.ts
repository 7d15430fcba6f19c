import type { Static } from 'typebox';
import type { JsonObject } from '../../lib/json.ts';
import type { AcceptedForm, AgentRecord } from '../contract/agent-form.ts';
import type { ipRestrictionAgentSchema } from './agent-form.ts';

const EVERYBODY = ['0.0.0.0/0', '::/0'];

/** Without an allow list everybody is allowed whom nothing denies. */
export function agentPolicy(form: JsonObject, endpointId: string): AcceptedForm | { readonly problem: string } {
  // The server has decoded the form by its schema.
  const { allow, deny } = form as Static<typeof ipRestrictionAgentSchema>;
  if (allow.length === 0 && deny.length === 0) return { problem: 'must have at least one allowed or denied range' };
  const policyId = `${endpointId}.policy`;
  const rule = (action: 'allow' | 'deny', cidr: string, at: number): AgentRecord => {
    return { kind: 'ip_policy_rule', id: `${policyId}.${action}.${at}`, parent: policyId, doc: { action, cidr } };
  };
  return {
    config: { enabled: true, ip_policy_ids: [policyId] },
    records: [
      { kind: 'ip_policy', id: policyId, parent: null, doc: {} },
      ...(allow.length === 0 ? EVERYBODY : allow).map((cidr, at) => rule('allow', cidr, at)),
      ...deny.map((cidr, at) => rule('deny', cidr, at)),
    ],
  };
}
